//! Several programs, each on a thread of its own, behind one queue.

use std::collections::VecDeque;
use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use crate::argument::Argument;
use crate::compiled::CompiledProgram;
use crate::error::{Error, Result};
use crate::inputs::Inputs;
use crate::outputs::{Outputs, OwnedOutputs};

/// Workers that each own a program, its input set and a thread.
///
/// A [`CompiledProgram`] is used by one thread at a time; a pool is the way to
/// use several processors at once, or to call one from many threads. The queue
/// is short: handing out work waits while it is full, so that a fast producer
/// does not fill memory. Dropping the pool lets running jobs end, drops those
/// that have not begun, and joins the threads.
///
/// # When it helps
/// With a GPU, one worker keeps it busy if batches are large; more help where
/// host work between runs leaves it idle. On the `ref` target, large operators
/// already use every core.
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
#[derive(Debug)]
pub struct Pool {
    queue: Arc<Queue>,
    threads: Vec<JoinHandle<()>>,
}

/// What a job gets to work with.
#[derive(Debug)]
pub struct Worker {
    index: usize,
    program: CompiledProgram,
    inputs: Inputs<'static>,
}

impl Worker {
    /// The worker's number, from 0.
    pub fn index(&self) -> usize {
        self.index
    }

    /// The worker's input set. It keeps its values from job to job.
    pub fn inputs(&mut self) -> &mut Inputs<'static> {
        &mut self.inputs
    }

    /// The worker's program, to be run on a set that came with the job.
    pub fn program(&mut self) -> &mut CompiledProgram {
        &mut self.program
    }

    /// Runs the program on the worker's input set.
    ///
    /// # Errors
    /// As [`CompiledProgram::run`].
    pub fn run(&mut self) -> Result<Outputs<'_>> {
        self.program.run(&mut self.inputs)
    }
}

impl Pool {
    /// Starts `workers` threads; each calls `load` with its number for its
    /// program, and there is room for as many waiting jobs as there are workers.
    ///
    /// `load` runs on the worker's own thread, so a GPU that it makes current is
    /// the one that the program is bound to.
    ///
    /// # Errors
    /// The first error of `load`, after all threads have ended;
    /// [`Error::WorkerPanicked`] where it panicked; [`Error::InvalidArgument`]
    /// for no workers at all.
    pub fn new<F>(workers: usize, load: F) -> Result<Self>
    where
        F: Fn(usize) -> Result<CompiledProgram> + Send + Sync + 'static,
    {
        let Some(waiting) = NonZeroUsize::new(workers) else {
            let text = "a pool of no workers does nothing; give one or more";
            return Err(Error::InvalidArgument(text.into()));
        };
        Pool::with_queue(workers, waiting, load)
    }

    /// As [`new`](Pool::new), with room for `waiting` jobs that have not begun.
    ///
    /// # Errors
    /// As [`new`](Pool::new).
    pub fn with_queue<F>(workers: usize, waiting: NonZeroUsize, load: F) -> Result<Self>
    where
        F: Fn(usize) -> Result<CompiledProgram> + Send + Sync + 'static,
    {
        let queue = Arc::new(Queue::new(workers, waiting.get()));
        let load = Arc::new(load);
        let (ready, started) = sync_channel(workers);
        let mut pool = Pool {
            queue: queue.clone(),
            threads: Vec::with_capacity(workers),
        };
        for index in 0..workers {
            let (queue, load, ready) = (queue.clone(), load.clone(), ready.clone());
            let thread = std::thread::Builder::new()
                .name(format!("migraphx-{index}"))
                .spawn(move || {
                    let loaded = guarded(index, || {
                        let program = load(index)?;
                        let inputs = program.inputs()?;
                        Ok(Worker {
                            index,
                            program,
                            inputs,
                        })
                    });
                    match loaded.and_then(|worker| worker) {
                        Ok(worker) => {
                            let _ = ready.send(Ok(()));
                            serve(&queue, worker);
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

    /// Starts a worker for each of these programs.
    ///
    /// # Errors
    /// As [`new`](Pool::new).
    pub fn from_programs(programs: Vec<CompiledProgram>) -> Result<Self> {
        let workers = programs.len();
        let programs: Vec<_> = programs.into_iter().map(Some).map(Mutex::new).collect();
        Pool::new(workers, move |index| {
            let mut program = programs[index]
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            Ok(program.take().expect("each worker starts once"))
        })
    }

    /// The number of workers.
    pub fn workers(&self) -> usize {
        self.threads.len()
    }

    /// Hands a job to whichever worker is free first. Waits while the queue is full.
    ///
    /// Do not hand out work and wait for it from inside a job: all workers might
    /// wait for each other.
    pub fn submit<R, F>(&self, job: F) -> Pending<R>
    where
        F: FnOnce(&mut Worker) -> R + Send + 'static,
        R: Send + 'static,
    {
        self.push(None, job)
    }

    /// Hands a job to one worker, for work that is divided beforehand. Waits
    /// while the queue is full.
    ///
    /// # Panics
    /// Where there is no worker of this number.
    pub fn submit_to<R, F>(&self, worker: usize, job: F) -> Pending<R>
    where
        F: FnOnce(&mut Worker) -> R + Send + 'static,
        R: Send + 'static,
    {
        assert!(
            worker < self.workers(),
            "worker {worker} of a pool of {}",
            self.workers()
        );
        self.push(Some(worker), job)
    }

    /// Does the same with every item of `work`, and gives the results in the
    /// order of the items.
    ///
    /// Items are taken as the iterator is advanced, a few ahead of the results.
    /// A panic in a job is an [`Error::WorkerPanicked`] in its place, and the
    /// others go on.
    pub fn map<'p, I, R, F>(&'p self, work: I, job: F) -> Map<'p, I::IntoIter, R, F>
    where
        I: IntoIterator,
        I::Item: Send + 'static,
        R: Send + 'static,
        F: Fn(&mut Worker, I::Item) -> R + Send + Sync + 'static,
    {
        Map {
            pool: self,
            work: work.into_iter(),
            job: Arc::new(job),
            ahead: VecDeque::new(),
        }
    }

    /// Runs the program once on tensors given by name, on whichever worker is
    /// free first; many threads can call this at a time.
    ///
    /// # Errors
    /// As [`CompiledProgram::run_once`].
    pub fn run_once(
        &self,
        tensors: Vec<(&'static str, Argument<'static>)>,
    ) -> Result<OwnedOutputs> {
        self.submit(move |worker| worker.program().run_once(&tensors))
            .wait()?
    }

    fn push<R, F>(&self, to: Option<usize>, job: F) -> Pending<R>
    where
        F: FnOnce(&mut Worker) -> R + Send + 'static,
        R: Send + 'static,
    {
        let (done, result) = sync_channel(1);
        self.queue.push(
            to,
            Box::new(move |worker| {
                let index = worker.index;
                // Nobody may be waiting any more.
                let _ = done.send(guarded(index, || job(worker)));
            }),
        );
        Pending { result }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.queue.close();
        for thread in self.threads.drain(..) {
            // Panics of jobs are caught, so a worker ends by itself.
            let _ = thread.join();
        }
    }
}

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
    /// where the pool was dropped before the job began.
    pub fn wait(self) -> Result<R> {
        self.result.recv().unwrap_or(Err(Error::PoolClosed))
    }
}

/// Results in the order of the work, from [`Pool::map`].
#[derive(Debug)]
pub struct Map<'p, I, R, F> {
    pool: &'p Pool,
    work: I,
    job: Arc<F>,
    ahead: VecDeque<Pending<R>>,
}

impl<I, R, F> Iterator for Map<'_, I, R, F>
where
    I: Iterator,
    I::Item: Send + 'static,
    R: Send + 'static,
    F: Fn(&mut Worker, I::Item) -> R + Send + Sync + 'static,
{
    type Item = Result<R>;

    fn next(&mut self) -> Option<Self::Item> {
        // One running and one waiting job for each worker keeps all busy.
        while self.ahead.len() < 2 * self.pool.workers() {
            let Some(item) = self.work.next() else { break };
            let job = self.job.clone();
            self.ahead
                .push_back(self.pool.submit(move |worker| job(worker, item)));
        }
        self.ahead.pop_front().map(Pending::wait)
    }
}

type Job = Box<dyn FnOnce(&mut Worker) + Send>;

/// Jobs that have not begun.
struct Queue {
    state: Mutex<State>,
    /// Told when there is work, or no more will come.
    work: Condvar,
    /// Told when there is room.
    room: Condvar,
    capacity: usize,
}

struct State {
    shared: VecDeque<Job>,
    own: Vec<VecDeque<Job>>,
    closed: bool,
}

impl State {
    fn waiting(&self) -> usize {
        self.shared.len() + self.own.iter().map(VecDeque::len).sum::<usize>()
    }
}

impl Queue {
    fn new(workers: usize, capacity: usize) -> Self {
        Queue {
            state: Mutex::new(State {
                shared: VecDeque::new(),
                own: (0..workers).map(|_| VecDeque::new()).collect(),
                closed: false,
            }),
            work: Condvar::new(),
            room: Condvar::new(),
            capacity,
        }
    }

    /// No job runs under the lock, so a poisoned one is as good as any.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&self, to: Option<usize>, job: Job) {
        let mut state = self
            .room
            .wait_while(self.lock(), |state| state.waiting() >= self.capacity)
            .unwrap_or_else(PoisonError::into_inner);
        match to {
            None => state.shared.push_back(job),
            Some(worker) => state.own[worker].push_back(job),
        }
        drop(state);
        // All, since the one that is told may not be the one that the job is for.
        self.work.notify_all();
    }

    /// The next job for a worker; `None` when there will be no more.
    fn pop(&self, worker: usize) -> Option<Job> {
        let mut state = self
            .work
            .wait_while(self.lock(), |state| {
                !state.closed && state.shared.is_empty() && state.own[worker].is_empty()
            })
            .unwrap_or_else(PoisonError::into_inner);
        if state.closed {
            return None;
        }
        let own = state.own[worker].pop_front();
        let job = own.or_else(|| state.shared.pop_front());
        drop(state);
        self.room.notify_one();
        job
    }

    /// Drops jobs that have not begun, and sends the workers home.
    fn close(&self) {
        let mut state = self.lock();
        state.closed = true;
        let dropped: Vec<Job> = std::mem::take(&mut state.shared)
            .into_iter()
            .chain(state.own.iter_mut().flat_map(std::mem::take))
            .collect();
        drop(state);
        self.work.notify_all();
        drop(dropped);
    }
}

impl std::fmt::Debug for Queue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Queue")
            .field("waiting", &self.lock().waiting())
            .field("capacity", &self.capacity)
            .finish()
    }
}

fn serve(queue: &Queue, mut worker: Worker) {
    while let Some(job) = queue.pop(worker.index) {
        job(&mut worker);
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
