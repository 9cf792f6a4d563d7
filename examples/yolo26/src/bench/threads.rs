//! All cards in this process, a thread each.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result, bail};
use migraphx::Pool;

use super::batch::Failure;
use super::card::Card;
use super::{Outcome, Plan, Tally};
use crate::cli::Failing;
use crate::progress::say;
use crate::report;

/// A card, or why there is none.
type Place = Result<Card, String>;

pub fn run(plan: &Plan<'_>) -> Result<Outcome> {
    let args = plan.args;
    let pool = load(plan)?;
    let stop = Arc::new(AtomicBool::new(false));
    // Each card's program, as far as it has one.
    let contracts = on_each(&pool, |_| {
        |place: &mut Place| {
            let card = place.as_ref().ok()?;
            Some((card.contract().clone(), card.on_device()))
        }
    })?;
    let Some((contract, on_device)) = contracts.into_iter().flatten().next() else {
        let failures = on_each(&pool, |_| |place: &mut Place| place.as_ref().err().cloned())?;
        bail!("{}", plan.reasons(&failures));
    };
    contract.check(&args.model)?;

    let mut job = plan.job(&contract, args.num_gpus)?;
    let first = Arc::new(plan.first_batch(&job)?);
    if args.warmup > 0 {
        say(args.quiet_mode, "warm-up");
    }
    let (warmup, on_failure) = (args.warmup, args.on_failure);
    let failures = on_each(&pool, |_| {
        let (first, stop) = (first.clone(), stop.clone());
        move |place: &mut Place| {
            let warmed = match place {
                Ok(card) => card
                    .warm_up(&first, warmup, &stop)
                    .map_err(|error| format!("{error:#}")),
                Err(error) => Err(error.clone()),
            };
            if warmed.is_err() && on_failure == Failing::Stop {
                stop.store(true, Ordering::Relaxed);
            }
            warmed.err()
        }
    })?;
    drop(first);

    let schedule = Arc::new(plan.schedule(&contract));
    for (card, reason) in failures.into_iter().enumerate() {
        if let Some(reason) = reason {
            schedule.fail(card, &Failure::Card(reason));
        }
    }
    let progress = Arc::new(plan.progress());
    plan.start(&mut job);
    let started = report::now();
    let job = Arc::new(job);
    let tallies = on_each(&pool, |card| {
        let (job, schedule, progress) = (job.clone(), schedule.clone(), progress.clone());
        move |place: &mut Place| match place {
            Ok(program) => program.run(&job, &schedule.hand(card, &progress)),
            Err(_) => Tally::default(),
        }
    })?;
    if let (Some(trace), Some(path)) = (&job.trace, &args.trace) {
        trace.write(path)?;
    }
    Ok(Outcome {
        contract,
        on_device,
        tallies,
        failures: schedule.failures(),
        left: schedule.left(),
        started,
    })
}

/// Loads the program on every card, each on the thread that will run it.
fn load(plan: &Plan<'_>) -> Result<Pool<Place>> {
    let devices = (0..plan.args.num_gpus).map(|card| plan.device(card));
    let devices = devices.collect::<Result<Vec<_>>>()?;
    let (stored, in_flight) = (plan.stored.clone(), plan.args.in_flight);
    let pool = Pool::start(devices.len(), move |card| {
        let loaded = Card::load(&stored, devices[card], in_flight);
        Ok(loaded.map_err(|error| format!("{error:#}")))
    });
    pool.context("cannot start the threads of the cards")
}

/// The same on each card, at the same time.
fn on_each<R, F>(pool: &Pool<Place>, job: impl Fn(usize) -> F) -> Result<Vec<R>>
where
    F: FnOnce(&mut Place) -> R + Send + 'static,
    R: Send + 'static,
{
    let jobs = 0..pool.workers();
    let pending: Vec<_> = jobs.map(|card| pool.submit_to(card, job(card))).collect();
    // All end before one's error is told.
    let results: Vec<_> = pending.into_iter().map(|result| result.wait()).collect();
    Ok(results.into_iter().collect::<migraphx::Result<_>>()?)
}
