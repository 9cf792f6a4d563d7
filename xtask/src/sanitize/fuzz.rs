//! The targets of `fuzz/`, one after the other: libFuzzer makes up inputs that reach
//! new code, AddressSanitizer and the targets' own assertions judge.

use super::nightly::nightly_cargo;
use super::{Outcome, folder};
use crate::command::{self, output, shown};
use std::fs;
use std::path::Path;

/// Longer inputs find nothing that shorter ones do not.
const LONGEST: u64 = 4096;

pub fn check(root: &Path, minutes: u64) -> Result<Outcome, String> {
    let mut version = nightly_cargo(root);
    output(version.args(["fuzz", "--version"])).map_err(|error| {
        format!("{error}\n`cargo install cargo-fuzz` and a nightly Rust are needed")
    })?;
    let targets = output(nightly_cargo(root).args(["fuzz", "list"]))?;
    let mut outcome = Outcome::new("fuzz");
    for target in targets.lines() {
        let corpus = folder(root, &format!("corpus/{target}"))?;
        seed(root, target, &corpus)?;
        outcome.runs += 1;
        if !run(root, target, &corpus, minutes)? {
            outcome.found.push(target.to_owned());
        }
    }
    Ok(outcome)
}

/// Files of the tests that a target's inputs look like.
fn seed(root: &Path, target: &str, corpus: &Path) -> Result<(), String> {
    let kind = target.split('_').next().unwrap_or_default();
    let cases = root.join("tests/cases");
    let entries = fs::read_dir(&cases).map_err(|error| format!("{}: {error}", cases.display()))?;
    for path in entries.flatten().map(|entry| entry.path()) {
        let small = path.metadata().is_ok_and(|file| file.len() <= LONGEST);
        if small
            && path.extension().is_some_and(|extension| extension == kind)
            && let Some(name) = path.file_name()
        {
            let copied = fs::copy(&path, corpus.join(name));
            copied.map_err(|error| format!("cannot fill {}: {error}", corpus.display()))?;
        }
    }
    Ok(())
}

/// Runs a target on what an earlier run left, and drops from that what reaches nothing
/// of its own. False where an input was found that breaks the target.
fn run(root: &Path, target: &str, corpus: &Path, minutes: u64) -> Result<bool, String> {
    let mut run = nightly_cargo(root);
    run.args(["fuzz", "run", target])
        .arg(corpus)
        .arg("--")
        .arg(format!("-max_total_time={}", 60 * minutes))
        .arg(format!("-max_len={LONGEST}"))
        .args(["-timeout=10", "-rss_limit_mb=2048", "-print_final_stats=1"])
        .env("CARGO_INCREMENTAL", "0");
    println!("sanitize: fuzz: {}", shown(&run));
    if !command::status(&mut run)? {
        return Ok(false);
    }
    let mut smaller = nightly_cargo(root);
    smaller
        .args(["fuzz", "cmin", target])
        .arg(corpus)
        .env("CARGO_INCREMENTAL", "0");
    output(&mut smaller).map(|_| true)
}
