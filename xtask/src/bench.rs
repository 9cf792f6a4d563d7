//! `cargo xtask bench`: what a run costs, against plain C.

use crate::command::{self, cargo, shown};
use crate::setup;
use std::process::ExitCode;

pub const HELP: &str = "\
Usage: cargo xtask bench [WORD...]

Sets up, builds the benches in the release profile and measures what a run
costs through `migraphx` and through the same calls in C, side by side, on
MIGraphX's CPU reference target. A line a figure, with its bar; exits with 1
where one is missed. WORDs select the figures whose names hold one of them.
Ratios are what counts: times change from machine to machine.
";

pub fn command(arguments: &[String]) -> Result<ExitCode, String> {
    if let Some(option) = arguments.iter().find(|word| word.starts_with('-')) {
        return Err(format!("bench has no option `{option}`\n\n{HELP}"));
    }
    let root = command::workspace_root()?;
    setup::ensure(&setup::Options::default())?;
    let mut bench = cargo(&root);
    bench
        .args([
            "bench",
            "--quiet",
            "-p",
            "migraphx-workspace",
            "--bench",
            "run",
            "--",
        ])
        .args(arguments);
    println!("\n{}", shown(&bench));
    Ok(match command::status(&mut bench)? {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    })
}
