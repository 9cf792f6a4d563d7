//! OpenCV's bilinear resizing of 8-bit images, bit for bit: fixed point with
//! 11-bit weights, no smoothing when shrinking. Other resizers move boxes by
//! pixels.

use pulp::Arch;

use super::stretch::{Columns, stretch};

const ONE: f32 = 2048.0;

/// RGB pixels, row by row.
#[derive(Clone, Copy, Debug)]
pub struct Rgb<'a> {
    pub pixels: &'a [u8],
    pub width: usize,
    pub height: usize,
}

impl<'a> Rgb<'a> {
    fn row(self, y: usize) -> &'a [[u8; 3]] {
        self.pixels[3 * y * self.width..][..3 * self.width]
            .as_chunks()
            .0
    }
}

/// A row of a resized image.
#[derive(Clone, Copy)]
pub enum Row<'a> {
    /// As the image has it.
    Rgb(&'a [[u8; 3]]),
    /// With a fourth value that means nothing.
    Padded(&'a [[u8; 4]]),
}

/// Resizes images, one after the other, with the same memory.
#[derive(Debug, Default)]
pub struct Resizer {
    /// Columns of the source for those of the target, and of which widths.
    columns: Columns,
    widths: (usize, usize),
    /// Two rows of the source, stretched, and which.
    upper: Stretched,
    lower: Stretched,
    out: Vec<[u8; 4]>,
}

/// A row of the source in the target's width: weighted sums, 7 fractional bits.
#[derive(Debug, Default)]
struct Stretched {
    row: Option<usize>,
    sums: Vec<[i16; 4]>,
}

impl Resizer {
    /// Resizes to `width` × `height`; hands the rows to `put`, from the top.
    pub fn bilinear(
        &mut self,
        image: Rgb<'_>,
        width: usize,
        height: usize,
        mut put: impl FnMut(usize, Row<'_>),
    ) {
        let source = (image.width, image.height);
        if source == (width, height) {
            for y in 0..height {
                put(y, Row::Rgb(image.row(y)));
            }
            return;
        }
        let arch = Arch::new();
        self.out.resize(width, [0; 4]);
        if source == (2 * width, 2 * height) {
            for y in 0..height {
                let rows = (image.row(2 * y), image.row(2 * y + 1));
                arch.dispatch(|| halve(rows.0, rows.1, &mut self.out));
                put(y, Row::Padded(&self.out));
            }
            return;
        }
        if self.widths != (image.width, width) {
            lay_out(&mut self.columns, image.width, width);
            self.widths = (image.width, width);
        }
        (self.upper.row, self.lower.row) = (None, None);
        for y in 0..height {
            let tap = Tap::of(y, image.height, height);
            // Neighbouring target rows share source rows.
            if self.lower.row == Some(tap.first) {
                std::mem::swap(&mut self.upper, &mut self.lower);
            }
            for (kept, row) in [(&mut self.upper, tap.first), (&mut self.lower, tap.second)] {
                if kept.row != Some(row) {
                    kept.row = Some(row);
                    kept.sums.resize(width, [0; 4]);
                    let from_row = &image.pixels[3 * row * image.width..];
                    stretch(from_row, &self.columns, &mut kept.sums);
                }
            }
            let (upper, lower) = (&self.upper.sums, &self.lower.sums);
            arch.dispatch(|| blend(upper, lower, tap.weights, &mut self.out));
            put(y, Row::Padded(&self.out));
        }
    }
}

/// For one target pixel along an axis: the two source pixels and their weights.
struct Tap {
    first: usize,
    second: usize,
    /// Whether the first lay in the source, and the second.
    inside: bool,
    weights: [i16; 2],
}

impl Tap {
    fn of(target: usize, from: usize, to: usize) -> Self {
        let scale = 1.0 / (to as f64 / from as f64);
        let place = ((target as f64 + 0.5) * scale - 0.5) as f32;
        let (whole, part) = (place.floor() as i64, place - place.floor());
        let last = from as i64 - 1;
        Tap {
            first: whole.clamp(0, last) as usize,
            second: (whole + 1).clamp(0, last) as usize,
            inside: (0..last).contains(&whole),
            weights: [1.0 - part, part].map(|w| (w * ONE).round_ties_even() as i16),
        }
    }
}

/// Along x, unlike along y, OpenCV drops the fraction outside the source.
fn lay_out(columns: &mut Columns, from: usize, to: usize) {
    columns.first.clear();
    columns.weights.clear();
    for x in 0..to {
        let tap = Tap::of(x, from, to);
        let (first, weights) = match tap.inside {
            true => (tap.first, tap.weights),
            // Of the last two pixels, the second.
            false if tap.first > 0 => (tap.first - 1, [0, ONE as i16]),
            false => (0, [ONE as i16, 0]),
        };
        columns.first.push(first);
        columns.weights.push(weights);
    }
}

/// Two stretched rows by their weights.
#[inline(always)]
fn blend(upper: &[[i16; 4]], lower: &[[i16; 4]], [a, b]: [i16; 2], out: &mut [[u8; 4]]) {
    let high = |weight: i16, sum: i16| (i32::from(weight) * i32::from(sum)) >> 16;
    let rows = upper.as_flattened().iter().zip(lower.as_flattened());
    for (out, (&u, &l)) in out.as_flattened_mut().iter_mut().zip(rows) {
        // At most 1020 + 2.
        *out = ((high(a, u) + high(b, l) + 2) >> 2) as u8;
    }
}

/// To exactly half, OpenCV takes the mean of four pixels.
#[inline(always)]
fn halve(upper: &[[u8; 3]], lower: &[[u8; 3]], out: &mut [[u8; 4]]) {
    let pairs = upper
        .as_chunks::<2>()
        .0
        .iter()
        .zip(lower.as_chunks::<2>().0);
    for (out, ([a, b], [c, d])) in out.iter_mut().zip(pairs) {
        for i in 0..3 {
            let four = [a, b, c, d].map(|p| u16::from(p[i]));
            out[i] = ((four.iter().sum::<u16>() + 2) >> 2) as u8;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same on both sides: this formula in NumPy, then `cv2.resize`.
    fn pattern(width: usize, height: usize) -> Vec<u8> {
        let value = |x: usize, y: usize, c: usize| {
            (x * x * 7 + y * 13 + x * y * 3 + c * 91 + (x ^ y) * 5) as u8
        };
        let pixels = (0..height).flat_map(|y| (0..width).map(move |x| (x, y)));
        pixels
            .flat_map(|(x, y)| [0, 1, 2].map(|c| value(x, y, c)))
            .collect()
    }

    fn resized((from_w, from_h): (usize, usize), (width, height): (usize, usize)) -> Vec<u8> {
        let image = Rgb {
            pixels: &pattern(from_w, from_h),
            width: from_w,
            height: from_h,
        };
        let mut out = Vec::new();
        let mut resizer = Resizer::default();
        resizer.bilinear(image, width, height, |y, row| {
            assert_eq!(out.len(), 3 * y * width);
            match row {
                Row::Rgb(row) => out.extend(row.as_flattened()),
                Row::Padded(row) => out.extend(row.iter().flat_map(|p| &p[..3])),
            }
        });
        out
    }

    /// FNV-1a.
    fn hash(bytes: &[u8]) -> u64 {
        bytes.iter().fold(0xcbf2_9ce4_8422_2325, |h, b| {
            (h ^ u64::from(*b)).wrapping_mul(0x0100_0000_01b3)
        })
    }

    #[test]
    fn small_enough_to_compare_by_eye() {
        let rgb = resized((5, 4), (3, 3));
        let red: Vec<u8> = rgb.chunks(3).map(|p| p[0]).collect();
        assert_eq!(red, [7, 42, 118, 31, 64, 152, 55, 86, 187]);
    }

    #[test]
    fn equal_to_opencv_5_0_0_bit_for_bit() {
        for (w, h, width, height, expected) in [
            (8, 6, 4, 3, 0x5ff6728166f32121),
            (5, 4, 3, 3, 0xa428bf9586ce4d4c),
            (7, 3, 16, 9, 0xe13fecbad385eaa7),
            (31, 17, 20, 11, 0xb4c2b65657fba3af),
            (20, 11, 31, 17, 0x053ac324768f4f22),
            (64, 48, 33, 25, 0xfa0a2d11624776a7),
            (1, 1, 4, 3, 0xdf151d43195eb3a9),
            (40, 30, 20, 16, 0xa09829e073e90b29),
            (100, 3, 64, 2, 0xc92dde1b4da9f8da),
            (300, 200, 192, 128, 0xa623f0d7f38f7a62),
            (128, 96, 160, 120, 0x33f194bd4ff430f3),
        ] {
            let found = hash(&resized((w, h), (width, height)));
            assert_eq!(found, expected, "{w}x{h} to {width}x{height}");
        }
    }
}
