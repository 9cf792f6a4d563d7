//! Runs each test in a process of its own, and looks at what it left behind.

// Each subject uses a part of it.
#![allow(dead_code)]

use crate::sim::{self, Kind};
use libtest_mimic::{Arguments, Failed, Trial};
use std::io::{Read, Seek};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// Names the test in its child process.
const CHILD: &str = "MIGRAPHX_GPU_TEST";

/// A folder of one run of the tests, for files that several of them need.
const FILES: &str = "MIGRAPHX_GPU_TEST_FILES";

/// Kept in a child: where the virtual GPU finds its compiler and keeps kernels.
const KEPT: [&str; 4] = [
    "MIGRAPHX_SETUP_DIR",
    "GPU_SIM_CLANG",
    "GPU_SIM_LD",
    "GPU_SIM_JIT_CACHE",
];

const DEFAULTS: [(&str, &str); 5] = [
    ("GPU_SIM_DEVICES", "8"),
    ("GPU_SIM_DEFERRED", "1"),
    ("GPU_SIM_STRICT", "1"),
    ("GPU_SIM_HOST_ACCESS", "0"),
    // No clang is an error, not kernels that compute nothing.
    ("GPU_SIM_JIT", "clang"),
];

type Variables = &'static [(&'static str, &'static str)];

/// A function that runs in a process of its own, and that process.
#[derive(Clone, Copy)]
pub struct Test {
    name: &'static str,
    run: fn(),
    env: [Option<(&'static str, &'static str)>; 8],
    limit: Duration,
    expects: &'static [Kind],
    touches: bool,
    part: bool,
    logged: bool,
}

impl Test {
    /// `name` is shown after the file's; it may use no `::`.
    pub const fn new(name: &'static str, run: fn()) -> Self {
        Test {
            name,
            run,
            env: [None; 8],
            limit: Duration::from_secs(120),
            expects: &[],
            touches: true,
            part: false,
            logged: false,
        }
    }

    /// Not run by itself, but by [`run_part`].
    pub const fn part(name: &'static str, run: fn()) -> Self {
        let mut part = Test::new(name, run);
        part.part = true;
        part
    }

    /// A variable of the process; up to eight.
    pub const fn env(mut self, name: &'static str, value: &'static str) -> Self {
        let mut at = 0;
        while self.env[at].is_some() {
            at += 1;
        }
        self.env[at] = Some((name, value));
        self
    }

    /// Every call is logged: [`Call::so_far`](sim::Call::so_far).
    pub const fn logged(mut self) -> Self {
        self.logged = true;
        self
    }

    /// Time limit, 120 s otherwise. A test that takes longer is ended and has failed.
    pub const fn seconds(mut self, seconds: u64) -> Self {
        self.limit = Duration::from_secs(seconds);
        self
    }

    /// The kinds of violation that the test makes on purpose: each at least
    /// once, and no other.
    pub const fn expects(mut self, kinds: &'static [Kind]) -> Self {
        self.expects = kinds;
        self
    }

    /// The HIP library need not have been loaded when the test ends.
    pub const fn without_hip(mut self) -> Self {
        self.touches = false;
        self
    }
}

/// How a child process ended.
pub struct Finished {
    pub status: ExitStatus,
    /// What it printed, standard output first.
    pub output: String,
    /// It was ended for taking too long.
    pub timed_out: bool,
}

impl Finished {
    pub fn passed(&self) -> bool {
        self.status.success() && !self.timed_out
    }

    /// `signal: 6 (SIGABRT)` and the like.
    pub fn how(&self) -> String {
        if self.timed_out {
            return "took too long and was ended".into();
        }
        self.status.to_string()
    }

    pub fn signal(&self) -> Option<i32> {
        self.status.signal()
    }
}

/// Runs a registered function, of the same subject or another
/// (`subject::name`), in a child with more variables.
pub fn run_part(full_name: &str, variables: &[(&str, &str)]) -> Finished {
    let test = find(full_name).unwrap_or_else(|| panic!("no test or part is named {full_name}"));
    child(full_name, test, variables)
}

/// A file that is made once in a run of all tests. `make` writes it.
pub fn file(name: &str, make: impl FnOnce(&Path)) -> PathBuf {
    let path = files().join(name);
    if !path.exists() {
        let new = files().join(format!("{name}-{}", std::process::id()));
        make(&new);
        // Another process may have been as quick; its file is as good.
        std::fs::rename(&new, &path).expect("a file in a folder of ours");
    }
    path
}

fn files() -> PathBuf {
    match (std::env::var_os(FILES), FILES_AT.get()) {
        (Some(folder), _) => folder.into(),
        (None, folder) => folder.expect("set by `main`").clone(),
    }
}

static FILES_AT: OnceLock<PathBuf> = OnceLock::new();
static SUBJECTS: OnceLock<&'static [(&'static str, &'static [Test])]> = OnceLock::new();

fn all() -> impl Iterator<Item = (String, &'static Test)> {
    let subjects = SUBJECTS.get().copied().unwrap_or_default();
    subjects.iter().flat_map(|(subject, tests)| {
        let named = move |test: &'static Test| (format!("{subject}::{}", test.name), test);
        tests.iter().map(named)
    })
}

fn find(full_name: &str) -> Option<&'static Test> {
    all().find_map(|(name, test)| (name == full_name).then_some(test))
}

pub fn main(subjects: &'static [(&'static str, &'static [Test])]) -> ExitCode {
    SUBJECTS.get_or_init(|| subjects);
    if let Ok(name) = std::env::var(CHILD) {
        return in_child(&name);
    }
    let arguments = Arguments::from_args();
    let files = tempfile::tempdir().expect("a temporary folder");
    FILES_AT.get_or_init(|| files.path().to_path_buf());
    let trials: Vec<Trial> = all()
        .filter(|(_, test)| !test.part)
        .map(|(name, test)| Trial::test(name.clone(), move || trial(&name, test)))
        .collect();
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn trial(name: &str, test: &Test) -> Result<(), Failed> {
    if let Err(problem) = library_folder() {
        return Err(problem.into());
    }
    let finished = child(name, test, &[]);
    if finished.passed() {
        return Ok(());
    }
    Err(format!("{}\n{}", finished.how(), finished.output.trim_end()).into())
}

/// `lib` of the virtual GPU, or what to do.
fn library_folder() -> Result<PathBuf, String> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let folder = set("GPU_SIM_DIR")
        .map(|dir| PathBuf::from(dir).join("lib"))
        .or_else(|| set("MIGRAPHX_LIB_DIR").map(PathBuf::from))
        .or_else(|| migraphx_sys::finder::setup_dir().map(|dir| dir.join("gpu-sim/lib")))
        .ok_or("no folder to look for the virtual GPU in: GPU_SIM_DIR names one")?;
    if folder.join(sim::HIP).is_file() {
        return Ok(folder);
    }
    Err(format!(
        "no virtual GPU in {}: run `cargo xtask setup --gpu-sim` once, or `cargo xtask test`, which does it",
        folder.display()
    ))
}

fn child(name: &str, test: &Test, variables: &[(&str, &str)]) -> Finished {
    let mut command = Command::new(std::env::current_exe().expect("the test program's own path"));
    for (variable, _) in std::env::vars_os() {
        let text = variable.to_string_lossy();
        let foreign = ["GPU_SIM_", "HIP_", "ROCR_", "MIGRAPHX_"];
        if foreign.iter().any(|start| text.starts_with(start)) && !KEPT.contains(&&*text) {
            command.env_remove(&variable);
        }
    }
    let folder = library_folder().expect("checked before any test");
    command
        .envs(DEFAULTS)
        .envs(test.env.into_iter().flatten())
        .envs(variables.iter().copied())
        .env("MIGRAPHX_LIB_DIR", folder)
        .env(FILES, files())
        .env(CHILD, name)
        .env("RUST_BACKTRACE", "0");
    if test.logged {
        let name = name.replace("::", "-");
        command.env("GPU_SIM_LOG", files().join(format!("{name}.log")));
    }
    finish(&mut command, test.limit)
}

/// Runs to the end or the limit. The output goes to a file: a child that still
/// has the pipe open must not hold the test up.
fn finish(command: &mut Command, limit: Duration) -> Finished {
    let mut output = tempfile::tempfile().expect("a temporary file");
    let clone = || output.try_clone().expect("a second handle of the file");
    command
        .stdin(Stdio::null())
        .stdout(clone())
        .stderr(clone())
        // Its compilers end with it.
        .process_group(0);
    let mut child = command.spawn().expect("the test program starts again");
    let began = Instant::now();
    let mut timed_out = false;
    let mut pause = Duration::from_millis(1);
    let status = loop {
        match child.try_wait().expect("the child can be waited for") {
            Some(status) => break status,
            None if began.elapsed() > limit && !timed_out => {
                timed_out = true;
                let group = -(child.id() as libc::pid_t);
                // SAFETY: takes any number; the group is the child's own, which was not waited for yet.
                unsafe { libc::kill(group, libc::SIGKILL) };
            }
            None => {
                std::thread::sleep(pause);
                pause = (pause * 2).min(Duration::from_millis(20));
            }
        }
    };
    let mut bytes = Vec::new();
    let read = output
        .rewind()
        .and_then(|()| output.read_to_end(&mut bytes));
    read.expect("the output can be read");
    Finished {
        status,
        output: String::from_utf8_lossy(&bytes).into_owned(),
        timed_out,
    }
}

fn in_child(name: &str) -> ExitCode {
    let Some(test) = find(name) else {
        eprintln!("no test is named {name}");
        return ExitCode::FAILURE;
    };
    if let Err(problem) = of_the_virtual_gpu() {
        eprintln!("{problem}");
        return ExitCode::FAILURE;
    }
    // The message was printed by the panic itself.
    if std::panic::catch_unwind(test.run).is_err() {
        return ExitCode::from(101);
    }
    match left_behind(test) {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("{problem}");
            ExitCode::FAILURE
        }
    }
}

/// A program linked to another MIGraphX would test that one.
fn of_the_virtual_gpu() -> Result<(), String> {
    let wanted = library_folder()?;
    let loaded = migraphx::library_path().map_err(|error| error.to_string())?;
    let folder = |path: &std::path::Path| path.canonicalize().unwrap_or_else(|_| path.into());
    match loaded.parent().map(folder) {
        Some(found) if found == folder(&wanted) => Ok(()),
        _ => Err(format!(
            "MIGraphX comes from {}, and the virtual GPU is in {}; build without MIGRAPHX_LINK=force, \
             or with `--features gpu-tests,load-dynamic`",
            loaded.display(),
            wanted.display()
        )),
    }
}

fn left_behind(test: &Test) -> Result<(), String> {
    if !sim::is_loaded() {
        return match test.touches {
            true => Err("the test never used the virtual GPU".into()),
            false => Ok(()),
        };
    }
    // Leaks are among the violations from here on.
    let leaks = sim::check_leaks();
    let texts = || sim::texts().join("\n  ");
    for kind in Kind::ALL {
        let count = sim::violations(kind);
        match (test.expects.contains(&kind), count) {
            (true, 0) => return Err(format!("no {kind:?} was found, and one was expected")),
            (false, 1..) => {
                return Err(format!(
                    "{count} of kind {kind:?} ({leaks} left behind):\n  {}",
                    texts()
                ));
            }
            _ => {}
        }
    }
    Ok(())
}
