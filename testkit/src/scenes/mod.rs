//! Scenes with honest truth, to train and to measure a detector on: shapes of
//! eight classes, turned, stretched, textured and partly hidden, on cluttered
//! grounds under changing light.
//!
//! A seed and a number give one scene, the same pixels on every machine: all
//! arithmetic is `+ - * /`, `sqrt`, `floor` and integers, which IEEE 754 fixes.
//!
//! The rule of the truth: **every shape of a class that is painted is labelled**,
//! with the box of what is visible of it. Nothing is painted that would leave less
//! than [`VISIBLE`] of a shape's area in sight, and no shape that the border would
//! cut further than that.

mod clutter;
mod finish;
mod folder;
mod ground;
mod raster;
mod shapes;
mod texture;

use crate::rng::Rng;
use raster::{Canvas, Mask};
use shapes::Pose;

pub use crate::picture::{Object, Scene};
pub use folder::{Format, Scenes};
pub use shapes::NAMES;

/// The least share of a labelled shape's area that is in sight.
pub const VISIBLE: f32 = 0.7;

/// The least side of a labelled box in pixels.
pub const SIDE: f32 = 8.0;

/// The sizes that scenes have in turn where no other is asked for.
pub const SIZES: [(u32, u32); 6] = [
    (320, 240),
    (240, 320),
    (256, 256),
    (360, 240),
    (224, 224),
    (288, 216),
];

/// A painted shape and what of it is still in sight.
struct Placed {
    class: usize,
    area: f32,
    visible: Mask,
}

/// Scene `index` of the endless row that `seed` starts.
pub fn draw(width: u32, height: u32, seed: u64, index: u64) -> Scene {
    let mut rng = Rng::new(seed).child(index);
    let mut canvas = ground::paint(width, height, &mut rng);
    clutter::under(&mut canvas, &mut rng);
    let placed = objects(&mut canvas, &mut rng);
    let image = finish::photograph(canvas, &mut rng);
    let objects = placed.iter().filter_map(Placed::object).collect();
    Scene { image, objects }
}

/// Shapes of classes, and things of none between and over them.
fn objects(canvas: &mut Canvas, rng: &mut Rng) -> Vec<Placed> {
    let long = canvas.width.max(canvas.height) as f32;
    let wanted = match rng.below(30) {
        0 => 0,
        n => 1 + n % 9,
    };
    let mut placed: Vec<Placed> = Vec::new();
    let mut things = rng.below(4);
    for _ in 0..60 {
        if placed.len() == wanted && things == 0 {
            break;
        }
        if things > 0 && (placed.len() == wanted || rng.below(5) == 0) {
            things -= 1;
            let mask = Mask::of(&clutter::thing(canvas, rng));
            if leaves_enough(&placed, &mask) {
                texture::fill(canvas, &mask, rng);
                hide(&mut placed, &mask);
            }
            continue;
        }
        let class = rng.below(NAMES.len());
        // As many between 1/20 and 1/10 as between 1/4 and 1/2.
        let share = rng.between(0.0, 1.0);
        let size = long * (0.06 + 0.5 * share * share * (0.4 + 0.6 * share));
        let pose = Pose::random(canvas, size / 2.0, rng);
        let mask = Mask::of(&shapes::contours(class, &pose, rng));
        let new = Placed {
            class,
            area: mask.area(),
            visible: mask.within(canvas),
        };
        if new.visible_enough() && leaves_enough(&placed, &mask) {
            texture::fill(canvas, &mask, rng);
            hide(&mut placed, &mask);
            placed.push(new);
        }
    }
    placed
}

fn leaves_enough(placed: &[Placed], cover: &Mask) -> bool {
    placed.iter().all(|under| {
        if !under.visible.meets(cover) {
            return true;
        }
        let mut rest = Placed {
            visible: under.visible.clone(),
            ..*under
        };
        rest.visible.hide(cover);
        rest.visible_enough()
    })
}

fn hide(placed: &mut [Placed], cover: &Mask) {
    for under in placed {
        under.visible.hide(cover);
    }
}

impl Placed {
    fn visible_enough(&self) -> bool {
        let sides = self.visible.bounds();
        self.visible.area() >= VISIBLE * self.area
            && sides.is_some_and(|[x1, y1, x2, y2]| (x2 - x1).min(y2 - y1) >= SIDE)
    }

    fn object(&self) -> Option<Object> {
        let [x1, y1, x2, y2] = self.visible.bounds()?;
        Some(Object {
            class: self.class,
            x1,
            y1,
            x2,
            y2,
        })
    }
}

#[cfg(test)]
mod tests;
