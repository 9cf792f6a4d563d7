//! `cargo xtask compat`: one build on many libraries, in both link modes.

use crate::command;
use crate::setup;
use crate::test::{Sum, cargo_test, tests_seen};
use std::collections::BTreeMap;
use std::process::ExitCode;

pub const HELP: &str = "\
Usage: cargo xtask compat [FILTER]

Builds stand-ins for MIGraphX's C library, one for each release that matters and
some that never were (tests/compat), and runs one test program on all of them:
first linked to the real library, where the loader then gives it a stand-in, and
again with the feature load-dynamic. Each call of the C library is also made to
fail in turn. Prints a table, and the sum: `N passed, N failed`.
FILTER is for the names of tests, as in `cargo xtask compat variant`.
";

/// As the test program calls them.
const MODES: [&str; 2] = ["linked", "load-dynamic"];

pub fn command(arguments: &[String]) -> Result<ExitCode, String> {
    if let Some(option) = arguments.iter().find(|word| word.starts_with('-')) {
        return Err(format!("compat has no option `{option}`\n\n{HELP}"));
    }
    let root = command::workspace_root()?;
    setup::ensure(&setup::Options::default())?;
    let mut sum = Sum::default();
    let mut seen = Vec::new();
    for mode in MODES {
        let mut test = cargo_test(&root);
        match mode {
            "linked" => test.env("MIGRAPHX_LINK", "force"),
            _ => test.args(["--features", mode]),
        };
        test.args(["-p", "migraphx-workspace", "--test", "compat", "--"]);
        test.args(arguments);
        let mut lines = Seen::default();
        sum.add(tests_seen(mode, &mut test, |line| lines.take(line))?);
        if lines.mode != mode {
            return Err(format!(
                "the test program was to be {mode}, and says `{}`",
                lines.mode
            ));
        }
        seen.push(lines);
    }
    println!("\n{}", table(&seen));
    println!("{}", sum.text());
    Ok(match sum.failed {
        0 if sum.passed > 0 => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    })
}

/// What the test program said in one mode.
#[derive(Debug, Default)]
struct Seen {
    mode: String,
    /// What was found out on each variant, or `FAILED`, in the order of the tests.
    variants: Vec<(String, String)>,
    /// What a variant said, until its test has ended.
    said: BTreeMap<String, String>,
    faults: u64,
}

impl Seen {
    fn take(&mut self, line: &str) {
        if let Some(mode) = line.strip_prefix("link mode: ") {
            self.mode = mode.to_owned();
        } else if let Some(rest) = line.strip_prefix("test variant::") {
            let Some((name, result)) = rest.split_once(" ... ") else {
                return;
            };
            let name = name.trim();
            let said = self.said.remove(name).unwrap_or_default();
            let result = if result == "ok" {
                said
            } else {
                result.to_owned()
            };
            self.variants.push((name.to_owned(), result));
        } else if let Some((name, rest)) = line.split_once(": ") {
            let count = rest
                .split_once(" faults in ")
                .map(|(count, _)| count.parse());
            match count {
                Some(Ok(count)) => self.faults += u64::from(u32::min(count, u32::MAX)),
                _ => {
                    self.said.insert(name.to_owned(), rest.to_owned());
                }
            }
        }
    }
}

/// A row a variant, a column a mode.
fn table(seen: &[Seen]) -> String {
    let row = |name: &str, cells: &[String]| {
        let cells: Vec<String> = cells.iter().map(|cell| format!("{cell:<44}")).collect();
        format!("{name:<18} {}", cells.join(" "))
            .trim_end()
            .to_owned()
            + "\n"
    };
    let modes: Vec<String> = seen.iter().map(|seen| seen.mode.clone()).collect();
    let mut text = row("library", &modes);
    for (name, _) in seen.first().map_or(&[][..], |first| &first.variants) {
        let cells: Vec<String> = seen
            .iter()
            .map(|seen| {
                let found = seen.variants.iter().find(|(other, _)| other == name);
                found.map_or("(not run)", |(_, said)| said).to_owned()
            })
            .collect();
        text += &row(name, &cells);
    }
    let faults: Vec<String> = seen.iter().map(|seen| seen.faults.to_string()).collect();
    text + &row("calls made to fail", &faults)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_what_was_said_and_what_failed() {
        let mut seen = Seen::default();
        for line in [
            "link mode: linked",
            "rocm-7.1: 15 scenarios, 2 told as lacking",
            "test variant::rocm-7.1  ... ok",
            "rocm-7.2: 1 scenarios",
            "test variant::rocm-7.2  ... FAILED",
            "pool: 672 faults in 168 calls of 43 functions",
        ] {
            seen.take(line);
        }
        let text = table(&[seen]);
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].starts_with("library") && lines[0].ends_with("linked"));
        assert!(lines[1].ends_with("15 scenarios, 2 told as lacking"));
        assert!(lines[2].ends_with("FAILED"));
        assert!(lines[3].ends_with("672"));
    }
}
