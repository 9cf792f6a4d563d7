//! `cargo xtask test`: every test in both link modes and both profiles, added up.

use crate::command::{self, cargo, shown};
use crate::setup::{self, gpu_sim, mpi};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

pub const HELP: &str = "\
Usage: cargo xtask test [-- ARGUMENTS OF CARGO TEST]

Sets up, then runs
  1. all tests of the workspace, linked to MIGraphX (MIGRAPHX_LINK=force), doctests included
  2. the tests of the crates again with the feature load-dynamic, but for those of tools
     and those to which the link mode or profile is nothing, or who try both themselves
  3. the tests on the virtual GPU: eight devices that the CPU plays, made by the
     set-up. Left out where MIGraphX is the machine's own: the virtual GPU is made
     of the private copy
  4. yolo26-mpi on the virtual GPU: four processes of MPI, the machine's own or one
     made by the set-up. Left out where there is none to be had, except in CI
  5. as the second, in the release profile, linked as a build finds fit
  6. every example of one file, once
and ends with the sum: `N passed, N failed`. Arguments after `--` go to each
`cargo test`, as in `cargo xtask test -- --test rules_names`; with them the
examples are left out. `-- --test gpu` runs the third alone, `-- --test mpi` the fourth.
";

/// The test program of the third pass.
const GPU: &str = "gpu";
/// That of the fourth.
const MPI: &str = "mpi";

/// Programs of the root's tests that are run once: they try the link modes themselves, start
/// programs that do, or test the tests.
const ONCE: [&str; 5] = ["compile_fail", "coverage", "mutate", "outside", "planted"];
/// Those that are left out in release besides: children of theirs are killed, or a C library
/// stands in, and what is seen of that is the same.
const NOT_IN_RELEASE: [&str; 3] = ["cache", "compat", "exit"];

/// Added-up `test result:` lines.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Sum {
    pub passed: u64,
    pub failed: u64,
    ignored: u64,
}

impl Sum {
    pub fn add(&mut self, other: Sum) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.ignored += other.ignored;
    }

    /// From a line of a test program, if it is the one that closes its report.
    pub fn of_line(line: &str) -> Option<Sum> {
        let (_, counts) = line
            .trim()
            .strip_prefix("test result: ")?
            .split_once(". ")?;
        let count = |what: &str| {
            let part = counts.split(';').find(|part| part.trim().ends_with(what))?;
            part.split_whitespace().next()?.parse().ok()
        };
        Some(Sum {
            passed: count("passed")?,
            failed: count("failed")?,
            ignored: count("ignored").unwrap_or(0),
        })
    }

    pub fn text(&self) -> String {
        let skipped = match self.ignored {
            0 => String::new(),
            ignored => format!(", {ignored} skipped"),
        };
        format!("{} passed, {} failed{skipped}", self.passed, self.failed)
    }
}

/// A `cargo test` to be run.
struct Pass {
    title: &'static str,
    words: &'static str,
    /// Programs of the root's tests that are left out. `None`: `words` says what is run.
    without: Option<&'static [&'static [&'static str]]>,
    /// What a build links to; empty: nothing said.
    link: &'static str,
    /// A test program that no other pass has, and that needs the virtual GPU.
    program: Option<&'static str>,
}

const PASSES: [Pass; 5] = [
    Pass {
        title: "linked, debug",
        words: "--workspace",
        without: None,
        // By itself a build links to no private copy, which the loader would not find.
        link: "force",
        program: None,
    },
    Pass {
        title: "load-dynamic, debug",
        words: "-p migraphx-sys -p migraphx -p migraphx-workspace -p yolo26 --features load-dynamic",
        without: Some(&[&ONCE]),
        link: "",
        program: None,
    },
    // After the pass with the same features: nothing is built again.
    Pass {
        title: "virtual GPU",
        words: "-p migraphx-workspace --features load-dynamic,gpu-tests --test gpu",
        without: None,
        link: "",
        program: Some(GPU),
    },
    Pass {
        title: "MPI",
        words: "-p yolo26-mpi --no-default-features --features mpi,load-dynamic --test mpi",
        without: None,
        link: "",
        program: Some(MPI),
    },
    Pass {
        title: "default, release",
        words: "-p migraphx -p migraphx-workspace -p yolo26 --release",
        without: Some(&[&ONCE, &NOT_IN_RELEASE]),
        link: "",
        program: None,
    },
];

pub fn command(arguments: &[String]) -> Result<ExitCode, String> {
    let extra = match arguments.split_first() {
        None => &[],
        Some((first, rest)) if first == "--" => rest,
        Some((first, _)) => return Err(format!("test has no option `{first}`\n\n{HELP}")),
    };
    let root = command::workspace_root()?;
    let found = setup::ensure(&setup::Options::default())?;

    let mut passes = Vec::new();
    let targets = Targets::of(extra);
    let mut left_out = Vec::new();
    for pass in PASSES.iter().filter(|pass| targets.has(pass.program)) {
        let mut test = cargo_test(&root);
        if pass.program.is_some() {
            if !found.prefix {
                left_out.push(format!(
                    "{}: left out, none of its tests ran: MIGraphX is the machine's own ({}), and \
                     the virtual GPU is made of the private copy",
                    pass.title,
                    found.lib.display()
                ));
                continue;
            }
            test.env("GPU_SIM_DIR", gpu_sim::ensure(&setup::Options::default())?);
        }
        if pass.program == Some(MPI) {
            match mpi::find_or_fetch(None).and_then(|mpi| mpi.environment()) {
                Ok(variables) => test.envs(variables),
                Err(reason) if std::env::var_os("CI").is_none() => {
                    left_out.push(format!("MPI: left out, none of its tests ran: {reason}"));
                    continue;
                }
                Err(reason) => return Err(reason),
            };
        }
        if !pass.link.is_empty() {
            test.env("MIGRAPHX_LINK", pass.link);
        }
        test.arg("--no-fail-fast").args(pass.words.split(' '));
        if let Some(without) = pass.without.filter(|_| targets.names.is_empty()) {
            test.arg("--lib");
            for name in root_tests(&root.join("tests"))? {
                // With a filter of the user's, every program is asked.
                if !(extra.is_empty() && without.iter().any(|names| names.contains(&&*name))) {
                    test.args(["--test", &name]);
                }
            }
        }
        test.args(targets.arguments(pass.program));
        passes.push((pass.title, tests(pass.title, &mut test)?));
    }
    if extra.is_empty() {
        passes.push(("examples", examples(&root)?));
    }
    let mut sum = Sum::default();
    println!();
    for (title, pass) in passes {
        println!("test: {title}: {}", pass.text());
        sum.add(pass);
    }
    for reason in left_out {
        println!("test: {reason}");
    }
    if sum.passed == 0 && sum.failed == 0 {
        return Err("no test ran".into());
    }
    println!("{}", sum.text());
    Ok(if sum.failed == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Which passes the arguments of `cargo test` are for.
#[derive(Debug, Default, PartialEq)]
struct Targets {
    /// Those of a program of their own.
    programs: Vec<&'static str>,
    others: bool,
    /// Names of programs and packages, which those do not have.
    names: Vec<String>,
    rest: Vec<String>,
}

impl Targets {
    fn of(extra: &[String]) -> Targets {
        let mut targets = Targets::default();
        let mut words = extra.iter();
        while let Some(word) = words.next() {
            let (kind, inline) = match word.split_once('=') {
                Some((kind, value)) => (kind, Some(value.to_owned())),
                None => (word.as_str(), None),
            };
            match kind {
                "--" => {
                    targets.rest.push(word.clone());
                    targets.rest.extend(words.by_ref().cloned());
                }
                "--test" | "--bin" | "--example" | "--bench" | "-p" | "--package" => {
                    let name = inline.or_else(|| words.next().cloned()).unwrap_or_default();
                    match [GPU, MPI].into_iter().find(|own| *own == name) {
                        Some(own) if kind == "--test" => targets.programs.push(own),
                        _ => targets.names.extend([kind.to_owned(), name]),
                    }
                }
                "--lib" | "--bins" | "--examples" | "--tests" | "--benches" | "--doc" => {
                    targets.names.push(word.clone());
                }
                _ => targets.rest.push(word.clone()),
            }
        }
        targets.others = !targets.names.is_empty();
        // A filter alone is for all of them.
        if targets.programs.is_empty() && !targets.others {
            (targets.programs, targets.others) = (vec![GPU, MPI], true);
        }
        targets
    }

    fn has(&self, program: Option<&str>) -> bool {
        program.map_or(self.others, |own| self.programs.contains(&own))
    }

    fn arguments(&self, program: Option<&str>) -> impl Iterator<Item = &String> {
        let names = if program.is_some() {
            &[][..]
        } else {
            &self.names
        };
        names.iter().chain(&self.rest)
    }
}

pub(crate) fn cargo_test(root: &Path) -> Command {
    let mut test = cargo(root);
    test.arg("test");
    // It is for building again, and takes a good part of the disk.
    if std::env::var_os("CARGO_INCREMENTAL").is_none() {
        test.env("CARGO_INCREMENTAL", "0");
    }
    test
}

/// One `cargo test`, its output passed on as it comes.
fn tests(title: &str, test: &mut Command) -> Result<Sum, String> {
    tests_seen(title, test, |_| ())
}

/// As [`tests`], and `see` is given each line.
pub(crate) fn tests_seen(
    title: &str,
    test: &mut Command,
    mut see: impl FnMut(&str),
) -> Result<Sum, String> {
    println!("\ntest: {title}: {}", shown(test));
    let start = Instant::now();
    let mut child = test
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| format!("cannot run cargo: {error}"))?;
    let mut sum = Sum::default();
    let stdout = child.stdout.take().ok_or("cargo has no standard output")?;
    for line in BufReader::new(stdout).split(b'\n') {
        let line = line.map_err(|error| format!("cannot read from cargo: {error}"))?;
        let line = String::from_utf8_lossy(&line);
        println!("{line}");
        see(&line);
        sum.add(Sum::of_line(&line).unwrap_or_default());
    }
    let status = child
        .wait()
        .map_err(|error| format!("cannot wait for cargo: {error}"))?;
    if !status.success() && sum.failed == 0 {
        println!(
            "test: {title}: cargo ended with {status} and no failed test (a build that failed, or a test program that died): counted as 1 failed"
        );
        sum.failed = 1;
    }
    println!(
        "test: {title}: {} in {:.0} s",
        sum.text(),
        start.elapsed().as_secs_f64()
    );
    Ok(sum)
}

/// Each `examples/*.rs` has to build, run and exit with 0.
fn examples(root: &Path) -> Result<Sum, String> {
    println!("\ntest: examples");
    let mut sum = Sum::default();
    for name in file_names(&root.join("examples"))? {
        let mut run = cargo(root);
        run.args(["run", "--quiet", "--example", &name]);
        print!("example {name} ... ");
        let _ = std::io::stdout().flush();
        match command::output(&mut run) {
            Ok(_) => {
                println!("ok");
                sum.passed += 1;
            }
            Err(error) => {
                println!("FAILED\n{error}");
                sum.failed += 1;
            }
        }
    }
    Ok(sum)
}

/// The programs of the root's tests that every pass can build.
fn root_tests(folder: &Path) -> Result<Vec<String>, String> {
    let mut names = file_names(folder)?;
    let entries = fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let folders = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.join("main.rs").is_file());
    names.extend(folders.filter_map(|path| Some(path.file_name()?.to_str()?.to_owned())));
    names.retain(|name| name != GPU);
    names.sort();
    Ok(names)
}

fn file_names(folder: &Path) -> Result<Vec<String>, String> {
    let entries = fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let paths = entries.flatten().map(|entry| entry.path());
    let mut names: Vec<String> = paths
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned()))
        .collect();
    names.sort();
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closing_lines_are_added_up() {
        let line = "test result: FAILED. 12 passed; 3 failed; 1 ignored; 0 measured; 4 filtered out; finished in 0.00s";
        let sum = Sum::of_line(line).unwrap();
        assert_eq!(
            sum,
            Sum {
                passed: 12,
                failed: 3,
                ignored: 1
            }
        );
        assert_eq!(sum.text(), "12 passed, 3 failed, 1 skipped");
        let mut total =
            Sum::of_line("test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured").unwrap();
        assert_eq!(total.text(), "2 passed, 0 failed");
        total.add(sum);
        assert_eq!(total.passed, 14);
        for line in [
            "test result",
            "test a ... ok",
            "running 3 tests",
            "test result: ok. x passed; 0 failed",
        ] {
            assert_eq!(Sum::of_line(line), None, "{line}");
        }
    }

    #[test]
    fn a_named_program_is_run_by_the_passes_that_have_it() {
        let parts = |words: &str| {
            let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
            let targets = Targets::of(&words);
            let shown = |program| {
                let words: Vec<&str> = targets.arguments(program).map(String::as_str).collect();
                targets.has(program).then(|| words.join(" "))
            };
            (shown(Some(GPU)), shown(Some(MPI)), shown(None))
        };
        let text = |text: &str| Some(text.to_owned());
        let all = |words: &str| (text(words), text(words), text(words));
        assert_eq!(parts(""), all(""));
        assert_eq!(parts("add -- --exact"), all("add -- --exact"));
        assert_eq!(parts("--test gpu pinned"), (text("pinned"), None, None));
        assert_eq!(
            parts("--test=gpu -- --test x"),
            (text("-- --test x"), None, None)
        );
        assert_eq!(parts("--test mpi"), (None, text(""), None));
        assert_eq!(parts("--test pool x"), (None, None, text("--test pool x")));
        assert_eq!(parts("--doc"), (None, None, text("--doc")));
        assert_eq!(
            parts("--test gpu --test pool x"),
            (text("x"), None, text("--test pool x"))
        );
    }

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn a_build_that_fails_counts_as_one_failed() {
        assert_eq!(tests("x", &mut shell("exit 101")).unwrap().failed, 1);
        let report = "echo 'test result: ok. 5 passed; 0 failed; 0 ignored'";
        let died = tests("x", &mut shell(&format!("{report}; exit 101"))).unwrap();
        assert_eq!(
            died,
            Sum {
                passed: 5,
                failed: 1,
                ignored: 0
            }
        );
        assert_eq!(tests("x", &mut shell(report)).unwrap().failed, 0);
    }

    #[test]
    fn what_a_pass_leaves_out_is_there_in_another() {
        let names = root_tests(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests")).unwrap();
        for name in ONCE.iter().chain(&NOT_IN_RELEASE) {
            assert!(names.contains(&(*name).to_owned()), "{name}");
        }
        assert!(names.contains(&"cases".to_owned()) && names.contains(&"graph".to_owned()));
        assert!(!names.contains(&GPU.to_owned()));
        assert!(!names.contains(&"support".to_owned()), "no program");
    }

    #[test]
    fn only_examples_of_one_file_are_run() {
        let folder = std::env::temp_dir().join(format!("xtask-examples-{}", std::process::id()));
        fs::create_dir_all(folder.join("yolo26")).unwrap();
        for file in ["02_b.rs", "01_a.rs", "yolo26/main.rs", "notes.md"] {
            fs::write(folder.join(file), "").unwrap();
        }
        assert_eq!(file_names(&folder).unwrap(), ["01_a", "02_b"]);
        fs::remove_dir_all(&folder).unwrap();
    }
}
