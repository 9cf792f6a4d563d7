//! A folder of scenes as detectors are trained and measured on: `images/`,
//! `labels/` and `coco.yaml`.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::{io, thread};

use crate::files::{make_folder, write};
use crate::picture::yaml;

use super::{NAMES, SIZES, Scene, draw};

/// How pictures are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Exact.
    Png,
    /// Quality 90, a seventh of the bytes.
    Jpeg,
}

/// Which scenes to draw.
#[derive(Clone, Debug)]
pub struct Scenes {
    /// The row of scenes.
    pub seed: u64,
    /// The first and how many.
    pub first: u64,
    /// How many.
    pub count: u64,
    /// Width and height, in turn.
    pub sizes: Vec<(u32, u32)>,
    /// How to store them.
    pub format: Format,
}

impl Default for Scenes {
    fn default() -> Self {
        Scenes {
            seed: 11,
            first: 0,
            count: 500,
            sizes: SIZES.to_vec(),
            format: Format::Jpeg,
        }
    }
}

impl Scenes {
    /// Scene `index` of these.
    pub fn scene(&self, index: u64) -> Scene {
        let (width, height) = self.sizes[(index % self.sizes.len() as u64) as usize];
        draw(width, height, self.seed, index)
    }

    /// Writes them into the folder `out`, which is made if need be, on all cores;
    /// gives the number of labelled shapes.
    ///
    /// # Errors
    ///
    /// What the file system says, with the file it is about.
    pub fn write(&self, out: &Path) -> io::Result<u64> {
        for folder in ["images", "labels"].map(|name| out.join(name)) {
            make_folder(&folder)?;
        }
        write(&out.join("coco.yaml"), yaml(&NAMES).as_bytes())?;
        let (next, objects) = (AtomicU64::new(0), AtomicU64::new(0));
        let work = || -> io::Result<()> {
            loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                if at >= self.count {
                    return Ok(());
                }
                let index = self.first + at;
                let scene = self.scene(index);
                let name = format!("{index:05}");
                let image = out.join("images").join(&name);
                let (bytes, end) = match self.format {
                    Format::Png => (scene.png(), "png"),
                    Format::Jpeg => (scene.jpeg(), "jpg"),
                };
                write(&image.with_extension(end), &bytes)?;
                let labels = out.join("labels").join(name).with_extension("txt");
                write(&labels, scene.labels().as_bytes())?;
                objects.fetch_add(scene.objects.len() as u64, Ordering::Relaxed);
            }
        };
        let threads = thread::available_parallelism().map_or(1, usize::from);
        thread::scope(|scope| {
            let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
            let mut ended = workers.into_iter().map(|worker| worker.join());
            ended.try_for_each(|end| end.expect("drawing does not panic"))
        })?;
        Ok(objects.into_inner())
    }
}
