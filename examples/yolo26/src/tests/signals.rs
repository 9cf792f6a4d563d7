//! Commands that are ended in the middle: by the signal that was sent, and every
//! file under its final name is whole. What is half-written has a name that begins
//! with a dot and ends with `.partial` or `.tmp`.
//!
//! `MIGRAPHX_EXIT_ROUNDS=50` ends each command that often; 3 times otherwise.

use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::*;

/// Holds the command line of a child process.
const LINE: &str = "YOLO26_TEST_LINE";

/// What `line` says, in a process of its own.
fn process(tmp: &TempDir, line: &str) -> Command {
    let line = line.replace("{demo}", demo().to_str().unwrap());
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "tests::signals::child", "--nocapture"])
        .env(LINE, line.replace("{tmp}", tmp.path().to_str().unwrap()))
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    command
}

/// Not a test of its own: what the processes of the tests do.
#[test]
fn child() {
    let Ok(line) = std::env::var(LINE) else {
        return;
    };
    let words = ["yolo26"].into_iter().chain(line.split_whitespace());
    let code = crate::done(&Cli::parse_from(words));
    std::process::exit(i32::from(code != std::process::ExitCode::SUCCESS));
}

fn rounds() -> u32 {
    let given = std::env::var("MIGRAPHX_EXIT_ROUNDS").ok();
    given.map_or(3, |text| text.parse().expect("a whole number"))
}

const BENCH: &str = "bench --data {demo}/coco.yaml --weights {demo}/model.mxr --warmup 0 \
    --num-gpus 2 --quiet-mode yes --dry-run false --output {tmp}/out --json {tmp}/out/report.json \
    --html {tmp}/out/report.html --trace {tmp}/out/trace.json";

const COMMANDS: [&str; 4] = [
    "compile --weights {demo}/model.onnx --output {tmp}/out/model.mxr --batch-size 2 --target ref",
    BENCH,
    "predict --weights {demo}/model.mxr --source {demo}/images --output {tmp}/out",
    "loader --data {demo}/images --imgsz 80 --batch-size 2 --quiet-mode yes --cache {tmp}/out/a.cache",
];

#[test]
fn a_command_that_is_ended_leaves_whole_files_only() {
    for line in COMMANDS {
        let whole = tmp();
        std::fs::create_dir(whole.path().join("out")).unwrap();
        let began = Instant::now();
        let output = process(&whole, line).output().unwrap();
        let takes = began.elapsed();
        assert!(output.status.success(), "{line}: {output:?}");
        let expected = sizes(&whole);
        assert!(!expected.is_empty(), "{line} writes nothing");

        let signals = [Signal::INT, Signal::TERM, Signal::KILL];
        let (mut ended, mut files) = (0, 0);
        for (round, signal) in (0..rounds()).zip(signals.into_iter().cycle()) {
            let tmp = tmp();
            std::fs::create_dir(tmp.path().join("out")).unwrap();
            let child = process(&tmp, line).spawn().unwrap();
            // Spread over all of its time; more of them near the end, where files are written.
            let part = (f64::from(round) + 0.5) / f64::from(rounds());
            ended += usize::from(end(child, takes.mul_f64(part.sqrt()), signal));
            files += whole_files(&tmp, &expected);
        }
        println!(
            "{ended} of {} ended by the signal, {files} whole files: {line}",
            rounds()
        );
    }
}

/// Sends the signal after that time: whether it, and nothing else, ended the process.
fn end(mut child: Child, after: Duration, signal: Signal) -> bool {
    std::thread::sleep(after);
    let pid = Pid::from_child(&child);
    // Not waited for yet, so that the number is still its own.
    kill_process(pid, signal).unwrap();
    let status = child.wait().unwrap();
    assert!(
        status.signal() == Some(signal.as_raw()) || status.success(),
        "{status}, and {signal:?} was sent"
    );
    !status.success()
}

/// The files of `{tmp}/out` with final names, and their sizes.
fn sizes(tmp: &TempDir) -> Vec<(PathBuf, u64)> {
    let mut folders = vec![tmp.path().join("out")];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            if path.is_dir() {
                folders.push(path);
            } else if name.starts_with('.') {
                let clear = name.ends_with(".partial") || name.ends_with(".tmp");
                assert!(clear, "{name} does not say that it is half a file");
            } else {
                let size = path.metadata().unwrap().len();
                files.push((path.strip_prefix(tmp.path()).unwrap().to_owned(), size));
            }
        }
    }
    files
}

/// How many files there are, after a look at each.
fn whole_files(tmp: &TempDir, expected: &[(PathBuf, u64)]) -> usize {
    let found = sizes(tmp);
    for (file, size) in &found {
        let known = expected.iter().find(|(name, _)| name == file);
        let (_, whole) = known.unwrap_or_else(|| panic!("{} is new", file.display()));
        let path = tmp.path().join(file);
        match file.extension().and_then(|ending| ending.to_str()) {
            // Their texts hold times.
            Some("json") => {
                let json = std::fs::read(&path).unwrap();
                serde_json::from_slice::<serde_json::Value>(&json).expect("a whole report");
            }
            Some("html") => {
                let page = std::fs::read_to_string(&path).unwrap();
                assert!(page.trim_end().ends_with("</html>"), "half a page");
            }
            Some("mxr") => {
                migraphx::CompiledProgram::load(&path).expect("a whole program");
            }
            Some("png") => {
                image::open(&path).expect("a whole picture");
            }
            _ => assert_eq!(size, whole, "{}", file.display()),
        }
    }
    found.len()
}

/// As `yolo26 … | head -1`, whose reader ends first.
#[test]
fn a_closed_pipe_ends_a_command_quietly() {
    let mut child = process(&tmp(), BENCH.split(" --dry-run").next().unwrap())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    // What the harness of the child itself prints is read.
    let mut out = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(out.any(|line| line.unwrap() == "running 1 test"));
    drop(out);
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && !text.contains("panicked") && !text.contains("error"),
        "{text}"
    );
}
