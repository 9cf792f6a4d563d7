//! Jobs that wait for a worker, and who may take which.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::error::Error;

/// What a worker does once.
pub(super) trait Job<W>: Send {
    /// Does the work, and keeps what came of it.
    fn run(&mut self, worker: usize, state: &mut W) -> Verdict;

    /// Hands over what the last `run` kept.
    fn deliver(self: Box<Self>);

    /// Hands over that nobody is left to do it.
    fn give_up(self: Box<Self>, error: Error);
}

/// How a job went.
pub(super) enum Verdict {
    /// Well: a worker that failed at it before is at fault.
    Good,
    /// Says nothing about workers.
    Settled,
    /// Badly: another worker is to try it.
    Failed(String),
}

struct Entry<W> {
    job: Box<dyn Job<W>>,
    /// Who failed at it, and why.
    failures: Vec<(usize, String)>,
}

impl<W> Entry<W> {
    fn failed_on(&self, worker: usize) -> bool {
        self.failures.iter().any(|(failed, _)| *failed == worker)
    }
}

/// Jobs that have not begun.
pub(super) struct Queue<W> {
    state: Mutex<State<W>>,
    /// Told when there is work, or no more will come.
    work: Condvar,
    /// Told when there is room.
    room: Condvar,
    capacity: usize,
}

struct State<W> {
    /// Jobs that a worker failed at. They go first, so that it is soon known
    /// whether the job or the worker is bad.
    again: VecDeque<Entry<W>>,
    shared: VecDeque<Entry<W>>,
    own: Vec<VecDeque<Entry<W>>>,
    /// Why a worker gets no more work.
    retired: Vec<Option<String>>,
    closed: bool,
}

impl<W> State<W> {
    fn waiting(&self) -> usize {
        let own = self.own.iter().map(VecDeque::len);
        self.again.len() + self.shared.len() + own.sum::<usize>()
    }

    fn live(&self) -> impl Iterator<Item = usize> {
        let live = |worker: &usize| self.retired[*worker].is_none();
        (0..self.retired.len()).filter(live)
    }

    fn none_left(&self) -> bool {
        self.live().next().is_none()
    }

    /// Whether there is a worker that has not failed at this yet.
    fn hope_for(&self, entry: &Entry<W>) -> bool {
        self.live().any(|worker| !entry.failed_on(worker))
    }

    fn next_for(&self, worker: usize) -> Option<Source> {
        let again = self.again.iter().position(|job| !job.failed_on(worker));
        again.map(Source::Again).or_else(|| {
            if !self.own[worker].is_empty() {
                Some(Source::Own)
            } else if !self.shared.is_empty() {
                Some(Source::Shared)
            } else {
                None
            }
        })
    }

    fn take(&mut self, source: Source, worker: usize) -> Option<Entry<W>> {
        match source {
            Source::Again(position) => self.again.remove(position),
            Source::Own => self.own[worker].pop_front(),
            Source::Shared => self.shared.pop_front(),
        }
    }

    fn reasons(&self) -> Vec<(usize, String)> {
        let reasons = self.retired.iter().enumerate();
        reasons
            .filter_map(|(worker, reason)| Some((worker, reason.clone()?)))
            .collect()
    }

    fn drain(&mut self) -> Vec<Entry<W>> {
        let mut all: Vec<_> = self.again.drain(..).chain(self.shared.drain(..)).collect();
        all.extend(self.own.iter_mut().flat_map(std::mem::take));
        all
    }
}

enum Source {
    Again(usize),
    Own,
    Shared,
}

impl<W> Queue<W> {
    pub(super) fn new(workers: usize, capacity: usize) -> Self {
        Queue {
            state: Mutex::new(State {
                again: VecDeque::new(),
                shared: VecDeque::new(),
                own: (0..workers).map(|_| VecDeque::new()).collect(),
                retired: vec![None; workers],
                closed: false,
            }),
            work: Condvar::new(),
            room: Condvar::new(),
            capacity,
        }
    }

    /// No job runs under the lock, so a poisoned one is as good as any.
    fn lock(&self) -> MutexGuard<'_, State<W>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for room, and takes a job in.
    pub(super) fn push(&self, to: Option<usize>, job: Box<dyn Job<W>>) {
        let mut state = self
            .room
            .wait_while(self.lock(), |state| {
                state.waiting() >= self.capacity && !state.none_left()
            })
            .unwrap_or_else(PoisonError::into_inner);
        if state.none_left() {
            let reasons = state.reasons();
            drop(state);
            return job.give_up(Error::NoWorkersLeft { reasons });
        }
        let entry = Entry {
            job,
            failures: Vec::new(),
        };
        match to {
            Some(worker) if state.retired[worker].is_none() => state.own[worker].push_back(entry),
            _ => state.shared.push_back(entry),
        }
        drop(state);
        // All, since the one that is told may not be the one that the job is for.
        self.work.notify_all();
    }

    /// Does jobs until there will be no more for this worker.
    pub(super) fn serve(&self, worker: usize, state: &mut W) {
        while let Some(entry) = self.pop(worker) {
            // Jobs catch their own panics. What is left is the drop of a result
            // that nobody waits for; it must not cost the worker.
            let _ = super::guarded(worker, || self.work_on(entry, worker, state));
        }
    }

    fn work_on(&self, mut entry: Entry<W>, worker: usize, state: &mut W) {
        match entry.job.run(worker, state) {
            Verdict::Good => {
                // First, so that who has the result can ask who was retired.
                self.retire(std::mem::take(&mut entry.failures));
                entry.job.deliver();
            }
            Verdict::Settled => entry.job.deliver(),
            Verdict::Failed(reason) => {
                entry.failures.push((worker, reason));
                self.try_again(entry);
            }
        }
    }

    /// The next job for a worker; `None` when there will be no more.
    fn pop(&self, worker: usize) -> Option<Entry<W>> {
        let ended = |state: &State<W>| state.closed || state.retired[worker].is_some();
        let mut state = self
            .work
            .wait_while(self.lock(), |state| {
                !ended(state) && state.next_for(worker).is_none()
            })
            .unwrap_or_else(PoisonError::into_inner);
        if ended(&state) {
            return None;
        }
        let source = state.next_for(worker)?;
        let entry = state.take(source, worker);
        drop(state);
        self.room.notify_one();
        entry
    }

    /// Leaves a job to those that have not tried it. There may be none: then
    /// the job itself is bad.
    fn try_again(&self, entry: Entry<W>) {
        let mut state = self.lock();
        if state.none_left() {
            let reasons = state.reasons();
            drop(state);
            return entry.job.give_up(Error::NoWorkersLeft { reasons });
        }
        if !state.hope_for(&entry) {
            drop(state);
            return entry.job.deliver();
        }
        if state.closed {
            // Nobody will come for it; whoever waits sees that it was dropped.
            return drop(state);
        }
        state.again.push_back(entry);
        drop(state);
        self.work.notify_all();
    }

    /// Gives these workers no more work, and their own jobs to the others.
    pub(super) fn retire(&self, workers: Vec<(usize, String)>) {
        if workers.is_empty() {
            return;
        }
        let mut state = self.lock();
        for (worker, reason) in workers {
            state.retired[worker].get_or_insert(reason);
            let own = std::mem::take(&mut state.own[worker]);
            state.shared.extend(own);
        }
        let none_left = state.none_left();
        let settled = if none_left {
            state.drain()
        } else {
            let again = std::mem::take(&mut state.again);
            let (hope, none): (Vec<_>, Vec<_>) =
                again.into_iter().partition(|entry| state.hope_for(entry));
            state.again = hope.into();
            none
        };
        let reasons = state.reasons();
        drop(state);
        self.work.notify_all();
        self.room.notify_all();
        for entry in settled {
            if none_left {
                let reasons = reasons.clone();
                entry.job.give_up(Error::NoWorkersLeft { reasons });
            } else {
                entry.job.deliver();
            }
        }
    }

    /// Who gets no more work, and why.
    pub(super) fn retired(&self) -> Vec<(usize, String)> {
        self.lock().reasons()
    }

    /// Drops jobs that have not begun, and sends the workers home.
    pub(super) fn close(&self) {
        let mut state = self.lock();
        state.closed = true;
        let dropped = state.drain();
        drop(state);
        self.work.notify_all();
        drop(dropped);
    }
}

impl<W> fmt::Debug for Queue<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.lock();
        f.debug_struct("Queue")
            .field("waiting", &state.waiting())
            .field("capacity", &self.capacity)
            .field("retired", &state.reasons())
            .finish()
    }
}
