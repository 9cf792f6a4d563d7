//! `cargo xtask cases DIR`: runs a folder of cases in the layout of `tests/cases`.

use crate::command::{self, cargo};
use crate::setup;
use std::path::Path;
use std::process::ExitCode;

pub const HELP: &str = "\
Usage: cargo xtask cases DIR [OPTIONS OF THE RUNNER]

Runs every row of a folder of cases through the safe API, each in a process of
its own, and prints a line a row. Exits with 1 where a row falls short.
";

pub fn command(arguments: &[String]) -> Result<ExitCode, String> {
    let Some((dir, options)) = arguments
        .split_first()
        .filter(|(dir, _)| !dir.starts_with('-'))
    else {
        return Err(format!("cases needs a folder\n\n{HELP}"));
    };
    if !Path::new(dir).is_dir() {
        return Err(format!("there is no folder {dir}"));
    }
    let dir = std::path::absolute(dir).map_err(|error| format!("{dir}: {error}"))?;
    let root = command::workspace_root()?;
    setup::ensure(&setup::Options::default())?;
    let mut run = cargo(&root);
    run.args([
        "test",
        "--release",
        "-p",
        "migraphx-workspace",
        "--test",
        "cases",
        "--",
        "--dir",
    ]);
    let status = run.arg(dir).args(options).status();
    let status = status.map_err(|error| format!("cannot run cargo: {error}"))?;
    Ok(if status.success() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
