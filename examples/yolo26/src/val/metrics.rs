//! Average precision by COCO's rules, counted by the crate `hotcoco`, whose
//! numbers are those of pycocotools to the last bit.

use anyhow::{Context, Result};
use hotcoco::detection::AccumulatedEval;
use hotcoco::params::{IouType, Params};
use hotcoco::{Annotation, Category, EvalMode, StreamingEval};

use super::detections::Scored;
use super::truth::Truth;
use crate::coco::Object;

/// Images that are counted at a time.
const CHUNK: usize = 500;

/// The names of COCO's twelve numbers, in its order.
pub const KEYS: [&str; 12] = [
    "AP", "AP50", "AP75", "APs", "APm", "APl", "AR1", "AR10", "AR100", "ARs", "ARm", "ARl",
];

/// How good the detections are. `None` where there was nothing to find.
#[derive(Clone, Debug, PartialEq)]
pub struct Metrics {
    pub images: usize,
    /// Without the crowds.
    pub objects: usize,
    pub detections: usize,
    /// As [`KEYS`] names them.
    pub stats: [Option<f64>; 12],
    pub classes: Vec<ClassMetrics>,
}

/// Those of a class.
#[derive(Clone, Debug, PartialEq)]
pub struct ClassMetrics {
    pub name: String,
    /// Images that have it.
    pub images: usize,
    pub objects: usize,
    /// Mean over the IoU thresholds from 0.5 to 0.95.
    pub ap: Option<f64>,
    pub ap50: Option<f64>,
    /// Recall with 100 detections an image, mean over the thresholds.
    pub recall: Option<f64>,
}

impl Metrics {
    /// Mean average precision at an IoU of 0.5; 0 where there was nothing to find.
    pub fn map50(&self) -> f64 {
        self.stats[1].unwrap_or(0.0)
    }

    /// The same over the thresholds from 0.5 to 0.95.
    pub fn map50_95(&self) -> f64 {
        self.stats[0].unwrap_or(0.0)
    }
}

/// Compares what was found with the truth, image by image.
pub fn evaluate(truth: &Truth, found: &[Vec<Scored>]) -> Result<Metrics> {
    assert_eq!(truth.images.len(), found.len(), "an entry an image");
    let categories = truth.categories.iter().enumerate();
    let categories = categories.map(|(class, category)| Category {
        id: class as u64,
        name: category.name.clone(),
        ..Category::default()
    });
    let params = Params::new(IouType::Bbox);
    let mut counter = StreamingEval::new(params, EvalMode::Coco, categories.collect())?;
    // Images of the same score go in the order of their ids.
    let mut order: Vec<usize> = (0..found.len()).collect();
    order.sort_by_key(|&image| truth.images[image].rank);
    let mut numbered = (1..).zip(order);
    loop {
        let chunk: Vec<(u64, usize)> = numbered.by_ref().take(CHUNK).collect();
        if chunk.is_empty() {
            break;
        }
        let images = chunk.iter().map(|&(id, _)| hotcoco::Image {
            id,
            ..hotcoco::Image::default()
        });
        let objects = chunk.iter().flat_map(|&(id, image)| {
            let objects = &truth.images[image].objects;
            objects.iter().map(move |object| labelled(id, object))
        });
        let detections = chunk.iter().flat_map(|&(id, image)| {
            let found = found[image].iter();
            found.map(move |scored| detected(id, scored))
        });
        counter
            .update(images.collect(), objects.collect(), detections.collect())
            .context("the detections cannot be compared with the ground truth")?;
    }
    let mut counted = counter.finalize();
    counted.accumulate();
    // Unlike `summarize` it prints nothing.
    counted.summarize_lines();
    let stats = counted.stats().context("no sums")?;
    let stats = std::array::from_fn(|i| known(stats[i]));
    let sums = counted.accumulated().context("no sums")?;
    let classes = 0..truth.categories.len();
    let objects = truth.images.iter().flat_map(|image| &image.objects);
    Ok(Metrics {
        images: found.len(),
        objects: objects.filter(|object| !object.crowd).count(),
        detections: found.iter().map(Vec::len).sum(),
        stats,
        classes: classes.map(|class| of_class(truth, sums, class)).collect(),
    })
}

fn labelled(image_id: u64, object: &Object) -> Annotation {
    Annotation {
        image_id,
        category_id: object.class as u64,
        bbox: Some(object.bbox),
        area: Some(object.area),
        iscrowd: object.crowd,
        ..Annotation::default()
    }
}

fn detected(image_id: u64, scored: &Scored) -> Annotation {
    Annotation {
        image_id,
        category_id: scored.class as u64,
        bbox: Some(scored.bbox),
        score: Some(scored.score),
        ..Annotation::default()
    }
}

/// COCO writes -1 where there is nothing to count.
fn known(value: f64) -> Option<f64> {
    (value > -1.0).then_some(value)
}

fn of_class(truth: &Truth, sums: &AccumulatedEval, class: usize) -> ClassMetrics {
    let shape = &sums.shape;
    // All areas come first, 100 detections last.
    let (area, most) = (0, shape.m - 1);
    let precision = |t: usize| {
        let curve = (0..shape.r).map(move |r| sums.precision_idx(t, r, class, area, most));
        curve.map(|at| sums.precision[at])
    };
    let recall = (0..shape.t).map(|t| sums.recall[sums.recall_idx(t, class, area, most)]);
    let of = |image: &&super::truth::Image| image.objects.iter().any(|o| is(o, class));
    let objects = truth.images.iter().flat_map(|image| &image.objects);
    ClassMetrics {
        name: truth.categories[class].name.clone(),
        images: truth.images.iter().filter(of).count(),
        objects: objects.filter(|object| is(object, class)).count(),
        ap: mean((0..shape.t).flat_map(precision)),
        ap50: mean(precision(0)),
        recall: mean(recall),
    }
}

/// Whether it counts as an object of the class.
fn is(object: &Object, class: usize) -> bool {
    object.class == class && !object.crowd
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let known: Vec<f64> = values.filter_map(known).collect();
    (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64)
}
