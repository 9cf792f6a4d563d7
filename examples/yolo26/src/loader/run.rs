//! Free sets in, filled ones out, in order.

use std::ops::Range;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Error;

use super::{Fill, Loader, lock};
use crate::detector::Set;
use crate::pixels::{Pixels, Values};

/// The batches that a loader is to fill.
pub trait Work: Sync {
    type Batch: Send;

    /// The next one; `None` when there will be no more.
    fn next(&self) -> Option<Self::Batch>;

    /// Its images, by their place in the list.
    fn images(batch: &Self::Batch) -> Range<usize>;

    /// It is filled now, and was worked on since then. Told in order.
    fn filled(&self, _batch: &Self::Batch, _since: Instant) {}

    /// It does not go on. Told at once: somebody may be waiting in `next`.
    fn failed(&self, failure: Failed);
}

/// A batch and the set that holds its images.
pub struct Filled<S, B> {
    pub batch: B,
    pub set: S,
    /// When its first image began to be decoded.
    pub began: Instant,
}

/// How long it decoded, and from when on.
#[derive(Default)]
pub struct Decoded {
    /// For how long all threads would have been at work.
    pub busy: Duration,
    pub began: Option<Instant>,
}

/// Why it does not go on.
pub enum Failed {
    /// A set has no room for images.
    Set(Error),
    /// An image cannot be loaded.
    Image(Error),
    /// A panic, which goes on.
    Panic,
}

/// Sets that go round, on the side where they are filled.
pub struct Free<S> {
    sets: Receiver<S>,
    count: usize,
    stop: Arc<AtomicBool>,
}

/// The same, on the side where they are used. Dropped, it ends the filling at once.
pub struct GiveBack<S> {
    sets: SyncSender<S>,
    stop: Arc<AtomicBool>,
}

/// Sets to go round, all of them free.
pub fn sets<S>(sets: Vec<S>) -> (GiveBack<S>, Free<S>) {
    let count = sets.len();
    let (give_back, free) = sync_channel(count);
    for set in sets {
        // There is room for all, and the other end is here.
        let _ = give_back.send(set);
    }
    let stop = Arc::new(AtomicBool::new(false));
    (
        GiveBack {
            sets: give_back,
            stop: stop.clone(),
        },
        Free {
            sets: free,
            count,
            stop,
        },
    )
}

impl<S> GiveBack<S> {
    /// A set is free again.
    pub fn give(&self, set: S) {
        // There may be no more batches; then the set rests.
        let _ = self.sets.send(set);
    }
}

impl<S> Drop for GiveBack<S> {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

impl Loader {
    /// Fills free sets until there are no more batches, nobody takes them, or it
    /// fails.
    pub fn run<S: Set, W: Work>(
        &self,
        work: &W,
        free: Free<S>,
        filled: SyncSender<Filled<S, W::Batch>>,
    ) -> Decoded {
        let fillers = free.count;
        let round = Round {
            loader: self,
            work,
            stop: free.stop,
            intake: Mutex::new(Intake {
                free: free.sets,
                given: 0,
                ended: false,
            }),
            turn: Mutex::new(Turn::default()),
            turned: Condvar::new(),
            filled,
            busy: AtomicU64::new(0),
        };
        // One a set, so that all free sets are being filled.
        let ends = thread::scope(|scope| {
            let fillers: Vec<_> = (0..fillers).map(|_| scope.spawn(|| round.fill())).collect();
            let ends = fillers.into_iter().map(thread::ScopedJoinHandle::join);
            ends.collect::<Vec<_>>()
        });
        for end in ends {
            end.unwrap_or_else(|panic| resume_unwind(panic));
        }
        let turn = round.turn.into_inner();
        let busy = Duration::from_nanos(round.busy.into_inner());
        Decoded {
            busy: busy / self.preparers.len() as u32,
            began: turn.unwrap_or_else(PoisonError::into_inner).began,
        }
    }

    /// Loads batches into memory of its own, and shows them in order; `sets` of
    /// them are filled or shown at once.
    pub fn each(
        &self,
        sets: usize,
        batch: usize,
        batches: impl Iterator<Item = Range<usize>> + Send,
        mut show: impl FnMut(Range<usize>, Pixels<'_>) -> Result<(), Error>,
    ) -> Result<Decoded, Error> {
        let values = || Values::zeros(self.form.element, batch * self.form.image());
        let memory = (0..sets).map(|_| Memory(values())).collect();
        let (give_back, free) = self::sets(memory);
        let (hand_over, filled) = sync_channel(sets);
        let work = Ranges {
            batches: Mutex::new(batches),
            failure: Mutex::new(None),
        };
        thread::scope(|scope| {
            let run = scope.spawn(|| self.run(&work, free, hand_over));
            let mut shown = Ok(());
            for Filled { batch, mut set, .. } in filled {
                shown = show(batch, set.0.pixels());
                if shown.is_err() {
                    break;
                }
                give_back.give(set);
            }
            drop(give_back);
            let decoded = run.join().unwrap_or_else(|panic| resume_unwind(panic));
            shown?;
            match lock(&work.failure).take() {
                Some(error) => Err(error),
                None => Ok(decoded),
            }
        })
    }
}

struct Memory(Values);

impl Set for Memory {
    fn images(&mut self) -> Result<Pixels<'_>, Error> {
        Ok(self.0.pixels())
    }
}

struct Ranges<I> {
    batches: Mutex<I>,
    failure: Mutex<Option<Error>>,
}

impl<I: Iterator<Item = Range<usize>> + Send> Work for Ranges<I> {
    type Batch = Range<usize>;

    fn next(&self) -> Option<Range<usize>> {
        lock(&self.batches).next()
    }

    fn failed(&self, failure: Failed) {
        if let Failed::Set(error) | Failed::Image(error) = failure {
            *lock(&self.failure) = Some(error);
        }
    }

    fn images(batch: &Range<usize>) -> Range<usize> {
        batch.clone()
    }
}

/// What the fillers share.
struct Round<'a, S, W: Work> {
    loader: &'a Loader,
    work: &'a W,
    stop: Arc<AtomicBool>,
    intake: Mutex<Intake<S>>,
    turn: Mutex<Turn>,
    turned: Condvar,
    filled: SyncSender<Filled<S, W::Batch>>,
    busy: AtomicU64,
}

/// Where a filler gets a set and a batch. It waits there alone, the others for it.
struct Intake<S> {
    free: Receiver<S>,
    /// Batches given out.
    given: usize,
    ended: bool,
}

/// Where filled batches go on.
#[derive(Default)]
struct Turn {
    /// Batches gone on.
    gone: usize,
    /// Nobody's turn comes any more.
    ended: bool,
    began: Option<Instant>,
    /// When the batch before went on.
    before: Option<Instant>,
}

/// Lets nobody wait for a filler that failed, or panics.
struct Ends<'a, S, W: Work>(&'a Round<'a, S, W>);

impl<S, W: Work> Drop for Ends<'_, S, W> {
    fn drop(&mut self) {
        self.0.stop.store(true, Ordering::Relaxed);
        lock(&self.0.turn).ended = true;
        self.0.turned.notify_all();
        if thread::panicking() {
            self.0.work.failed(Failed::Panic);
        }
    }
}

impl<S: Set, W: Work> Round<'_, S, W> {
    fn fill(&self) {
        let ends = Ends(self);
        while let Some((number, batch, mut set)) = self.take() {
            match self.fill_one(&batch, &mut set) {
                Ok(fill) if self.hand_over(number, batch, set, &fill) => {}
                Ok(_) => return,
                Err(failure) => return self.work.failed(failure),
            }
        }
        // Others may still be at work.
        std::mem::forget(ends);
    }

    fn fill_one(&self, batch: &W::Batch, set: &mut S) -> Result<Fill, Failed> {
        let images = set.images().map_err(Failed::Set)?;
        let filled = self.loader.fill_until(W::images(batch), images, &self.stop);
        filled.map_err(Failed::Image)
    }

    fn take(&self) -> Option<(usize, W::Batch, S)> {
        let mut intake = lock(&self.intake);
        if intake.ended || self.stop.load(Ordering::Relaxed) {
            return None;
        }
        let taken = intake
            .free
            .recv()
            .ok()
            .and_then(|set| Some((self.work.next()?, set)));
        let Some((batch, set)) = taken else {
            intake.ended = true;
            return None;
        };
        let number = intake.given;
        intake.given += 1;
        Some((number, batch, set))
    }

    /// Waits until all batches before are gone. False where it ends.
    fn hand_over(&self, number: usize, batch: W::Batch, set: S, fill: &Fill) -> bool {
        self.busy
            .fetch_add(fill.busy.as_nanos() as u64, Ordering::Relaxed);
        let turn = lock(&self.turn);
        let waiting = |turn: &mut Turn| turn.gone < number && !turn.ended;
        let turn = self.turned.wait_while(turn, waiting);
        let mut turn = turn.unwrap_or_else(PoisonError::into_inner);
        // Some of its images may be missing.
        if turn.ended || self.stop.load(Ordering::Relaxed) {
            return false;
        }
        let since = turn.before.map_or(fill.began, |b| b.max(fill.began));
        self.work.filled(&batch, since);
        turn.began.get_or_insert(fill.began);
        turn.before = Some(Instant::now());
        turn.gone += 1;
        let filled = Filled {
            batch,
            set,
            began: fill.began,
        };
        // There is room for all sets.
        let taken = self.filled.send(filled).is_ok();
        drop(turn);
        self.turned.notify_all();
        taken
    }
}
