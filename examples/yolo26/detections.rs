//! The model's output: rows of x1, y1, x2, y2, score, class, best first, in
//! pixels of the letterboxed input. YOLO26 needs no NMS.

use crate::preprocess::Letterbox;

/// Values a row.
pub const ROW: usize = 6;

/// One object.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Detection {
    pub class: usize,
    pub score: f32,
    /// x1, y1, x2, y2 in pixels of the original image.
    pub bbox: [f32; 4],
}

/// The rows of one image with a score above `conf`, in pixels of the image.
pub fn read(rows: &[f32], conf: f32, letterbox: &Letterbox) -> Vec<Detection> {
    let (rows, _) = rows.as_chunks::<ROW>();
    rows.iter()
        .filter(|row| row[4] > conf)
        .map(|&[x1, y1, x2, y2, score, class]| Detection {
            class: class as usize,
            score,
            bbox: letterbox.to_original([x1, y1, x2, y2]),
        })
        .collect()
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
        let found = read(&rows, 0.25, &letterbox);
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
