//! YOLO label files: `class cx cy w h` a line, in parts of the image's sides.

use std::fmt::Write as _;
use std::fs;
use std::io::ErrorKind;
use std::ops::AddAssign;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::detections::Detection;
use crate::matching::{self, Boxed};

/// From this IoU on a box is the labelled object.
const MATCH: f32 = 0.5;

/// An object that a label file tells of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Label {
    pub class: usize,
    /// Centre, width and height in parts of the image's sides.
    pub bbox: [f64; 4],
}

impl Label {
    /// x1, y1, x2, y2 on an image of that width and height.
    pub fn corners(&self, (width, height): (u32, u32)) -> [f32; 4] {
        let [cx, cy, w, h] = self.bbox;
        let (sx, sy) = (f64::from(width), f64::from(height));
        let side = |centre: f64, half: f64, length: f64| ((centre + half) * length) as f32;
        [
            side(cx, -w / 2.0, sx),
            side(cy, -h / 2.0, sy),
            side(cx, w / 2.0, sx),
            side(cy, h / 2.0, sy),
        ]
    }
}

/// Where the labels of an image of a data set are: in the folder beside its last
/// `images`, called `labels`; without one, beside the image.
pub fn place(image: &Path) -> PathBuf {
    let parts: Vec<_> = image.components().collect();
    let folders = &parts[..parts.len().saturating_sub(1)];
    let last = folders
        .iter()
        .rposition(|part| part.as_os_str() == "images");
    let part = |(at, part): (usize, &std::path::Component<'_>)| match Some(at) == last {
        true => "labels".into(),
        false => part.as_os_str().to_owned(),
    };
    let moved: PathBuf = parts.iter().enumerate().map(part).collect();
    moved.with_extension("txt")
}

/// The labels of an image of a data set; `None` where it has no file.
pub fn of_image(image: &Path) -> Result<Option<Vec<Label>>> {
    let path = place(image);
    match fs::read_to_string(&path) {
        Ok(text) => Ok(Some(parse(&path, &text)?)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| unreadable(&path)),
    }
}

/// The labels of `image` in the folder `labels`.
pub fn read(labels: &Path, image: &Path) -> Result<Vec<Label>> {
    let stem = image.file_stem().unwrap_or_default();
    let path = labels.join(stem).with_extension("txt");
    let text = fs::read_to_string(&path).with_context(|| unreadable(&path))?;
    parse(&path, &text)
}

fn unreadable(path: &Path) -> String {
    format!("cannot read the labels {}", path.display())
}

fn parse(path: &Path, text: &str) -> Result<Vec<Label>> {
    let lines = text.lines().enumerate();
    let lines = lines.filter(|(_, line)| !line.trim().is_empty());
    lines
        .map(|(i, line)| {
            let place = || format!("{}:{}: {line:?}", path.display(), i + 1);
            label(line).with_context(place)
        })
        .collect()
}

fn label(line: &str) -> Result<Label> {
    let words = line.split_whitespace().map(str::parse);
    let numbers: Vec<f64> = words
        .collect::<Result<_, _>>()
        .context("it is not of numbers, `class cx cy w h`")?;
    let [class, rest @ ..] = &numbers[..] else {
        bail!("empty")
    };
    if class.fract() != 0.0 || *class < 0.0 {
        bail!("the class {class} is no whole number");
    }
    let (points, odd) = rest.as_chunks::<2>();
    let bbox = match rest {
        &[cx, cy, w, h] => [cx, cy, w, h],
        // The corners of an outline.
        _ if points.len() > 2 && odd.is_empty() => {
            let side = |axis: usize| {
                let along = points.iter().map(move |point| point[axis]);
                let (low, high) = (
                    along.clone().fold(f64::MAX, f64::min),
                    along.fold(f64::MIN, f64::max),
                );
                ((low + high) / 2.0, high - low)
            };
            let ((cx, w), (cy, h)) = (side(0), side(1));
            [cx, cy, w, h]
        }
        _ => bail!("{} numbers behind the class, not `cx cy w h`", rest.len()),
    };
    if !bbox.iter().all(|side| side.is_finite()) || bbox[2] < 0.0 || bbox[3] < 0.0 {
        bail!("this is no box");
    }
    Ok(Label {
        class: *class as usize,
        bbox,
    })
}

/// Detections as a label file with the score behind each box.
pub fn with_scores(found: &[Detection], (width, height): (u32, u32)) -> String {
    let mut text = String::new();
    for Detection { class, score, bbox } in found {
        let [x1, y1, x2, y2] = bbox.map(f64::from);
        let (sx, sy) = (f64::from(width), f64::from(height));
        let (cx, cy) = ((x1 + x2) / 2.0 / sx, (y1 + y2) / 2.0 / sy);
        let (w, h) = ((x2 - x1) / sx, (y2 - y1) / sy);
        writeln!(text, "{class} {cx:.6} {cy:.6} {w:.6} {h:.6} {score:.6}")
            .expect("writing to a string");
    }
    text
}

/// How detections and labels go together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Check {
    pub objects: usize,
    pub found: usize,
    pub wrong: usize,
}

impl Check {
    /// Each label is found at most once, each detection finds at most one.
    pub fn of(detections: &[Detection], labels: &[Label], size: (u32, u32)) -> Self {
        let found: Vec<Boxed> = detections.iter().map(Boxed::from).collect();
        let there: Vec<Boxed> = labels
            .iter()
            .map(|label| Boxed {
                class: label.class,
                bbox: label.corners(size),
            })
            .collect();
        let pairs = matching::pairs(&found, &there, MATCH).len();
        Check {
            objects: labels.len(),
            found: pairs,
            wrong: detections.len() - pairs,
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
mod tests;
