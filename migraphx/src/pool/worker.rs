//! The usual pool: each worker owns a program and its input set.

use std::num::NonZeroUsize;
use std::sync::{Mutex, PoisonError};

use super::Pool;
use crate::argument::Argument;
use crate::compiled::CompiledProgram;
use crate::error::Result;
use crate::inputs::Inputs;
use crate::outputs::{Outputs, OwnedOutputs};

/// What a job of a pool of programs gets to work with.
///
/// Pools of anything else are made by [`Pool::start`](crate::Pool::start).
#[derive(Debug)]
pub struct Worker {
    index: usize,
    program: CompiledProgram,
    inputs: Inputs<'static>,
}

impl Worker {
    pub(super) fn new(index: usize, program: CompiledProgram) -> Result<Self> {
        let inputs = program.inputs()?;
        Ok(Worker {
            index,
            program,
            inputs,
        })
    }

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

/// Pools of programs on host buffers.
impl Pool {
    /// Starts `workers` threads; each calls `load` with its number for its
    /// program, and there is room for as many waiting jobs as there are workers.
    ///
    /// `load` runs on the worker's own thread, so a GPU that it makes current is
    /// the one that the program is bound to.
    ///
    /// # Errors
    /// The first error of `load`, after all threads have ended;
    /// [`Error::WorkerPanicked`](crate::Error::WorkerPanicked) where it panicked;
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) for no workers at all.
    pub fn new<F>(workers: usize, load: F) -> Result<Self>
    where
        F: Fn(usize) -> Result<CompiledProgram> + Send + Sync + 'static,
    {
        Pool::start(workers, move |index| Worker::new(index, load(index)?))
    }

    /// As [`new`](Pool::new), with room for `waiting` jobs that have not begun.
    ///
    /// # Errors
    /// As [`new`](Pool::new).
    pub fn with_queue<F>(workers: usize, waiting: NonZeroUsize, load: F) -> Result<Self>
    where
        F: Fn(usize) -> Result<CompiledProgram> + Send + Sync + 'static,
    {
        Pool::start_with_queue(workers, waiting, move |index| {
            Worker::new(index, load(index)?)
        })
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

    /// Runs the program once on tensors given by name, on whichever worker is
    /// free first; many threads can call this at a time.
    ///
    /// # Errors
    /// As [`CompiledProgram::run_once`], and [`Error::NoWorkersLeft`](crate::Error::NoWorkersLeft).
    pub fn run_once(
        &self,
        tensors: Vec<(&'static str, Argument<'static>)>,
    ) -> Result<OwnedOutputs> {
        self.submit(move |worker| worker.program().run_once(&tensors))
            .wait()?
    }
}
