//! From the painted canvas to a picture: light, contrast, tint, blur and noise.

use image::{Rgb, RgbImage};

use crate::rng::Rng;

use super::raster::{Canvas, mix};
use super::shapes::direction;

pub(super) fn photograph(mut canvas: Canvas, rng: &mut Rng) -> RgbImage {
    light(&mut canvas, rng);
    for _ in 0..[0, 0, 0, 1, 1, 2][rng.below(6)] {
        soften(&mut canvas);
    }
    let noise = [0.0, rng.between(0.0, 0.03), rng.between(0.02, 0.06)][rng.below(3)];
    let (width, height) = (canvas.width as u32, canvas.height as u32);
    RgbImage::from_fn(width, height, |x, y| {
        let pixel = canvas.pixels[(y * width + x) as usize];
        Rgb(pixel.map(|level| {
            let level = level + rng.between(-noise, noise);
            (level.clamp(0.0, 1.0) * 255.0 + 0.5) as u8
        }))
    })
}

/// Brightness that slopes across the picture, less contrast, a tint.
fn light(canvas: &mut Canvas, rng: &mut Rng) {
    let (w, h) = (canvas.width as f32, canvas.height as f32);
    let [cos, sin] = direction(rng);
    let (mean, slope) = (rng.between(0.75, 1.15), rng.between(0.0, 0.45));
    let tint = [0; 3].map(|_| rng.between(0.88, 1.12));
    let (grey, contrast) = (rng.between(0.2, 0.8), rng.between(0.55, 1.0));
    let light = |x: f32, y: f32| {
        let along = cos * (x / w - 0.5) + sin * (y / h - 0.5);
        tint.map(|t| t * (mean + slope * along))
    };
    canvas.change(light, |old, light| {
        let lit = [0, 1, 2].map(|c| old[c] * light[c]);
        mix([grey; 3], lit, contrast)
    });
}

/// A weighted mean of each pixel and its neighbours, in both directions.
fn soften(canvas: &mut Canvas) {
    let (w, h) = (canvas.width, canvas.height);
    for (step, count, lines) in [(1, w, h), (w, h, w)] {
        let other = w + 1 - step;
        for line in 0..lines {
            let at = |i: usize| line * other + i * step;
            let mut before = canvas.pixels[at(0)];
            for i in 0..count {
                let here = canvas.pixels[at(i)];
                let after = canvas.pixels[at((i + 1).min(count - 1))];
                canvas.pixels[at(i)] =
                    [0, 1, 2].map(|c| (before[c] + 2.0 * here[c] + after[c]) / 4.0);
                before = here;
            }
        }
    }
}
