//! The metrics as text and as JSON.

use std::fmt;
use std::path::Path;

use anyhow::Result;
use serde_json::{Value, json};

use crate::files;

use super::metrics::{ClassMetrics, KEYS, Metrics};

/// The longest name of a class that a table leaves whole.
const NAME: usize = 24;

impl fmt::Display for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.classes(f)?;
        self.sizes(f)?;
        writeln!(f, "mAP50: {:.3}", self.map50())?;
        writeln!(f, "mAP50-95: {:.3}", self.map50_95())
    }
}

impl Metrics {
    fn classes(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.classes.iter().map(|class| class.name.chars().count());
        let width = names.max().unwrap_or(0).clamp(5, NAME);
        let line = |name: &str, images: usize, objects: usize, values: [Option<f64>; 3]| {
            let name: String = name.chars().take(NAME).collect();
            let values = values.map(|value| format!(" {:>8}", shown(value))).concat();
            format!("{name:width$} {images:>7} {objects:>8}{values}\n")
        };
        writeln!(
            f,
            "{:width$} {:>7} {:>8} {:>8} {:>8} {:>8}",
            "class", "images", "objects", "AP50", "AP50-95", "recall"
        )?;
        for class in self.classes.iter().filter(|class| class.objects > 0) {
            let ClassMetrics {
                name,
                images,
                objects,
                ap50,
                ap,
                recall,
            } = class;
            f.write_str(&line(name, *images, *objects, [*ap50, *ap, *recall]))?;
        }
        let [ap, ap50, .., recall, _, _, _] = self.stats;
        f.write_str(&line("all", self.images, self.objects, [ap50, ap, recall]))?;
        let without = self
            .classes
            .iter()
            .filter(|class| class.objects == 0)
            .count();
        if without > 0 {
            writeln!(f, "{without} more classes are on none of the images")?;
        }
        writeln!(f)
    }

    /// COCO's twelve numbers: rows of a threshold, columns of a size.
    fn sizes(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [
            ap,
            ap50,
            ap75,
            aps,
            apm,
            apl,
            ar1,
            ar10,
            ar100,
            ars,
            arm,
            arl,
        ] = self.stats;
        let what = format!("COCO's numbers, of {} detections", self.detections);
        writeln!(
            f,
            "{what:<42} {:>7} {:>7} {:>7} {:>7}",
            "all", "small", "medium", "large"
        )?;
        for (what, values) in [
            ("precision, IoU 0.50 to 0.95", &[ap, aps, apm, apl][..]),
            ("precision, IoU 0.50", &[ap50]),
            ("precision, IoU 0.75", &[ap75]),
            ("recall, 1 detection an image", &[ar1]),
            ("recall, 10 detections an image", &[ar10]),
            ("recall, 100 detections an image", &[ar100, ars, arm, arl]),
        ] {
            write!(f, "  {what:<40}")?;
            values
                .iter()
                .try_for_each(|value| write!(f, " {:>7}", shown(*value)))?;
            writeln!(f)?;
        }
        writeln!(f)
    }

    /// As COCO names them, and as Ultralytics does; null where there was nothing
    /// to find.
    pub fn to_json(&self) -> Value {
        let mut json = json!({
            "images": self.images,
            "objects": self.objects,
            "detections": self.detections,
            "mAP50": self.stats[1],
            "mAP50-95": self.stats[0],
        });
        for (key, value) in KEYS.iter().zip(self.stats) {
            json[key] = value.into();
        }
        let class = |class: &ClassMetrics| {
            json!({
                "name": class.name,
                "images": class.images,
                "objects": class.objects,
                "AP": class.ap,
                "AP50": class.ap50,
                "AR100": class.recall,
            })
        };
        json["classes"] = self.classes.iter().map(class).collect();
        json
    }
}

impl Metrics {
    pub fn write(&self, path: &Path) -> Result<()> {
        files::write_json(path, &self.to_json())
    }
}

fn shown(value: Option<f64>) -> String {
    value.map_or("-".into(), |value| format!("{value:.3}"))
}
