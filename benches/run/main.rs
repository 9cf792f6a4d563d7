//! What a run costs through `migraphx`, against the same calls from C, on the
//! same models and in one process. `cargo xtask bench` runs it.
//!
//! Each figure stands on a line with its bar, and the exit status is 1 where
//! one is missed. Words select the figures whose names hold one of them. Started
//! without `--bench`, as `cargo test --benches` does, it measures next to
//! nothing: then only allocations and results count.

mod allocations;
mod measure;
mod ours;
mod report;

use std::process::ExitCode;
use std::time::Duration;

use c_baseline::{Baseline, Loop};
use measure::compare;
use ours::Ours;
use report::Report;

/// Floats in each tensor: as little work as there can be, so that the calls show.
const ELEMENTS: usize = 4;
/// Blocks of each side in one try.
const PAIRS: usize = 800;
/// Programs of each side, which take turns.
const PROGRAMS: usize = 4;
/// On a noisy machine a try may fail by chance.
const TRIES: usize = 3;

/// A loop, what it is called, the most time it may take in terms of C's, and
/// the most heap allocations of ours for each run.
const LOOPS: [(Loop, &str, Option<f64>, Option<f64>); 6] = [
    (Loop::Kept, "kept set", Some(1.03), Some(0.0)),
    (
        Loop::Unasked,
        "kept set, C asks no size",
        Some(1.06),
        Some(0.0),
    ),
    (Loop::Refill, "refilled set", Some(1.03), Some(0.0)),
    (Loop::Turns, "two sets in turn", Some(1.03), Some(0.0)),
    (Loop::Rebind, "bound anew each run", Some(1.06), Some(0.0)),
    (Loop::Anew, "everything anew", None, None),
];

fn main() -> ExitCode {
    let full = std::env::args().any(|argument| argument == "--bench");
    match figures(full) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn figures(full: bool) -> anyhow::Result<bool> {
    let words: Vec<String> = std::env::args()
        .skip(1)
        .filter(|argument| !argument.starts_with('-'))
        .collect();
    let wanted = |what: &str| words.is_empty() || words.iter().any(|word| what.contains(word));
    let (pairs, tries) = if full { (PAIRS, TRIES) } else { (2, 1) };
    println!("MIGraphX {}", migraphx::version()?);
    println!(
        "time of a run against plain C, least of {pairs} blocks a side, {tries} tries at most"
    );
    let rows: Vec<f32> = (0..16 * ELEMENTS).map(|i| i as f32).collect();
    let models = [
        ("add", testkit::models::add(&[ELEMENTS])),
        ("sum of 8", testkit::models::sum8(&[ELEMENTS])),
    ];
    let mut report = Report::default();
    for (name, model) in &models {
        // A set that is bound has no buffers left to fill, so each loop has its own.
        for (which, title, time_bar, allocation_bar) in LOOPS {
            let what = format!("{name} [{ELEMENTS}], {title}:");
            if !wanted(&what) {
                continue;
            }
            let mut sides = Vec::new();
            for _ in 0..PROGRAMS {
                let mut ours = Ours::new(model, &rows, ELEMENTS)?;
                let mut theirs = Baseline::new(&migraphx::library_path()?, model, ELEMENTS)?;
                let rows = &rows;
                sides.push((
                    move |runs| Ok(ours.run(which, runs)?),
                    move |runs| Ok(theirs.run(which, rows, runs)?),
                ));
            }
            let time_bar = time_bar.filter(|_| full);
            let mut best = compare(&mut sides, pairs)?;
            for _ in 1..tries {
                if time_bar.is_none_or(|bar| best.ratio() <= bar) {
                    break;
                }
                let again = compare(&mut sides, pairs)?;
                if again.ratio() < best.ratio() {
                    best = again;
                }
            }
            let times = format!("({}, {})", shown(best.ours), shown(best.theirs));
            report.figure(&what, best.ratio(), "x C", &times, time_bar);
            let allocations = best.allocations as f64;
            report.figure(&what, allocations, "allocations", "", allocation_bar);
        }
    }
    Ok(report.finish())
}

fn shown(time: Duration) -> String {
    format!("{:.3} us", time.as_secs_f64() * 1e6)
}
