//! Where an image lies in the model's square input, and the way back.

/// How the scaled size is worked out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Mode {
    /// As prediction does: the scaled sides are rounded
    Predict,
    /// As validation does: the scaled sides are rounded up
    Val,
}

/// The geometry of one image in the input: scaled to fit, centred.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Letterbox {
    /// Pixels a side of the input.
    pub size: usize,
    /// The image's own width and height.
    pub original: (usize, usize),
    /// Width and height in the input.
    pub scaled: (usize, usize),
    /// Columns of padding before the image; what is odd goes behind it.
    pub left: usize,
    /// Rows of padding above the image.
    pub top: usize,
    /// Input pixels a pixel of the image.
    gain: f64,
}

impl Letterbox {
    /// Fits a `width` × `height` image into `size` × `size`.
    pub fn new(mode: Mode, width: usize, height: usize, size: usize) -> Self {
        let (w, h, s) = (width as f64, height as f64, size as f64);
        let ratio = match mode {
            Mode::Predict => (s / h).min(s / w),
            Mode::Val => s / h.max(w),
        };
        let side = |length: f64| {
            let scaled = match mode {
                Mode::Predict => (length * ratio).round_ties_even(),
                Mode::Val => (length * ratio).ceil(),
            };
            // A hair-thin image still has a pixel.
            (scaled as usize).clamp(1, size)
        };
        let scaled = (side(w), side(h));
        let gain = match mode {
            Mode::Predict => ratio,
            Mode::Val => scaled.1 as f64 / h,
        };
        let (left, top) = ((size - scaled.0) / 2, (size - scaled.1) / 2);
        Letterbox {
            size,
            original: (width, height),
            scaled,
            left,
            top,
            gain,
        }
    }

    /// A box (x1, y1, x2, y2) of the input in pixels of the image, cut off at
    /// its border.
    pub fn to_original(self, [x1, y1, x2, y2]: [f32; 4]) -> [f32; 4] {
        let (width, height) = (self.original.0 as f32, self.original.1 as f32);
        let gain = self.gain as f32;
        let x = |x: f32| ((x - self.left as f32) / gain).clamp(0.0, width);
        let y = |y: f32| ((y - self.top as f32) / gain).clamp(0.0, height);
        [x(x1), y(y1), x(x2), y(y2)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fit(mode: Mode, width: usize, height: usize, size: usize) -> [usize; 4] {
        let l = Letterbox::new(mode, width, height, size);
        [l.scaled.0, l.scaled.1, l.left, l.top]
    }

    #[test]
    fn sides_are_rounded_and_centred() {
        assert_eq!(fit(Mode::Predict, 810, 1080, 640), [480, 640, 80, 0]);
        assert_eq!(fit(Mode::Predict, 451, 300, 192), [192, 128, 0, 32]);
        // 5 * 2 / 4 = 2.5 goes to the even 2; the odd row of padding is below.
        assert_eq!(fit(Mode::Predict, 20, 5, 10), [10, 2, 0, 4]);
        assert_eq!(fit(Mode::Predict, 20, 6, 10), [10, 3, 0, 3]);
        assert_eq!(fit(Mode::Predict, 4, 2, 8), [8, 4, 0, 2]);
        assert_eq!(fit(Mode::Predict, 5000, 2, 64), [64, 1, 0, 31]);
    }

    #[test]
    fn validation_rounds_up() {
        assert_eq!(fit(Mode::Predict, 640, 427, 320), [320, 214, 0, 53]);
        assert_eq!(fit(Mode::Predict, 600, 401, 320), [320, 214, 0, 53]);
        assert_eq!(fit(Mode::Val, 600, 400, 320), [320, 214, 0, 53]);
        assert_eq!(fit(Mode::Predict, 600, 400, 320), [320, 213, 0, 53]);
    }

    #[test]
    fn boxes_come_back_to_the_image() {
        let l = Letterbox::new(Mode::Predict, 320, 240, 160);
        assert_eq!(
            l.to_original([10.0, 30.0, 60.0, 100.0]),
            [20.0, 20.0, 120.0, 160.0]
        );
        assert_eq!(
            l.to_original([-5.0, 0.0, 170.0, 160.0]),
            [0.0, 0.0, 320.0, 240.0]
        );
        // Validation scales both axes by the height's ratio.
        let l = Letterbox::new(Mode::Val, 600, 400, 320);
        let gain = 214.0 / 400.0;
        assert_eq!(l.to_original([53.5, 106.5, 107.0, 160.0])[0], 53.5 / gain);
    }
}
