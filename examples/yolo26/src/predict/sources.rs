//! The images that `--source` names, and the files that are made of them.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use glob::MatchOptions;

use crate::dataset;

/// Each image once, in the order of the sources.
pub fn images(sources: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut known = HashSet::new();
    let mut images = Vec::new();
    for source in sources {
        let found = match source.to_str().filter(|text| is_pattern(text)) {
            // What is there under this very name is no pattern.
            Some(pattern) if !source.exists() => matches(pattern)?,
            _ => dataset::images(source)?,
        };
        images.extend(
            found
                .into_iter()
                .filter(|image| known.insert(image.clone())),
        );
    }
    Ok(images)
}

fn is_pattern(text: &str) -> bool {
    text.contains(['*', '?', '['])
}

/// As a shell has it: `*` stands for no hidden file.
fn matches(pattern: &str) -> Result<Vec<PathBuf>> {
    let options = MatchOptions {
        require_literal_leading_dot: true,
        ..MatchOptions::new()
    };
    let found = glob::glob_with(pattern, options)
        .with_context(|| format!("--source {pattern}: it is no pattern"))?;
    let found: Vec<PathBuf> = found
        .collect::<Result<_, _>>()
        .with_context(|| format!("--source {pattern}"))?;
    let images = found
        .into_iter()
        .filter(|path| dataset::is_image(path) && path.is_file());
    let images: Vec<PathBuf> = images.collect();
    if images.is_empty() {
        bail!("--source {pattern}: no image has such a name");
    }
    Ok(images)
}

/// A file in `folder` for each image, called as the image is.
pub fn named_after(images: &[PathBuf], folder: &Path, ending: &str) -> Result<Vec<PathBuf>> {
    let mut known = HashSet::new();
    let mut files = Vec::with_capacity(images.len());
    for image in images {
        let name = image.file_stem().unwrap_or_default();
        // Not `with_extension`, which would take a part of `a.b` away.
        let mut name = name.to_owned();
        name.push(ending);
        let file = folder.join(name);
        if !known.insert(file.clone()) {
            bail!(
                "two images would both become {}, {} for one; rename one",
                file.display(),
                image.display()
            );
        }
        files.push(file);
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_are_files_folders_and_patterns() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        for name in [
            "a/1.png",
            "a/2.jpg",
            "a/.3.png",
            "a/notes.txt",
            "b/x[1].png",
            "b/x1.png",
        ] {
            std::fs::create_dir_all(at(name).parent().unwrap()).unwrap();
            std::fs::write(at(name), "").unwrap();
        }
        std::fs::create_dir(at("a/folder.png")).unwrap();
        let found = |sources: &[&str]| {
            let sources: Vec<PathBuf> = sources.iter().map(|source| at(source)).collect();
            let images = images(&sources).map_err(|error| format!("{error:#}"))?;
            let name = |image: &PathBuf| {
                image
                    .strip_prefix(dir.path())
                    .unwrap()
                    .display()
                    .to_string()
            };
            Ok::<_, String>(images.iter().map(name).collect::<Vec<_>>())
        };
        assert_eq!(found(&["a/*"]).unwrap(), ["a/1.png", "a/2.jpg"]);
        assert_eq!(
            found(&["?/*.png"]).unwrap(),
            ["a/1.png", "b/x1.png", "b/x[1].png"]
        );
        // Under its own name it is no pattern; as one it is the other file.
        assert_eq!(found(&["b/x[1].png"]).unwrap(), ["b/x[1].png"]);
        assert_eq!(found(&["b/x[12].png"]).unwrap(), ["b/x1.png"]);
        assert_eq!(
            found(&["b/x1.png", "a/2.jpg", "b/*1.png", "a"]).unwrap(),
            ["b/x1.png", "a/2.jpg", "a/.3.png", "a/1.png"]
        );
        for (source, expected) in [
            ("a/*.webm", "no image has such a name"),
            ("a/[", "no pattern"),
            ("gone.png", "does not exist"),
            ("a/*.txt", "no image has such a name"),
        ] {
            let error = found(&["b", source]).unwrap_err();
            assert!(
                error.contains(expected) && error.contains(source),
                "{error}"
            );
        }
    }

    #[test]
    fn files_are_called_as_the_images_are() {
        let images = ["x/a.b.png", "x/c.jpg"].map(PathBuf::from);
        let files = named_after(&images, Path::new("out"), ".txt").unwrap();
        assert_eq!(files, ["out/a.b.txt", "out/c.txt"].map(PathBuf::from));
        let images = ["x/a.png", "y/a.jpg"].map(PathBuf::from);
        let error = named_after(&images, Path::new("out"), ".txt")
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("out/a.txt") && error.contains("y/a.jpg"),
            "{error}"
        );
    }
}
