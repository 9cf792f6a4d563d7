//! `--cache`: all images of a run, made ready once, in a file that is mapped into
//! memory.
//!
//! The file says what it was made from, and is used again as long as that is what
//! is there; otherwise it is made anew. It is written beside its place and renamed,
//! then never written again, so a process that has it mapped keeps what it mapped
//! whatever others do. Of several processes that want the same file one makes it,
//! the others wait.
//!
//! u8 takes a quarter of f32's room; other models get their values made of it while
//! they are copied into the batch.

mod build;
mod file;
mod key;
#[cfg(all(test, unix))]
mod tests;

use std::fmt::{self, Display, Formatter};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use anyhow::{Context, Result, bail};

use super::{Form, name};
use crate::pixels::{Element, Pixels};
use crate::preprocess;
use crate::progress::say;
use half::f16;

use file::{Contents, Unfit};
use key::Key;

/// What a run does with its cache.
#[derive(Clone, Debug)]
pub struct Place {
    pub path: PathBuf,
    /// The element of its values.
    pub element: Element,
    pub quiet: bool,
}

impl Place {
    /// Removes the cache after a run.
    pub fn remove(&self) -> Result<()> {
        let removed = fs::remove_file(&self.path);
        removed.with_context(|| format!("cannot remove the cache {}", self.path.display()))
    }
}

/// Images that need not be decoded.
pub struct Cache {
    path: PathBuf,
    form: Form,
    contents: Contents,
    damaged: AtomicBool,
}

impl Cache {
    /// The cache of these images at `place`, for batches of `form`; made by
    /// `threads` threads where there is none that fits.
    pub fn open(
        place: &Place,
        images: &Arc<[PathBuf]>,
        form: Form,
        threads: usize,
    ) -> Result<Self> {
        if place.element != Element::U8 && place.element != form.element {
            bail!(
                "a cache of {} does not serve a model that takes {}: give --cache-type u8 or {1}",
                name(&place.element),
                name(&form.element)
            );
        }
        let form = Form {
            element: place.element,
            ..form
        };
        let key = Key::of(images, form)?;
        let contents = match Contents::open(&place.path, &key, form)? {
            Ok(contents) => contents,
            Err(unfit) => {
                if !matches!(unfit, Unfit::Missing) {
                    say(
                        place.quiet,
                        &format!("cache {}: {unfit}", place.path.display()),
                    );
                }
                let start = Instant::now();
                let built = build::build(place, &key, images, form, threads)?;
                if built.made {
                    let what = format!(
                        "cache {}: {} images made ready in {:.1} s, {:.1} MB",
                        place.path.display(),
                        images.len(),
                        start.elapsed().as_secs_f64(),
                        built.contents.bytes() as f64 / 1e6
                    );
                    say(place.quiet, &what);
                }
                built.contents
            }
        };
        Ok(Cache {
            path: place.path.clone(),
            form,
            contents,
            damaged: AtomicBool::new(false),
        })
    }

    /// Bytes of one image.
    pub fn image_bytes(&self) -> u64 {
        self.form.bytes() as u64
    }

    /// Copies an image into its place; false where its bytes are not those that
    /// were written.
    pub fn read(&self, index: usize, place: Pixels<'_>) -> bool {
        let Some(bytes) = self.contents.image(index) else {
            return false;
        };
        match (self.form.element, place) {
            (Element::U8, place) => preprocess::spread(bytes, self.form.size, place),
            (Element::F32, Pixels::F32(values)) => {
                for (value, bytes) in values.iter_mut().zip(bytes.as_chunks().0) {
                    *value = f32::from_le_bytes(*bytes);
                }
            }
            (Element::F16, Pixels::F16(values)) => {
                for (value, bytes) in values.iter_mut().zip(bytes.as_chunks().0) {
                    *value = f16::from_le_bytes(*bytes);
                }
            }
            (of, place) => unreachable!("a cache of {of:?} for {place:?}"),
        }
        true
    }

    /// An image of it is damaged, and is loaded from its file. The next run makes
    /// the cache anew.
    pub fn damaged(&self, image: &Path) {
        if !self.damaged.swap(true, Ordering::Relaxed) {
            eprintln!(
                "the cache {} is damaged at {}: what is damaged is decoded again; the next run makes it anew",
                self.path.display(),
                image.display()
            );
            // Where it cannot be removed, the next run says the same.
            let _ = fs::remove_file(&self.path);
        }
    }
}

impl Display for Unfit {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Unfit::Missing => "not there",
            Unfit::Version => "made by another version; made anew",
            Unfit::Damaged => "damaged; made anew",
            Unfit::Other => "made of other images or with other options; made anew",
        })
    }
}
