//! What a card gets to do, and what it tells of it.

use std::ops::Range;

use serde::{Deserialize, Serialize};

/// Images for one run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Batch {
    /// Whose share it is of, whoever does it.
    pub share: usize,
    /// Counted within the share; over all images where there are no shares.
    pub number: usize,
    pub images: Range<usize>,
}

/// Why a card does not go on.
#[derive(Clone, Debug)]
pub enum Failure {
    /// Another card may do better.
    Card(String),
    /// No card can do it: an image, the results' folder.
    Run(String),
}

impl Failure {
    pub fn card(error: impl Into<anyhow::Error>) -> Self {
        Failure::Card(format!("{:#}", error.into()))
    }

    pub fn run(error: anyhow::Error) -> Self {
        Failure::Run(format!("{error:#}"))
    }

    pub fn reason(&self) -> &str {
        match self {
            Failure::Card(reason) | Failure::Run(reason) => reason,
        }
    }
}

/// Where a card's batches come from, and where it tells what became of them.
pub trait Batches: Sync {
    /// The card's number.
    fn card(&self) -> usize;

    /// The next one for this card; `None` when there will be no more. Waits
    /// while another card might still fail and leave some.
    fn next(&self) -> Option<Batch>;

    /// Its results are stored.
    fn done(&self, batch: &Batch);

    /// This card does not go on.
    fn fail(&self, failure: Failure);
}
