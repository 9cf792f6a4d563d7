//! What is no object: lines, blobs, patches and strokes like writing under the
//! shapes, and things of no class between and over them.

use crate::rng::Rng;

use super::raster::{Canvas, Colour, Contours, Mask, Point, random_colour};
use super::shapes::{Pose, circle, direction, rectangle};

/// Clutter under the shapes, from none to much.
pub(super) fn under(canvas: &mut Canvas, rng: &mut Rng) {
    let much = rng.below(12);
    for _ in 0..much {
        let colour = random_colour(rng);
        let share = rng.between(0.15, 0.7);
        match rng.below(5) {
            0 => line(canvas, colour, share, rng),
            1 => patch(canvas, colour, share, rng),
            2 => one(canvas, &blob(canvas, 0.2, rng), colour, share),
            3 => writing(canvas, colour, share, rng),
            _ => curve(canvas, colour, share, rng),
        }
    }
}

/// Something that no class has: a bar, a thin ellipse, an L, a zigzag, a blob.
pub(super) fn thing(canvas: &Canvas, rng: &mut Rng) -> Contours {
    let long = canvas.width.max(canvas.height) as f32;
    let pose = Pose::random(canvas, rng.between(0.04, 0.2) * long, rng);
    let thin = rng.between(0.12, 0.26);
    let line: Vec<Point> = match rng.below(5) {
        0 => rectangle(1.0, thin),
        1 => (circle([0.0, 0.0], 1.0).into_iter())
            .map(|[x, y]| [x, (thin + 0.1) * y])
            .collect(),
        2 => vec![
            [-0.8, -0.8],
            [-0.8 + 2.0 * thin, -0.8],
            [-0.8 + 2.0 * thin, 0.8 - 2.0 * thin],
            [0.8, 0.8 - 2.0 * thin],
            [0.8, 0.8],
            [-0.8, 0.8],
        ],
        3 => {
            let y = |i: usize| if i.is_multiple_of(2) { -0.4 } else { 0.4 };
            let ends = (0..5).map(|i| [i as f32 * 0.5 - 1.0, y(i) - thin]);
            let back = (0..5).rev().map(|i| [i as f32 * 0.5 - 1.0, y(i) + thin]);
            ends.chain(back).collect()
        }
        _ => return blob(canvas, 0.12, rng),
    };
    vec![line.into_iter().map(|p| pose.place(p)).collect()]
}

/// A round outline with dents.
fn blob(canvas: &Canvas, share: f32, rng: &mut Rng) -> Contours {
    let long = canvas.width.max(canvas.height) as f32;
    let radius = rng.between(0.3, 1.0) * share * long;
    let pose = Pose::random(canvas, radius, rng);
    let mut reach: Vec<f32> = (0..12)
        .map(|i| {
            let low = if i % 3 == 0 { 0.3 } else { 0.6 };
            rng.between(low, 1.0)
        })
        .collect();
    reach.push(reach[0]);
    let points = circle([0.0, 0.0], 1.0).into_iter().enumerate();
    let line = points.map(|(i, [x, y])| {
        let (at, part) = (i / 4, (i % 4) as f32 / 4.0);
        let r = reach[at] + part * (reach[at + 1] - reach[at]);
        pose.place([r * x, r * y])
    });
    vec![line.collect()]
}

fn one(canvas: &mut Canvas, contours: &Contours, colour: Colour, share: f32) {
    let mask = Mask::of(contours);
    canvas.blend(&mask, share, |_, _| colour);
}

fn line(canvas: &mut Canvas, colour: Colour, share: f32, rng: &mut Rng) {
    let [a, b] = [anywhere(canvas, rng), anywhere(canvas, rng)];
    let width = rng.between(0.6, 4.0);
    stroke(canvas, a, b, width, colour, share);
}

/// A segment, `width` wide.
fn stroke(canvas: &mut Canvas, a: Point, b: Point, width: f32, colour: Colour, share: f32) {
    let (dx, dy) = (b[0] - a[0], b[1] - a[1]);
    let length = (dx * dx + dy * dy).sqrt().max(0.1);
    let (x, y) = (-dy / length * width / 2.0, dx / length * width / 2.0);
    let corners = vec![
        [a[0] + x, a[1] + y],
        [b[0] + x, b[1] + y],
        [b[0] - x, b[1] - y],
        [a[0] - x, a[1] - y],
    ];
    one(canvas, &vec![corners], colour, share);
}

/// A part of the ground in another colour, larger than any square.
fn patch(canvas: &mut Canvas, colour: Colour, share: f32, rng: &mut Rng) {
    let (w, h) = (canvas.width as f32, canvas.height as f32);
    let at = rng.between(0.1, 0.9);
    let [x, y] = match rng.below(4) {
        0 => [[0.0, at * w], [0.0, h]],
        1 => [[at * w, w], [0.0, h]],
        2 => [[0.0, w], [0.0, at * h]],
        _ => [[0.0, w], [at * h, h]],
    };
    let corners = vec![[x[0], y[0]], [x[1], y[0]], [x[1], y[1]], [x[0], y[1]]];
    one(canvas, &vec![corners], colour, 0.6 * share);
}

/// Rows of little strokes.
fn writing(canvas: &mut Canvas, colour: Colour, share: f32, rng: &mut Rng) {
    let [mut x, y] = anywhere(canvas, rng);
    let size = rng.between(5.0, 14.0);
    for _ in 0..4 + rng.below(12) {
        for _ in 0..1 + rng.below(3) {
            let point = |rng: &mut Rng| {
                [
                    x + rng.between(0.0, 0.6) * size,
                    y + rng.between(0.0, 1.0) * size,
                ]
            };
            let (a, b) = (point(rng), point(rng));
            stroke(canvas, a, b, 1.0 + size / 10.0, colour, share);
        }
        x += size * if rng.below(6) == 0 { 1.4 } else { 0.75 };
    }
}

/// A line that bends.
fn curve(canvas: &mut Canvas, colour: Colour, share: f32, rng: &mut Rng) {
    let mut at = anywhere(canvas, rng);
    let [mut x, mut y] = direction(rng);
    let (step, bend) = (rng.between(4.0, 10.0), rng.between(-0.3, 0.3));
    let width = rng.between(1.0, 3.0);
    for _ in 0..8 + rng.below(24) {
        let next = [at[0] + step * x, at[1] + step * y];
        stroke(canvas, at, next, width, colour, share);
        let turn = bend + rng.between(-0.2, 0.2);
        (x, y) = (x - turn * y, y + turn * x);
        let length = (x * x + y * y).sqrt();
        (x, y) = (x / length, y / length);
        at = next;
    }
}

fn anywhere(canvas: &Canvas, rng: &mut Rng) -> Point {
    let (w, h) = (canvas.width as f32, canvas.height as f32);
    [rng.between(0.0, w), rng.between(0.0, h)]
}
