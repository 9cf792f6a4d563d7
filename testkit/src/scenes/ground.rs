//! What everything lies on.

use crate::rng::Rng;

use super::raster::{Canvas, mix, random_colour};
use super::shapes::direction;

pub(super) fn paint(width: u32, height: u32, rng: &mut Rng) -> Canvas {
    let (a, b) = (random_colour(rng), random_colour(rng));
    let (w, h) = (width as f32, height as f32);
    let long = w.max(h);
    let [cos, sin] = direction(rng);
    let along = move |x: f32, y: f32| (cos * (x - w / 2.0) + sin * (y - h / 2.0)) / long + 0.5;
    let coarse = Noise::new(rng.between(0.1, 0.5) * long, rng);
    let fine = Noise::new(rng.between(3.0, 14.0), rng);
    let (strong, weak) = (rng.between(0.2, 0.8), rng.between(0.0, 0.25));
    let step = rng.between(6.0, 40.0);
    let kind = rng.below(5);
    Canvas::new(width, height, |x, y| {
        let share = match kind {
            0 => 0.0,
            1 => along(x, y).clamp(0.0, 1.0),
            2 => coarse.at(x, y),
            3 => 0.3 * (((x / step).floor() + (y / step).floor()) as i32 & 1) as f32,
            _ => {
                let far = ((x - w / 2.0) * (x - w / 2.0) + (y - h / 2.0) * (y - h / 2.0)).sqrt();
                (1.6 * far / long).min(1.0)
            }
        };
        mix(mix(a, b, strong * share), b, weak * fine.at(x, y))
    })
}

/// Smooth noise from 0 to 1: random heights on a grid and between them a smooth
/// way from one to the next, in two sizes.
pub(super) struct Noise {
    cell: f32,
    seed: u64,
}

impl Noise {
    pub(super) fn new(cell: f32, rng: &mut Rng) -> Self {
        Noise {
            cell,
            seed: rng.next(),
        }
    }

    pub(super) fn at(&self, x: f32, y: f32) -> f32 {
        let (x, y) = (x / self.cell, y / self.cell);
        (2.0 * self.layer(x, y, 1) + self.layer(2.0 * x, 2.0 * y, 2)) / 3.0
    }

    fn layer(&self, x: f32, y: f32, layer: u64) -> f32 {
        let (left, top) = (x.floor(), y.floor());
        let (u, v) = (smooth(x - left), smooth(y - top));
        let height = |dx: i64, dy: i64| {
            let (i, j) = ((left as i64 + dx) as u64, (top as i64 + dy) as u64);
            let place =
                i.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ j.wrapping_mul(0xc2b2_ae3d_27d4_eb4f);
            Rng::new(self.seed ^ layer).child(place).between(0.0, 1.0)
        };
        let upper = height(0, 0) + u * (height(1, 0) - height(0, 0));
        let lower = height(0, 1) + u * (height(1, 1) - height(0, 1));
        upper + v * (lower - upper)
    }
}

fn smooth(t: f32) -> f32 {
    t * t * (3.0 - 2.0 * t)
}
