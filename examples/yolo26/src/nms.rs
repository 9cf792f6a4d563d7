//! Non-maximum suppression for a dense head: of overlapping boxes of a class only
//! the best stays. Semantics and arithmetic are those of Ultralytics' function, so
//! that the same boxes stay.

use crate::detections::{ROW, Wanted};

/// Only so many candidates of an image, the best, are compared.
const MOST: usize = 30_000;
/// Ultralytics moves the boxes of each class so far away from the others' that
/// all can be compared at once. Here each class is compared by itself, but what
/// that costs in digits decides near the threshold.
const APART: f32 = 7680.0;

/// The rows of one image: `values` are (4 + classes, anchors).
pub fn rows(values: &[f32], classes: usize, anchors: usize, wanted: &Wanted) -> Vec<[f32; ROW]> {
    let mut rows = candidates(values, classes, anchors, wanted);
    // Equal scores stay in the order of the anchors.
    rows.sort_by(|a, b| b[4].total_cmp(&a[4]));
    rows.truncate(MOST);
    let mut kept: Vec<Vec<Moved>> = vec![Vec::new(); classes];
    let mut best = Vec::new();
    for row in rows {
        if best.len() == wanted.most {
            break;
        }
        let moved = Moved::of(&row);
        let same = &mut kept[row[5] as usize];
        if !same.iter().any(|better| moved.iou(better) > wanted.iou) {
            same.push(moved);
            best.push(row);
        }
    }
    best
}

/// The boxes with a score above the threshold: of each anchor the best class, or
/// all that are above it.
fn candidates(values: &[f32], classes: usize, anchors: usize, wanted: &Wanted) -> Vec<[f32; ROW]> {
    let (boxes, scores) = values.split_at(4 * anchors);
    // Class by class, as they lie in memory.
    let mut best = vec![(f32::NEG_INFINITY, 0); anchors];
    let mut above = Vec::new();
    for (class, scores) in scores.chunks_exact(anchors).take(classes).enumerate() {
        for (anchor, (&score, best)) in scores.iter().zip(&mut best).enumerate() {
            if score > best.0 {
                *best = (score, class);
            }
            if wanted.multi_label && score > wanted.conf {
                above.push((anchor, class, score));
            }
        }
    }
    if wanted.multi_label {
        above.sort_unstable_by_key(|&(anchor, class, _)| (anchor, class));
    } else {
        let each = best.iter().enumerate();
        let good = each.filter(|(_, (score, _))| *score > wanted.conf);
        above = good
            .map(|(anchor, &(score, class))| (anchor, class, score))
            .collect();
    }
    let corner = |(anchor, class, score): (usize, usize, f32)| {
        let [cx, cy, w, h] = [0, 1, 2, 3].map(|i| boxes[i * anchors + anchor]);
        let (w, h) = (w / 2.0, h / 2.0);
        [cx - w, cy - h, cx + w, cy + h, score, class as f32]
    };
    above.into_iter().map(corner).collect()
}

/// A box at its class's place.
#[derive(Clone, Copy)]
struct Moved {
    bbox: [f32; 4],
    area: f32,
}

impl Moved {
    fn of(&[x1, y1, x2, y2, _, class]: &[f32; ROW]) -> Self {
        let bbox = [x1, y1, x2, y2].map(|side| side + class * APART);
        Moved {
            bbox,
            area: (bbox[2] - bbox[0]) * (bbox[3] - bbox[1]),
        }
    }

    fn iou(&self, other: &Self) -> f32 {
        let (a, b) = (self.bbox, other.bbox);
        let width = (a[2].min(b[2]) - a[0].max(b[0])).max(0.0);
        let height = (a[3].min(b[3]) - a[1].max(b[1])).max(0.0);
        let shared = width * height;
        shared / (self.area + other.area - shared)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Made by `tools/nms_vectors.py`.
    static VECTORS: &[u8] = include_bytes!("tests/nms.bin");

    fn number(rest: &mut &[u8]) -> usize {
        let (bytes, others) = rest.split_first_chunk().unwrap();
        *rest = others;
        u32::from_le_bytes(*bytes) as usize
    }

    fn floats(rest: &mut &[u8], count: usize) -> Vec<f32> {
        let (bytes, others) = rest.split_at(4 * count);
        *rest = others;
        let (values, _) = bytes.as_chunks();
        values.iter().map(|v| f32::from_le_bytes(*v)).collect()
    }

    #[test]
    fn the_same_rows_stay_as_in_ultralytics() {
        let mut rest = VECTORS;
        let (classes, anchors) = (number(&mut rest), number(&mut rest));
        let values = floats(&mut rest, (4 + classes) * anchors);
        for wanted in [Wanted::predict(0.25), Wanted::val()] {
            let count = number(&mut rest);
            let expected = floats(&mut rest, count * ROW);
            let found = rows(&values, classes, anchors, &wanted);
            assert_eq!(found.as_flattened(), expected, "{wanted:?}");
            let few = Wanted { most: 5, ..wanted };
            assert_eq!(rows(&values, classes, anchors, &few), found[..5]);
        }
        assert!(rest.is_empty());
    }

    #[test]
    fn what_is_no_number_is_no_object() {
        let values = [10.0, 10.0, 4.0, 4.0, f32::NAN, 0.5];
        assert!(rows(&values[..5], 1, 1, &Wanted::val()).is_empty());
        assert_eq!(
            rows(&values, 2, 1, &Wanted::val()),
            [[8., 8., 12., 12., 0.5, 1.0]]
        );
    }
}
