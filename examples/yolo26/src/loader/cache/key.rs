//! What a cache is made from.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use anyhow::{Context, Result};
use serde::Serialize;

use super::super::Form;
use crate::preprocess::Options;

/// Two caches of one key hold the same.
pub struct Key {
    text: String,
    images: usize,
}

#[derive(Serialize)]
struct Made<'a> {
    #[serde(flatten)]
    form: Form,
    /// By what the images were decoded and scaled.
    by: &'a str,
    images: Vec<Image>,
}

/// A file as it was.
#[derive(Serialize)]
struct Image {
    path: PathBuf,
    bytes: u64,
    /// When it was last written, in nanoseconds since 1970.
    modified: u64,
}

impl Key {
    /// Of these images as they are now.
    pub fn of(images: &[PathBuf], form: Form) -> Result<Self> {
        let images = images.iter().map(|path| Image::of(path));
        let made = Made {
            form,
            by: &Options { jpeg: form.jpeg }.key(),
            images: images.collect::<Result<_>>()?,
        };
        Ok(Key {
            text: serde_json::to_string(&made).context("names of images")?,
            images: made.images.len(),
        })
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    pub fn images(&self) -> usize {
        self.images
    }
}

impl Image {
    fn of(path: &Path) -> Result<Self> {
        let read = || {
            let facts = fs::metadata(path)?;
            let modified = facts.modified()?.duration_since(UNIX_EPOCH);
            Ok::<_, std::io::Error>(Image {
                path: std::path::absolute(path)?,
                bytes: facts.len(),
                modified: modified.unwrap_or_default().as_nanos() as u64,
            })
        };
        read().with_context(|| format!("cannot read the image {}", path.display()))
    }
}
