//! The tests under valgrind's memcheck, with the real library: invalid reads and
//! writes, use of what was freed, decisions on uninitialised bytes, and leaks.
//!
//! It sees all machine code, MIGraphX's too; and only what the tests do.

use super::programs::{self, PLANTED, Program, Report};
use super::{Outcome, folder};
use crate::command::cargo;
use crate::setup::valgrind::Valgrind;
use crate::setup::{self, valgrind};
use std::path::Path;

/// Unit tests of `migraphx`, then programs in `tests/`. Left out are those that only
/// start other programs: `cases`, `compile_fail`, `outside`, `gpu`; and `quantize`, which
/// does not end within 15 minutes (nothing was found until then).
const TESTS: &[&str] = &[
    "migraphx",
    "migraphx_sys",
    "accuracy",
    "argument_files",
    "buckets",
    "custom_op",
    "custom_op_graph",
    "dynamic",
    "graph",
    "listing",
    "pool",
    "pool_failover",
    "rules_aliasing",
    "rules_errors",
    "rules_hostile",
    "rules_inputs",
    "rules_names",
    "rules_save_load",
    "rules_sizes",
    "rules_states",
    "rules_threads",
    "tf",
    "trace",
];

/// What a change of the crates breaks first, in a minute.
const QUICK: &[&str] = &["migraphx", "pool", "rules_aliasing", "rules_inputs"];

const MISTAKES: [(&str, &str); 2] = [
    ("leak", "definitely lost"),
    ("read", "Invalid read of size 8"),
];

pub fn check(root: &Path, quick: bool) -> Result<Outcome, String> {
    let valgrind = valgrind::find_or_fetch(&setup::Options::default())?;
    let names = if quick { QUICK } else { TESTS };
    let mut test = cargo(root);
    // As the first pass of `cargo xtask test`, so that nothing is built twice.
    test.args(["test", "--workspace", "--lib", "--test", PLANTED])
        .env("MIGRAPHX_LINK", "force")
        .env("CARGO_INCREMENTAL", "0");
    for name in names.iter().filter(|name| !name.starts_with("migraphx")) {
        test.args(["--test", name]);
    }
    let mut programs = programs::build(&mut test, &[&[PLANTED], names].concat())?;
    let planted = programs.remove(0);
    let folder = folder(root, "memcheck")?;
    let run =
        |program: &Program, argument: &str| memcheck(root, &valgrind, &folder, program, argument);
    programs::check_tool("memcheck", &MISTAKES, &|mistake| run(&planted, mistake))?;
    let mut outcome = Outcome::new("memcheck");
    for program in &programs {
        let report = run(program, "--quiet")?;
        outcome.suppressed += suppressed(&report.text);
        outcome.add(&program.name, &report);
    }
    Ok(outcome)
}

/// One program. Those that a test starts run as they are.
fn memcheck(
    root: &Path,
    valgrind: &Valgrind,
    folder: &Path,
    program: &Program,
    argument: &str,
) -> Result<Report, String> {
    let log = format!("{}.log", program.name);
    let suppressions = root.join("xtask/src/sanitize/memcheck.supp");
    let mut command = valgrind.command("memcheck");
    command
        .args(["--leak-check=full", "--show-leak-kinds=definite,indirect"])
        .args(["--errors-for-leak-kinds=definite", "--error-exitcode=99"])
        .args(["--num-callers=40", "--fair-sched=yes", "-s"])
        .arg(format!("--suppressions={}", suppressions.display()))
        .arg(format!("--log-file={}", folder.join(&log).display()))
        .arg(&program.path)
        .arg(argument)
        // The folder that Cargo runs tests in.
        .current_dir(root);
    let title = format!("memcheck: {} {argument}", program.name);
    programs::run(&title, &mut command, (folder, &log))
}

/// From the last line, `ERROR SUMMARY: 0 errors from 0 contexts (suppressed: 12 from 3)`.
fn suppressed(text: &str) -> u64 {
    let last = text.rsplit("(suppressed: ").next().unwrap_or_default();
    let count = last.split_whitespace().next().unwrap_or_default();
    count.parse().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suppressed_errors_are_counted() {
        let text = "==1== ERROR SUMMARY: 0 errors from 0 contexts (suppressed: 12 from 3)\n";
        assert_eq!(suppressed(text), 12);
        assert_eq!(suppressed(""), 0);
    }

    #[test]
    fn the_quick_part_is_of_the_whole() {
        assert!(QUICK.iter().all(|name| TESTS.contains(name)));
    }
}
