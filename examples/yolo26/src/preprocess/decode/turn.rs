//! Images as their EXIF orientation says.

use image::metadata::Orientation;

use crate::preprocess::resize::Rgb;

/// Whether width becomes height.
pub fn swaps(by: Orientation) -> bool {
    use Orientation::*;
    matches!(by, Rotate90 | Rotate270 | Rotate90FlipH | Rotate270FlipH)
}

/// The image upright, in `turned`.
pub fn upright<'a>(image: Rgb<'_>, by: Orientation, turned: &'a mut Vec<u8>) -> Rgb<'a> {
    use Orientation::*;
    let (w, h) = (image.width, image.height);
    let (width, height) = if swaps(by) { (h, w) } else { (w, h) };
    let from = image.pixels.as_chunks::<3>().0;
    turned.clear();
    for y in 0..height {
        let row = (0..width).map(|x| {
            let (x, y) = match by {
                NoTransforms => (x, y),
                FlipHorizontal => (w - 1 - x, y),
                Rotate180 => (w - 1 - x, h - 1 - y),
                FlipVertical => (x, h - 1 - y),
                // Flipped after it is rotated.
                Rotate90FlipH => (y, x),
                Rotate90 => (y, h - 1 - x),
                Rotate270FlipH => (w - 1 - y, h - 1 - x),
                Rotate270 => (w - 1 - y, x),
            };
            from[y * w + x]
        });
        turned.extend(row.flatten());
    }
    Rgb {
        pixels: turned,
        width,
        height,
    }
}
