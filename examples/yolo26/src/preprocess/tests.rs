//! Against OpenCV and Ultralytics: vectors/ is made by tools/preprocess_vectors.py.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::*;
use crate::pixels::{Element, Values};

const DECODERS: &[JpegDecoder] = &[
    JpegDecoder::Rust,
    #[cfg(feature = "mozjpeg")]
    JpegDecoder::Mozjpeg,
];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src/preprocess/vectors")
}

fn vectors() -> Value {
    let text = fs::read(folder().join("vectors.json")).unwrap();
    serde_json::from_slice(&text).unwrap()
}

/// FNV-1a.
fn hash(bytes: &[u8]) -> String {
    let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |h, b| {
        (h ^ u64::from(*b)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{hash:016x}")
}

fn mode(of: &Value) -> Mode {
    match of["mode"].as_str().unwrap() {
        "val" => Mode::Val,
        _ => Mode::Predict,
    }
}

fn whole(value: &Value) -> usize {
    value.as_u64().unwrap() as usize
}

#[test]
fn images_are_read_as_opencv_reads_them() {
    let dir = tempfile::tempdir().unwrap();
    let vectors = vectors();
    for (name, expected) in vectors["images"].as_object().unwrap() {
        let (file, orientation) = name.split_once(' ').unwrap_or((name, ""));
        let mut path = folder().join(file);
        if !orientation.is_empty() {
            let mut jpeg = fs::read(&path).unwrap();
            let tag = [1, 0x12, 0, 3, 0, 0, 0, 1];
            let tag = jpeg.windows(8).position(|w| w == tag).unwrap();
            jpeg[tag + 9] = orientation.parse().unwrap();
            path = dir.path().join(file);
            fs::write(&path, jpeg).unwrap();
        }
        for decoder in DECODERS {
            match decode_with(&path, *decoder) {
                Ok(image) => {
                    let size = [image.width(), image.height()];
                    assert_eq!(expected["size"], serde_json::json!(size), "{name}");
                    assert_eq!(expected["rgb"], hash(&image), "{name} by {decoder:?}");
                }
                Err(error) => {
                    let error = format!("{error:#}");
                    assert!(expected.is_null(), "{error}");
                    assert!(error.contains(file), "{error}");
                }
            }
        }
    }
}

#[test]
fn inputs_equal_those_of_ultralytics_bit_for_bit() {
    let vectors = vectors();
    // One for all, so that what an image leaves behind is seen.
    let mut preparer = Preparer::new(Options::default());
    for of in vectors["inputs"].as_array().unwrap() {
        let path = folder().join(of["file"].as_str().unwrap());
        let size = whole(&of["size"]);
        for (name, element) in [
            ("f32", Element::F32),
            ("f16", Element::F16),
            ("u8", Element::U8),
        ] {
            let mut values = Values::zeros(element, 3 * size * size);
            let mut place = values.pixels();
            preparer
                .prepare(&path, mode(of), size, place.again())
                .unwrap();
            assert_eq!(of[name], hash(&place.bytes()), "{name} of {of}");
        }
    }
}

#[test]
fn boxes_come_back_as_those_of_ultralytics() {
    for of in vectors()["boxes"].as_array().unwrap() {
        let [width, height] = [0, 1].map(|i| whole(&of["image"][i]));
        let letterbox = Letterbox::new(mode(of), width, height, whole(&of["size"]));
        let boxes =
            |key: &str| -> Vec<[f32; 4]> { serde_json::from_value(of[key].clone()).unwrap() };
        for (input, original) in boxes("input").into_iter().zip(boxes("original")) {
            let found = letterbox.to_original(input);
            for (a, b) in found.iter().zip(original) {
                assert!((a - b).abs() < 0.01, "{found:?} for {input:?} of {of}");
            }
        }
    }
}

#[test]
fn levels_are_those_of_torch() {
    let levels = &vectors()["levels"];
    // 256 pixels wide: the levels, then the padding.
    let image = RgbImage::from_fn(256, 1, |x, _| image::Rgb([x as u8; 3]));
    let letterbox = Letterbox::new(Mode::Predict, 256, 1, 256);
    for (name, element) in [("f32", Element::F32), ("f16", Element::F16)] {
        let mut values = Values::zeros(element, 3 * 256 * 256);
        fill(&image, &letterbox, values.pixels());
        let bytes = values.pixels().bytes();
        let row = 256 * element.size();
        let start = letterbox.top * row;
        assert_eq!(levels[name], hash(&bytes[start..start + row]), "{name}");
    }
}

#[test]
fn what_cannot_be_an_image_is_refused_before_memory_is_taken() {
    let dir = tempfile::tempdir().unwrap();
    let refused = |name: &str, bytes: &[u8]| {
        let path = dir.path().join(name);
        fs::write(&path, bytes).unwrap();
        for decoder in DECODERS {
            let error = format!("{:#}", decode_with(&path, *decoder).unwrap_err());
            assert!(error.starts_with("cannot read the image") && error.contains(name));
        }
        format!("{:#}", decode(&path).unwrap_err())
    };
    let mut jpeg = fs::read(folder().join("420.jpg")).unwrap();
    let frame = jpeg.windows(2).position(|w| w == [0xff, 0xc0]).unwrap();
    jpeg[frame + 5..frame + 9].copy_from_slice(&[0x20, 0, 0x20, 0]);
    let error = refused("short.jpg", &jpeg);
    assert!(
        error.contains("cannot hold the 8192x8192 pixels"),
        "{error}"
    );
    let mut png = fs::read(folder().join("alpha.png")).unwrap();
    png[16..24].copy_from_slice(&[0, 0, 0x80, 0, 0, 0, 0x80, 0]);
    let sum = crc32fast::hash(&png[12..29]).to_be_bytes();
    png[29..33].copy_from_slice(&sum);
    let error = refused("vast.png", &png);
    assert!(error.contains("32768x32768: more than"), "{error}");
    for (name, bytes, what) in [
        ("broken.png", &b"\x89PNG\r\n\x1a\nrubbish"[..], "broken.png"),
        ("empty.jpg", b"", "it is empty"),
        ("text.jpg", b"no picture", "none of JPEG, PNG, WebP, BMP"),
    ] {
        let error = refused(name, bytes);
        assert!(error.contains(what), "{error}");
    }
    let error = format!("{:#}", decode(&dir.path().join("gone.png")).unwrap_err());
    assert!(error.contains("gone.png"), "{error}");
}

#[test]
fn planes_are_rgb_over_255_in_the_middle_of_grey() {
    let image = RgbImage::from_fn(4, 2, |x, y| image::Rgb([x as u8, 10 + y as u8, 255]));
    let letterbox = Letterbox::new(Mode::Predict, 4, 2, 4);
    let mut planes = vec![9.0; 48];
    fill(&image, &letterbox, Pixels::F32(&mut planes));
    let grey = 114.0 / 255.0;
    assert_eq!(planes[0..4], [grey; 4]);
    assert_eq!(planes[4..8], [0.0, 1.0, 2.0, 3.0].map(|v: f32| v / 255.0));
    assert_eq!(planes[12..16], [grey; 4]);
    assert_eq!(planes[16 + 8..16 + 12], [11.0 / 255.0; 4]);
    assert_eq!(planes[32 + 4..32 + 12], [1.0; 8]);
}
