//! Detections as COCO's results have them, and their JSON.

use std::collections::HashMap;
use std::fs;
use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result, bail};
use serde::Deserialize;
use serde_json::{Value, json};

use super::truth::Truth;
use crate::detections::Detection;
use crate::files;

/// A detection as it is written and counted: left, top, width and height to a
/// thousandth of a pixel, the score to five decimals, as Ultralytics rounds them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scored {
    pub class: usize,
    pub bbox: [f64; 4],
    pub score: f64,
}

impl Scored {
    pub fn of(detection: &Detection) -> Self {
        let [x1, y1, x2, y2] = detection.bbox;
        let (w, h) = (x2 - x1, y2 - y1);
        // By way of the centre, in f32, as theirs.
        let (x, y) = ((x1 + x2) / 2.0 - w / 2.0, (y1 + y2) / 2.0 - h / 2.0);
        Scored {
            class: detection.class,
            bbox: [x, y, w, h].map(|side| rounded(side, 3)),
            score: rounded(detection.score, 5),
        }
    }
}

/// The nearest number of so many decimals, of two as near the even one.
fn rounded(value: f32, decimals: usize) -> f64 {
    let text = format!("{:.decimals$}", f64::from(value));
    text.parse().unwrap_or(f64::NAN)
}

/// A detection of COCO's results JSON.
#[derive(Deserialize)]
struct Line {
    image_id: Value,
    category_id: Value,
    bbox: [f64; 4],
    score: f64,
}

/// Reads COCO's results JSON: an entry for each image of the truth.
pub fn read(path: &Path, truth: &Truth) -> Result<Vec<Vec<Scored>>> {
    let shown = path.display();
    let text = fs::read(path).with_context(|| format!("cannot read {shown}"))?;
    let lines: Vec<Line> = serde_json::from_slice(&text)
        .with_context(|| format!("{shown} is not COCO's results JSON"))?;
    let images = truth.images.iter().enumerate();
    let images: HashMap<&Value, usize> = images.map(|(at, image)| (&image.id, at)).collect();
    let classes = truth.categories.iter().enumerate();
    let classes: HashMap<&Value, usize> = classes.map(|(at, class)| (&class.id, at)).collect();
    let mut found = vec![Vec::new(); truth.images.len()];
    for line in lines {
        let (Some(&image), Some(&class)) =
            (images.get(&line.image_id), classes.get(&line.category_id))
        else {
            bail!(
                "{shown}: the ground truth has no image {} or no category {}",
                line.image_id,
                line.category_id
            );
        };
        found[image].push(Scored {
            class,
            bbox: line.bbox,
            score: line.score,
        });
    }
    Ok(found)
}

/// Writes COCO's results JSON, a line a detection.
pub fn write(path: &Path, truth: &Truth, found: &[Vec<Scored>]) -> Result<()> {
    let mut text = Vec::new();
    let mut between = "[\n";
    for (image, found) in truth.images.iter().zip(found) {
        for scored in found {
            let line: Value = json!({
                "image_id": image.id,
                "file_name": image.file_name,
                "category_id": truth.categories[scored.class].id,
                "bbox": scored.bbox,
                "score": scored.score,
            });
            write!(text, "{between}{line}")?;
            between = ",\n";
        }
    }
    let end = if text.is_empty() { "[]\n" } else { "\n]\n" };
    text.extend_from_slice(end.as_bytes());
    files::write(path, &text)
}
