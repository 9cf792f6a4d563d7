//! Which card does which batch, and what becomes of the batches of one that fails.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use super::batch::{Batch, Batches, Failure};
use crate::cli::{Failing, Schedule as Kind};
use crate::progress::Progress;
use crate::shard::Shard;

/// All batches of a run.
pub struct Schedule {
    state: Mutex<State>,
    /// Told of everything that lets somebody go on.
    changed: Condvar,
    on_failure: Failing,
}

struct State {
    own: Vec<VecDeque<Batch>>,
    shared: VecDeque<Batch>,
    /// Batches that are not done.
    left: usize,
    failed: Vec<Option<String>>,
    stopped: bool,
}

impl Schedule {
    /// Divides `images` images into batches for `cards` cards.
    pub fn new(
        kind: Kind,
        divide: bool,
        images: usize,
        batch: usize,
        cards: usize,
        on_failure: Failing,
    ) -> Self {
        let whole = batches(0..images, batch);
        let (own, shared): (Vec<VecDeque<Batch>>, VecDeque<Batch>) = match kind {
            Kind::Static => {
                let shares = split(images, cards, divide).into_iter().enumerate();
                let own = shares.map(|(share, part)| {
                    let of = |(number, images)| Batch {
                        share,
                        number,
                        images,
                    };
                    batches(part, batch).enumerate().map(of).collect()
                });
                (own.collect(), VecDeque::new())
            }
            Kind::Steal => {
                let of = |(number, images)| Batch {
                    share: number % cards,
                    number,
                    images,
                };
                (
                    vec![VecDeque::new(); cards],
                    whole.enumerate().map(of).collect(),
                )
            }
        };
        let left = shared.len() + own.iter().map(VecDeque::len).sum::<usize>();
        Schedule {
            state: Mutex::new(State {
                own,
                shared,
                left,
                failed: vec![None; cards],
                stopped: false,
            }),
            changed: Condvar::new(),
            on_failure,
        }
    }

    /// The side of one card.
    pub fn hand<'s>(&'s self, card: usize, progress: &'s Progress) -> Hand<'s> {
        Hand {
            schedule: self,
            card,
            progress,
            open: Mutex::new(Vec::new()),
        }
    }

    /// The batches that nobody did.
    pub fn left(&self) -> usize {
        self.lock().left
    }

    /// The cards that failed, and why.
    pub fn failures(&self) -> Vec<Option<String>> {
        self.lock().failed.clone()
    }

    /// Gives a card no more batches, and those it had not begun to the others.
    pub fn fail(&self, card: usize, failure: &Failure) {
        let mut state = self.lock();
        state.failed[card].get_or_insert_with(|| failure.reason().to_owned());
        match (failure, self.on_failure) {
            (Failure::Card(_), Failing::Move) => {
                let own = std::mem::take(&mut state.own[card]);
                state.shared.extend(own);
            }
            _ => state.stopped = true,
        }
        drop(state);
        self.changed.notify_all();
    }

    fn next(&self, card: usize) -> Option<Batch> {
        let mut state = self.lock();
        loop {
            if state.stopped || state.failed[card].is_some() {
                return None;
            }
            let batch = state.own[card].pop_front();
            if let Some(batch) = batch.or_else(|| state.shared.pop_front()) {
                return Some(batch);
            }
            if state.left == 0 || self.on_failure == Failing::Stop {
                return None;
            }
            state = self
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn done(&self) {
        let mut state = self.lock();
        state.left -= 1;
        let last = state.left == 0;
        drop(state);
        if last {
            self.changed.notify_all();
        }
    }

    fn give_back(&self, batches: Vec<Batch>) {
        self.lock().shared.extend(batches);
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What one card has taken. Dropped, it gives back what is not done.
pub struct Hand<'s> {
    schedule: &'s Schedule,
    card: usize,
    progress: &'s Progress,
    open: Mutex<Vec<Batch>>,
}

impl Hand<'_> {
    fn open(&self) -> MutexGuard<'_, Vec<Batch>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// As [`Batches::done`], by the batch's name.
    pub fn done_by_name(&self, share: usize, number: usize) -> Option<Batch> {
        let mut open = self.open();
        let at = open
            .iter()
            .position(|batch| (batch.share, batch.number) == (share, number))?;
        let batch = open.swap_remove(at);
        drop(open);
        self.schedule.done();
        self.progress.advance(batch.images.len());
        Some(batch)
    }
}

impl Batches for Hand<'_> {
    fn card(&self) -> usize {
        self.card
    }

    fn next(&self) -> Option<Batch> {
        let batch = self.schedule.next(self.card)?;
        self.open().push(batch.clone());
        Some(batch)
    }

    fn done(&self, batch: &Batch) {
        self.done_by_name(batch.share, batch.number);
    }

    fn fail(&self, failure: Failure) {
        self.schedule.fail(self.card, &failure);
    }
}

impl Drop for Hand<'_> {
    fn drop(&mut self) {
        let open = std::mem::take(&mut *self.open());
        if open.is_empty() {
            return;
        }
        // A panic ends here without a word of its own.
        let ended = Failure::Card("it ended within a batch".into());
        self.schedule.fail(self.card, &ended);
        self.schedule.give_back(open);
    }
}

fn batches(images: Range<usize>, batch: usize) -> impl Iterator<Item = Range<usize>> {
    let end = images.end;
    images
        .step_by(batch)
        .map(move |start| start..(start + batch).min(end))
}

/// Which images each card does: equal shares, or all.
fn split(images: usize, cards: usize, divide: bool) -> Vec<Range<usize>> {
    if !divide {
        return vec![0..images; cards];
    }
    let part = |index| Shard { index, of: cards };
    (0..cards).map(|card| part(card).range(images)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quiet() -> Progress {
        Progress::new(true, 0)
    }

    fn all(schedule: &Schedule, card: usize) -> Vec<Batch> {
        let progress = quiet();
        let hand = schedule.hand(card, &progress);
        let taken = std::iter::from_fn(|| {
            let batch = hand.next()?;
            hand.done(&batch);
            Some(batch)
        });
        taken.collect()
    }

    #[test]
    fn every_image_is_done_once() {
        for images in 0..40 {
            for cards in 1..10 {
                let parts = split(images, cards, true);
                let whole: Vec<usize> = parts.iter().cloned().flatten().collect();
                assert_eq!(whole, (0..images).collect::<Vec<_>>());
                let sizes = parts.iter().map(Range::len);
                assert!(sizes.clone().max().unwrap() - sizes.min().unwrap() <= 1);
                for kind in [Kind::Static, Kind::Steal] {
                    let schedule = Schedule::new(kind, true, images, 3, cards, Failing::Stop);
                    let done = (0..cards).flat_map(|card| all(&schedule, card));
                    let mut done: Vec<usize> = done.flat_map(|batch| batch.images).collect();
                    done.sort_unstable();
                    assert_eq!(done, whole, "{images} on {cards}, {kind:?}");
                    assert_eq!(schedule.left(), 0);
                }
            }
        }
        assert_eq!(split(5, 2, false), [0..5, 0..5]);
    }

    #[test]
    fn what_a_failed_card_leaves_is_done_by_the_others() {
        let progress = quiet();
        let schedule = Schedule::new(Kind::Static, true, 12, 2, 2, Failing::Move);
        std::thread::scope(|scope| {
            let bad = schedule.hand(1, &progress);
            let first = bad.next().unwrap();
            let second = bad.next().unwrap();
            assert_eq!(
                (first.share, first.number, first.images.clone()),
                (1, 0, 6..8)
            );
            // It waits at the end for what the other may leave.
            let good = scope.spawn(|| all(&schedule, 0));
            bad.done(&first);
            bad.fail(Failure::Card("burnt".into()));
            assert_eq!(bad.next(), None);
            drop(bad);
            let done = good.join().unwrap();
            assert_eq!(done.len(), 5);
            assert!(done.contains(&second));
        });
        assert_eq!(schedule.left(), 0);
        assert_eq!(schedule.failures(), [None, Some("burnt".into())]);
    }

    #[test]
    fn a_failure_of_the_run_ends_it_for_all() {
        for (on_failure, failure) in [
            (Failing::Move, Failure::Run("no picture".into())),
            (Failing::Stop, Failure::Card("burnt".into())),
        ] {
            let schedule = Schedule::new(Kind::Steal, true, 12, 2, 2, on_failure);
            schedule.fail(1, &failure);
            assert_eq!(all(&schedule, 0), []);
            assert_eq!(schedule.left(), 6);
        }
    }
}
