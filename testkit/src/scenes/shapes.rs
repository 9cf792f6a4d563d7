//! The classes: each a contour in a unit circle, then scaled, stretched and turned.

use crate::rng::Rng;

use super::raster::{Canvas, Contours, Point};

/// The class names, in the order of the class numbers.
pub const NAMES: [&str; 8] = [
    "disc", "square", "triangle", "star", "cross", "ring", "crescent", "arrow",
];

/// Corners of what is round.
const ROUND: usize = 48;

/// Where a shape lies and how it is turned.
pub(super) struct Pose {
    centre: Point,
    /// Pixels of one unit, along the shape's own axes.
    scale: Point,
    shear: f32,
    /// Cosine and sine of the turn.
    turn: Point,
}

impl Pose {
    /// Anywhere on the canvas, a little over its border too, turned anyhow.
    pub(super) fn random(canvas: &Canvas, radius: f32, rng: &mut Rng) -> Self {
        let (w, h) = (canvas.width as f32, canvas.height as f32);
        let room = |side: f32, rng: &mut Rng| {
            let edge = (0.6 * radius).min(side / 2.0);
            rng.between(edge, side - edge)
        };
        let centre = [room(w, rng), room(h, rng)];
        let stretch = rng.between(0.86, 1.16);
        Pose {
            centre,
            scale: [radius * stretch, radius / stretch],
            shear: rng.between(-0.12, 0.12),
            turn: direction(rng),
        }
    }

    /// A point of the unit circle on the canvas.
    pub(super) fn place(&self, [x, y]: Point) -> Point {
        let (x, y) = ((x + self.shear * y) * self.scale[0], y * self.scale[1]);
        let [cos, sin] = self.turn;
        [
            self.centre[0] + cos * x - sin * y,
            self.centre[1] + sin * x + cos * y,
        ]
    }
}

/// A random direction without a sine: a point in the unit circle, moved out to it.
pub(super) fn direction(rng: &mut Rng) -> Point {
    loop {
        let (x, y) = (rng.between(-1.0, 1.0), rng.between(-1.0, 1.0));
        let square = x * x + y * y;
        if (0.01..1.0).contains(&square) {
            let length = square.sqrt();
            return [x / length, y / length];
        }
    }
}

pub(super) fn contours(class: usize, pose: &Pose, rng: &mut Rng) -> Contours {
    let lines = match class {
        0 => vec![circle([0.0, 0.0], 1.0)],
        1 => vec![rectangle(0.82, 0.82)],
        2 => vec![
            circle([0.0, 0.0], 1.0)
                .into_iter()
                .step_by(ROUND / 3)
                .collect(),
        ],
        3 => vec![star(rng.between(0.36, 0.44))],
        4 => vec![cross(rng.between(0.24, 0.33))],
        5 => vec![
            circle([0.0, 0.0], 1.0),
            circle([0.0, 0.0], rng.between(0.5, 0.66)),
        ],
        6 => vec![crescent(rng.between(0.5, 0.64), rng.between(0.8, 0.92))],
        _ => vec![arrow(rng.between(0.2, 0.32), rng.between(0.62, 0.8))],
    };
    let placed = |line: Vec<Point>| line.into_iter().map(|p| pose.place(p)).collect();
    lines.into_iter().map(placed).collect()
}

pub(super) fn circle([x, y]: Point, radius: f32) -> Vec<Point> {
    // Cosine and sine of 360° / 48.
    turns(ROUND, 0.991_444_861_373_810_4, 0.130_526_192_220_051_6)
        .map(|[cos, sin]| [x + radius * cos, y + radius * sin])
        .collect()
}

pub(super) fn rectangle(x: f32, y: f32) -> Vec<Point> {
    vec![[-x, -y], [x, -y], [x, y], [-x, y]]
}

fn star(inner: f32) -> Vec<Point> {
    // Cosine and sine of 36°.
    turns(10, 0.809_016_994_374_947_5, 0.587_785_252_292_473_1)
        .enumerate()
        .map(|(i, [cos, sin])| match i % 2 {
            0 => [cos, sin],
            _ => [inner * cos, inner * sin],
        })
        .collect()
}

fn cross(arm: f32) -> Vec<Point> {
    let quarter = [[1.0, -arm], [1.0, arm], [arm, arm]];
    let mut line = Vec::new();
    let (mut cos, mut sin) = (1.0, 0.0);
    for _ in 0..4 {
        line.extend(quarter.map(|[x, y]: Point| [cos * x - sin * y, sin * x + cos * y]));
        (cos, sin) = (-sin, cos);
    }
    line
}

/// A disc without another that is moved by `shift`.
fn crescent(shift: f32, radius: f32) -> Vec<Point> {
    let far = |[x, y]: Point, at: f32| ((x - at) * (x - at) + y * y).sqrt();
    let outer = circle([0.0, 0.0], 1.0);
    let mut line: Vec<Point> = (outer.into_iter())
        .filter(|p| far(*p, shift) > radius)
        .collect();
    // From the upper tip back to the lower one.
    let mut inner: Vec<Point> = (circle([shift, 0.0], radius).into_iter())
        .filter(|p| far(*p, 0.0) < 1.0)
        .collect();
    inner.reverse();
    line.extend(inner);
    line
}

fn arrow(shaft: f32, head: f32) -> Vec<Point> {
    vec![
        [-1.0, -shaft],
        [0.1, -shaft],
        [0.1, -head],
        [1.0, 0.0],
        [0.1, head],
        [0.1, shaft],
        [-1.0, shaft],
    ]
}

/// The corners of a regular polygon, by turning the first again and again.
fn turns(corners: usize, cos: f64, sin: f64) -> impl Iterator<Item = Point> {
    let mut at = [1.0, 0.0];
    (0..corners).map(move |_| {
        let [x, y]: [f64; 2] = at;
        at = [cos * x - sin * y, sin * x + cos * y];
        [x as f32, y as f32]
    })
}
