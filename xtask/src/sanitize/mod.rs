//! `cargo xtask sanitize`: what a type checker does not see, looked for at run time.

mod fuzz;
mod memcheck;
mod miri;
mod nightly;
mod programs;
mod races;

use crate::command::{self, indent};
use programs::Report;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

pub const HELP: &str = "\
Usage: cargo xtask sanitize [--quick] [--minutes N] [memcheck|races|miri|fuzz …]

Runs memcheck, miri and fuzz, or those named:
  memcheck  the tests with the real library under valgrind: memory errors and leaks, in
            our code and in MIGraphX. What is known is in xtask/src/sanitize/memcheck.supp
  races     the tests of threads under ThreadSanitizer: data races in our code (MIGraphX
            is not built for it, so what two of its own threads do is not seen). Only
            where named, since `std` and all that tests need is built again for it
  miri      unit tests that call no C, interpreted: undefined behaviour in Rust
  fuzz      each target of fuzz/ for N minutes (1): files and values of an attacker
Before memcheck and races say anything, they have to find mistakes made on purpose
(tests/planted.rs), and nothing in a program without one.

  --quick   only memcheck, of four test programs: what .ci/run does
  --minutes N  how long to fuzz each target

memcheck fetches valgrind and the symbols of the private copy's C library into the
set-up directory (24 MB, once). The others need a nightly Rust: `rustup toolchain
install nightly --component miri,rust-src`, and fuzz `cargo install cargo-fuzz`.
What a run leaves is in target/sanitize.
";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Memcheck,
    Races,
    Miri,
    Fuzz,
}

const PARTS: [(&str, Part); 4] = [
    ("memcheck", Part::Memcheck),
    ("races", Part::Races),
    ("miri", Part::Miri),
    ("fuzz", Part::Fuzz),
];

#[derive(Debug, PartialEq, Eq)]
struct Options {
    quick: bool,
    minutes: u64,
    parts: Vec<Part>,
}

impl Options {
    fn parse(arguments: &[String]) -> Result<Self, String> {
        let (mut quick, mut minutes, mut parts) = (false, 1, Vec::new());
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            match word.as_str() {
                "--quick" => quick = true,
                "--minutes" => {
                    let number = words.next().and_then(|word| word.parse().ok());
                    minutes = number
                        .filter(|minutes| *minutes > 0)
                        .ok_or_else(|| format!("--minutes needs a number\n\n{HELP}"))?;
                }
                name => match PARTS.iter().find(|(part, _)| *part == name) {
                    Some((_, part)) => parts.push(*part),
                    None => return Err(format!("sanitize has no `{name}`\n\n{HELP}")),
                },
            }
        }
        if parts.is_empty() {
            let all = PARTS.iter().map(|(_, part)| *part);
            parts = all
                .filter(|part| !quick || *part == Part::Memcheck)
                .collect();
        }
        Ok(Options {
            quick,
            minutes,
            parts,
        })
    }
}

pub fn command(arguments: &[String]) -> Result<ExitCode, String> {
    let options = Options::parse(arguments)?;
    let root = command::workspace_root()?;
    let mut outcomes = Vec::new();
    for part in &options.parts {
        outcomes.push(match part {
            Part::Memcheck => memcheck::check(&root, options.quick)?,
            Part::Races => races::check(&root)?,
            Part::Miri => miri::check(&root)?,
            Part::Fuzz => fuzz::check(&root, options.minutes)?,
        });
    }
    println!();
    for outcome in &outcomes {
        println!("sanitize: {}", outcome.text());
    }
    Ok(
        match outcomes.iter().all(|outcome| outcome.found.is_empty()) {
            true => ExitCode::SUCCESS,
            false => ExitCode::FAILURE,
        },
    )
}

/// What one part found.
struct Outcome {
    part: &'static str,
    runs: u64,
    /// Programs or targets with a finding.
    found: Vec<String>,
    suppressed: u64,
}

impl Outcome {
    fn new(part: &'static str) -> Self {
        Outcome {
            part,
            runs: 0,
            found: Vec::new(),
            suppressed: 0,
        }
    }

    /// A program in which no test ran has shown nothing.
    fn add(&mut self, name: &str, report: &Report) {
        self.runs += report.sum.passed + report.sum.failed;
        if !report.clean || report.sum.passed == 0 {
            println!(
                "{}",
                indent(&format!("{}\n{}", report.text, report.printed))
            );
            self.found.push(name.to_owned());
        }
    }

    fn text(&self) -> String {
        let found = match self.found.as_slice() {
            [] => "nothing found".to_owned(),
            names => format!("FOUND SOMETHING in {}", names.join(", ")),
        };
        let suppressed = match self.suppressed {
            0 => String::new(),
            count => format!(", {count} known reports suppressed"),
        };
        format!("{}: {} run, {found}{suppressed}", self.part, self.runs)
    }
}

/// Where a part leaves its reports.
fn folder(root: &Path, part: &str) -> Result<PathBuf, String> {
    let folder = command::target_dir(root).join("sanitize").join(part);
    fs::create_dir_all(&folder)
        .map_err(|error| format!("cannot create {}: {error}", folder.display()))?;
    Ok(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(words: &str) -> Result<Options, String> {
        let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
        Options::parse(&words)
    }

    #[test]
    fn parts_are_all_or_those_named() {
        let usual = [Part::Memcheck, Part::Miri, Part::Fuzz];
        assert_eq!(parse("").unwrap().parts, usual);
        assert_eq!(parse("races").unwrap().parts, [Part::Races]);
        assert_eq!(parse("--quick").unwrap().parts, [Part::Memcheck]);
        let options = parse("miri fuzz --minutes 30").unwrap();
        assert_eq!(options.parts, [Part::Miri, Part::Fuzz]);
        assert_eq!((options.minutes, options.quick), (30, false));
        for wrong in ["valgrind", "--minutes", "--minutes 0", "--fast"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
