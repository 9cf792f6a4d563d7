//! Several workers, each on a thread of its own, behind one queue.

#[cfg(feature = "hip")]
mod devices;
mod failover;
mod queue;
mod results;
mod worker;

use std::fmt;
use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::thread::JoinHandle;

use crate::error::{Error, Result};

pub use failover::{OnFailure, TryMap};
use queue::Queue;
pub use results::{Map, Pending};
pub use worker::Worker;

/// Workers that each own something of their own, such as a program, and a thread.
///
/// A [`CompiledProgram`](crate::CompiledProgram) is used by one thread at a time;
/// a pool is the way to use several processors or devices at once, or to call one
/// from many threads. The queue is short: handing out work waits while it is full,
/// so that a fast producer does not fill memory. Dropping the pool lets running
/// jobs end, drops those that have not begun, and joins the threads.
///
/// | a worker owns | made by |
/// |---|---|
/// | a program and an input set ([`Worker`]) | [`new`](Pool::new), [`from_programs`](Pool::from_programs) |
/// | the same, on a GPU each | `on_devices` (feature `hip`) |
/// | anything | [`start`](Pool::start) |
/// | anything on a GPU each, such as a program for device buffers, its bindings and a stream | `start_on` (feature `hip`) |
///
/// # When it helps
/// One worker a device keeps all devices busy if batches are large; a second
/// one helps where host work between runs leaves a device idle, and costs the
/// program's memory again. On the `ref` target, large operators already use
/// every core.
///
/// ```
/// use migraphx::{CompileOptions, CompiledProgram, OnnxOptions, Pool, Target};
///
/// # let file = std::env::temp_dir().join(format!("pool-{}.mxr", std::process::id()));
/// # let model = testkit::models::add(&[4]); // z = x + y
/// # OnnxOptions::new().parse_bytes(&model)?
/// #     .compile(&Target::reference()?, &CompileOptions::new())?.save(&file)?;
/// let path = file.clone();
/// let pool = Pool::new(2, move |_| CompiledProgram::load(&path))?;
///
/// let sums = pool.map(0..10, |worker, number: i32| -> migraphx::Result<f32> {
///     let (x, y) = (worker.inputs().id("x")?, worker.inputs().id("y")?);
///     worker.inputs().slice_mut::<f32>(x)?.fill(number as f32);
///     worker.inputs().slice_mut::<f32>(y)?.fill(0.5);
///     Ok(worker.run()?.slice::<f32>(0)?[0])
/// });
/// for (number, sum) in sums.enumerate() {
///     assert_eq!(sum??, number as f32 + 0.5); // in the order of the work
/// }
/// # std::fs::remove_file(&file).unwrap();
/// # Ok::<(), migraphx::Error>(())
/// ```
pub struct Pool<W: 'static = Worker> {
    queue: Arc<Queue<W>>,
    threads: Vec<JoinHandle<()>>,
}

impl<W: 'static> Pool<W> {
    /// Starts `workers` threads that each own what `make` gives for its number,
    /// and there is room for as many waiting jobs as there are workers.
    ///
    /// `make` runs on the worker's own thread, where jobs use what it gives and
    /// where it is dropped, so that need not be [`Send`].
    ///
    /// ```
    /// use migraphx::{OnFailure, Pool};
    ///
    /// // Workers that count what they did.
    /// let pool = Pool::start(3, |_index| Ok(0))?;
    /// let squares = pool.try_map(OnFailure::Stop, 1..=9u32, |done: &mut i32, number| {
    ///     *done += 1;
    ///     migraphx::Result::Ok(number * number)
    /// });
    /// assert_eq!(squares.sum::<migraphx::Result<u32>>()?, 285);
    /// let done = (0..3).map(|worker| pool.submit_to(worker, |done| *done).wait());
    /// assert_eq!(done.sum::<migraphx::Result<i32>>()?, 9);
    /// # Ok::<(), migraphx::Error>(())
    /// ```
    ///
    /// # Errors
    /// The first error of `make`, after all threads have ended;
    /// [`Error::WorkerPanicked`] where it panicked; [`Error::InvalidArgument`]
    /// for no workers at all.
    pub fn start<F>(workers: usize, make: F) -> Result<Self>
    where
        F: Fn(usize) -> Result<W> + Send + Sync + 'static,
    {
        // No workers are refused there.
        let waiting = NonZeroUsize::new(workers).unwrap_or(NonZeroUsize::MIN);
        Pool::start_with_queue(workers, waiting, make)
    }

    /// As [`start`](Pool::start), with room for `waiting` jobs that have not begun.
    ///
    /// # Errors
    /// As [`start`](Pool::start).
    pub fn start_with_queue<F>(workers: usize, waiting: NonZeroUsize, make: F) -> Result<Self>
    where
        F: Fn(usize) -> Result<W> + Send + Sync + 'static,
    {
        Pool::spawn(workers, waiting, |_| Ok(()), make)
    }

    /// What `enter` gives lives as long as the thread.
    fn spawn<G, F>(
        workers: usize,
        waiting: NonZeroUsize,
        enter: impl Fn(usize) -> Result<G> + Send + Sync + 'static,
        make: F,
    ) -> Result<Self>
    where
        F: Fn(usize) -> Result<W> + Send + Sync + 'static,
    {
        if workers == 0 {
            let text = "a pool of no workers does nothing; give one or more";
            return Err(Error::InvalidArgument(text.into()));
        }
        let queue = Arc::new(Queue::new(workers, waiting.get()));
        // A state is dropped before what it was made within.
        let begin = Arc::new(move |index| {
            let entered = enter(index)?;
            Ok((entered, make(index)?))
        });
        let (ready, started) = sync_channel(workers);
        let mut pool = Pool {
            queue: queue.clone(),
            threads: Vec::with_capacity(workers),
        };
        for index in 0..workers {
            let (queue, begin, ready) = (queue.clone(), begin.clone(), ready.clone());
            let thread = std::thread::Builder::new()
                .name(format!("migraphx-{index}"))
                .spawn(move || {
                    let begun = guarded(index, || begin(index)).and_then(|begun| begun);
                    // What `make` holds on to ends with the last worker's start.
                    drop(begin);
                    match begun {
                        Ok((_entered, mut state)) => {
                            let _ = ready.send(Ok(()));
                            queue.serve(index, &mut state);
                        }
                        Err(error) => {
                            let _ = ready.send(Err(error));
                        }
                    }
                })
                .map_err(|error| Error::io("start a thread for", "a worker", error))?;
            pool.threads.push(thread);
        }
        // Dropping the pool on an error ends the workers that did start.
        started.iter().take(workers).collect::<Result<()>>()?;
        Ok(pool)
    }

    /// The number of workers, retired ones among them.
    pub fn workers(&self) -> usize {
        self.threads.len()
    }

    /// The workers that get no more work, and why; sorted by number.
    pub fn retired(&self) -> Vec<(usize, String)> {
        self.queue.retired()
    }

    /// Gives a worker no more work, for a reason that [`retired`](Pool::retired)
    /// tells. What it does now it ends; then it drops what it owns. What waits
    /// for it alone goes to the others.
    ///
    /// # Panics
    /// Where there is no worker of this number.
    pub fn retire(&self, worker: usize, reason: impl Into<String>) {
        self.check(worker);
        self.queue.retire(vec![(worker, reason.into())]);
    }

    /// Hands a job to whichever worker is free first. Waits while the queue is full.
    ///
    /// Do not hand out work and wait for it from inside a job: all workers might
    /// wait for each other. After a panic the worker goes on with what it owns as
    /// the job left it.
    pub fn submit<R, F>(&self, job: F) -> Pending<R>
    where
        F: FnOnce(&mut W) -> R + Send + 'static,
        R: Send + 'static,
    {
        let (job, pending) = results::Once::new(job);
        self.queue.push(None, Box::new(job));
        pending
    }

    /// Hands a job to one worker, for work that is divided beforehand. Waits
    /// while the queue is full. If the worker is retired before the job begins,
    /// another does it.
    ///
    /// # Panics
    /// Where there is no worker of this number.
    pub fn submit_to<R, F>(&self, worker: usize, job: F) -> Pending<R>
    where
        F: FnOnce(&mut W) -> R + Send + 'static,
        R: Send + 'static,
    {
        self.check(worker);
        let (job, pending) = results::Once::new(job);
        self.queue.push(Some(worker), Box::new(job));
        pending
    }

    /// Does the same with every item of `work`, and gives the results in the
    /// order of the items.
    ///
    /// Items are taken as the iterator is advanced, a few ahead of the results.
    /// A panic in a job is an [`Error::WorkerPanicked`] in its place, and the
    /// others go on. For jobs that can fail, see [`try_map`](Pool::try_map).
    pub fn map<'p, I, R, F>(&'p self, work: I, job: F) -> Map<'p, I::IntoIter, R, F, W>
    where
        I: IntoIterator,
        I::Item: Send + 'static,
        R: Send + 'static,
        F: Fn(&mut W, I::Item) -> R + Send + Sync + 'static,
    {
        Map::new(self, work.into_iter(), job)
    }

    /// As [`map`](Pool::map) for jobs that can fail, and says what then happens:
    /// the run stops, or the item moves to another worker.
    ///
    /// A panic counts as a failure. Items are borrowed by the job, since another
    /// worker may need them again. If all workers are retired, the next result is
    /// [`Error::NoWorkersLeft`] with all reasons, and the last.
    ///
    /// ```
    /// use migraphx::{Error, OnFailure, Pool, Result};
    ///
    /// let pool = Pool::start(3, |index| Ok(index))?;
    /// let items = ["a", "b", "bad", "d", "e", "f"];
    /// let job = |worker: &mut usize, item: &&'static str| -> Result<String> {
    ///     if *worker == 1 {
    ///         return Err(Error::InvalidArgument("this device is broken".into()));
    ///     }
    ///     if *item == "bad" {
    ///         return Err(Error::InvalidArgument("no worker can do this".into()));
    ///     }
    ///     std::thread::sleep(std::time::Duration::from_millis(5));
    ///     Ok(item.to_uppercase())
    /// };
    /// let results = pool.try_map(OnFailure::Move, items, job).dealt();
    /// let results: Vec<String> = results.map(|r| r.unwrap_or_else(|e| e.to_string())).collect();
    /// assert_eq!(results[..2], ["A", "B"]);
    /// assert_eq!(results[3..], ["D", "E", "F"]);
    /// assert_eq!(pool.retired(), [(1, "this device is broken".into())]);
    /// # Ok::<(), migraphx::Error>(())
    /// ```
    pub fn try_map<'p, I, R, E, F>(
        &'p self,
        on_failure: OnFailure,
        work: I,
        job: F,
    ) -> TryMap<'p, I::IntoIter, R, E, F, W>
    where
        I: IntoIterator,
        I::Item: Send + 'static,
        R: Send + 'static,
        E: From<Error> + fmt::Display + Send + 'static,
        F: Fn(&mut W, &I::Item) -> Result<R, E> + Send + Sync + 'static,
    {
        TryMap::new(self, on_failure, work.into_iter(), job)
    }

    fn check(&self, worker: usize) {
        let workers = self.workers();
        assert!(worker < workers, "worker {worker} of a pool of {workers}");
    }

    /// One running and one waiting job for each worker keeps all busy.
    fn ahead(&self) -> usize {
        2 * self.workers()
    }
}

impl<W: 'static> Drop for Pool<W> {
    fn drop(&mut self) {
        self.queue.close();
        for thread in self.threads.drain(..) {
            // Panics of jobs are caught, so a worker ends by itself.
            let _ = thread.join();
        }
    }
}

impl<W: 'static> fmt::Debug for Pool<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool")
            .field("workers", &self.workers())
            .field("queue", &self.queue)
            .finish()
    }
}

/// Runs `f`, and makes an error of a panic.
fn guarded<R>(worker: usize, f: impl FnOnce() -> R) -> Result<R> {
    // What a panic leaves half done is the job's own data; program and inputs
    // stay whole, since nothing unwinds through C.
    catch_unwind(AssertUnwindSafe(f)).map_err(|payload| {
        let message = payload
            .downcast_ref::<&str>()
            .map(|text| (*text).to_owned())
            .or_else(|| payload.downcast_ref::<String>().cloned())
            .unwrap_or_else(|| "(no text)".into());
        Error::WorkerPanicked { worker, message }
    })
}
