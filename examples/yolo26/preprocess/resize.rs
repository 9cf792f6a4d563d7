//! OpenCV's bilinear resizing of 8-bit images, bit for bit: fixed point with
//! 11-bit weights, no smoothing when shrinking. Other resizers move boxes by
//! pixels.

use image::RgbImage;

const ONE: f32 = 2048.0;

/// For one target pixel along an axis: the two source pixels and their weights.
#[derive(Clone, Copy)]
struct Tap {
    first: usize,
    second: usize,
    weights: [i32; 2],
}

/// Resizes to `width` × `height`.
pub fn bilinear(image: &RgbImage, width: u32, height: u32) -> RgbImage {
    if image.dimensions() == (width, height) {
        return image.clone();
    }
    if image.dimensions() == (2 * width, 2 * height) {
        return halve(image, width, height);
    }
    let columns = taps(image.width(), width, true);
    let rows = taps(image.height(), height, false);
    let source_row = |y: usize| {
        let stride = 3 * image.width() as usize;
        stretch(&image.as_raw()[y * stride..][..stride], &columns)
    };
    // Neighbouring target rows share source rows: keep the last two stretched.
    let mut kept: [Option<(usize, Vec<i32>)>; 2] = [None, None];
    let mut out = Vec::with_capacity(3 * width as usize * height as usize);
    for tap in rows {
        if kept[1].as_ref().is_some_and(|(y, _)| *y == tap.first) {
            kept.swap(0, 1);
        }
        for (slot, y) in kept.iter_mut().zip([tap.first, tap.second]) {
            if slot.as_ref().is_none_or(|(at, _)| *at != y) {
                *slot = Some((y, source_row(y)));
            }
        }
        let [Some((_, upper)), Some((_, lower))] = &kept else {
            unreachable!("both rows were just put there");
        };
        let [a, b] = tap.weights;
        out.extend(upper.iter().zip(lower).map(|(&u, &l)| {
            let sum = ((a * (u >> 4)) >> 16) + ((b * (l >> 4)) >> 16);
            ((sum + 2) >> 2).clamp(0, 255) as u8
        }));
    }
    RgbImage::from_raw(width, height, out).expect("one value a channel a pixel")
}

/// One row along x: weighted sums with 11 fractional bits.
fn stretch(row: &[u8], columns: &[Tap]) -> Vec<i32> {
    let mut out = Vec::with_capacity(3 * columns.len());
    for tap in columns {
        for c in 0..3 {
            let first = i32::from(row[3 * tap.first + c]);
            let second = i32::from(row[3 * tap.second + c]);
            out.push(first * tap.weights[0] + second * tap.weights[1]);
        }
    }
    out
}

/// Outside the source, OpenCV drops the fraction along x (`cut`) but keeps it
/// along y.
fn taps(source: u32, target: u32, cut: bool) -> Vec<Tap> {
    let scale = 1.0 / (f64::from(target) / f64::from(source));
    let last = i64::from(source) - 1;
    (0..target)
        .map(|i| {
            let place = ((f64::from(i) + 0.5) * scale - 0.5) as f32;
            let mut whole = place.floor() as i64;
            let mut part = place - place.floor();
            if cut && !(0..last).contains(&whole) {
                (whole, part) = (whole.clamp(0, last), 0.0);
            }
            Tap {
                first: whole.clamp(0, last) as usize,
                second: (whole + 1).clamp(0, last) as usize,
                weights: [1.0 - part, part].map(|w| (w * ONE).round_ties_even() as i32),
            }
        })
        .collect()
}

/// To exactly half, OpenCV takes the mean of four pixels.
fn halve(image: &RgbImage, width: u32, height: u32) -> RgbImage {
    RgbImage::from_fn(width, height, |x, y| {
        let four = [(0, 0), (1, 0), (0, 1), (1, 1)]
            .map(|(dx, dy)| image.get_pixel(2 * x + dx, 2 * y + dy).0);
        let mean = |c| (four.iter().map(|p| u32::from(p[c])).sum::<u32>() + 2) >> 2;
        image::Rgb([0, 1, 2].map(|c| mean(c) as u8))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same on both sides: this formula in NumPy, then `cv2.resize`.
    fn pattern(width: u32, height: u32) -> RgbImage {
        RgbImage::from_fn(width, height, |x, y| {
            let value = |c| x * x * 7 + y * 13 + x * y * 3 + c * 91 + (x ^ y) * 5;
            image::Rgb([0u32, 1, 2].map(|c| value(c) as u8))
        })
    }

    /// FNV-1a.
    fn hash(bytes: &[u8]) -> u64 {
        bytes.iter().fold(0xcbf2_9ce4_8422_2325, |h, b| {
            (h ^ u64::from(*b)).wrapping_mul(0x0100_0000_01b3)
        })
    }

    #[test]
    fn small_enough_to_compare_by_eye() {
        let red: Vec<u8> = bilinear(&pattern(5, 4), 3, 3)
            .pixels()
            .map(|p| p[0])
            .collect();
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
            let resized = bilinear(&pattern(w, h), width, height);
            assert_eq!(
                hash(resized.as_raw()),
                expected,
                "{w}x{h} to {width}x{height}"
            );
        }
    }
}
