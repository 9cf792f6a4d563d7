//! The images of a data set: a folder, or an Ultralytics data set file such as
//! `coco.yaml` (`path`, `val`, `names`).

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use yaml_rust2::{Yaml, YamlLoader};

use crate::names::Names;
use crate::preprocess::ENDINGS;

/// Images, and what their classes are called as far as that is known.
pub struct DataSet {
    pub images: Vec<PathBuf>,
    pub names: Names,
}

/// The image files behind `--data` or `--source`, in order of name.
pub fn images(data: &Path) -> Result<Vec<PathBuf>> {
    Ok(DataSet::open(data)?.images)
}

impl DataSet {
    /// An image, a folder of images, a list of images, or a data set file.
    pub fn open(data: &Path) -> Result<Self> {
        if data.is_dir() {
            return Ok(DataSet::unnamed(folder(data)?));
        }
        if !data.exists() {
            bail!(
                "{} does not exist; give a folder of images or a data set file",
                data.display()
            );
        }
        match ending(data).as_deref() {
            Some("yaml" | "yml") => data_set_file(data),
            Some("txt") => Ok(DataSet::unnamed(list(data, beside(data))?)),
            _ if is_image(data) => Ok(DataSet::unnamed(vec![data.to_owned()])),
            _ => bail!(
                "{} is neither a folder of images nor an image ({}) nor a list of them (.txt) nor \
                 a data set file (.yaml)",
                data.display(),
                ENDINGS.join(", ")
            ),
        }
    }

    fn unnamed(images: Vec<PathBuf>) -> Self {
        DataSet {
            images,
            names: Names::new(),
        }
    }
}

/// Whether the name ends as an image's does.
pub fn is_image(path: &Path) -> bool {
    ending(path).is_some_and(|ending| ENDINGS.contains(&ending.as_str()))
}

fn folder(path: &Path) -> Result<Vec<PathBuf>> {
    let unreadable = || format!("cannot read the folder {}", path.display());
    let mut images = Vec::new();
    for entry in fs::read_dir(path).with_context(unreadable)? {
        let file = entry.with_context(unreadable)?.path();
        if is_image(&file) && file.is_file() {
            images.push(file);
        }
    }
    if images.is_empty() {
        bail!("no images ({}) in {}", ENDINGS.join(", "), path.display());
    }
    images.sort();
    Ok(images)
}

fn data_set_file(file: &Path) -> Result<DataSet> {
    let text = read(file)?;
    let documents = YamlLoader::load_from_str(&text)
        .with_context(|| format!("{} is not readable as YAML", file.display()))?;
    let Some(yaml) = documents.first() else {
        bail!("{} is empty; it needs the entry 'val'", file.display());
    };
    // A relative `path` starts at the file, a relative `val` at `path`.
    let root = beside(file).join(yaml["path"].as_str().unwrap_or(""));
    let places = match &yaml["val"] {
        Yaml::String(place) => vec![place.as_str()],
        Yaml::Array(list) => list.iter().filter_map(Yaml::as_str).collect(),
        _ => bail!(
            "{} has no entry 'val' that names its images",
            file.display()
        ),
    };
    let mut images = Vec::new();
    for place in places {
        let place = root.join(place);
        let found = if ending(&place).as_deref() == Some("txt") {
            list(&place, &root)
        } else {
            folder(&place)
        };
        images.extend(found.with_context(|| format!("data set {}", file.display()))?);
    }
    let names = names(&yaml["names"]).with_context(|| format!("{}", file.display()))?;
    Ok(DataSet { images, names })
}

/// A list of names, or a map from classes to names.
fn names(yaml: &Yaml) -> Result<Names> {
    let text = |yaml: &Yaml| match yaml {
        Yaml::String(text) | Yaml::Real(text) => Some(text.clone()),
        Yaml::Integer(number) => Some(number.to_string()),
        Yaml::Boolean(flag) => Some(flag.to_string()),
        _ => None,
    };
    let names: Option<Names> = match yaml {
        Yaml::BadValue | Yaml::Null => Some(Names::new()),
        Yaml::Array(list) => {
            let named = list.iter().enumerate();
            named
                .map(|(class, name)| Some((class, text(name)?)))
                .collect()
        }
        Yaml::Hash(map) => {
            let class = |key: &Yaml| usize::try_from(key.as_i64()?).ok();
            let named = map.iter();
            named
                .map(|(key, name)| Some((class(key)?, text(name)?)))
                .collect()
        }
        _ => None,
    };
    names.context("'names' is neither a list of names nor a map from classes to names")
}

/// A text file with an image path a line, relative to `root`; with a leading
/// `./`, to the file.
fn list(file: &Path, root: &Path) -> Result<Vec<PathBuf>> {
    let images: Vec<PathBuf> = read(file)?
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .map(|line| match line.strip_prefix("./") {
            Some(line) => beside(file).join(line),
            None => root.join(line),
        })
        .collect();
    if images.is_empty() {
        bail!("{} lists no images", file.display());
    }
    Ok(images)
}

/// The folder of a file.
fn beside(file: &Path) -> &Path {
    file.parent().unwrap_or(Path::new(""))
}

fn read(file: &Path) -> Result<String> {
    fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))
}

fn ending(path: &Path) -> Option<String> {
    Some(path.extension()?.to_str()?.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = dir.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        dir
    }

    fn found(dir: &Path, data: &str) -> Vec<String> {
        let images = images(&dir.join(data)).unwrap();
        images
            .iter()
            .map(|p| {
                p.strip_prefix(dir)
                    .unwrap()
                    .to_str()
                    .unwrap()
                    .replace("./", "")
            })
            .collect()
    }

    #[test]
    fn a_folder_gives_its_images_by_name() {
        let dir = tree(&[
            ("b.JPG", ""),
            ("a.png", ""),
            ("c.jpeg", ""),
            ("notes.txt", ""),
        ]);
        assert_eq!(found(dir.path(), ""), ["a.png", "b.JPG", "c.jpeg"]);
    }

    #[test]
    fn a_data_set_file_names_folders_or_a_list() {
        let dir = tree(&[
            ("set/images/1.png", ""),
            ("set/more/2.png", ""),
            ("set/val.txt", "./images/1.png\n\nmore/2.png\n"),
            ("one.yaml", "path: set\nval: images\nnames:\n  0: a\n"),
            ("two.yaml", "path: set\nval: [images, more]\n"),
            ("three.yaml", "path: set # comment\nval: val.txt\n"),
        ]);
        assert_eq!(found(dir.path(), "one.yaml"), ["set/images/1.png"]);
        for data in ["two.yaml", "three.yaml"] {
            assert_eq!(
                found(dir.path(), data),
                ["set/images/1.png", "set/more/2.png"]
            );
        }
    }

    #[test]
    fn a_data_set_file_names_its_classes() {
        let names = |text: &str| {
            let dir = tree(&[
                ("images/1.webp", ""),
                ("a.yaml", &format!("val: images\n{text}")),
            ]);
            let data = DataSet::open(&dir.path().join("a.yaml"));
            data.map(|data| data.names.into_iter().collect::<Vec<_>>())
        };
        let expected = [(0, "red disc".to_owned()), (2, "no".to_owned())];
        assert_eq!(
            names("names:\n  0: red disc\n  2: \"no\"\n").unwrap(),
            expected
        );
        let expected = [(0, "a".to_owned()), (1, "7".to_owned())];
        assert_eq!(names("names: [a, 7]\n").unwrap(), expected);
        assert_eq!(names("").unwrap(), []);
        for bad in ["names: 80\n", "names: [[a]]\n", "names: {a: 0}\n"] {
            let error = format!("{:#}", names(bad).err().unwrap());
            assert!(error.contains("'names' is neither"), "{error}");
        }
    }

    #[test]
    fn what_holds_no_images_is_named() {
        let dir = tree(&[
            ("empty/readme", ""),
            ("none.yaml", "path: x\n"),
            ("gone.yaml", "path: gone\nval: images\n"),
            ("bad.yaml", "a: [b\n"),
            ("blank.yaml", ""),
            ("model.onnx", ""),
        ]);
        for (data, expected) in [
            ("empty", "no images (bmp, jpeg, jpg, png, webp) in"),
            ("nowhere", "does not exist"),
            ("none.yaml", "no entry 'val'"),
            ("gone.yaml", "cannot read the folder"),
            ("bad.yaml", "not readable as YAML"),
            ("blank.yaml", "is empty"),
            ("model.onnx", "neither a folder of images nor an image"),
        ] {
            let error = format!("{:#}", images(&dir.path().join(data)).unwrap_err());
            assert!(
                error.contains(expected) && error.contains(data),
                "{data}: {error}"
            );
        }
    }
}
