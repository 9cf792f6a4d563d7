//! The child: one row, judged in every repetition.

use crate::case_runner::cycle::{Case, Outcome};
use crate::case_runner::index::{self, Expected};
use crate::case_runner::{judge, leak};
use std::path::Path;

/// Starts the line that tells the parent the outcome.
pub const MARK: &str = "case-runner: ";

pub fn run(dir: &Path, number: usize) -> Result<(), String> {
    let rows = index::read(dir)?;
    let row = rows.get(number).ok_or("no such row")?;
    let case = Case::read(row, dir)?;
    leak::check(|| judge_once(&case))
}

fn judge_once(case: &Case<'_>) -> Result<(), String> {
    let outcome = case.cycle()?;
    // Told only on failure, but kept where any outcome is fine.
    if case.row.expected == Expected::Anything
        && let Outcome::Refused { stage, message, .. } = &outcome
    {
        println!("refused at {stage:?}: {message}");
    }
    judge::judge(case, &outcome)
}
