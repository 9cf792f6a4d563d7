//! What a shape is filled with: a colour that stands out from what lies under
//! it, with a pattern or a shade.

use crate::rng::Rng;

use super::ground::Noise;
use super::raster::{Canvas, Colour, Mask, mix, random_colour};
use super::shapes::direction;

/// How far a shape's mean colour is from the ground's, of sqrt(3) at most.
const CONTRAST: f32 = 0.36;

pub(super) fn fill(canvas: &mut Canvas, mask: &Mask, rng: &mut Rng) {
    let under = canvas.mean(mask);
    let main = apart(under, CONTRAST, rng);
    // The second colour is on the same side of the ground, so that edges stay edges.
    let strength = rng.between(0.15, 0.5);
    let other = mix(main, apart(under, CONTRAST, rng), strength);
    let ([x0, y0], radius) = mask.middle();
    let [cos, sin] = direction(rng);
    let along = |x: f32, y: f32| cos * (x - x0) + sin * (y - y0);
    let across = |x: f32, y: f32| cos * (y - y0) - sin * (x - x0);
    let step = rng.between(0.25, 0.8) * radius.min(40.0) + 2.0;
    let odd = |value: f32| (value / step).floor() as i32 & 1;
    let noise = Noise::new(step, rng);
    match rng.below(8) {
        0..3 => canvas.blend(mask, 1.0, |_, _| main),
        3 => canvas.blend(mask, 1.0, |x, y| {
            mix(main, other, 0.5 + 0.5 * along(x, y) / radius)
        }),
        4 => canvas.blend(mask, 1.0, |x, y| [main, other][odd(along(x, y)) as usize]),
        5 => canvas.blend(mask, 1.0, |x, y| {
            [main, other][(odd(along(x, y)) ^ odd(across(x, y))) as usize]
        }),
        6 => canvas.blend(mask, 1.0, |x, y| mix(main, other, noise.at(x, y))),
        _ => canvas.blend(mask, 1.0, |x, y| {
            let (dx, dy) = (x - x0 + 0.3 * radius, y - y0 + 0.3 * radius);
            let far = (dx * dx + dy * dy).sqrt() / (1.4 * radius);
            mix(main, other, far.min(1.0))
        }),
    }
}

/// A colour at least `distance` away from another.
fn apart(from: Colour, distance: f32, rng: &mut Rng) -> Colour {
    loop {
        let colour = random_colour(rng);
        let square: f32 = [0, 1, 2]
            .map(|c| (colour[c] - from[c]) * (colour[c] - from[c]))
            .iter()
            .sum();
        if square > distance * distance {
            return colour;
        }
    }
}
