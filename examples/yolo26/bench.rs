//! `bench`: N workers, each with a program of its own, over the images of a
//! data set; the table of images per second.

use std::io::Write;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use anyhow::{Result, bail};
use migraphx::{CompiledProgram, Inputs, Pool};

use crate::cli::BenchArgs;
use crate::dataset;
use crate::detections::ROW;
use crate::pipeline::{self, Source};
use crate::preprocess::Mode;
use crate::progress::{Meter, Progress};
use crate::report::{Kind, Report, Tally};
use crate::store::Store;
use crate::weights::{Contract, Model};

/// What all workers share.
struct Job {
    images: Vec<PathBuf>,
    contract: Contract,
    letterbox: Mode,
    warmup: usize,
    store: Option<Store>,
    /// Set once a worker has failed; the others then stop at their next batch.
    stop: AtomicBool,
}

pub fn run(args: &BenchArgs, out: &mut dyn Write) -> Result<()> {
    let images = dataset::images(&args.data)?;
    let model = Model::open(&args.model, args.fp16)?;
    let store = match args.dry_run {
        true => None,
        false => Some(Store::create(&args.output, args.num_gpus)?),
    };
    let kind = Kind::of(&model.target);
    let job = Arc::new(Job {
        images,
        contract: model.contract.clone(),
        letterbox: args.letterbox,
        warmup: args.warmup,
        store,
        stop: AtomicBool::new(false),
    });
    let pool = Pool::from_programs(model.into_programs(args.num_gpus)?)?;
    let progress = Progress::new(args.quiet_mode);

    let parts = split(job.images.len(), pool.workers(), args.split_data);
    let pending: Vec<_> = parts
        .into_iter()
        .enumerate()
        .map(|(i, part)| {
            let job = job.clone();
            let meter = progress.meter(format!("{} {i}", kind.name()), part.len());
            pool.submit_to(i, move |worker| {
                let stop = StopUnlessDone(&job.stop);
                let tally = work(worker, &job, &job.images[part], meter)?;
                std::mem::forget(stop);
                Ok(tally)
            })
        })
        .collect();
    // A table without one of the workers would be a lie: one failure fails all.
    let results: Vec<Result<Tally>> = pending.into_iter().map(|result| result.wait()?).collect();
    let reasons: Vec<String> = results
        .iter()
        .enumerate()
        .filter_map(|(i, result)| Some((i, result.as_ref().err()?)))
        .map(|(i, error)| format!("{} {i} failed: {error:#}", kind.name()))
        .collect();
    if !reasons.is_empty() {
        bail!("{}", reasons.join("\n"));
    }
    let workers = results.into_iter().collect::<Result<_>>()?;
    write!(out, "{}", Report { kind, workers })?;
    if job.store.is_some() {
        writeln!(out, "results in {}", args.output.display())?;
    }
    Ok(())
}

/// Tells the other workers when its own ends by an error or a panic.
struct StopUnlessDone<'a>(&'a AtomicBool);

impl Drop for StopUnlessDone<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Which images each worker does: equal shares, the first ones one image more
/// where it does not come out even; or all.
fn split(images: usize, workers: usize, divide: bool) -> Vec<Range<usize>> {
    if !divide {
        return vec![0..images; workers];
    }
    let (share, more) = (images / workers, images % workers);
    let start = |i: usize| i * share + i.min(more);
    (0..workers).map(|i| start(i)..start(i + 1)).collect()
}

/// One worker's part: decoding beside inference, on two input sets.
fn work(
    worker: &mut migraphx::Worker,
    job: &Job,
    images: &[PathBuf],
    mut meter: Meter,
) -> Result<Tally> {
    let source = Source {
        images,
        contract: &job.contract,
        letterbox: job.letterbox,
    };
    let number = worker.index();
    let program = worker.program();
    let row_values = job.contract.rows * ROW;
    let mut tally = Tally::default();
    let sets = [program.inputs()?, program.inputs()?];
    pipeline::run(sets, &source, |batch| {
        if batch.index == 0 {
            warm_up(program, &mut batch.inputs, job, &meter)?;
        }
        if job.stop.load(Ordering::Relaxed) {
            return Ok(false);
        }
        let start = Instant::now();
        let outputs = program.run(&mut batch.inputs)?;
        tally.time += start.elapsed();
        tally.images += batch.images;
        if let Some(store) = &job.store {
            let rows = &outputs.slice::<f32>(0)?[..batch.images * row_values];
            store.write(number, batch.index, rows)?;
        }
        meter.advance(batch.images);
        Ok(true)
    })?;
    Ok(tally)
}

fn warm_up(
    program: &mut CompiledProgram,
    inputs: &mut Inputs<'static>,
    job: &Job,
    meter: &Meter,
) -> Result<()> {
    meter.say("warm-up");
    for _ in 0..job.warmup {
        if job.stop.load(Ordering::Relaxed) {
            break;
        }
        program.run(inputs)?;
    }
    meter.say("");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_image_is_done_once() {
        for images in 0..40 {
            for workers in 1..10 {
                let parts = split(images, workers, true);
                let all: Vec<usize> = parts.iter().cloned().flatten().collect();
                assert_eq!(
                    all,
                    (0..images).collect::<Vec<_>>(),
                    "{images} on {workers}"
                );
                assert_eq!(parts.len(), workers);
                let sizes = parts.iter().map(Range::len);
                assert!(sizes.clone().max().unwrap() - sizes.min().unwrap() <= 1);
            }
        }
        assert_eq!(split(5, 2, false), [0..5, 0..5]);
    }
}
