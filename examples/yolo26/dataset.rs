//! The images of a data set: a folder, or an Ultralytics data set file such as
//! `coco.yaml` (`path`, `val`, `names`).

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use yaml_rust2::{Yaml, YamlLoader};

const ENDINGS: [&str; 3] = ["png", "jpg", "jpeg"];

/// The image files behind `--data` or `--source`, in order of name.
pub fn images(data: &Path) -> Result<Vec<PathBuf>> {
    if data.is_dir() {
        return folder(data);
    }
    if !data.exists() {
        bail!(
            "{} does not exist; give a folder of images or a data set file",
            data.display()
        );
    }
    match ending(data).as_deref() {
        Some("yaml" | "yml") => data_set_file(data),
        Some(e) if ENDINGS.contains(&e) => Ok(vec![data.to_owned()]),
        _ => bail!(
            "{} is neither a folder of images nor an image ({}) nor a data set file (.yaml)",
            data.display(),
            ENDINGS.join(", ")
        ),
    }
}

fn folder(path: &Path) -> Result<Vec<PathBuf>> {
    let unreadable = || format!("cannot read the folder {}", path.display());
    let mut images = Vec::new();
    for entry in fs::read_dir(path).with_context(unreadable)? {
        let file = entry.with_context(unreadable)?.path();
        if ending(&file).is_some_and(|e| ENDINGS.contains(&e.as_str())) && file.is_file() {
            images.push(file);
        }
    }
    if images.is_empty() {
        bail!("no images ({}) in {}", ENDINGS.join(", "), path.display());
    }
    images.sort();
    Ok(images)
}

fn data_set_file(file: &Path) -> Result<Vec<PathBuf>> {
    let text = read(file)?;
    let documents = YamlLoader::load_from_str(&text)
        .with_context(|| format!("{} is not readable as YAML", file.display()))?;
    let Some(yaml) = documents.first() else {
        bail!("{} is empty; it needs the entry 'val'", file.display());
    };
    // A relative `path` starts at the file, a relative `val` at `path`.
    let beside = file.parent().unwrap_or(Path::new(""));
    let root = beside.join(yaml["path"].as_str().unwrap_or(""));
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
    Ok(images)
}

/// A text file with an image path a line, relative to `root`.
fn list(file: &Path, root: &Path) -> Result<Vec<PathBuf>> {
    let images: Vec<PathBuf> = read(file)?
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .map(|line| root.join(line))
        .collect();
    if images.is_empty() {
        bail!("{} lists no images", file.display());
    }
    Ok(images)
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
            ("empty", "no images (png, jpg, jpeg) in"),
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
