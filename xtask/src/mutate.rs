//! `cargo xtask mutate`: what becomes of files that were changed a little.

use crate::command::{self, cargo};
use crate::setup;
use std::process::ExitCode;

pub const HELP: &str = "\
Usage: cargo xtask mutate [onnx] [mxr] [OPTIONS]

Changes the small models of tests/cases, and programs made from them, a little,
and reads, compiles and runs each mutant in a process of its own, on `ref`, with
zeros. Prints how many were refused by the crate, by its checksum and by
MIGraphX, how many ran, and how many ended the process, and of what. Changes:

  bytes      1 to 4 bytes are others
  truncate   the file is cut off
  swap       two fields, values or entries have each other's place
  repeat     a field, value or entry is there 2 to 101 times
  boundary   a number, length or count is 0, 1, or about as large as can be

  --count N      mutants of each (10000)
  --seed S       of the random numbers (1); the same S, the same mutants
  --unchecked    with the crate's own checks switched off
  --only K:I     mutant I of change K alone, as in `--only swap:17`
  --keep DIR     put the first mutant of each way to end there, and an index
  --limit T      seconds for one (20); each has 4 GiB of memory
  --jobs J       so many at a time (as many as there are processors)
  --at-most D    exit with 1 where more than D ended the process
";

pub fn command(arguments: &[String]) -> Result<ExitCode, String> {
    let root = command::workspace_root()?;
    setup::ensure(&setup::Options::default())?;
    let mut run = cargo(&root);
    run.args(["test", "--quiet", "-p", "migraphx-workspace"]);
    run.args(["--test", "mutate", "--", "mutate"]);
    // A folder of the user's is where the user is, not where Cargo runs it.
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        run.arg(word);
        if word == "--keep"
            && let Some(folder) = words.next()
        {
            run.arg(std::path::absolute(folder).map_err(|error| format!("{folder}: {error}"))?);
        }
    }
    Ok(match command::status(&mut run)? {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    })
}
