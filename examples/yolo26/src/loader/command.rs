//! `loader`: how fast images become batches here, without a model.

use std::fmt::{self, Display, Formatter};
use std::fs;
use std::io::Write;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde::Serialize;

use super::cache::Cache;
use super::{Form, Loader, name};
use crate::cli::LoaderArgs;
use crate::dataset::DataSet;
use crate::files;

/// What was measured.
#[derive(Debug, Serialize)]
struct Figures {
    images: usize,
    seconds: f64,
    images_per_s: f64,
    /// Of the image files, or of the cache.
    read_bytes_per_s: f64,
    /// Into the batches.
    written_bytes_per_s: f64,
    /// Of this process, where the system tells.
    cpu_s: Option<f64>,
    /// The part of the time for which the workers were at work.
    busy: f64,
    workers: usize,
    batch: usize,
    #[serde(flatten)]
    form: Form,
    cached: bool,
    #[serde(skip)]
    feed: usize,
}

pub fn run(args: &LoaderArgs, out: &mut dyn Write) -> Result<()> {
    if let Some(path) = &args.json {
        files::check_writable(path)?;
    }
    let images: Arc<[PathBuf]> = DataSet::open(&args.data)?.images.into();
    let form = Form {
        element: args.element,
        size: args.imgsz,
        letterbox: args.letterbox,
        jpeg: args.jpeg,
    };
    let workers = args.workers.unwrap_or_else(super::processors);
    let place = args.cache.place(&args.data, form, args.quiet_mode);
    let cache = place
        .as_ref()
        .map(|place| Cache::open(place, &images, form, workers));
    let cache = cache.transpose()?.map(Arc::new);
    let stored = match &cache {
        Some(cache) => cache.image_bytes() * images.len() as u64,
        None => file_bytes(&images)?,
    };
    let cached = cache.is_some();
    let loader = Loader::new(workers, images.clone(), form, cache)?;

    let load = |batches: &mut (dyn Iterator<Item = Range<usize>> + Send)| {
        let mut done = 0;
        let decoded = loader.each(args.sets, args.batch_size, batches, |images, _| {
            done += images.len();
            Ok(())
        })?;
        Ok::<_, anyhow::Error>((done, decoded.busy))
    };
    let epoch = || {
        let starts = (0..images.len()).step_by(args.batch_size);
        starts.map(|start| start..(start + args.batch_size).min(images.len()))
    };
    load(&mut epoch())?;
    let (cpu, start) = (cpu_time(), Instant::now());
    let (done, busy) = match args.seconds {
        Some(seconds) => {
            let end = start + Duration::from_secs(seconds as u64);
            let mut batches = std::iter::repeat_with(epoch).flatten();
            load(&mut batches.by_ref().take_while(|_| Instant::now() < end))?
        }
        None => load(&mut (0..args.epochs).flat_map(|_| epoch()))?,
    };
    let time = start.elapsed();
    let cpu = cpu.zip(cpu_time()).map(|(before, now)| now - before);
    let seconds = time.as_secs_f64();
    let images_per_s = done as f64 / seconds;
    let figures = Figures {
        images: done,
        seconds,
        images_per_s,
        read_bytes_per_s: images_per_s * stored as f64 / images.len() as f64,
        written_bytes_per_s: images_per_s * form.bytes() as f64,
        cpu_s: cpu.map(|cpu| cpu.as_secs_f64()),
        busy: busy.as_secs_f64() / seconds,
        workers,
        batch: args.batch_size,
        form,
        cached,
        feed: args.feed,
    };
    write!(out, "{figures}")?;
    if let Some(path) = &args.json {
        files::write_json(path, &figures)?;
    }
    if let Some(place) = place.filter(|_| !args.cache.keep_cache) {
        place.remove()?;
    }
    Ok(())
}

impl Display for Figures {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Form {
            element,
            size,
            letterbox,
            ..
        } = self.form;
        let row = |f: &mut Formatter<'_>, name: &str, text: &str| writeln!(f, "{name:<12} {text}");
        let what = format!(
            "{} in {:.2} s: batches of {}, {size} x {size} {}, letterbox {}",
            self.images,
            self.seconds,
            self.batch,
            name(&element),
            name(&letterbox)
        );
        row(f, "images", &what)?;
        row(f, "images/s", &format!("{:.1}", self.images_per_s))?;
        let from = if self.cached {
            "the cache"
        } else {
            "image files"
        };
        let read = format!("{:.1} MB/s of {from}", self.read_bytes_per_s / 1e6);
        row(f, "read", &read)?;
        let written = format!("{:.1} MB/s into batches", self.written_bytes_per_s / 1e6);
        row(f, "written", &written)?;
        let workers = format!("{}, {:.0} % at work", self.workers, 100.0 * self.busy);
        row(f, "workers", &workers)?;
        let Some(cpu) = self.cpu_s else {
            return row(f, "CPU", "this system does not tell");
        };
        let each = cpu / self.images as f64;
        row(f, "CPU", &format!("{:.3} ms an image", 1e3 * each))?;
        let cores = (each * self.feed as f64).ceil();
        let feed = format!(
            "{cores:.0} cores like these feed one card at {} images/s",
            self.feed
        );
        row(f, "to feed", &feed)
    }
}

fn file_bytes(images: &[PathBuf]) -> Result<u64> {
    let size = |path: &PathBuf| {
        let facts = fs::metadata(path);
        let facts = facts.with_context(|| format!("cannot read the image {}", path.display()))?;
        Ok(facts.len())
    };
    images.iter().map(size).sum()
}

/// What all threads of this process have computed so far.
#[cfg(unix)]
fn cpu_time() -> Option<Duration> {
    use rustix::time::{ClockId, clock_gettime};
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Some(Duration::new(time.tv_sec as u64, time.tv_nsec as u32))
}

#[cfg(not(unix))]
fn cpu_time() -> Option<Duration> {
    None
}
