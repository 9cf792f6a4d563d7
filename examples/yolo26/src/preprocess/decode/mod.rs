//! An image file as 8-bit RGB, pixel for pixel as OpenCV's `imread` gives it
//! (BGR there):
//!
//! | file | becomes |
//! |---|---|
//! | JPEG, also progressive, arithmetic, of any sampling | as libjpeg-turbo decodes it |
//! | JPEG of CMYK or YCCK | each of R, G, B by OpenCV's formula: of the ink, times black |
//! | JPEG of 12 bits, lossless JPEG | refused |
//! | PNG of 16 bits | the high byte of each value |
//! | PNG of a palette, of 1, 2, 4 bits | the colours that are meant |
//! | grey | the same in R, G, B |
//! | alpha | dropped; what is transparent keeps its colour |
//! | WebP, BMP, PNG with an animation | as they are; the first picture |
//! | EXIF orientation 1 to 8 | applied: the image stands upright |
//! | other formats, GIF and TIFF too | refused by name |
//! | more than [`MAX_PIXELS`], or a file that cannot hold what it declares | refused before memory is taken |
//! | cut off | refused, as OpenCV 5 does; earlier ones show grey |
//! | damaged, where its decoder notices | refused; OpenCV goes on with grey |

mod exif;
mod jpeg;
#[cfg(feature = "mozjpeg")]
mod mozjpeg;
mod other;
mod to_rgb;
mod turn;

use std::fs::File;
use std::io::Read;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use image::ImageFormat;
use image::metadata::Orientation;

pub use jpeg::JpegDecoder;

use super::resize::Rgb;
use to_rgb::Layout;

/// A decoded image has at most so many pixels: 400 MB.
pub const MAX_PIXELS: u64 = 1 << 27;

/// An image file has at most so many bytes.
const MAX_FILE: u64 = 1 << 30;

/// What a huge image took is given back before the next one.
const KEPT: usize = 1 << 26;

/// Reads image files, one after the other, with the same memory.
#[derive(Debug, Default)]
pub struct Reader {
    file: Vec<u8>,
    /// As decoded.
    native: Native,
    /// As RGB, where that is something else, and turned, where it has to be.
    rgb: Vec<u8>,
    turned: Vec<u8>,
}

/// Pixels as their decoder gives them.
#[derive(Debug)]
struct Native {
    width: usize,
    height: usize,
    layout: Layout,
    orientation: Orientation,
    pixels: Vec<u8>,
}

impl Reader {
    /// The image in `path`, upright.
    pub fn read(&mut self, path: &Path, decoder: JpegDecoder) -> Result<Rgb<'_>> {
        self.decode(path, decoder)
            .with_context(|| format!("cannot read the image {}", path.display()))
    }

    /// Width and height of the image in `path`, upright, by its header.
    pub fn size(&mut self, path: &Path) -> Result<(usize, usize)> {
        let mut header = || -> Result<(usize, usize)> {
            let (width, height, orientation) = match self.load(path)? {
                ImageFormat::Jpeg => jpeg::header(&self.file)?,
                format => other::header(&self.file, format)?,
            };
            check(width, height)?;
            Ok(match turn::swaps(orientation) {
                true => (height, width),
                false => (width, height),
            })
        };
        header().with_context(|| format!("cannot read the image {}", path.display()))
    }

    /// Takes a file in; what it is.
    fn load(&mut self, path: &Path) -> Result<ImageFormat> {
        let pixels = [&mut self.native.pixels, &mut self.rgb, &mut self.turned];
        for memory in pixels.into_iter().chain([&mut self.file]) {
            if memory.capacity() > KEPT {
                *memory = Vec::new();
            }
        }
        self.file.clear();
        let file = File::open(path)?;
        file.take(MAX_FILE + 1).read_to_end(&mut self.file)?;
        let file = &self.file[..];
        ensure!(
            file.len() as u64 <= MAX_FILE,
            "it has more than {MAX_FILE} bytes"
        );
        use ImageFormat::{Bmp, Jpeg, Png, WebP};
        match image::guess_format(file) {
            Ok(format @ (Jpeg | Png | WebP | Bmp)) => Ok(format),
            Ok(format) => bail!("it is {format:?}; JPEG, PNG, WebP and BMP are read"),
            Err(_) if file.is_empty() => bail!("it is empty"),
            Err(_) => bail!("it is none of JPEG, PNG, WebP, BMP"),
        }
    }

    fn decode(&mut self, path: &Path, decoder: JpegDecoder) -> Result<Rgb<'_>> {
        match self.load(path)? {
            ImageFormat::Jpeg => jpeg::decode(&self.file, decoder, &mut self.native)?,
            format => other::decode(&self.file, format, &mut self.native)?,
        }
        let native = &self.native;
        let mut image = Rgb {
            pixels: &native.pixels,
            width: native.width,
            height: native.height,
        };
        if native.layout != Layout::Rgb {
            to_rgb::convert(&native.pixels, native.layout, &mut self.rgb);
            image.pixels = &self.rgb;
        }
        if native.orientation != Orientation::NoTransforms {
            image = turn::upright(image, native.orientation, &mut self.turned);
        }
        Ok(image)
    }
}

fn check(width: usize, height: usize) -> Result<()> {
    ensure!(
        width as u64 * height as u64 <= MAX_PIXELS,
        "it is {width}x{height}: more than {MAX_PIXELS} pixels"
    );
    Ok(())
}

impl Default for Native {
    fn default() -> Self {
        Native {
            width: 0,
            height: 0,
            layout: Layout::Rgb,
            orientation: Orientation::NoTransforms,
            pixels: Vec::new(),
        }
    }
}

impl Native {
    /// Takes on an image's size, checked; the memory for its pixels.
    fn fit(&mut self, width: usize, height: usize, layout: Layout) -> Result<&mut [u8]> {
        check(width, height)?;
        (self.width, self.height, self.layout) = (width, height, layout);
        self.pixels.resize(width * height * layout.pixel_bytes(), 0);
        Ok(&mut self.pixels)
    }
}
