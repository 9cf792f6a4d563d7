//! What was found, as text and as JSON, and compared with another run's JSON.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};

use crate::detections::Detection;
use crate::files;
use crate::matching::{Difference, Tolerance};
use crate::names::{Names, name_of};

/// An image and what is on it.
#[derive(Serialize, Deserialize)]
pub struct Told {
    pub image: String,
    pub width: u32,
    pub height: u32,
    pub objects: Vec<Object>,
}

#[derive(Serialize, Deserialize)]
pub struct Object {
    pub class: usize,
    pub name: String,
    pub score: f32,
    /// x1, y1, x2, y2 in pixels of the image.
    #[serde(rename = "box")]
    pub bbox: [f32; 4],
}

impl Told {
    pub fn of(
        image: &Path,
        (width, height): (u32, u32),
        found: &[Detection],
        names: &Names,
    ) -> Self {
        let object = |detection: &Detection| Object {
            class: detection.class,
            name: name_of(detection.class, names),
            score: detection.score,
            bbox: detection.bbox,
        };
        Told {
            image: image.display().to_string(),
            width,
            height,
            objects: found.iter().map(object).collect(),
        }
    }

    pub fn print(&self, out: &mut dyn Write) -> Result<()> {
        let count = self.objects.len();
        let plural = if count == 1 { "" } else { "s" };
        writeln!(out, "{}: {count} object{plural}", self.image)?;
        for Object {
            name,
            score,
            bbox: [x1, y1, x2, y2],
            ..
        } in &self.objects
        {
            writeln!(out, "  {name} {score:.3}  {x1:.1} {y1:.1} {x2:.1} {y2:.1}")?;
        }
        Ok(())
    }

    fn detections(&self) -> Vec<Detection> {
        let detection = |object: &Object| Detection {
            class: object.class,
            score: object.score,
            bbox: object.bbox,
        };
        self.objects.iter().map(detection).collect()
    }
}

/// Writes them all, an image a line.
pub fn write(path: &Path, all: &[Told]) -> Result<()> {
    let lines: Vec<String> = all
        .iter()
        .map(serde_json::to_string)
        .collect::<Result<_, _>>()?;
    files::write(path, format!("[\n{}\n]\n", lines.join(",\n")).as_bytes())
}

/// What another run wrote.
pub fn read(path: &Path) -> Result<Vec<Told>> {
    let text = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    serde_json::from_slice(&text)
        .with_context(|| format!("{} is not what predict's --json writes", path.display()))
}

/// By how much two runs over the same images differ; fails where it is more than
/// may be.
pub fn compare(found: &[Told], expected: &[Told], may: Tolerance) -> Result<Difference> {
    let by_image = |all| -> BTreeMap<_, _> {
        let all: &[Told] = all;
        all.iter().map(|told| (told.image.as_str(), told)).collect()
    };
    let (found, expected) = (by_image(found), by_image(expected));
    let other = found.keys().find(|image| !expected.contains_key(*image));
    let other = other.or_else(|| expected.keys().find(|image| !found.contains_key(*image)));
    if let Some(image) = other {
        bail!("the two runs are not of the same images: only one has {image}");
    }
    let mut most = Difference::default();
    for (image, told) in &found {
        let expected = expected[image].detections();
        most += Difference::of(&told.detections(), &expected, may)
            .with_context(|| image.to_string())?;
    }
    Ok(most)
}
