//! Images into batches, on threads that decode ahead of the card.
//!
//! A card has a [`Loader`] of its own with so many threads, made before the clock
//! starts. Every free set is being filled at once: a filler takes the next batch
//! for it, has the threads load its images, and hands it on in its turn. Threads
//! take images in the order of the batches, so one that is slow to decode holds up
//! its batch and no other thread. Memory is the sets and what each thread keeps to
//! decode with; nothing of an image's size is allocated while it runs. Images come
//! from their files, or from a [`cache::Cache`].

pub mod cache;
pub mod command;
mod run;
#[cfg(test)]
mod tests;

use std::ops::Range;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use clap::ValueEnum;
use rayon::{ThreadPool, ThreadPoolBuilder};
use serde::{Serialize, Serializer};

use crate::pixels::{Element, Pixels};
use crate::preprocess::{JpegDecoder, Mode, Options, Preparer};
use cache::Cache;

pub use run::{Decoded, Failed, Filled, Free, GiveBack, Work, sets};

/// What is made of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Form {
    pub element: Element,
    /// Pixels a side.
    pub size: usize,
    #[serde(serialize_with = "by_name")]
    pub letterbox: Mode,
    pub jpeg: JpegDecoder,
}

fn by_name<T: ValueEnum, S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&name(value))
}

/// As the command line has it.
pub fn name(value: &impl ValueEnum) -> String {
    let value = value.to_possible_value().expect("none is hidden");
    value.get_name().to_owned()
}

/// Processors of this machine that this process may use.
pub fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

impl Form {
    /// Values of one image.
    pub fn image(self) -> usize {
        3 * self.size * self.size
    }

    /// Bytes of one image.
    pub fn bytes(self) -> usize {
        self.image() * self.element.size()
    }
}

/// Threads that load images.
pub struct Loader {
    images: Arc<[PathBuf]>,
    form: Form,
    cache: Option<Arc<Cache>>,
    threads: ThreadPool,
    /// One a thread.
    preparers: Vec<Mutex<Preparer>>,
}

/// How a batch was filled.
struct Fill {
    /// When its first image began to be loaded.
    began: Instant,
    /// What the threads spent on it.
    busy: Duration,
}

impl Loader {
    /// Starts `threads` threads.
    pub fn new(
        threads: usize,
        images: Arc<[PathBuf]>,
        form: Form,
        cache: Option<Arc<Cache>>,
    ) -> Result<Self> {
        let pool = ThreadPoolBuilder::new()
            .num_threads(threads)
            .thread_name(|number| format!("loader {number}"))
            .build()
            .with_context(|| format!("cannot start {threads} threads that load images"))?;
        let options = Options { jpeg: form.jpeg };
        let preparer = || Mutex::new(Preparer::new(options));
        Ok(Loader {
            images,
            form,
            cache,
            threads: pool,
            preparers: (0..threads).map(|_| preparer()).collect(),
        })
    }

    /// Loads images into a batch. What they leave of it becomes zeros.
    pub fn fill(&self, images: Range<usize>, values: Pixels<'_>) -> Result<()> {
        self.fill_until(images, values, &AtomicBool::new(false))?;
        Ok(())
    }

    /// As [`Loader::fill`], unless `stop` becomes true: then with images missing.
    /// A failure sets it, too.
    fn fill_until(
        &self,
        images: Range<usize>,
        values: Pixels<'_>,
        stop: &AtomicBool,
    ) -> Result<Fill> {
        let start = Instant::now();
        let began = OnceLock::new();
        let busy = AtomicU64::new(0);
        let failure = Mutex::new(None);
        let one = |index: usize, place: Pixels<'_>| {
            if stop.load(Ordering::Relaxed) {
                return;
            }
            let start = Instant::now();
            began.get_or_init(|| start);
            if let Err(error) = self.load(index, place) {
                stop.store(true, Ordering::Relaxed);
                lock(&failure).get_or_insert(error);
            }
            busy.fetch_add(start.elapsed().as_nanos() as u64, Ordering::Relaxed);
        };
        let image = self.form.image();
        let (used, mut rest) = values.split_at(images.len() * image);
        self.threads.in_place_scope(|scope| {
            for (index, place) in images.zip(used.images(image)) {
                let one = &one;
                scope.spawn(move |_| one(index, place));
            }
            rest.clear();
        });
        match failure.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some(error) => Err(error),
            None => Ok(Fill {
                began: *began.get().unwrap_or(&start),
                busy: Duration::from_nanos(busy.into_inner()),
            }),
        }
    }

    /// One image, on one of the threads.
    fn load(&self, index: usize, mut place: Pixels<'_>) -> Result<()> {
        let path = &self.images[index];
        if let Some(cache) = &self.cache {
            if cache.read(index, place.again()) {
                return Ok(());
            }
            cache.damaged(path);
        }
        let thread = self.threads.current_thread_index().unwrap_or_default();
        let mut preparer = lock(&self.preparers[thread]);
        let Form {
            size, letterbox, ..
        } = self.form;
        preparer.prepare(path, letterbox, size, place)?;
        Ok(())
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
