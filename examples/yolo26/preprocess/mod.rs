//! From an image file to the model's input: decode, letterbox, RGB, / 255,
//! NCHW.

mod letterbox;
mod resize;

use std::path::Path;

use anyhow::{Context, Result};
use image::{DynamicImage, ImageDecoder, ImageReader, RgbImage};

pub use letterbox::{Letterbox, Mode};

/// What the letterbox leaves of the square is this grey.
const PADDING: u8 = 114;

/// An image file as RGB, turned as its EXIF data says.
pub fn decode(path: &Path) -> Result<RgbImage> {
    let read = || -> Result<RgbImage> {
        let mut decoder = ImageReader::open(path)?
            .with_guessed_format()?
            .into_decoder()?;
        let orientation = decoder.orientation()?;
        let mut image = DynamicImage::from_decoder(decoder)?;
        image.apply_orientation(orientation);
        Ok(image.into_rgb8())
    };
    read().with_context(|| format!("cannot read the image {}", path.display()))
}

/// Writes `image` into one image's place of the model's input: three planes of
/// `size` × `size`, `size` as in `letterbox`.
pub fn fill(image: &RgbImage, letterbox: &Letterbox, planes: &mut [f32]) {
    let size = letterbox.size;
    assert_eq!(planes.len(), 3 * size * size, "the planes of one image");
    let (width, height) = letterbox.scaled;
    let resized = resize::bilinear(image, width as u32, height as u32);
    let level: [f32; 256] = std::array::from_fn(|i| i as f32 / 255.0);

    planes.fill(level[usize::from(PADDING)]);
    for (y, row) in resized.as_raw().chunks_exact(3 * width).enumerate() {
        let start = (letterbox.top + y) * size + letterbox.left;
        for (c, plane) in planes.chunks_exact_mut(size * size).enumerate() {
            let target = &mut plane[start..start + width];
            for (value, pixel) in target.iter_mut().zip(row.chunks_exact(3)) {
                *value = level[usize::from(pixel[c])];
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn planes_are_rgb_over_255_in_the_middle_of_grey() {
        let image = RgbImage::from_fn(4, 2, |x, y| image::Rgb([x as u8, 10 + y as u8, 255]));
        let letterbox = Letterbox::new(Mode::Predict, 4, 2, 4);
        let mut planes = vec![9.0; 48];
        fill(&image, &letterbox, &mut planes);
        let grey = 114.0 / 255.0;
        assert_eq!(planes[0..4], [grey; 4]);
        assert_eq!(planes[4..8], [0.0, 1.0, 2.0, 3.0].map(|v: f32| v / 255.0));
        assert_eq!(planes[12..16], [grey; 4]);
        assert_eq!(planes[16 + 8..16 + 12], [11.0 / 255.0; 4]);
        assert_eq!(planes[32 + 4..32 + 12], [1.0; 8]);
    }

    #[test]
    fn an_unreadable_image_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("broken.png");
        std::fs::write(&path, b"\x89PNG\r\n\x1a\nrubbish").unwrap();
        let error = format!("{:#}", decode(&path).unwrap_err());
        assert!(error.starts_with("cannot read the image") && error.contains("broken.png"));
        let error = format!("{:#}", decode(&dir.path().join("gone.png")).unwrap_err());
        assert!(error.contains("gone.png"), "{error}");
    }
}
