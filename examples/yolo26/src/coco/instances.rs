//! COCO's `instances_*.json`: images, objects and categories, checked. Masks are
//! skipped while reading.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use serde::Deserialize;
use serde::de::{self, Deserializer, Visitor};

/// What the file says, objects with their images. A class is the place of its
/// category in the order of the ids.
pub struct Instances {
    /// Category ids and names, in the order of the ids.
    pub categories: Vec<(Id, String)>,
    /// In the file's order.
    pub images: Vec<Image>,
    /// Annotations that have no box.
    pub boxless: usize,
}

/// An image of the file.
pub struct Image {
    pub id: Id,
    pub file_name: String,
    pub width: f64,
    pub height: f64,
    /// In the file's order.
    pub objects: Vec<Object>,
}

/// A labelled object.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Object {
    pub class: usize,
    /// Left, top, width, height in pixels of the image.
    pub bbox: [f64; 4],
    /// Of its mask where there is one; decides on small, medium or large.
    pub area: f64,
    /// A group that nobody counted.
    pub crowd: bool,
}

/// An id: a whole number of any size that JSON readers agree on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Id(i128);

impl Id {
    /// As JSON has it.
    pub fn to_json(self) -> serde_json::Value {
        match (u64::try_from(self.0), i64::try_from(self.0)) {
            (Ok(id), _) => id.into(),
            (_, Ok(id)) => id.into(),
            _ => unreachable!("read from one of the two"),
        }
    }
}

impl From<u64> for Id {
    fn from(id: u64) -> Self {
        Id(id.into())
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[derive(Deserialize)]
struct File {
    images: Vec<FileImage>,
    annotations: Vec<Annotation>,
    categories: Vec<Category>,
}

#[derive(Deserialize)]
struct FileImage {
    id: Id,
    file_name: String,
    width: f64,
    height: f64,
}

#[derive(Deserialize)]
struct Annotation {
    #[serde(default)]
    id: Option<Id>,
    image_id: Id,
    category_id: Id,
    #[serde(default)]
    bbox: Option<Vec<f64>>,
    #[serde(default)]
    area: Option<f64>,
    #[serde(default, deserialize_with = "flag")]
    iscrowd: bool,
}

#[derive(Deserialize)]
struct Category {
    id: Id,
    name: String,
}

impl Instances {
    pub fn read(path: &Path) -> Result<Self> {
        let shown = path.display();
        let text = fs::read(path).with_context(|| format!("cannot read {shown}"))?;
        let file: File = serde_json::from_slice(&text)
            .with_context(|| format!("{shown} is not COCO's instances_*.json"))?;
        Instances::check(file).with_context(|| format!("{shown}"))
    }

    fn check(file: File) -> Result<Self> {
        let mut categories: Vec<(Id, String)> = file
            .categories
            .into_iter()
            .map(|c| (c.id, c.name))
            .collect();
        categories.sort_by_key(|(id, _)| *id);
        if let Some(twice) = categories.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            let (id, a, b) = (twice[0].0, &twice[0].1, &twice[1].1);
            bail!("two categories have the id {id}: {a:?} and {b:?}");
        }
        let classes: HashMap<Id, usize> = (0..)
            .zip(&categories)
            .map(|(class, (id, _))| (*id, class))
            .collect();

        let mut images = Vec::with_capacity(file.images.len());
        let (mut places, mut names) = (HashMap::new(), HashSet::new());
        for image in file.images {
            let FileImage {
                id,
                file_name,
                width,
                height,
            } = image;
            if places.insert(id, images.len()).is_some() {
                bail!("two images have the id {id}; the second is {file_name:?}");
            }
            if !names.insert(file_name.clone()) {
                bail!("two images are called {file_name:?}; the second has the id {id}");
            }
            if !(width > 0.0 && height > 0.0) {
                bail!("image {id} ({file_name:?}) has {width} x {height} pixels");
            }
            images.push(Image {
                id,
                file_name,
                width,
                height,
                objects: Vec::new(),
            });
        }
        let mut boxless = 0;
        for annotation in &file.annotations {
            let object = annotation.check(&classes, &places);
            let Some((image, object)) = object.with_context(|| annotation.name())? else {
                boxless += 1;
                continue;
            };
            images[image].objects.push(object);
        }
        Ok(Instances {
            categories,
            images,
            boxless,
        })
    }
}

impl Annotation {
    /// The place of its image, and the object; `None` where it has no box.
    fn check(
        &self,
        classes: &HashMap<Id, usize>,
        images: &HashMap<Id, usize>,
    ) -> Result<Option<(usize, Object)>> {
        let Some(&image) = images.get(&self.image_id) else {
            bail!("the file has no image {}", self.image_id);
        };
        let Some(&class) = classes.get(&self.category_id) else {
            bail!("the file has no category {}", self.category_id);
        };
        let bbox = match self.bbox.as_deref() {
            None | Some([]) => return Ok(None),
            Some(&[x, y, w, h]) => [x, y, w, h],
            Some(other) => bail!("its box has {} numbers, not 4", other.len()),
        };
        if bbox[2] < 0.0 || bbox[3] < 0.0 {
            bail!("its box is {} x {} pixels", bbox[2], bbox[3]);
        }
        let area = self.area.unwrap_or(bbox[2] * bbox[3]);
        let crowd = self.iscrowd;
        Ok(Some((
            image,
            Object {
                class,
                bbox,
                area,
                crowd,
            },
        )))
    }

    fn name(&self) -> String {
        match self.id {
            Some(id) => format!("annotation {id}"),
            None => format!("an annotation of image {}", self.image_id),
        }
    }
}

/// Ids and flags that went through other tools may be whole floats.
impl<'de> Deserialize<'de> for Id {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Whole;
        impl Visitor<'_> for Whole {
            type Value = Id;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a whole number")
            }

            fn visit_u64<E: de::Error>(self, id: u64) -> Result<Id, E> {
                Ok(Id(id.into()))
            }

            fn visit_i64<E: de::Error>(self, id: i64) -> Result<Id, E> {
                Ok(Id(id.into()))
            }

            fn visit_f64<E: de::Error>(self, id: f64) -> Result<Id, E> {
                // Beyond 2^53 a float names no one number.
                let whole = id.fract() == 0.0 && id.abs() <= 9_007_199_254_740_992.0;
                whole
                    .then_some(Id(id as i128))
                    .ok_or_else(|| E::invalid_value(de::Unexpected::Float(id), &self))
            }
        }
        deserializer.deserialize_any(Whole)
    }
}

/// 0 and 1, or false and true.
fn flag<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "iscrowd is 0 or 1")]
    enum Flag {
        Bool(bool),
        Number(Id),
    }
    Ok(match Flag::deserialize(deserializer)? {
        Flag::Bool(flag) => flag,
        Flag::Number(number) => number != Id(0),
    })
}
