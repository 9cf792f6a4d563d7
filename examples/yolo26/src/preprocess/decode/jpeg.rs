//! JPEG files, bit for bit as libjpeg-turbo decodes them.

use anyhow::{Result, ensure};
use image::metadata::Orientation;
use libjpeg_turbo_rs::{DecodeLimits, Decoder, PixelFormat};
use serde::{Deserialize, Serialize};

use super::{MAX_PIXELS, Native, exif, to_rgb::Layout};

/// What decodes JPEG files. All give the same pixels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum JpegDecoder {
    /// libjpeg-turbo-rs: Rust alone, vectorised; young
    #[default]
    Rust,
    /// mozjpeg: libjpeg-turbo's own C, without its assembler: half as fast
    #[cfg(feature = "mozjpeg")]
    Mozjpeg,
}

/// No JPEG file holds more pixels a byte: 64 need a bit or more.
const PIXELS_A_BYTE: usize = 512;

pub(super) fn decode(file: &[u8], decoder: JpegDecoder, native: &mut Native) -> Result<()> {
    match decoder {
        JpegDecoder::Rust => decode_in_rust(file, native),
        #[cfg(feature = "mozjpeg")]
        JpegDecoder::Mozjpeg => super::mozjpeg::decode(file, native),
    }
}

/// Width, height and orientation.
pub(super) fn header(file: &[u8]) -> Result<(usize, usize, Orientation)> {
    let decoder = open(file)?;
    let (width, height) = size(&decoder);
    Ok((width, height, exif::orientation(decoder.exif_data())))
}

fn open(file: &[u8]) -> Result<Decoder<'_>> {
    let limits = DecodeLimits {
        max_pixels: MAX_PIXELS,
        ..DecodeLimits::default()
    };
    Ok(Decoder::new_with_limits(file, limits)?)
}

fn size(decoder: &Decoder<'_>) -> (usize, usize) {
    let header = decoder.header();
    (usize::from(header.width), usize::from(header.height))
}

fn decode_in_rust(file: &[u8], native: &mut Native) -> Result<()> {
    let mut decoder = open(file)?;
    let header = decoder.header();
    ensure!(
        header.precision == 8 && !header.is_lossless,
        "it is a lossless JPEG or one of other than 8 bits ({})",
        header.precision
    );
    let (width, height) = size(&decoder);
    check(file, width, height)?;
    let (format, layout) = match decoder.header().components.len() {
        4 => (PixelFormat::Cmyk, Layout::Cmyk),
        _ => (PixelFormat::Rgb, Layout::Rgb),
    };
    native.orientation = exif::orientation(decoder.exif_data());
    decoder.set_output_format(format);
    decoder.decode_image_into(native.fit(width, height, layout)?)?;
    // It does not miss the marker that ends the image, as libjpeg does.
    ensure!(
        file.windows(2).rev().any(|two| two == [0xff, 0xd9]),
        "unexpected end of data"
    );
    Ok(())
}

/// Refuses what is too short for its pixels.
pub(super) fn check(file: &[u8], width: usize, height: usize) -> Result<()> {
    ensure!(
        (width * height).div_ceil(PIXELS_A_BYTE) <= file.len(),
        "it cannot hold the {width}x{height} pixels it declares in its {} bytes",
        file.len()
    );
    Ok(())
}
