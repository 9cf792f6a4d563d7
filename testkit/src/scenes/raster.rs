//! Polygons to how much of each pixel they cover, and the canvas they go on.

use crate::rng::Rng;

pub(super) type Point = [f32; 2];
pub(super) type Colour = [f32; 3];

/// Closed lines; what lies within an odd number of them is inside.
pub(super) type Contours = Vec<Vec<Point>>;

/// Lines that a row of pixels is cut into.
const CUTS: usize = 4;

/// RGB from 0 to 1.
pub(super) struct Canvas {
    pub(super) width: usize,
    pub(super) height: usize,
    pub(super) pixels: Vec<Colour>,
}

impl Canvas {
    pub(super) fn new(width: u32, height: u32, colour: impl FnMut(f32, f32) -> Colour) -> Self {
        let (width, height) = (width as usize, height as usize);
        let mut canvas = Canvas {
            width,
            height,
            pixels: vec![[0.0; 3]; width * height],
        };
        canvas.change(colour, |_, new| new);
        canvas
    }

    /// Every pixel anew from what it is and what `colour` has at its middle.
    pub(super) fn change(
        &mut self,
        mut colour: impl FnMut(f32, f32) -> Colour,
        blend: impl Fn(Colour, Colour) -> Colour,
    ) {
        for (i, pixel) in self.pixels.iter_mut().enumerate() {
            let (x, y) = (i % self.width, i / self.width);
            *pixel = blend(*pixel, colour(x as f32 + 0.5, y as f32 + 0.5));
        }
    }

    /// Blends `colour` in where the mask is.
    pub(super) fn blend(
        &mut self,
        mask: &Mask,
        share: f32,
        mut colour: impl FnMut(f32, f32) -> Colour,
    ) {
        for (x, y, cover) in mask.pixels() {
            if x < 0 || y < 0 || x as usize >= self.width || y as usize >= self.height {
                continue;
            }
            let new = colour(x as f32 + 0.5, y as f32 + 0.5);
            let pixel = &mut self.pixels[y as usize * self.width + x as usize];
            *pixel = mix(*pixel, new, cover * share);
        }
    }

    /// The mean colour under a mask.
    pub(super) fn mean(&self, mask: &Mask) -> Colour {
        let (mut sum, mut weight) = ([0.0; 3], 0.0);
        for (x, y, cover) in mask.pixels() {
            if x >= 0 && y >= 0 && (x as usize) < self.width && (y as usize) < self.height {
                let pixel = self.pixels[y as usize * self.width + x as usize];
                sum = [0, 1, 2].map(|c| sum[c] + pixel[c] * cover);
                weight += cover;
            }
        }
        sum.map(|s| if weight > 0.0 { s / weight } else { 0.5 })
    }
}

pub(super) fn mix(a: Colour, b: Colour, share: f32) -> Colour {
    [0, 1, 2].map(|c| a[c] + share * (b[c] - a[c]))
}

pub(super) fn random_colour(rng: &mut Rng) -> Colour {
    [0; 3].map(|_| rng.between(0.02, 0.98))
}

/// How much of each pixel something covers, 0 to 1, in a rectangle of pixels.
#[derive(Clone)]
pub(super) struct Mask {
    x: i32,
    y: i32,
    width: usize,
    height: usize,
    cover: Vec<f32>,
}

impl Mask {
    pub(super) fn of(contours: &Contours) -> Self {
        let points = || contours.iter().flatten();
        let low = |axis: usize| points().map(|p| p[axis]).fold(f32::INFINITY, f32::min);
        let high = |axis: usize| points().map(|p| p[axis]).fold(-f32::INFINITY, f32::max);
        let (x, y) = (low(0).floor(), low(1).floor());
        let width = (high(0) - x).ceil().max(1.0) as usize;
        let height = (high(1) - y).ceil().max(1.0) as usize;
        let mut cover = vec![0.0; width * height];
        let mut crossings = Vec::new();
        for (row, line) in cover.chunks_exact_mut(width).enumerate() {
            for cut in 0..CUTS {
                let at = y + row as f32 + (cut as f32 + 0.5) / CUTS as f32;
                crossings.clear();
                for contour in contours {
                    let ends = contour.iter().cycle().skip(1);
                    for (a, b) in contour.iter().zip(ends) {
                        if (a[1] <= at) != (b[1] <= at) {
                            let share = (at - a[1]) / (b[1] - a[1]);
                            crossings.push(a[0] + share * (b[0] - a[0]) - x);
                        }
                    }
                }
                crossings.sort_by(f32::total_cmp);
                for pair in crossings.chunks_exact(2) {
                    span(line, pair[0], pair[1]);
                }
            }
        }
        Mask {
            x: x as i32,
            y: y as i32,
            width,
            height,
            cover,
        }
    }

    /// Only what is on the canvas.
    pub(super) fn within(&self, canvas: &Canvas) -> Mask {
        let mut rest = self.clone();
        let (width, height) = (canvas.width as i32, canvas.height as i32);
        rest.change(
            |x, y, cover| match x < 0 || y < 0 || x >= width || y >= height {
                true => 0.0,
                false => cover,
            },
        );
        rest
    }

    /// Takes away what lies under `other`.
    pub(super) fn hide(&mut self, other: &Mask) {
        if self.meets(other) {
            self.change(|x, y, cover| cover * (1.0 - other.at(x, y)));
        }
    }

    /// Do the rectangles overlap?
    pub(super) fn meets(&self, other: &Mask) -> bool {
        let apart = |a: i32, a_len: usize, b: i32, b_len: usize| {
            a + a_len as i32 <= b || b + b_len as i32 <= a
        };
        !apart(self.x, self.width, other.x, other.width)
            && !apart(self.y, self.height, other.y, other.height)
    }

    pub(super) fn area(&self) -> f32 {
        self.cover.iter().sum()
    }

    /// The box of what is covered, to parts of a pixel.
    pub(super) fn bounds(&self) -> Option<[f32; 4]> {
        let (mut columns, mut rows) = (vec![0f32; self.width], vec![0f32; self.height]);
        for (i, cover) in self.cover.iter().enumerate() {
            let (x, y) = (i % self.width, i / self.width);
            columns[x] = columns[x].max(*cover);
            rows[y] = rows[y].max(*cover);
        }
        let (x1, x2) = ends(&columns)?;
        let (y1, y2) = ends(&rows)?;
        let (x, y) = (self.x as f32, self.y as f32);
        Some([x + x1, y + y1, x + x2, y + y2])
    }

    /// The middle of its rectangle and half its longer side.
    pub(super) fn middle(&self) -> (Point, f32) {
        let (w, h) = (self.width as f32 / 2.0, self.height as f32 / 2.0);
        ([self.x as f32 + w, self.y as f32 + h], w.max(h))
    }

    fn pixels(&self) -> impl Iterator<Item = (i32, i32, f32)> {
        let covered = self.cover.iter().enumerate().filter(|(_, c)| **c > 0.0);
        covered.map(|(i, cover)| {
            let (x, y) = ((i % self.width) as i32, (i / self.width) as i32);
            (self.x + x, self.y + y, *cover)
        })
    }

    fn at(&self, x: i32, y: i32) -> f32 {
        let (x, y) = (x - self.x, y - self.y);
        if x < 0 || y < 0 || x as usize >= self.width || y as usize >= self.height {
            return 0.0;
        }
        self.cover[y as usize * self.width + x as usize]
    }

    fn change(&mut self, new: impl Fn(i32, i32, f32) -> f32) {
        for (i, cover) in self.cover.iter_mut().enumerate() {
            let (x, y) = ((i % self.width) as i32, (i / self.width) as i32);
            *cover = new(self.x + x, self.y + y, *cover);
        }
    }
}

/// Adds one cut's share of the pixels from `from` to `to`.
fn span(line: &mut [f32], from: f32, to: f32) {
    let share = 1.0 / CUTS as f32;
    let (first, last) = (from.max(0.0) as usize, to.max(0.0) as usize);
    for (x, cover) in line.iter_mut().enumerate().take(last + 1).skip(first) {
        let (left, right) = (from.max(x as f32), to.min(x as f32 + 1.0));
        *cover += share * (right - left).max(0.0);
    }
}

/// Where the covered part of a row of maxima begins and ends.
fn ends(most: &[f32]) -> Option<(f32, f32)> {
    // Less than this of a pixel is nothing that one could see.
    let seen = |cover: &f32| *cover > 0.1;
    let first = most.iter().position(seen)?;
    let last = most.iter().rposition(seen)?;
    let (head, tail) = (most[first].min(1.0), most[last].min(1.0));
    Some((first as f32 + 1.0 - head, last as f32 + tail))
}
