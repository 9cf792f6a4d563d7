//! PNG, WebP and BMP files, by the `image` crate.

use std::io::Cursor;

use anyhow::{Result, bail};
use image::metadata::Orientation;
use image::{ColorType, ImageDecoder, ImageFormat, ImageReader, Limits};

use super::{MAX_PIXELS, Native, exif, to_rgb::Layout};

/// Width, height and orientation.
pub(super) fn header(file: &[u8], format: ImageFormat) -> Result<(usize, usize, Orientation)> {
    let mut decoder = open(file, format)?;
    let (width, height) = decoder.dimensions();
    let orientation = orientation(&mut decoder)?;
    Ok((width as usize, height as usize, orientation))
}

fn open(file: &[u8], format: ImageFormat) -> Result<impl ImageDecoder> {
    let mut reader = ImageReader::with_format(Cursor::new(file), format);
    let mut limits = Limits::default();
    // Of 16-bit RGBA, with as much for the decoder.
    limits.max_alloc = Some(16 * MAX_PIXELS);
    reader.limits(limits);
    Ok(reader.into_decoder()?)
}

fn orientation(decoder: &mut impl ImageDecoder) -> Result<Orientation> {
    Ok(exif::orientation(decoder.exif_metadata()?.as_deref()))
}

pub(super) fn decode(file: &[u8], format: ImageFormat, native: &mut Native) -> Result<()> {
    let mut decoder = open(file, format)?;
    let (width, height) = decoder.dimensions();
    let layout = match decoder.color_type() {
        ColorType::L8 => Layout::Grey,
        ColorType::La8 => Layout::GreyAlpha,
        ColorType::Rgb8 => Layout::Rgb,
        ColorType::Rgba8 => Layout::RgbAlpha,
        ColorType::L16 => Layout::Grey16,
        ColorType::La16 => Layout::GreyAlpha16,
        ColorType::Rgb16 => Layout::Rgb16,
        ColorType::Rgba16 => Layout::RgbAlpha16,
        other => bail!("its pixels are {other:?}"),
    };
    native.orientation = orientation(&mut decoder)?;
    decoder.read_image(native.fit(width as usize, height as usize, layout)?)?;
    Ok(())
}
