//! `coco`: COCO's `instances_*.json` becomes YOLO label files and a `coco.yaml`.

mod instances;
mod layout;
#[cfg(test)]
mod tests;
mod yaml;

use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs;
use std::io::{ErrorKind, Write};
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::cli::CocoArgs;
use crate::dataset;
use crate::files;
use layout::Layout;

pub use instances::{Id, Instances, Object};

pub fn run(args: &CocoArgs, out: &mut dyn Write) -> Result<()> {
    let instances = Instances::read(&args.annotations)?;
    let layout = Layout::of(&args.images, &args.output)?;
    let mut texts = labels(&instances, &layout.labels)
        .with_context(|| format!("{}", args.annotations.display()))?;
    let yaml = layout.output.join("coco.yaml");
    texts.push((yaml.clone(), yaml::text(&layout, &instances)?));
    let new = changed(&texts, args.overwrite)?;

    layout.make()?;
    for (path, text) in new {
        files::make_folder(path.parent().unwrap_or(Path::new("")))?;
        files::write(path, text.as_bytes())?;
    }
    tell(&instances, &layout, &yaml, out)
}

/// The label file of each image.
fn labels(instances: &Instances, folder: &Path) -> Result<Vec<(PathBuf, String)>> {
    let mut of: HashMap<PathBuf, &str> = HashMap::new();
    let mut texts = Vec::with_capacity(instances.images.len() + 1);
    for image in &instances.images {
        let name = Path::new(&image.file_name);
        let plain = |part| matches!(part, Component::Normal(_));
        if image.file_name.is_empty() || !name.components().all(plain) {
            bail!(
                "image {} has no file name inside a folder: {name:?}",
                image.id
            );
        }
        let path = folder.join(name).with_extension("txt");
        if let Some(other) = of.insert(path.clone(), &image.file_name) {
            bail!(
                "{other:?} and {name:?} would both have the labels {}; rename one",
                path.display()
            );
        }
        let mut text = String::new();
        for object in image.objects.iter().filter(|object| !object.crowd) {
            let Object { class, bbox, .. } = object;
            let [x, y, w, h] = *bbox;
            let (cx, cy) = ((x + w / 2.0) / image.width, (y + h / 2.0) / image.height);
            let (w, h) = (w / image.width, h / image.height);
            writeln!(text, "{class} {cx:.6} {cy:.6} {w:.6} {h:.6}")?;
        }
        texts.push((path, text));
    }
    Ok(texts)
}

/// Those that are not there as they are to be. What is there and says something
/// else is somebody's work: it is replaced only when asked.
fn changed(texts: &[(PathBuf, String)], overwrite: bool) -> Result<Vec<&(PathBuf, String)>> {
    let mut new = Vec::new();
    for file in texts {
        let (path, text) = file;
        match fs::read(path) {
            Ok(old) if old == text.as_bytes() => continue,
            Ok(_) if !overwrite => bail!(
                "{} is there and says something else; move it away, or say --overwrite",
                path.display()
            ),
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => {
                return Err(error).with_context(|| format!("cannot read {}", path.display()));
            }
        }
        new.push(file);
    }
    Ok(new)
}

fn tell(instances: &Instances, layout: &Layout, yaml: &Path, out: &mut dyn Write) -> Result<()> {
    let images = &instances.images;
    let objects = || images.iter().flat_map(|image| &image.objects);
    let crowds = objects().filter(|object| object.crowd).count();
    let empty = images
        .iter()
        .filter(|image| image.objects.iter().all(|object| object.crowd));
    writeln!(
        out,
        "{}: {} images, {} of them without objects; {} objects of {} classes; left out: {crowds} \
         crowds, {} without a box",
        layout.labels.display(),
        images.len(),
        empty.count(),
        objects().count() - crowds,
        instances.categories.len(),
        instances.boxless,
    )?;
    let there = |name: &str| layout.images.join(name).is_file();
    let mut gone = images.iter().filter(|image| !there(&image.file_name));
    if let Some(first) = gone.next() {
        writeln!(
            out,
            "{} of the images are not in {}, {} for one",
            1 + gone.count(),
            layout.images.display(),
            first.file_name
        )?;
    }
    let known: HashMap<_, _> = images
        .iter()
        .map(|image| (image.file_name.as_str(), ()))
        .collect();
    let known = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str());
        name.is_some_and(|name| known.contains_key(name))
    };
    let found = dataset::images(&layout.images).unwrap_or_default();
    let mut more = found.iter().filter(|path| !known(path));
    if let Some(first) = more.next() {
        writeln!(
            out,
            "{} images there are not in the annotations, {} for one",
            1 + more.count(),
            first.display()
        )?;
    }
    if layout.link.is_some() {
        writeln!(
            out,
            "the images are linked into {}; Ultralytics follows the link, and would look for labels \
             beside the images themselves",
            layout.output.display()
        )?;
    }
    writeln!(out, "wrote {}", yaml.display())?;
    Ok(())
}
