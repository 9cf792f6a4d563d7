//! The loading side of a card: images into the sets of its batches, while the
//! card works on the batches before them.

use std::ops::Range;
use std::sync::mpsc::SyncSender;
use std::time::Instant;

use super::Job;
use super::batch::{Batch, Batches, Failure};
use super::trace::Row;
use crate::detector::Set;
use crate::loader::{self, Decoded, Failed, Free, Work};

/// A batch and the set that holds its images.
pub type Filled<S> = loader::Filled<S, Batch>;

/// Fills free sets until there are no more batches, nobody takes them, or it
/// fails, which is told to `batches`.
pub fn run<S: Set>(
    job: &Job,
    batches: &dyn Batches,
    free: Free<S>,
    filled: SyncSender<Filled<S>>,
) -> Decoded {
    job.loaders[batches.card()].run(&Share { job, batches }, free, filled)
}

/// What a card gets to do.
struct Share<'a> {
    job: &'a Job,
    batches: &'a dyn Batches,
}

impl Work for Share<'_> {
    type Batch = Batch;

    fn next(&self) -> Option<Batch> {
        self.batches.next()
    }

    fn images(batch: &Batch) -> Range<usize> {
        batch.images.clone()
    }

    fn filled(&self, batch: &Batch, since: Instant) {
        if let Some(trace) = &self.job.trace {
            trace.until_now(self.batches.card(), Row::Decode, batch, since);
        }
    }

    fn failed(&self, failure: Failed) {
        self.batches.fail(match failure {
            Failed::Set(error) => Failure::card(error),
            Failed::Image(error) => Failure::run(error),
            Failed::Panic => Failure::Run("a panic, see above".into()),
        });
    }
}
