//! Which part of the images this process does, where several processes share them.
//!
//! `--shard 2/4` is the third of four equal parts: parts are counted from 0, as
//! the ranks of MPI and Slurm are. Without the option the launcher's variables say
//! it.

mod gpus;
mod place;

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

pub use gpus::{FirstGpu, VISIBLE};
pub use place::Place;

/// One of `of` equal parts, counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shard {
    /// Which.
    pub index: usize,
    /// How many there are.
    pub of: usize,
}

impl Shard {
    /// The one where nobody shares.
    pub const WHOLE: Shard = Shard { index: 0, of: 1 };

    /// Whether others have parts, too.
    pub fn is_shared(self) -> bool {
        self.of > 1
    }

    /// Its images: contiguous, the first parts one image more where it does not
    /// come out even.
    pub fn range(self, images: usize) -> Range<usize> {
        let (share, more) = (images / self.of, images % self.of);
        let start = |i: usize| i * share + i.min(more);
        start(self.index)..start(self.index + 1)
    }

    /// The same for a report.
    pub fn share(self, images: usize) -> Share {
        let range = self.range(images);
        Share {
            index: self.index,
            of: self.of,
            first: range.start,
            images: range.len(),
            all: images,
        }
    }
}

/// What a node did of the whole data set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Share {
    /// Its part, counted from 0.
    pub index: usize,
    /// How many parts there are.
    pub of: usize,
    /// The number of its first image in the data set.
    pub first: usize,
    /// How many images it did.
    pub images: usize,
    /// How many there are in the data set.
    pub all: usize,
}

impl Share {
    /// Its images.
    pub fn range(&self) -> Range<usize> {
        self.first..self.first + self.images
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.index, self.of)
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text.split_once('/');
        let numbers = parts.and_then(|(i, n)| Some((i.parse().ok()?, n.parse().ok()?)));
        match numbers {
            Some((index, of)) if index < of => Ok(Shard { index, of }),
            Some((index, of)) => Err(format!(
                "there is no shard {index} of {of}: they are counted from 0"
            )),
            None => Err("say i/n, as 0/4 for the first of four, or no".into()),
        }
    }
}

/// What `--shard` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// This part.
    Part(Shard),
    /// All images, whatever the launcher's variables say.
    No,
}

impl FromStr for Asked {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "no" => Ok(Asked::No),
            part => Ok(Asked::Part(part.parse()?)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_image_is_in_one_part() {
        for images in 0..40 {
            for of in 1..12 {
                let parts = (0..of).map(|index| Shard { index, of }.range(images));
                let sizes: Vec<usize> = parts.clone().map(|part| part.len()).collect();
                assert!(parts.flatten().eq(0..images));
                assert!(
                    sizes.is_sorted_by(|a, b| a == b || *a == b + 1),
                    "{sizes:?}"
                );
            }
        }
    }

    #[test]
    fn parts_are_counted_from_0() {
        assert_eq!("3/4".parse(), Ok(Shard { index: 3, of: 4 }));
        let error = "4/4".parse::<Shard>().unwrap_err();
        assert!(error.contains("no shard 4 of 4"), "{error}");
        for text in ["", "1", "1/", "/2", "a/b", "-1/2", "1/2/3", "0/0", "yes"] {
            assert!(text.parse::<Asked>().is_err(), "{text}");
        }
    }
}
