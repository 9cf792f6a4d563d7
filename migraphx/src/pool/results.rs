//! Results that are waited for: of one job, and of many in order.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use super::queue::{Job, Verdict};
use super::{Pool, Worker, guarded};
use crate::error::{Error, Result};

/// The result of a job, to be waited for.
#[derive(Debug)]
#[must_use = "wait for the result, or failures go unseen"]
pub struct Pending<R> {
    result: Receiver<Result<R>>,
}

impl<R> Pending<R> {
    /// Waits for the job and gives what it returned.
    ///
    /// # Errors
    /// [`Error::WorkerPanicked`] where the job panicked; [`Error::PoolClosed`]
    /// where the pool was dropped, and [`Error::NoWorkersLeft`] where all workers
    /// were retired, before the job began.
    pub fn wait(self) -> Result<R> {
        self.result.recv().unwrap_or(Err(Error::PoolClosed))
    }
}

/// A job that is done once, by whichever worker takes it.
pub(super) struct Once<F, R> {
    job: Option<F>,
    result: Option<Result<R>>,
    done: SyncSender<Result<R>>,
}

impl<F, R> Once<F, R> {
    pub(super) fn new(job: F) -> (Self, Pending<R>) {
        let (done, result) = sync_channel(1);
        let once = Once {
            job: Some(job),
            result: None,
            done,
        };
        (once, Pending { result })
    }
}

impl<W, F, R> Job<W> for Once<F, R>
where
    F: FnOnce(&mut W) -> R + Send,
    R: Send,
{
    fn run(&mut self, worker: usize, state: &mut W) -> Verdict {
        let job = self.job.take();
        self.result = job.map(|job| guarded(worker, || job(state)));
        Verdict::Settled
    }

    fn deliver(self: Box<Self>) {
        if let Some(result) = self.result {
            // Nobody may be waiting any more.
            let _ = self.done.send(result);
        }
    }

    fn give_up(self: Box<Self>, error: Error) {
        let _ = self.done.send(Err(error));
    }
}

/// Results in the order of the work, from [`Pool::map`].
pub struct Map<'p, I, R, F, W: 'static = Worker> {
    pool: &'p Pool<W>,
    work: I,
    job: Arc<F>,
    ahead: VecDeque<Pending<R>>,
}

impl<'p, I, R, F, W: 'static> Map<'p, I, R, F, W> {
    pub(super) fn new(pool: &'p Pool<W>, work: I, job: F) -> Self {
        Map {
            pool,
            work,
            job: Arc::new(job),
            ahead: VecDeque::new(),
        }
    }
}

impl<I, R, F, W> Iterator for Map<'_, I, R, F, W>
where
    I: Iterator,
    I::Item: Send + 'static,
    R: Send + 'static,
    F: Fn(&mut W, I::Item) -> R + Send + Sync + 'static,
{
    type Item = Result<R>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.ahead.len() < self.pool.ahead() {
            let Some(item) = self.work.next() else { break };
            let job = self.job.clone();
            self.ahead
                .push_back(self.pool.submit(move |worker| job(worker, item)));
        }
        self.ahead.pop_front().map(Pending::wait)
    }
}

impl<I, R, F, W: 'static> fmt::Debug for Map<'_, I, R, F, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Map")
            .field("pool", &self.pool)
            .field("ahead", &self.ahead.len())
            .finish_non_exhaustive()
    }
}
