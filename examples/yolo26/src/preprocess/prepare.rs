//! The way of many images into the model's input, one thread's. Files, pixels and
//! rows lie in the same memory again and again; only what decodes a file takes some
//! of its own, an image.

use std::path::Path;

use anyhow::Result;

use super::decode::{JpegDecoder, Reader};
use super::resize::{Resizer, Rgb};
use super::{Letterbox, Mode, planes};
use crate::pixels::Pixels;

/// How images are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// What decodes JPEG files.
    pub jpeg: JpegDecoder,
}

impl Options {
    /// Names what the values of an input depend on besides the image file. Of the
    /// same key, they are the same.
    pub fn key(&self) -> String {
        // Goes up when other values come out.
        const VERSION: u32 = 1;
        format!("{:?}/{VERSION}", self.jpeg).to_lowercase()
    }
}

/// Reads image files into the model's input. One a thread, used again and again.
#[derive(Debug, Default)]
pub struct Preparer {
    options: Options,
    reader: Reader,
    resizer: Resizer,
}

impl Preparer {
    /// One that reads as `options` say.
    pub fn new(options: Options) -> Self {
        Preparer {
            options,
            ..Self::default()
        }
    }

    /// Reads `path` into one image's place of the model's input, `size` × `size`;
    /// where it lies there.
    pub fn prepare(
        &mut self,
        path: &Path,
        mode: Mode,
        size: usize,
        place: Pixels<'_>,
    ) -> Result<Letterbox> {
        let image = self.reader.read(path, self.options.jpeg)?;
        let letterbox = Letterbox::new(mode, image.width, image.height, size);
        fill(&mut self.resizer, image, &letterbox, place);
        Ok(letterbox)
    }
}

/// Writes `image` into one image's place, as in `letterbox`.
pub(super) fn fill(
    resizer: &mut Resizer,
    image: Rgb<'_>,
    letterbox: &Letterbox,
    mut place: Pixels<'_>,
) {
    let size = letterbox.size;
    assert_eq!(place.len(), 3 * size * size, "the place of one image");
    planes::pad(letterbox, &mut place);
    let (width, height) = letterbox.scaled;
    resizer.bilinear(image, width, height, |y, row| {
        planes::put(letterbox, y, row, &mut place);
    });
}
