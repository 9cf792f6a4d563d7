//! JPEGs with the sizes, the detail and the coding of COCO's photographs, to
//! measure decoding with. Nothing is to be seen on them.

use std::io;
use std::path::Path;

use image::RgbImage;
use jpeg_encoder::{ColorType, Encoder, SamplingFactor};

use crate::rng::Rng;

/// As most of COCO's are: 640 pixels the long side, three of four lying.
const SIZES: [(u16, u16); 4] = [(480, 640), (640, 480), (640, 480), (640, 480)];
const QUALITY: u8 = 90;

/// Spots a side and how far they stray from grey, of one kind each.
const SPOTS: [(usize, f32); 4] = [(8, 100.0), (32, 52.0), (128, 36.0), (256, 42.0)];
/// How far single pixels do.
const GRAIN: f32 = 13.0;

/// Photograph `number` of `seed`: spots of all sizes, and grain.
pub fn photo(seed: u64, number: u64) -> RgbImage {
    let mut rng = Rng::new(seed).child(number);
    let (width, height) = SIZES[(number % 4) as usize];
    let (width, height) = (usize::from(width), usize::from(height));
    let mut values = vec![118.0; 3 * width * height];
    for (side, stray) in SPOTS {
        spots(&mut rng, &mut values, width, side, stray);
    }
    for pixel in values.chunks_exact_mut(3) {
        let grain = rng.between(-GRAIN, GRAIN);
        pixel.iter_mut().for_each(|value| *value += grain);
    }
    let bytes = values.into_iter().map(|value| value as u8).collect();
    RgbImage::from_raw(width as u32, height as u32, bytes).expect("as many values")
}

/// Adds spots, `side` of them along the long side, lighter and darker in all
/// channels and a little in each.
fn spots(rng: &mut Rng, values: &mut [f32], width: usize, side: usize, stray: f32) {
    let cell = 640.0 / side as f32;
    let nodes: Vec<[f32; 3]> = (0..(side + 2) * (side + 2))
        .map(|_| {
            let all = rng.between(-stray, stray);
            std::array::from_fn(|_| all + rng.between(-stray / 4.0, stray / 4.0))
        })
        .collect();
    for (at, pixel) in values.chunks_exact_mut(3).enumerate() {
        let (x, y) = ((at % width) as f32 / cell, (at / width) as f32 / cell);
        let (column, row) = (x as usize, y as usize);
        let (right, down) = (x - column as f32, y - row as f32);
        let node = |row: usize, column: usize| nodes[row * (side + 2) + column];
        let upper = [node(row, column), node(row, column + 1)];
        let lower = [node(row + 1, column), node(row + 1, column + 1)];
        for (c, value) in pixel.iter_mut().enumerate() {
            let along = |[a, b]: [[f32; 3]; 2]| a[c] + (b[c] - a[c]) * right;
            let (upper, lower) = (along(upper), along(lower));
            *value += upper + (lower - upper) * down;
        }
    }
}

/// Writes so many as `folder/<number>.jpg`, chroma halved; their bytes.
pub fn write(folder: &Path, count: u64, seed: u64) -> io::Result<u64> {
    std::fs::create_dir_all(folder)?;
    let mut all = 0;
    for number in 0..count {
        let photo = photo(seed, number);
        let mut jpeg = Vec::new();
        let mut encoder = Encoder::new(&mut jpeg, QUALITY);
        encoder.set_sampling_factor(SamplingFactor::F_2_2);
        let (width, height) = (photo.width() as u16, photo.height() as u16);
        let coded = encoder.encode(photo.as_raw(), width, height, ColorType::Rgb);
        coded.map_err(io::Error::other)?;
        std::fs::write(folder.join(format!("{number:06}.jpg")), &jpeg)?;
        all += jpeg.len() as u64;
    }
    Ok(all)
}
