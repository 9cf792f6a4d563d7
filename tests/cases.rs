//! Every row of an `index.tsv` through the safe API: `cargo test --test cases`,
//! or any other folder of that layout with `cargo xtask cases DIR`.
//!
//! It speaks as libtest does, a line a row, but runs each row in a process of
//! its own.

mod case_runner;

use case_runner::args::Args;
use case_runner::{child, index, parent};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

fn main() -> ExitCode {
    let default = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    let result = match Args::parse(std::env::args().skip(1), default) {
        Ok(args) => match args.row {
            Some(row) => return report(child::run(&args.dir, row)),
            None => run(&args),
        },
        Err(e) => Err(e),
    };
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(101),
        Err(e) => {
            eprintln!("cases: {e}");
            ExitCode::FAILURE
        }
    }
}

/// The child's last word to its parent.
fn report(result: Result<(), String>) -> ExitCode {
    match result {
        Ok(()) => {
            println!("{}ok", child::MARK);
            ExitCode::SUCCESS
        }
        Err(e) => {
            println!("{}{}", child::MARK, e.replace('\n', " | "));
            ExitCode::from(1)
        }
    }
}

/// Runs or lists the rows; `Ok(false)` if one fell short.
fn run(args: &Args) -> Result<bool, String> {
    let start = Instant::now();
    let dir: PathBuf = args.dir.canonicalize().map_err(|e| {
        format!(
            "{}: {e}; give a folder with an index.tsv",
            args.dir.display()
        )
    })?;
    let rows = index::read(&dir)?;
    if rows.is_empty() {
        return Err(format!("{}: no rows", dir.join("index.tsv").display()));
    }
    let wanted: Vec<usize> = (0..rows.len())
        .filter(|i| args.wants(&rows[*i].name()))
        .collect();
    if args.list {
        for i in &wanted {
            println!("{}: test", rows[*i].name());
        }
        println!("\n{} tests, 0 benchmarks", wanted.len());
        return Ok(true);
    }

    println!("\nrunning {} tests", wanted.len());
    let mut failed = 0;
    parent::run_all(&dir, &wanted, args.limit, |i, result| {
        let name = rows[i].name();
        match result {
            Ok(()) => println!("test {name} ... ok"),
            Err(e) => {
                failed += 1;
                println!("test {name} ... FAILED: {e}");
            }
        }
    });
    println!(
        "\ntest result: {}. {} passed; {failed} failed; 0 ignored; 0 measured; \
         {} filtered out; finished in {:.2}s\n",
        if failed == 0 { "ok" } else { "FAILED" },
        wanted.len() - failed,
        rows.len() - wanted.len(),
        start.elapsed().as_secs_f64(),
    );
    Ok(failed == 0)
}
