//! Boxes of two outputs that are the same object. Near-equal scores swap rows, so
//! nothing is compared row by row: boxes pair by class and place.

use std::ops::AddAssign;

use anyhow::{Result, bail};

use crate::detections::iou;

pub use crate::detections::Detection;

/// From this IoU on boxes may be the same object.
const SAME: f32 = 0.5;

/// A box of a class.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Boxed {
    pub class: usize,
    /// x1, y1, x2, y2.
    pub bbox: [f32; 4],
}

impl From<&Detection> for Boxed {
    fn from(detection: &Detection) -> Self {
        Boxed {
            class: detection.class,
            bbox: detection.bbox,
        }
    }
}

/// Pairs of the same class, those that cover each other best first, each box in
/// one pair at most; their places in `a` and `b`.
pub fn pairs(a: &[Boxed], b: &[Boxed], least: f32) -> Vec<(usize, usize)> {
    let mut all = Vec::new();
    for (i, one) in a.iter().enumerate() {
        for (j, other) in b
            .iter()
            .enumerate()
            .filter(|(_, other)| other.class == one.class)
        {
            let iou = iou(one.bbox, other.bbox);
            if iou >= least {
                all.push((iou, i, j));
            }
        }
    }
    // Equal ones in the order of the rows.
    all.sort_by(|a, b| b.0.total_cmp(&a.0));
    let (mut left, mut right) = (vec![false; a.len()], vec![false; b.len()]);
    let mut pairs = Vec::new();
    for (_, i, j) in all {
        if !left[i] && !right[j] {
            (left[i], right[j]) = (true, true);
            pairs.push((i, j));
        }
    }
    pairs
}

/// How far two outputs of an image may differ.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tolerance {
    /// A corner, in pixels of the image.
    pub pixels: f32,
    pub score: f32,
    /// The threshold of both outputs: what is near it may be in one alone.
    pub conf: f32,
}

/// How far they do.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Difference {
    /// Objects in both.
    pub objects: usize,
    pub pixels: f32,
    pub score: f32,
}

impl Difference {
    /// Of two outputs for an image; fails where they differ more than they may.
    pub fn of(found: &[Detection], expected: &[Detection], may: Tolerance) -> Result<Self> {
        let boxed = |all: &[Detection]| all.iter().map(Boxed::from).collect::<Vec<_>>();
        let pairs = pairs(&boxed(found), &boxed(expected), SAME);
        let mut most = Difference::default();
        for &(i, j) in &pairs {
            let (found, expected) = (&found[i], &expected[j]);
            let sides = found.bbox.iter().zip(&expected.bbox);
            let pixels = sides.map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
            let score = (found.score - expected.score).abs();
            if pixels > may.pixels || score > may.score {
                bail!(
                    "{pixels:.2} pixels and {score:.4} of score apart, not {} and {}: found \
                     {found:?}, expected {expected:?}",
                    may.pixels,
                    may.score
                );
            }
            most += Difference {
                objects: 1,
                pixels,
                score,
            };
        }
        let alone = |all: &[Detection], paired: &[usize]| {
            let left = all.iter().enumerate().filter(|(i, _)| !paired.contains(i));
            let clear = left
                .map(|(_, one)| *one)
                .filter(|one| one.score > may.conf + may.score);
            clear.collect::<Vec<_>>()
        };
        let (in_found, in_expected): (Vec<usize>, Vec<usize>) = pairs.into_iter().unzip();
        if let [missing, ..] = alone(expected, &in_expected)[..] {
            bail!("not found: {missing:?}");
        }
        if let [more, ..] = alone(found, &in_found)[..] {
            bail!("found and not expected: {more:?}");
        }
        Ok(most)
    }
}

impl AddAssign for Difference {
    fn add_assign(&mut self, other: Self) {
        self.objects += other.objects;
        self.pixels = self.pixels.max(other.pixels);
        self.score = self.score.max(other.score);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn detection(class: usize, score: f32, x1: f32) -> Detection {
        Detection {
            class,
            score,
            bbox: [x1, 0.0, x1 + 10.0, 10.0],
        }
    }

    const MAY: Tolerance = Tolerance {
        pixels: 1.5,
        score: 0.02,
        conf: 0.25,
    };

    #[test]
    fn the_same_objects_in_another_order_are_the_same() {
        let expected = [
            detection(1, 0.753, 30.0),
            detection(1, 0.743, 90.0),
            detection(2, 0.5, 30.0),
        ];
        let found = [
            detection(2, 0.49, 30.0),
            detection(1, 0.748, 91.0),
            detection(1, 0.747, 30.0),
        ];
        let most = Difference::of(&found, &expected, MAY).unwrap();
        assert_eq!((most.objects, most.pixels), (3, 1.0));
        assert!((most.score - 0.01).abs() < 1e-6, "{most:?}");
        // One that only one of the two has above the threshold.
        let near = [&found[..], &[detection(0, 0.26, 50.0)]].concat();
        Difference::of(&near, &expected, MAY).unwrap();
        Difference::of(&expected, &near, MAY).unwrap();
    }

    #[test]
    fn what_is_missing_moved_or_new_is_told() {
        let expected = [detection(1, 0.75, 30.0), detection(2, 0.5, 60.0)];
        for (found, word) in [
            (vec![expected[0]], "not found"),
            (vec![expected[0], detection(1, 0.5, 60.0)], "not found"),
            (vec![expected[0], detection(2, 0.5, 62.0)], "2.00 pixels"),
            (
                vec![expected[0], detection(2, 0.45, 60.0)],
                "0.0500 of score",
            ),
            (
                vec![expected[0], expected[1], detection(2, 0.28, 60.0)],
                "not expected",
            ),
        ] {
            let error = Difference::of(&found, &expected, MAY).unwrap_err();
            assert!(error.to_string().contains(word), "{error}");
        }
    }

    #[test]
    fn boxes_pair_by_the_best_cover() {
        let boxed = |x1: f32| Boxed {
            class: 0,
            bbox: [x1, 0.0, x1 + 10.0, 10.0],
        };
        // The first of `b` lies nearer to the second of `a`.
        let (a, b) = ([boxed(0.0), boxed(2.0)], [boxed(1.8), boxed(-1.0)]);
        assert_eq!(pairs(&a, &b, 0.5), [(1, 0), (0, 1)]);
        assert_eq!(pairs(&a, &b[..1], 0.5), [(1, 0)]);
        assert_eq!(pairs(&a, &b, 0.9), [(1, 0)]);
        assert_eq!(pairs(&a, &[], 0.5), []);
    }
}
