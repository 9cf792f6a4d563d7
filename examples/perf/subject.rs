//! What is measured: a program that copies in each run, or one with buffers on
//! the GPU and batches in flight.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use migraphx::hip::Stream;
use migraphx::{CompiledProgram, DeviceBindings, DeviceProgram, Error, Parameter, mxr};

use crate::Cli;
use crate::tools_common::data::Tensors;
use crate::tools_common::model::{Kind, Model};

pub enum Subject {
    Host(CompiledProgram),
    Device(DeviceProgram),
}

/// Times of single runs, and of all of them.
pub struct Measured {
    pub runs: Vec<Duration>,
    pub total: Duration,
}

impl Subject {
    pub fn new(cli: &Cli) -> Result<Self> {
        let file = &cli.model.file;
        if cli.model.kind()? == Kind::Mxr && mxr::inspect(file)?.is_compiled() {
            let loaded = match cli.compile.device {
                Some(_) => CompiledProgram::load_on(file, cli.compile.device()?),
                None => CompiledProgram::load(file),
            };
            return match loaded {
                Err(Error::BufferKind { .. }) => {
                    let program = DeviceProgram::load(file, cli.compile.device()?)?;
                    Ok(Subject::Device(program))
                }
                loaded => Ok(Subject::Host(loaded?)),
            };
        }
        let Model::Program(mut program) = cli.model.load()? else {
            unreachable!("only a compiled file holds a compiled program");
        };
        if !cli.device_buffers {
            return Ok(Subject::Host(cli.compile.compile(program)?));
        }
        if cli.compile.target_name() != "gpu" {
            bail!("--device-buffers is for the target gpu");
        }
        cli.compile.quantize(&mut program)?;
        Ok(Subject::Device(cli.compile.compile_for_device(program)?))
    }

    /// Where it runs, for people.
    pub fn place(&self) -> String {
        match self {
            Subject::Host(program) => match program.device() {
                Some(device) => format!("{} ({device})", program.target()),
                None => program.target().to_owned(),
            },
            Subject::Device(program) => {
                format!("gpu ({}), buffers on the device", program.device())
            }
        }
    }

    pub fn parameters(&self) -> &[Parameter] {
        match self {
            Subject::Host(program) => program.parameters(),
            Subject::Device(program) => program.parameters(),
        }
    }

    /// Runs `warmup` and `count` times. Copies to and from the device are part
    /// of a run either way.
    pub fn measure(&mut self, tensors: &Tensors, cli: &Cli) -> Result<Measured> {
        let (warmup, count) = (cli.warmup as usize, cli.iterations as usize);
        match self {
            Subject::Host(program) => on_host(program, tensors, warmup, count),
            Subject::Device(program) => {
                on_device(program, tensors, warmup, count, cli.in_flight as usize)
            }
        }
    }
}

fn on_host(
    program: &mut CompiledProgram,
    tensors: &Tensors,
    warmup: usize,
    count: usize,
) -> Result<Measured> {
    let mut inputs = program.inputs()?;
    for (name, tensor) in tensors {
        inputs.set(inputs.id(name)?, tensor)?;
    }
    for _ in 0..warmup {
        program.run(&mut inputs)?;
    }
    let mut runs = Vec::with_capacity(count);
    let begin = Instant::now();
    for _ in 0..count {
        let start = Instant::now();
        program.run(&mut inputs)?;
        runs.push(start.elapsed());
    }
    let total = begin.elapsed();
    Ok(Measured { runs, total })
}

/// With several sets, a run is queued while others compute, and its time is that
/// from there to its results.
fn on_device(
    program: &mut DeviceProgram,
    tensors: &Tensors,
    warmup: usize,
    count: usize,
    in_flight: usize,
) -> Result<Measured> {
    let device = program.device();
    let mut free = Vec::new();
    for _ in 0..in_flight {
        free.push((program.bindings()?, Stream::new(device)?));
    }
    let mut running = VecDeque::new();
    let mut runs = Vec::with_capacity(count);
    let mut begin = Instant::now();
    for number in 0..warmup + count {
        if number == warmup {
            // Nothing of the warm-up counts.
            while !running.is_empty() {
                free.push(finish(&mut running)?.0);
            }
            begin = Instant::now();
        }
        if free.is_empty() {
            let (set, took) = finish(&mut running)?;
            free.push(set);
            if number - in_flight >= warmup {
                runs.push(took);
            }
        }
        let Some((mut set, stream)) = free.pop() else {
            unreachable!("a set was finished");
        };
        // Written inputs are uploaded by the run.
        for (name, tensor) in tensors {
            set.set(set.id(name)?, tensor)?;
        }
        let start = Instant::now();
        running.push_back((program.enqueue(set, &stream)?, stream, start));
    }
    while !running.is_empty() {
        runs.push(finish(&mut running)?.1);
    }
    let total = begin.elapsed();
    Ok(Measured { runs, total })
}

type Set = (DeviceBindings, Stream);
type Running = VecDeque<(migraphx::PendingRun, Stream, Instant)>;

/// Waits for the oldest run.
fn finish(running: &mut Running) -> Result<(Set, Duration)> {
    let Some((run, stream, start)) = running.pop_front() else {
        unreachable!("a run is in flight");
    };
    let set = run.wait()?;
    Ok(((set, stream), start.elapsed()))
}
