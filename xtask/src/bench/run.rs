//! `run`: what a run costs, against plain C.

use crate::command::{self, cargo, shown};
use std::path::Path;

/// Whether every bar is met. `words` are parts of the names of figures.
pub fn figures(root: &Path, words: &[&String]) -> Result<bool, String> {
    let mut bench = cargo(root);
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
        .args(words);
    println!("\n{}", shown(&bench));
    command::status(&mut bench)
}
