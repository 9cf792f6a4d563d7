//! Pictures with known objects for the demo network [`crate::net`]: coloured
//! shapes on a dull, mildly cluttered ground. The same seed draws the same
//! picture everywhere.

use image::{Rgb, RgbImage};

use crate::net;
use crate::picture;
use crate::rng::Rng;

pub use crate::picture::{Object, Scene};

/// The sizes that [`Scene::nth`] goes through.
const SIZES: [(u32, u32); 6] = [
    (320, 240),
    (200, 300),
    (256, 256),
    (400, 220),
    (160, 160),
    (480, 360),
];

impl Scene {
    /// The `i`-th picture of the demo: another size and other objects each.
    pub fn nth(i: usize) -> Self {
        let (width, height) = SIZES[i % SIZES.len()];
        Scene::draw(width, height, i as u64)
    }

    /// A picture of `width` × `height` with two to six objects.
    pub fn draw(width: u32, height: u32, seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let mut image = ground(width, height, &mut rng);
        clutter(&mut image, &mut rng);
        let objects = place(width as f32, height as f32, &mut rng);
        for object in &objects {
            paint(&mut image, object, &mut rng);
        }
        Scene { image, objects }
    }
}

/// The `coco.yaml` of a folder with `images/` and `labels/`.
pub fn yaml() -> String {
    picture::yaml(&net::NAMES)
}

/// Grey with a slope of brightness and a faint tint.
fn ground(width: u32, height: u32, rng: &mut Rng) -> RgbImage {
    let base = rng.between(0.35, 0.75);
    let slope = [rng.between(-0.15, 0.15), rng.between(-0.15, 0.15)];
    let tint = [0; 3].map(|_| rng.between(-0.03, 0.03));
    RgbImage::from_fn(width, height, |x, y| {
        let (u, v) = (
            x as f32 / width as f32 - 0.5,
            y as f32 / height as f32 - 0.5,
        );
        let noise = rng.between(-0.02, 0.02);
        let level = base + slope[0] * u + slope[1] * v + noise;
        Rgb(tint.map(|t| byte(level + t)))
    })
}

/// Dull rectangles and lines: nothing that is an object.
fn clutter(image: &mut RgbImage, rng: &mut Rng) {
    let (w, h) = (image.width() as f32, image.height() as f32);
    for i in 0..8 {
        let level = rng.between(0.2, 0.9);
        let colour = [0; 3].map(|_| level + rng.between(-0.07, 0.07));
        let (x, y) = (rng.between(0.0, w), rng.between(0.0, h));
        let (bw, bh) = match i % 3 {
            0 => (rng.between(0.1, 0.4) * w, 2.0),
            1 => (2.0, rng.between(0.1, 0.4) * h),
            _ => (rng.between(0.05, 0.3) * w, rng.between(0.05, 0.3) * h),
        };
        let area = [x, y, x + bw, y + bh];
        cover(
            image,
            area,
            |_, _| colour,
            |u, v| (0.0..1.0).contains(&u) && (0.0..1.0).contains(&v),
        );
    }
}

/// Objects that keep a distance to one another and to the border.
fn place(w: f32, h: f32, rng: &mut Rng) -> Vec<Object> {
    let long = w.max(h);
    let gap = 0.11 * long; // the network needs two of its cells
    let wanted = 2 + rng.below(5);
    let mut objects: Vec<Object> = Vec::new();
    for _ in 0..400 {
        if objects.len() == wanted {
            break;
        }
        let class = rng.below(net::NAMES.len());
        let side = rng.between(0.1, 0.32) * long;
        // Bars are long; the rest is about as wide as high.
        let ratio = if class == 3 {
            rng.between(2.0, 3.0)
        } else {
            rng.between(0.8, 1.25)
        };
        let (mut bw, mut bh) = (side, side / ratio);
        if class == 3 && rng.below(2) == 0 {
            (bw, bh) = (bh, bw);
        }
        let thin = bw.min(bh) < 0.08 * long;
        if thin || bw > w - 4.0 || bh > h - 4.0 {
            continue;
        }
        let (x1, y1) = (
            rng.between(2.0, w - 2.0 - bw),
            rng.between(2.0, h - 2.0 - bh),
        );
        let new = Object {
            class,
            x1,
            y1,
            x2: x1 + bw,
            y2: y1 + bh,
        };
        let clear = |o: &Object| {
            new.x1 > o.x2 + gap || new.x2 + gap < o.x1 || new.y1 > o.y2 + gap || new.y2 + gap < o.y1
        };
        if objects.iter().all(clear) {
            objects.push(new);
        }
    }
    objects
}

/// Fills the object's shape with its colour, a little varied and shaded.
fn paint(image: &mut RgbImage, object: &Object, rng: &mut Rng) {
    let (high, low) = (rng.between(0.82, 0.98), rng.between(0.04, 0.14));
    let colour = match object.class {
        0 => [high, low, low],
        1 => [low, high, low],
        2 => [low, low, high],
        _ => [high, high - 0.03, low],
    };
    let inside = |u: f32, v: f32| {
        let (u, v) = (2.0 * u - 1.0, 2.0 * v - 1.0);
        match object.class {
            0 => u * u + v * v <= 1.0,
            2 => u.abs() + v.abs() <= 1.0,
            _ => u.abs() <= 1.0 && v.abs() <= 1.0,
        }
    };
    let shaded = |_: f32, v: f32| colour.map(|c| c * (1.0 - 0.1 * v));
    cover(
        image,
        [object.x1, object.y1, object.x2, object.y2],
        shaded,
        inside,
    );
}

/// Blends a shape into the image by how much of each pixel it covers (4 × 4
/// samples). `colour` and `inside` take the place within the box, 0 to 1.
fn cover(
    image: &mut RgbImage,
    [x1, y1, x2, y2]: [f32; 4],
    colour: impl Fn(f32, f32) -> [f32; 3],
    inside: impl Fn(f32, f32) -> bool,
) {
    let within = |x: f32, y: f32| ((x - x1) / (x2 - x1), (y - y1) / (y2 - y1));
    for y in (y1.max(0.0) as u32)..(y2.ceil() as u32).min(image.height()) {
        for x in (x1.max(0.0) as u32)..(x2.ceil() as u32).min(image.width()) {
            let hits = (0..16)
                .filter(|i| {
                    let (dx, dy) = ((i % 4) as f32 / 4.0 + 0.125, (i / 4) as f32 / 4.0 + 0.125);
                    let (u, v) = within(x as f32 + dx, y as f32 + dy);
                    inside(u, v)
                })
                .count();
            let share = hits as f32 / 16.0;
            let (u, v) = within(x as f32 + 0.5, y as f32 + 0.5);
            let new = colour(u, v);
            let pixel = image.get_pixel_mut(x, y);
            for c in 0..3 {
                let old = pixel[c] as f32 / 255.0;
                pixel[c] = byte(old + share * (new[c] - old));
            }
        }
    }
}

fn byte(level: f32) -> u8 {
    (level.clamp(0.0, 1.0) * 255.0).round() as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_draws_one_picture_with_its_objects_inside() {
        for i in 0..18 {
            let (a, b) = (Scene::nth(i), Scene::nth(i));
            assert_eq!(a.image, b.image);
            assert_eq!(a.objects, b.objects);
            assert!(!a.objects.is_empty(), "picture {i} is empty");
            let (w, h) = (a.image.width() as f32, a.image.height() as f32);
            for o in &a.objects {
                assert!(
                    o.x1 >= 0.0 && o.x2 <= w && o.y1 >= 0.0 && o.y2 <= h,
                    "{o:?}"
                );
            }
        }
        assert_ne!(Scene::draw(64, 64, 1).image, Scene::draw(64, 64, 2).image);
    }

    #[test]
    fn objects_have_their_colour_in_the_middle() {
        for i in 0..12 {
            let scene = Scene::nth(i);
            for o in &scene.objects {
                let (x, y) = ((o.x1 + o.x2) / 2.0, (o.y1 + o.y2) / 2.0);
                let [r, g, b] = scene.image.get_pixel(x as u32, y as u32).0.map(|c| c > 128);
                let expected = [
                    [true, false, false],
                    [false, true, false],
                    [false, false, true],
                    [true, true, false],
                ];
                assert_eq!([r, g, b], expected[o.class], "picture {i}, {o:?}");
            }
        }
    }

    #[test]
    fn labels_are_normalised() {
        let scene = Scene {
            image: RgbImage::new(200, 100),
            objects: vec![Object {
                class: 2,
                x1: 20.0,
                y1: 10.0,
                x2: 60.0,
                y2: 60.0,
            }],
        };
        assert_eq!(scene.labels(), "2 0.200000 0.350000 0.200000 0.500000\n");
    }
}
