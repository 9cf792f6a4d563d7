//! What is on the images: from YOLO label files, or from COCO's JSON.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::coco::{Id, Instances, Object};
use crate::dataset::DataSet;
use crate::detections::Detection;
use crate::labels::{self, Label};
use crate::names::{Names, name_of};
use crate::progress::say;

/// The truth of a data set's images.
#[derive(Default)]
pub struct Truth {
    /// Whether the names are its own.
    pub named: bool,
    /// By class.
    pub categories: Vec<Category>,
    /// In the order of the data set.
    pub images: Vec<Image>,
}

/// A class, and the id that results tell it by.
pub struct Category {
    pub id: Value,
    pub name: String,
}

/// An image, and how results tell of it.
pub struct Image {
    pub id: Value,
    pub file_name: String,
    /// Its place in the order of the ids.
    pub rank: usize,
    pub objects: Vec<Object>,
}

impl Truth {
    /// From the label file of each image; `sizes` are widths and heights.
    pub fn of_labels(data: &DataSet, sizes: &[(usize, usize)]) -> Result<Self> {
        let mut images = Vec::with_capacity(data.images.len());
        let mut missing = 0;
        for (rank, (path, &size)) in data.images.iter().zip(sizes).enumerate() {
            let labels = labels::of_image(path)?;
            missing += usize::from(labels.is_none());
            let labels = labels.unwrap_or_default();
            let file_name = file_name(path);
            images.push(Image {
                id: id_of(path),
                file_name,
                rank,
                objects: labels.iter().map(|label| object(label, size)).collect(),
            });
        }
        if missing > 0 {
            let (all, first) = (images.len(), labels::place(&data.images[0]));
            if missing == all {
                bail!(
                    "none of the {all} images has a label file (the first would be {}); give \
                     --ground-truth-json, or make them with `yolo26 coco`",
                    first.display()
                );
            }
            say(
                false,
                &format!("{missing} of {all} images have no label file: nothing is on them"),
            );
        }
        let mut truth = Truth {
            named: !data.names.is_empty(),
            categories: Vec::new(),
            images,
        };
        let objects = truth.images.iter().flat_map(|image| &image.objects);
        let most = objects.map(|object| object.class + 1).max();
        truth.name(most.unwrap_or(0), &data.names);
        Ok(truth)
    }

    /// Makes it tell of `least` classes, and of all that have a name.
    fn name(&mut self, least: usize, names: &Names) {
        let last = names.keys().last().map_or(0, |class| class + 1);
        let classes = 0..least.max(last).max(self.categories.len());
        let category = |class: usize| Category {
            // As Ultralytics numbers them.
            id: (class + 1).into(),
            name: name_of(class, names),
        };
        self.categories = classes.map(category).collect();
    }

    /// Takes the model's word for the classes where the truth has no names; else
    /// says where the two call a class by different ones.
    pub fn agree(&mut self, model: &Names, found: &[Vec<Detection>]) {
        let classes = found.iter().flatten().map(|one| one.class + 1);
        if !self.named {
            self.name(classes.max().unwrap_or(0), model);
            return;
        }
        let other = |(class, category): &(usize, &Category)| {
            model.get(class).is_some_and(|name| *name != category.name)
        };
        let mut others = self.categories.iter().enumerate().filter(other);
        if let Some((class, Category { name, .. })) = others.next() {
            let text = format!(
                "{} classes have another name in the model than in the ground truth: class {class} \
                 is {:?} there and {name:?} here",
                1 + others.count(),
                model[&class]
            );
            say(false, &text);
        }
    }

    /// From COCO's JSON: all its images, or those of a data set.
    pub fn of_json(json: &Path, images: Option<&[PathBuf]>) -> Result<Self> {
        let instances = Instances::read(json)?;
        let found = match images {
            Some(images) => {
                places(&instances, images).with_context(|| format!("{}", json.display()))?
            }
            None => (0..instances.images.len()).collect(),
        };
        let left = instances.images.len() - found.len();
        if left > 0 {
            let text = format!(
                "{left} of {} images of {} are not in the data: they do not count",
                instances.images.len(),
                json.display()
            );
            say(false, &text);
        }
        let mut ids: Vec<Id> = instances.images.iter().map(|image| image.id).collect();
        ids.sort_unstable();
        let mut known: Vec<_> = instances.images.into_iter().map(Some).collect();
        let of = |place: usize| {
            let image = known[place].take().context("an image twice")?;
            Ok(Image {
                id: image.id.to_json(),
                file_name: image.file_name,
                rank: ids.binary_search(&image.id).unwrap_or_default(),
                objects: image.objects,
            })
        };
        let categories = instances.categories.into_iter();
        let categories = categories.map(|(id, name)| Category {
            id: id.to_json(),
            name,
        });
        Ok(Truth {
            named: true,
            categories: categories.collect(),
            images: found.into_iter().map(of).collect::<Result<_>>()?,
        })
    }
}

/// Where the file tells of each image: by its name, its name without the ending,
/// or its number.
fn places(instances: &Instances, images: &[PathBuf]) -> Result<Vec<usize>> {
    let (mut names, mut stems, mut ids) = (HashMap::new(), HashMap::new(), HashMap::new());
    for (place, image) in instances.images.iter().enumerate() {
        let name = Path::new(&image.file_name);
        names.insert(name.file_name(), place);
        stems.insert(name.file_stem(), place);
        ids.insert(image.id, place);
    }
    let mut taken = HashMap::new();
    let mut each = |path: &PathBuf| {
        let by_name = names.get(&path.file_name());
        let by_stem = || stems.get(&path.file_stem());
        let by_number = || ids.get(&number_of(path)?.into());
        let Some(&place) = by_name.or_else(by_stem).or_else(by_number) else {
            bail!("it does not tell of the image {}", path.display());
        };
        if let Some(former) = taken.insert(place, path.clone()) {
            let name = &instances.images[place].file_name;
            bail!(
                "both {} and {} are its image {name:?}",
                former.display(),
                path.display()
            );
        }
        Ok(place)
    };
    images.iter().map(&mut each).collect()
}

/// The number that an image's name is: `000000000139.jpg` is 139.
fn number_of(path: &Path) -> Option<u64> {
    let stem = path.file_stem()?.to_str()?;
    let digits = stem.bytes().all(|byte| byte.is_ascii_digit());
    stem.parse().ok().filter(|_| digits)
}

/// The image's number, or its name.
fn id_of(path: &Path) -> Value {
    match number_of(path) {
        Some(number) => number.into(),
        None => path
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into(),
    }
}

fn file_name(path: &Path) -> String {
    path.file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into()
}

/// The label in pixels.
fn object(label: &Label, (width, height): (usize, usize)) -> Object {
    let [cx, cy, w, h] = label.bbox;
    let (sx, sy) = (width as f64, height as f64);
    let bbox = [(cx - w / 2.0) * sx, (cy - h / 2.0) * sy, w * sx, h * sy];
    Object {
        class: label.class,
        bbox,
        area: bbox[2] * bbox[3],
        crowd: false,
    }
}
