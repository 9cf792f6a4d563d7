//! Test programs: built, and run under a tool.

use crate::command;
use crate::test::Sum;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

/// The one with mistakes on purpose.
pub const PLANTED: &str = "planted";

/// A test program as Cargo built it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    pub name: String,
    pub path: PathBuf,
}

/// Builds with `cargo test …`, and gives the programs of these names.
pub fn build(test: &mut Command, names: &[&str]) -> Result<Vec<Program>, String> {
    test.args(["--no-run", "--quiet", "--message-format=json"]);
    println!("sanitize: building: {}", command::shown(test));
    let output = test
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| format!("cannot run cargo: {error}"))?;
    if !output.status.success() {
        return Err("the tests do not build; the reason is above".into());
    }
    let messages = String::from_utf8_lossy(&output.stdout);
    let built: Vec<Program> = messages.lines().filter_map(built).collect();
    let program = |name: &&str| {
        let program = built.iter().find(|program| program.name == *name);
        program
            .cloned()
            .ok_or(format!("Cargo built no test {name}"))
    };
    names.iter().map(program).collect()
}

/// From a line of Cargo's messages, where it is about a test program.
fn built(line: &str) -> Option<Program> {
    let message: Value = serde_json::from_str(line).ok()?;
    Some(Program {
        path: message["executable"].as_str()?.into(),
        name: message["target"]["name"].as_str()?.to_owned(),
    })
}

/// What became of a run under a tool.
pub struct Report {
    pub sum: Sum,
    /// Exit status 0: the tests passed and the tool found nothing.
    pub clean: bool,
    /// What the tool wrote.
    pub text: String,
    /// What the program printed.
    pub printed: String,
}

/// Runs `command`, whose tool writes to files of `folder` whose names begin with `log`.
pub fn run(
    title: &str,
    command: &mut Command,
    (folder, log): (&Path, &str),
) -> Result<Report, String> {
    let start = Instant::now();
    for old in logs(folder, log) {
        let _ = fs::remove_file(old);
    }
    let output = command
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("cannot run {title}: {error}"))?;
    let stdout = String::from_utf8_lossy(&output.stdout);
    let mut sum = Sum::default();
    for line in stdout.lines() {
        sum.add(Sum::of_line(line).unwrap_or_default());
    }
    let clean = output.status.success();
    let text: String = logs(folder, log)
        .iter()
        .filter_map(|path| fs::read_to_string(path).ok())
        .collect();
    let tests = match sum {
        // The planted mistakes are no tests.
        sum if sum == Sum::default() => String::new(),
        sum => format!("{}, ", sum.text()),
    };
    let said = if clean { "nothing found" } else { "NOT CLEAN" };
    let seconds = start.elapsed().as_secs_f64();
    println!("sanitize: {title}: {tests}{said} in {seconds:.0} s");
    Ok(Report {
        sum,
        clean,
        text,
        printed: format!("{stdout}{}", String::from_utf8_lossy(&output.stderr)),
    })
}

fn logs(folder: &Path, start: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut logs: Vec<PathBuf> = entries
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(start))
        .map(|entry| entry.path())
        .collect();
    logs.sort();
    logs
}

/// Each mistake has to be found by what the tool says of it, and none where there is none.
pub fn check_tool(
    tool: &str,
    mistakes: &[(&str, &str)],
    run: &dyn Fn(&str) -> Result<Report, String>,
) -> Result<(), String> {
    println!("sanitize: {tool}: has to find what is planted in tests/planted.rs");
    for (mistake, says) in mistakes {
        let report = run(mistake)?;
        if report.clean || !report.text.contains(says) {
            return Err(format!(
                "{tool} did not find the planted mistake `{mistake}` (tests/planted.rs), so what \
                 it says of other programs means nothing. It wrote:\n{}",
                command::indent(&report.text)
            ));
        }
    }
    let report = run("clean")?;
    if !report.clean {
        return Err(format!(
            "{tool} finds something in the program that has no mistake:\n{}",
            command::indent(&report.text)
        ));
    }
    println!(
        "sanitize: {tool}: {} planted mistakes found",
        mistakes.len()
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_programs_of_tests_are_taken() {
        let line =
            r#"{"reason":"compiler-artifact","target":{"name":"pool"},"executable":"/t/pool-1"}"#;
        let program = built(line).unwrap();
        assert_eq!(
            (program.name.as_str(), program.path),
            ("pool", "/t/pool-1".into())
        );
        assert_eq!(built(r#"{"target":{"name":"a"},"executable":null}"#), None);
        assert_eq!(built("text"), None);
    }

    #[test]
    fn a_tool_that_finds_nothing_or_everything_is_refused() {
        let report = |clean: bool, text: &str| Report {
            sum: Sum::default(),
            clean,
            text: text.to_owned(),
            printed: String::new(),
        };
        let mistakes = [("leak", "lost")];
        let run = |found: &'static str| {
            check_tool("t", &mistakes, &|mistake| {
                Ok(report(mistake == "clean", found))
            })
        };
        run("bytes are definitely lost").unwrap();
        assert!(run("something else").unwrap_err().contains("`leak`"));
        let always = check_tool("t", &mistakes, &|_| Ok(report(false, "lost")));
        assert!(always.unwrap_err().contains("no mistake"));
        let never = check_tool("t", &mistakes, &|_| Ok(report(true, "")));
        assert!(never.is_err());
    }
}
