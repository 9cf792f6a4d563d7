//! A drawn picture with its truth, and how both are written to files.

use std::fmt::Write as _;
use std::io::Cursor;

use image::codecs::jpeg::JpegEncoder;
use image::codecs::png::{CompressionType, FilterType, PngEncoder};
use image::{ImageError, RgbImage};

/// One object: its class (an index into the names of the picture's kind) and the
/// box of what is visible of it, in pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct Object {
    pub class: usize,
    pub x1: f32,
    pub y1: f32,
    pub x2: f32,
    pub y2: f32,
}

/// A picture and what is in it.
pub struct Scene {
    /// The picture.
    pub image: RgbImage,
    /// The truth.
    pub objects: Vec<Object>,
}

impl Scene {
    /// The picture as a PNG file.
    pub fn png(&self) -> Vec<u8> {
        encoded(&self.image, |image, to| {
            let (compression, filter) = (CompressionType::Fast, FilterType::Sub);
            image.write_with_encoder(PngEncoder::new_with_quality(to, compression, filter))
        })
    }

    /// The picture as a JPEG file.
    pub fn jpeg(&self) -> Vec<u8> {
        encoded(&self.image, |image, to| {
            image.write_with_encoder(JpegEncoder::new_with_quality(to, 90))
        })
    }

    /// The truth as a YOLO label file: `class cx cy w h`, normalised.
    pub fn labels(&self) -> String {
        let (w, h) = (self.image.width() as f32, self.image.height() as f32);
        self.objects.iter().fold(String::new(), |mut text, o| {
            let (cx, cy) = ((o.x1 + o.x2) / 2.0 / w, (o.y1 + o.y2) / 2.0 / h);
            let (bw, bh) = ((o.x2 - o.x1) / w, (o.y2 - o.y1) / h);
            writeln!(text, "{} {cx:.6} {cy:.6} {bw:.6} {bh:.6}", o.class)
                .expect("writing to a string");
            text
        })
    }
}

/// The `coco.yaml` of a folder with `images/` and `labels/`.
pub(crate) fn yaml(names: &[&str]) -> String {
    let mut text = String::from("path: . # beside this file\nval: images\n\nnames:\n");
    for (i, name) in names.iter().enumerate() {
        writeln!(text, "  {i}: {name}").expect("writing to a string");
    }
    text
}

fn encoded(
    image: &RgbImage,
    encode: impl FnOnce(&RgbImage, &mut Cursor<Vec<u8>>) -> Result<(), ImageError>,
) -> Vec<u8> {
    let mut bytes = Cursor::new(Vec::new());
    encode(image, &mut bytes).expect("RGB to memory");
    bytes.into_inner()
}
