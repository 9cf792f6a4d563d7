//! The tests of threads under ThreadSanitizer: data races in our Rust, and in `std`,
//! which is built with it here (its locks would not be seen otherwise).
//!
//! MIGraphX is the real library, built without it. What two of its own threads do to
//! each other is not seen, and its calls of `memcpy` and `free` are not looked at, as
//! the locks and counters around them are not seen either. What our code does to memory
//! that the library hands out, and in callbacks on its threads, is seen.
//!
//! valgrind's drd and helgrind see C too, and know no lock of Rust's `std` (a futex and
//! atomic numbers): each use of a `Mutex` would be reported.

use super::nightly::{need, nightly_cargo};
use super::programs::{self, PLANTED, Program, Report};
use super::{Outcome, folder};
use crate::command;
use crate::setup;
use std::path::Path;
use std::process::Command;

const TARGET: &str = "x86_64-unknown-linux-gnu";

/// Unit tests (the gate, the lock, the text capture), then programs in `tests/`.
const TESTS: &[&str] = &["migraphx", "pool", "rules_threads"];

const MISTAKES: [(&str, &str); 1] = [("race", "data race")];

pub fn check(root: &Path) -> Result<Outcome, String> {
    need("rust-src")?;
    setup::ensure(&setup::Options::default())?;
    let mut programs = programs::build(&mut build(root), &[&[PLANTED], TESTS].concat())?;
    let planted = programs.remove(0);
    let folder = folder(root, "races")?;
    let run = |program: &Program, argument: &str| sanitized(root, &folder, program, argument);
    programs::check_tool("races", &MISTAKES, &|mistake| run(&planted, mistake))?;
    let mut outcome = Outcome::new("races");
    for program in &programs {
        outcome.add(&program.name, &run(program, "--quiet")?);
    }
    Ok(outcome)
}

fn build(root: &Path) -> Command {
    let mut test = nightly_cargo(root);
    test.args(["test", "-Zbuild-std", "--target", TARGET])
        // Beside the other builds, whose flags differ.
        .arg("--target-dir")
        .arg(command::target_dir(root).join("tsan"))
        .args(["-p", "migraphx", "-p", "migraphx-workspace"])
        .args(["--no-default-features", "--features", "load-dynamic"])
        .args(["--lib", "--test", PLANTED])
        .env("RUSTFLAGS", "-Zsanitizer=thread")
        .env("CARGO_INCREMENTAL", "0");
    for name in TESTS.iter().filter(|name| **name != "migraphx") {
        test.args(["--test", name]);
    }
    test
}

fn sanitized(
    root: &Path,
    folder: &Path,
    program: &Program,
    argument: &str,
) -> Result<Report, String> {
    let log = format!("{}.log", program.name);
    let suppressions = root.join("xtask/src/sanitize/races.supp");
    let mut command = Command::new(&program.path);
    command.arg(argument).current_dir(root).env(
        "TSAN_OPTIONS",
        format!(
            "exitcode=66 log_path={} suppressions={}",
            folder.join(&log).display(),
            suppressions.display()
        ),
    );
    let title = format!("races: {} {argument}", program.name);
    programs::run(&title, &mut command, (folder, &log))
}
