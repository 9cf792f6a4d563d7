//! What the tools share: options with the names that `migraphx-driver` has, a
//! model of any kind from a file, input data, and a writer of trace files.

// Each tool uses a part of it.
#![allow(dead_code)]

pub mod chrome_trace;
pub mod compile;
pub mod data;
pub mod model;
#[path = "../../tests/case_runner/npz.rs"]
mod npz;
#[cfg(test)]
pub mod testing;
pub mod text;

use std::io::Write;
use std::process::ExitCode;

use anyhow::Result;

/// Runs a tool: its text goes to the standard output, an error to the other one.
/// `Ok(false)` is a tool that did its work and found something wrong.
pub fn main(run: impl FnOnce(&mut dyn Write) -> Result<bool>) -> ExitCode {
    match run(&mut std::io::stdout().lock()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        // The reader of a pipe has seen enough.
        Err(error) if is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn is_closed_pipe(error: &anyhow::Error) -> bool {
    let io = error.downcast_ref::<std::io::Error>();
    io.is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
}
