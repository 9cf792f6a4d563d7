//! The parent: rows in child processes, a few at a time, each with a limit.

use crate::case_runner::child::MARK;
use crate::case_runner::leak;
use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Runs the rows `numbers`, telling each result as it comes.
pub fn run_all(
    dir: &Path,
    numbers: &[usize],
    limit: Duration,
    tell: impl FnMut(usize, &Result<(), String>) + Send,
) {
    let (next, tell) = (AtomicUsize::new(0), Mutex::new(tell));
    let workers = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for _ in 0..workers.min(numbers.len()) {
            scope.spawn(|| {
                while let Some(number) = numbers.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let result = run_one(dir, *number, limit);
                    (tell.lock().unwrap())(*number, &result);
                }
            });
        }
    });
}

fn run_one(dir: &Path, number: usize, limit: Duration) -> Result<(), String> {
    let program = std::env::current_exe().map_err(|e| e.to_string())?;
    let mut child = Command::new(program)
        .arg("--dir")
        .arg(dir)
        .args(["--row", &number.to_string()])
        .env(leak::EXACT.0, leak::EXACT.1)
        // A model parsed from memory must not find its weights by luck.
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|e| e.to_string())?;
    let stdout = drain(child.stdout.take());
    let stderr = drain(child.stderr.take());
    let status = wait(&mut child, limit);
    let told = |pipe: thread::JoinHandle<String>| pipe.join().unwrap_or_default();
    let (stdout, stderr) = (told(stdout), told(stderr));
    match status {
        None => Err(format!("hangs: killed after {} s", limit.as_secs())),
        Some(status) => verdict(status, &stdout, &stderr),
    }
}

/// A pipe is read while the child runs, else a talkative child would block.
fn drain(pipe: Option<impl Read + Send + 'static>) -> thread::JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            let _ = pipe.read_to_end(&mut bytes);
        }
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

/// `None` if the child had to be killed.
fn wait(child: &mut Child, limit: Duration) -> Option<ExitStatus> {
    let start = Instant::now();
    loop {
        if let Ok(Some(status)) = child.try_wait() {
            return Some(status);
        }
        if start.elapsed() > limit {
            let _ = child.kill();
            let _ = child.wait();
            return None;
        }
        thread::sleep(Duration::from_millis(5));
    }
}

pub fn verdict(status: ExitStatus, stdout: &str, stderr: &str) -> Result<(), String> {
    // MIGraphX's own lines are `<function>: Error: <text>`; they belong into
    // our errors.
    let leaked = stderr
        .lines()
        .find(|l| l.starts_with("migraphx_") && l.contains(": Error: "));
    match stdout
        .lines()
        .rev()
        .find_map(|line| line.strip_prefix(MARK))
    {
        Some("ok") if status.success() => match leaked {
            Some(line) => Err(format!("text of the library went to stderr: {line}")),
            None => Ok(()),
        },
        Some(text) if status.code() == Some(1) => Err(text.to_owned()),
        _ => {
            let tail: Vec<&str> = stderr.lines().rev().take(3).collect();
            let tail: Vec<&str> = tail.into_iter().rev().collect();
            Err(format!("the process died ({status}): {}", tail.join(" | ")))
        }
    }
}
