//! What a model's output says, whichever head it has.

use serde::{Deserialize, Serialize};

use crate::contract::Head;
use crate::nms;
use crate::preprocess::Letterbox;

/// Values a row: x1, y1, x2, y2, score, class.
pub const ROW: usize = 6;

/// One object.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Detection {
    pub class: usize,
    pub score: f32,
    /// x1, y1, x2, y2 in pixels of the original image.
    pub bbox: [f32; 4],
}

/// Which objects are wanted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wanted {
    /// With a score above this.
    pub conf: f32,
    /// Boxes of a class that overlap more are one object; for a dense head.
    pub iou: f32,
    /// Whether a box may be several classes; for a dense head.
    pub multi_label: bool,
    /// The best so many of an image.
    pub most: usize,
}

impl Wanted {
    /// As Ultralytics' `predict` wants them.
    pub fn predict(conf: f32) -> Self {
        Wanted {
            conf,
            iou: 0.7,
            multi_label: false,
            most: 300,
        }
    }

    /// As Ultralytics' `val` wants them.
    pub fn val() -> Self {
        Wanted {
            multi_label: true,
            ..Wanted::predict(0.001)
        }
    }
}

/// The objects that one image's output tells of, best first, in pixels of the
/// image.
pub fn read(values: &[f32], head: Head, wanted: &Wanted, letterbox: &Letterbox) -> Vec<Detection> {
    let detection = |[x1, y1, x2, y2, score, class]: [f32; ROW]| Detection {
        class: class as usize,
        score,
        bbox: letterbox.to_original([x1, y1, x2, y2]),
    };
    match head {
        Head::EndToEnd { .. } => {
            let (rows, _) = values.as_chunks::<ROW>();
            let good = rows.iter().filter(|row| row[4] > wanted.conf);
            good.take(wanted.most).copied().map(detection).collect()
        }
        Head::Dense { classes, anchors } => {
            let rows = nms::rows(values, classes, anchors, wanted);
            rows.into_iter().map(detection).collect()
        }
    }
}

/// Intersection over union of two boxes.
pub fn iou(a: [f32; 4], b: [f32; 4]) -> f32 {
    let area = |b: [f32; 4]| (b[2] - b[0]).max(0.0) * (b[3] - b[1]).max(0.0);
    let shared = area([
        a[0].max(b[0]),
        a[1].max(b[1]),
        a[2].min(b[2]),
        a[3].min(b[3]),
    ]);
    let union = area(a) + area(b) - shared;
    if union > 0.0 { shared / union } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::preprocess::Mode;

    #[test]
    fn rows_above_the_threshold_come_out_in_image_pixels() {
        let letterbox = Letterbox::new(Mode::Predict, 320, 240, 160);
        #[rustfmt::skip]
        let rows = [
            10.0, 30.0, 60.0, 100.0, 0.9, 3.0,
            10.0, 30.0, 60.0, 100.0, 0.25, 1.0,
            10.0, 30.0, 60.0, 100.0, f32::NAN, 1.0,
            0.0, 0.0, 0.0, 0.0, 0.0, 0.0,
        ];
        let head = Head::EndToEnd { rows: 4 };
        let found = read(&rows, head, &Wanted::predict(0.25), &letterbox);
        let bbox = [20.0, 20.0, 120.0, 160.0];
        assert_eq!(
            found,
            [Detection {
                class: 3,
                score: 0.9,
                bbox
            }]
        );
    }

    #[test]
    fn iou_of_known_boxes() {
        let a = [0.0, 0.0, 2.0, 2.0];
        assert_eq!(iou(a, a), 1.0);
        assert_eq!(iou(a, [1.0, 0.0, 3.0, 2.0]), 2.0 / 6.0);
        assert_eq!(iou(a, [5.0, 5.0, 6.0, 6.0]), 0.0);
        assert_eq!(iou([1.0; 4], [1.0; 4]), 0.0);
    }
}
