//! `val`: how good the detections are, by COCO's rules. `bench` runs the images;
//! its outputs are compared with YOLO label files or with COCO's JSON.

mod detections;
mod gather;
mod metrics;
mod show;
#[cfg(test)]
mod tests;
mod truth;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Result, bail};

use crate::bench;
use crate::cli::{ScoreArgs, ValArgs};
use crate::dataset::DataSet;
use crate::detections::{Detection, Wanted};
use crate::files;
use crate::names::Names;
use crate::preprocess::Mode;
use detections::Scored;
use metrics::evaluate;
use truth::Truth;

pub use gather::Gather;
pub use metrics::Metrics;

pub fn run(args: &ValArgs, out: &mut dyn Write) -> Result<()> {
    let wanted = Wanted {
        conf: args.conf,
        ..Wanted::val()
    };
    if args.bench.isolated.is_some() {
        return bench::child(&args.bench, Some(wanted));
    }
    for path in [&args.bench.json, &args.save_json].into_iter().flatten() {
        files::check_writable(path)?;
    }
    let judged = bench::judged(&args.bench, wanted)?;
    write!(out, "{}", judged.metrics)?;
    if let Some(path) = &args.save_json {
        detections::write(path, &judged.truth, &judged.found)?;
        writeln!(out, "detections in {}", path.display())?;
    }
    if let Some(path) = &args.bench.json {
        judged.metrics.write(path)?;
    }
    Ok(())
}

/// `score`: the same of detections that were stored.
pub fn score(args: &ScoreArgs, out: &mut dyn Write) -> Result<()> {
    if let Some(path) = &args.json {
        files::check_writable(path)?;
    }
    let truth = Truth::of_json(&args.ground_truth_json, None)?;
    let found = detections::read(&args.detections, &truth)?;
    let metrics = evaluate(&truth, &found)?;
    write!(out, "{metrics}")?;
    match &args.json {
        Some(path) => metrics.write(path),
        None => Ok(()),
    }
}

/// The truth, and the place where a run leaves what it finds.
pub struct Accuracy {
    truth: Truth,
    pub gather: Arc<Gather>,
}

/// What came of it.
pub struct Judged {
    pub truth: Truth,
    pub found: Vec<Vec<Scored>>,
    pub metrics: Metrics,
}

impl Accuracy {
    /// Of a data set whose truth is in `json`, or else in its label files.
    pub fn of(data: &DataSet, json: Option<&Path>, wanted: Wanted, mode: Mode) -> Result<Self> {
        let gather = Gather::new(&data.images, wanted, mode)?;
        let truth = match json {
            Some(json) => Truth::of_json(json, Some(&data.images))?,
            None => Truth::of_labels(data, gather.sizes())?,
        };
        Ok(Accuracy {
            truth,
            gather: Arc::new(gather),
        })
    }

    /// In the process of one card: another one compares.
    pub fn told(data: &DataSet, wanted: Wanted, mode: Mode) -> Result<Self> {
        Ok(Accuracy {
            truth: Truth::default(),
            gather: Arc::new(Gather::new(&data.images, wanted, mode)?),
        })
    }

    /// Counts what the run found.
    pub fn judge(self, images: &[PathBuf], model: &Names) -> Result<Judged> {
        let Accuracy { mut truth, gather } = self;
        let found = gather.take()?;
        truth.agree(model, &found);
        let classes = truth.categories.len();
        let scored = |(found, image): (Vec<Detection>, &PathBuf)| {
            if let Some(foreign) = found.iter().find(|one| one.class >= classes) {
                bail!(
                    "the model finds class {} on {}; the ground truth has {classes} classes, so it \
                     is of other objects",
                    foreign.class,
                    image.display()
                );
            }
            Ok(found.iter().map(Scored::of).collect())
        };
        let found = found.into_iter().zip(images).map(scored);
        let found: Vec<Vec<Scored>> = found.collect::<Result<_>>()?;
        let metrics = evaluate(&truth, &found)?;
        Ok(Judged {
            truth,
            found,
            metrics,
        })
    }
}
