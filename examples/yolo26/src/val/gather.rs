//! What a run found, kept image by image, whichever card did it.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result};

use crate::contract::Contract;
use crate::detections::{self, Detection, Wanted};
use crate::preprocess::{self, Letterbox, Mode};

/// Takes the outputs of batches, from all threads.
pub struct Gather {
    wanted: Wanted,
    mode: Mode,
    /// Width and height of each image, as decoding gives it.
    sizes: Vec<(usize, usize)>,
    found: Mutex<Vec<Option<Vec<Detection>>>>,
    /// In the process of one card: tells its parent.
    tell: Option<fn(usize, Vec<Detection>)>,
}

impl Gather {
    /// Reads the images' sizes, so one that is none is told before the run.
    pub fn new(images: &[PathBuf], wanted: Wanted, mode: Mode) -> Result<Self> {
        let sizes = images.iter().map(|path| preprocess::dimensions(path));
        let sizes: Vec<_> = sizes.collect::<Result<_>>()?;
        Ok(Gather {
            wanted,
            mode,
            found: Mutex::new(vec![None; sizes.len()]),
            sizes,
            tell: None,
        })
    }

    /// One whose objects are not kept but told.
    pub fn telling(&self, tell: fn(usize, Vec<Detection>)) -> Arc<Self> {
        Arc::new(Gather {
            wanted: self.wanted,
            mode: self.mode,
            sizes: self.sizes.clone(),
            found: Mutex::default(),
            tell: Some(tell),
        })
    }

    pub fn sizes(&self) -> &[(usize, usize)] {
        &self.sizes
    }

    /// The output for some images.
    pub fn batch(&self, contract: &Contract, images: Range<usize>, values: &[f32]) {
        for (image, values) in images.zip(values.chunks_exact(contract.result())) {
            let (width, height) = self.sizes[image];
            let letterbox = Letterbox::new(self.mode, width, height, contract.size);
            let found = detections::read(values, contract.head, &self.wanted, &letterbox);
            match self.tell {
                Some(tell) => tell(image, found),
                None => self.put(image, found),
            }
        }
    }

    /// An image's objects.
    pub fn put(&self, image: usize, found: Vec<Detection>) {
        let mut all = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        all[image] = Some(found);
    }

    /// Those of all images.
    pub fn take(&self) -> Result<Vec<Vec<Detection>>> {
        let mut all = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        let all = std::mem::take(&mut *all);
        let all = all.into_iter().enumerate();
        all.map(|(image, found)| found.with_context(|| format!("no result of image {image}")))
            .collect()
    }
}
