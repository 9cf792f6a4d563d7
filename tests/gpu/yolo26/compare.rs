//! What a run stored, against what `ref` finds.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use yolo26::matching::{Detection, Difference, Tolerance};

use super::demo::{BATCH, IMAGES, RESULT, demo};

const MAY: Tolerance = Tolerance {
    pixels: 0.5,
    score: 0.01,
    conf: 0.25,
};

/// The stored rows of each batch, by the images that it holds.
pub fn stored(
    results: &Path,
    images_of: impl Fn(usize, usize) -> usize,
) -> BTreeMap<usize, Vec<f32>> {
    let mut all = BTreeMap::new();
    for share in 0.. {
        let folder = results.join(format!("gpu{share}"));
        if !folder.is_dir() {
            break;
        }
        for file in fs::read_dir(folder).unwrap() {
            let path = file.unwrap().path();
            let name = path.file_stem().unwrap().to_str().unwrap();
            let (number, of) = name.split_once('_').unwrap();
            assert_eq!(of.parse(), Ok(share));
            let first = images_of(share, number.parse().unwrap());
            let bytes = fs::read(&path).unwrap();
            let (values, rest) = bytes.as_chunks();
            assert!(rest.is_empty());
            let values: Vec<f32> = values.iter().map(|v| f32::from_le_bytes(*v)).collect();
            let rows = values.chunks_exact(RESULT);
            assert!(rows.remainder().is_empty());
            for (i, rows) in rows.enumerate() {
                let former = all.insert(first + i, rows.to_vec());
                assert!(former.is_none(), "image {} twice", first + i);
            }
        }
    }
    all
}

/// Image numbers of equal shares of `cards`.
pub fn shares(cards: usize) -> impl Fn(usize, usize) -> usize {
    let (share, more) = (IMAGES / cards, IMAGES % cards);
    move |card, batch| card * share + card.min(more) + batch * BATCH
}

/// Each image's objects are those that `ref` finds in FP32: the same classes,
/// places to half a pixel and scores to a hundredth.
pub fn equal_ref(found: &BTreeMap<usize, Vec<f32>>) {
    let expected = stored(&demo().join("expected"), shares(1));
    assert_eq!(expected.len(), IMAGES);
    let numbers = |map: &BTreeMap<usize, Vec<f32>>| map.keys().copied().collect::<Vec<_>>();
    assert_eq!(numbers(found), numbers(&expected));
    let mut objects = 0;
    for (image, expected) in &expected {
        let good = |rows: &[f32]| -> Vec<Detection> {
            let (rows, _) = rows.as_chunks::<6>();
            let good = rows.iter().filter(|row| row[4] > MAY.conf);
            let detection = |&[x1, y1, x2, y2, score, class]: &[f32; 6]| Detection {
                class: class as usize,
                score,
                bbox: [x1, y1, x2, y2],
            };
            good.map(detection).collect()
        };
        let most = Difference::of(&good(&found[image]), &good(expected), MAY);
        objects += most
            .unwrap_or_else(|error| panic!("image {image}: {error}"))
            .objects;
    }
    // The pictures have several each.
    assert!(objects > IMAGES, "{objects} objects");
}
