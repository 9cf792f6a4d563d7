//! 64 threads that share a pool, with jobs of every kind of failure among them:
//! each job gets its own result or its own error.

use crate::{Subject, watch};
use anyhow::{Context, Result, bail, ensure};
use migraphx::custom_op::{self, CustomOp, Input, OpResult, Output};
use migraphx::{Argument, CompileOptions, DataType, Error, Pool, Shape, Target, Worker};
use testkit::held::Looks;

pub const SUBJECTS: &[Subject] = &[
    Subject {
        name: "pool of 4, 64 threads, failures",
        // Of 384 jobs each.
        rounds: [100, 2_000],
        run: shared,
    },
    Subject {
        name: "pools made and dropped, jobs in it",
        rounds: [200, 3_000],
        run: dropped,
    },
];

const THREADS: usize = 64;
/// Of each thread in a round: one of each [`Kind`].
const JOBS: usize = 6;

/// What becomes of a job, by its number.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Well,
    OperatorFails,
    OperatorPanics,
    WrongShape,
    JobPanics,
    UnknownInput,
}

impl Kind {
    fn of(number: usize) -> Kind {
        use Kind::*;
        [
            Well,
            OperatorFails,
            OperatorPanics,
            WrongShape,
            JobPanics,
            UnknownInput,
        ][number % JOBS]
    }
}

/// `y = x + 1`, but for the numbers that are to fail; `x` holds the number.
struct Touchy;

impl CustomOp for Touchy {
    fn name(&self) -> &str {
        "soak_touchy"
    }

    fn shape(&self, inputs: &[Shape]) -> OpResult<Shape> {
        Ok(inputs[0].clone())
    }

    fn compute(&self, inputs: &[Input<'_>], output: &mut Output<'_>) -> OpResult {
        let x = inputs[0].slice::<f64>()?;
        let number = x[0] as usize;
        match Kind::of(number) {
            Kind::OperatorFails => return Err(format!("item {number} is refused.").into()),
            Kind::OperatorPanics => panic!("item {number} panics in the operator."),
            _ => {}
        }
        for (y, x) in output.slice_mut::<f64>()?.iter_mut().zip(x) {
            *y = x + 1.0;
        }
        Ok(())
    }
}

fn pool(workers: usize) -> Result<Pool> {
    if !custom_op::names().iter().any(|name| name == "soak_touchy") {
        custom_op::register(Touchy)?;
    }
    let load = |_| {
        let shape = Shape::new(DataType::Double, &[4])?;
        custom_op::program("soak_touchy", &[("x", shape)])?
            .compile(&Target::reference()?, &CompileOptions::new())
    };
    Ok(Pool::new(workers, load)?)
}

fn job(worker: &mut Worker, number: usize) -> migraphx::Result<Vec<f64>> {
    let kind = Kind::of(number);
    assert!(kind != Kind::JobPanics, "item {number} panics in the job.");
    let name = match kind {
        Kind::UnknownInput => format!("input of item {number}."),
        _ => "x".to_owned(),
    };
    let elements = if kind == Kind::WrongShape {
        5 + number
    } else {
        4
    };
    let data = Argument::from_vec(vec![number as f64; elements], &[elements])?;
    let outputs = worker.program().run_once(&[(&name, data)])?;
    Ok(outputs.slice::<f64>(0)?.to_vec())
}

/// Is this what the job must get?
fn settled(number: usize, result: migraphx::Result<migraphx::Result<Vec<f64>>>) -> Result<()> {
    let kind = Kind::of(number);
    let error = match (kind, result) {
        (Kind::Well, Ok(Ok(values))) => {
            ensure!(
                values == [number as f64 + 1.0; 4],
                "item {number}: {values:?}"
            );
            return Ok(());
        }
        (Kind::JobPanics, Err(error @ Error::WorkerPanicked { .. })) => error,
        (Kind::OperatorFails | Kind::OperatorPanics, Ok(Err(error @ Error::Api { .. }))) => error,
        (Kind::WrongShape | Kind::UnknownInput, Ok(Err(error))) => error,
        (_, result) => bail!("item {number} is to be {kind:?}, and came to {result:?}"),
    };
    // Its own number, not another's.
    let own = match kind {
        Kind::WrongShape => format!("[{}]", 5 + number),
        _ => format!("item {number}"),
    };
    let text = error.to_string();
    ensure!(text.contains(&own), "item {number}, {kind:?}: {text}");
    Ok(())
}

/// Hands out all jobs of a thread, then waits for each.
fn share(pool: &Pool, thread: usize) -> Result<()> {
    let numbers = (0..JOBS).map(|nth| thread * JOBS + nth);
    let pending: Vec<_> = numbers
        .map(|number| (number, pool.submit(move |worker| job(worker, number))))
        .collect();
    pending
        .into_iter()
        .try_for_each(|(number, pending)| settled(number, pending.wait()))
}

fn shared(rounds: usize) -> Result<Looks> {
    let pool = pool(4)?;
    let looks = watch(rounds, || {
        std::thread::scope(|scope| {
            let pool = &pool;
            let threads: Vec<_> = (0..THREADS)
                .map(|thread| scope.spawn(move || share(pool, thread)))
                .collect();
            threads
                .into_iter()
                .try_for_each(|thread| thread.join().ok().context("a thread panicked")?)
        })
    })?;
    ensure!(
        pool.retired().is_empty(),
        "workers went: {:?}",
        pool.retired()
    );
    Ok(looks)
}

/// The pool goes while jobs wait: each has its result, or hears that the pool was dropped.
fn dropped(rounds: usize) -> Result<Looks> {
    watch(rounds, || {
        let pool = pool(2)?;
        let pending: Vec<_> = (0..2 * JOBS)
            .map(|number| (number, pool.submit(move |worker| job(worker, number))))
            .collect();
        drop(pool);
        pending
            .into_iter()
            .try_for_each(|(number, pending)| match pending.wait() {
                Err(Error::PoolClosed) => Ok(()),
                result => settled(number, result),
            })
    })
}
