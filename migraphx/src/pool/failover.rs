//! What a failing item does to a run over many, and to the worker it failed on.

use std::collections::VecDeque;
use std::fmt::{self, Display};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::queue::{Job, Verdict};
use super::{Pool, Worker, guarded};
use crate::error::Error;

/// What happens when an item of [`Pool::try_map`] fails or panics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OnFailure {
    /// The run ends with the first error. Items that have not begun are dropped.
    Stop,
    /// Another worker tries the item. Where one succeeds, those that failed at
    /// it are at fault: they are retired, and get no more work. Where all that
    /// are left fail, the item is at fault: its result is the error that most of
    /// them gave, and nobody is retired for it.
    Move,
}

/// Results in the order of the items, from [`Pool::try_map`].
///
/// Dropping it drops the items that have not begun.
pub struct TryMap<'p, I, R, E, F, W: 'static = Worker> {
    pool: &'p Pool<W>,
    work: I,
    run: Arc<Run<F, E>>,
    ahead: VecDeque<Receiver<Outcome<R, E>>>,
    dealt: bool,
    taken: usize,
}

/// What the items of a run share.
struct Run<F, E> {
    job: F,
    on_failure: OnFailure,
    /// Set when no more results are wanted.
    ended: AtomicBool,
    /// The error that ended it.
    first: Mutex<Option<E>>,
}

enum Outcome<R, E> {
    Of(Result<R, E>),
    NoWorkersLeft(Error),
}

impl<F, E> Run<F, E> {
    fn first(&self) -> MutexGuard<'_, Option<E>> {
        self.first.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn end(&self) {
        self.ended.store(true, Ordering::Release);
    }

    fn ended(&self) -> bool {
        self.ended.load(Ordering::Acquire)
    }
}

/// One item on its way.
struct Item<T, R, F, E> {
    item: T,
    run: Arc<Run<F, E>>,
    value: Option<R>,
    /// Of all that failed, with their texts.
    errors: Vec<(String, E)>,
    done: SyncSender<Outcome<R, E>>,
}

impl<W, T, R, F, E> Job<W> for Item<T, R, F, E>
where
    F: Fn(&mut W, &T) -> Result<R, E> + Send + Sync,
    T: Send,
    R: Send,
    E: From<Error> + Display + Send,
{
    fn run(&mut self, worker: usize, state: &mut W) -> Verdict {
        if self.run.ended() {
            return Verdict::Settled;
        }
        let result = guarded(worker, || (self.run.job)(state, &self.item));
        match (
            result.unwrap_or_else(|panic| Err(panic.into())),
            self.run.on_failure,
        ) {
            (Ok(value), _) => {
                self.value = Some(value);
                Verdict::Good
            }
            (Err(error), OnFailure::Move) => {
                let reason = error.to_string();
                self.errors.push((reason.clone(), error));
                Verdict::Failed(reason)
            }
            (Err(error), OnFailure::Stop) => {
                self.run.first().get_or_insert(error);
                self.run.end();
                Verdict::Settled
            }
        }
    }

    fn deliver(self: Box<Self>) {
        let result = match self.value {
            Some(value) => Some(Ok(value)),
            None => most_frequent(self.errors).map(Err),
        };
        if let Some(result) = result {
            // Nobody may be waiting any more.
            let _ = self.done.send(Outcome::Of(result));
        }
    }

    fn give_up(self: Box<Self>, error: Error) {
        let _ = self.done.send(Outcome::NoWorkersLeft(error));
    }
}

/// The error that says what most of them say: one worker may be broken as well,
/// and have failed for another reason. The first of those that come as often.
fn most_frequent<E>(mut errors: Vec<(String, E)>) -> Option<E> {
    let times = |text: &str| errors.iter().filter(|(other, _)| other == text).count();
    let times: Vec<usize> = errors.iter().map(|(text, _)| times(text)).collect();
    let most = times.iter().max()?;
    let first = times.iter().position(|times| times == most)?;
    Some(errors.swap_remove(first).1)
}

impl<'p, I, R, E, F, W: 'static> TryMap<'p, I, R, E, F, W> {
    pub(super) fn new(pool: &'p Pool<W>, on_failure: OnFailure, work: I, job: F) -> Self {
        let run = Run {
            job,
            on_failure,
            ended: AtomicBool::new(false),
            first: Mutex::new(None),
        };
        TryMap {
            pool,
            work,
            run: Arc::new(run),
            ahead: VecDeque::new(),
            dealt: false,
            taken: 0,
        }
    }

    /// Divides the items beforehand: item `i` is for worker `i % workers`,
    /// instead of whichever is free first. What a retired worker had not begun
    /// goes to the others.
    ///
    /// For runs that are to be compared: each worker has the same items every
    /// time. All wait for the slowest.
    pub fn dealt(mut self) -> Self {
        self.dealt = true;
        self
    }

    /// No more results: lets go of what has not begun.
    fn end(&mut self) {
        self.run.end();
        self.ahead.clear();
    }
}

impl<I, R, E, F, W> Iterator for TryMap<'_, I, R, E, F, W>
where
    I: Iterator,
    I::Item: Send + 'static,
    R: Send + 'static,
    E: From<Error> + Display + Send + 'static,
    F: Fn(&mut W, &I::Item) -> Result<R, E> + Send + Sync + 'static,
{
    type Item = Result<R, E>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.ahead.len() < self.pool.ahead() && !self.run.ended() {
            let Some(item) = self.work.next() else { break };
            let (done, outcome) = sync_channel(1);
            let worker = self.taken % self.pool.workers();
            self.taken += 1;
            self.pool.queue.push(
                self.dealt.then_some(worker),
                Box::new(Item {
                    item,
                    run: self.run.clone(),
                    value: None,
                    errors: Vec::new(),
                    done,
                }),
            );
            self.ahead.push_back(outcome);
        }
        match self.ahead.pop_front()?.recv() {
            Ok(Outcome::Of(result)) => Some(result),
            Ok(Outcome::NoWorkersLeft(error)) => {
                self.end();
                Some(Err(error.into()))
            }
            // It was let go of: an error ended the run.
            Err(_) => {
                self.end();
                let first = self.run.first().take();
                Some(Err(first.unwrap_or_else(|| Error::PoolClosed.into())))
            }
        }
    }
}

impl<I, R, E, F, W: 'static> Drop for TryMap<'_, I, R, E, F, W> {
    fn drop(&mut self) {
        self.end();
    }
}

impl<I, R, E, F, W: 'static> fmt::Debug for TryMap<'_, I, R, E, F, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TryMap")
            .field("pool", &self.pool)
            .field("on_failure", &self.run.on_failure)
            .field("ahead", &self.ahead.len())
            .finish_non_exhaustive()
    }
}
