//! From an image file to the model's input, as Ultralytics 8.4.90 does it for an
//! ONNX export of a fixed size, bit for bit: decode, scale, pad with grey, RGB,
//! / 255, NCHW.
//!
//! Of a `w` × `h` image in a `size` × `size` input:
//!
//! | | `predict` | `val` |
//! |---|---|---|
//! | ratio | min(size / h, size / w) | size / max(h, w) |
//! | scaled sides | rounded, halves to even | rounded up |
//! | padding | half of it, the odd line right and below | the same |
//! | back to the image | both axes by the ratio | both axes by scaled h / h |
//!
//! Where `predict` rounds a side to nothing, which Ultralytics refuses, one pixel
//! stays. F16 is as on a CPU: PyTorch's GPU kernels multiply by 1 / 255, which can
//! differ in the last bit.

mod decode;
mod letterbox;
mod planes;
mod prepare;
mod resize;
mod stretch;
#[cfg(test)]
mod tests;

use std::path::Path;

use anyhow::Result;
use image::RgbImage;

use decode::Reader;
use resize::{Resizer, Rgb};

pub use decode::JpegDecoder;
pub use letterbox::{Letterbox, Mode};
pub use prepare::{Options, Preparer};

use crate::pixels::Pixels;

/// How the names of files end that may be read.
pub const ENDINGS: [&str; 5] = ["bmp", "jpeg", "jpg", "png", "webp"];

/// An image file as RGB, upright.
pub fn decode(path: &Path) -> Result<RgbImage> {
    decode_with(path, JpegDecoder::default())
}

/// As [`decode`], by a decoder of one's choice.
pub fn decode_with(path: &Path, decoder: JpegDecoder) -> Result<RgbImage> {
    let mut reader = Reader::default();
    let image = reader.read(path, decoder)?;
    let (width, height) = (image.width as u32, image.height as u32);
    let image = RgbImage::from_raw(width, height, image.pixels.to_vec());
    Ok(image.expect("three values a pixel"))
}

/// Width and height of an image as it is decoded, from the file's header alone.
pub fn dimensions(path: &Path) -> Result<(usize, usize)> {
    Reader::default().size(path)
}

/// Writes `image` into one image's place of the model's input, `size` × `size` as
/// in `letterbox`.
pub fn fill(image: &RgbImage, letterbox: &Letterbox, place: Pixels<'_>) {
    let image = Rgb {
        pixels: image.as_raw(),
        width: image.width() as usize,
        height: image.height() as usize,
    };
    prepare::fill(&mut Resizer::default(), image, letterbox, place);
}

/// Writes pixels that are in the form of the model's input already, `size` × `size`
/// of RGB, into one image's place.
pub fn spread(pixels: &[u8], size: usize, place: Pixels<'_>) {
    let image = Rgb {
        pixels,
        width: size,
        height: size,
    };
    let letterbox = Letterbox::new(Mode::Predict, size, size, size);
    prepare::fill(&mut Resizer::default(), image, &letterbox, place);
}
