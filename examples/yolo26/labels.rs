//! YOLO label files (`class cx cy w h`, normalised), and detections checked
//! against them.

use std::fs;
use std::ops::AddAssign;
use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::detections::{Detection, iou};

/// From this IoU on a box is the labelled object.
const MATCH: f32 = 0.5;

/// An object that a label file tells of; the box in pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Label {
    pub class: usize,
    pub bbox: [f32; 4],
}

/// The labels of `image` (width, height in `size`) in the folder `labels`.
pub fn read(labels: &Path, image: &Path, size: (u32, u32)) -> Result<Vec<Label>> {
    let stem = image.file_stem().unwrap_or_default();
    let path = labels.join(stem).with_extension("txt");
    let text = fs::read_to_string(&path)
        .with_context(|| format!("cannot read the labels {}", path.display()))?;
    let labels = text
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty());
    labels
        .map(|(i, line)| {
            parse(line, size).with_context(|| {
                format!(
                    "{}:{}: not 'class cx cy w h': {line:?}",
                    path.display(),
                    i + 1
                )
            })
        })
        .collect()
}

fn parse(line: &str, (width, height): (u32, u32)) -> Result<Label> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [class, numbers @ ..] = &words[..] else {
        bail!("empty")
    };
    let numbers: Vec<f32> = numbers
        .iter()
        .map(|n| n.parse())
        .collect::<Result<_, _>>()?;
    let [cx, cy, w, h] = numbers[..] else {
        bail!("{} numbers", numbers.len())
    };
    let (sx, sy) = (width as f32, height as f32);
    let bbox = [
        (cx - w / 2.0) * sx,
        (cy - h / 2.0) * sy,
        (cx + w / 2.0) * sx,
        (cy + h / 2.0) * sy,
    ];
    Ok(Label {
        class: class.parse()?,
        bbox,
    })
}

/// How detections and labels go together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Check {
    pub objects: usize,
    pub found: usize,
    pub wrong: usize,
}

impl Check {
    /// Each detection, best first, takes the label of its class that it covers
    /// best and that none has taken.
    pub fn of(detections: &[Detection], labels: &[Label]) -> Self {
        let mut open: Vec<&Label> = labels.iter().collect();
        for detection in detections {
            let best = open
                .iter()
                .enumerate()
                .filter(|(_, label)| label.class == detection.class)
                .map(|(i, label)| (i, iou(label.bbox, detection.bbox)))
                .filter(|(_, iou)| *iou >= MATCH)
                .max_by(|a, b| a.1.total_cmp(&b.1));
            if let Some((i, _)) = best {
                open.swap_remove(i);
            }
        }
        let found = labels.len() - open.len();
        Check {
            objects: labels.len(),
            found,
            wrong: detections.len() - found,
        }
    }

    /// All found and nothing else?
    pub fn passed(self) -> bool {
        self.found == self.objects && self.wrong == 0
    }
}

impl AddAssign for Check {
    fn add_assign(&mut self, other: Self) {
        self.objects += other.objects;
        self.found += other.found;
        self.wrong += other.wrong;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn detection(class: usize, score: f32, bbox: [f32; 4]) -> Detection {
        Detection { class, score, bbox }
    }

    #[test]
    fn a_label_file_gives_boxes_in_pixels() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(
            dir.path().join("a.txt"),
            "2 0.2 0.35 0.2 0.5\n\n0 0.5 0.5 1 1\n",
        )
        .unwrap();
        let labels = read(dir.path(), Path::new("images/a.png"), (200, 100)).unwrap();
        assert_eq!(labels.len(), 2);
        assert_eq!(labels[0].class, 2);
        let off: f32 = labels[0]
            .bbox
            .iter()
            .zip([20.0, 10.0, 60.0, 60.0])
            .map(|(a, b)| (a - b).abs())
            .sum();
        assert!(off < 1e-3, "{:?}", labels[0]);
        fs::write(dir.path().join("b.txt"), "1 0.5 0.5 0.1 0.1\n1 0.5\n").unwrap();
        let error = format!(
            "{:#}",
            read(dir.path(), Path::new("b.png"), (9, 9)).unwrap_err()
        );
        assert!(error.contains("b.txt:2"), "{error}");
        let error = format!(
            "{:#}",
            read(dir.path(), Path::new("c.png"), (9, 9)).unwrap_err()
        );
        assert!(error.contains("c.txt"), "{error}");
    }

    #[test]
    fn a_label_is_found_once_and_by_its_class() {
        let at = [0.0, 0.0, 10.0, 10.0];
        let far = [50.0, 50.0, 60.0, 60.0];
        let labels = [
            Label { class: 1, bbox: at },
            Label {
                class: 1,
                bbox: far,
            },
        ];
        let check = Check::of(
            &[
                detection(1, 0.9, at),
                detection(1, 0.8, at),
                detection(2, 0.7, far),
            ],
            &labels,
        );
        assert_eq!(
            check,
            Check {
                objects: 2,
                found: 1,
                wrong: 2
            }
        );
        assert!(!check.passed());
        let check = Check::of(&[detection(1, 0.9, far), detection(1, 0.8, at)], &labels);
        assert!(check.passed(), "{check:?}");
        assert!(!Check::of(&[], &labels).passed());
    }
}
