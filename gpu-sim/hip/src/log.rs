//! The log (`GPU_SIM_LOG`): one line a call, with a running number, the
//! thread, its current device, the arguments and the status. Violations get a
//! line of their own, so that they stand next to the call that caused them.

use std::fs::OpenOptions;
use std::io::Write;

/// Where the lines go, if anywhere.
pub struct Log {
    out: Option<Box<dyn Write + Send>>,
    lines: u64,
}

impl Log {
    /// Opens the target for appending; `stderr` is the error output.
    pub fn open(target: Option<&str>) -> Result<Self, String> {
        Ok(Self {
            out: target.map(open_output).transpose()?,
            lines: 0,
        })
    }

    /// Whether anything is written: what is costly to format is skipped else.
    pub fn enabled(&self) -> bool {
        self.out.is_some()
    }

    /// One line.
    pub fn line(&mut self, thread: u64, device: usize, text: &str) {
        if let Some(out) = &mut self.out {
            self.lines += 1;
            // A full disk must not change what the program under test does.
            let _ = writeln!(out, "{} tid={thread} dev={device} {text}", self.lines);
        }
    }
}

/// A file opened for appending, or `stderr`.
pub fn open_output(target: &str) -> Result<Box<dyn Write + Send>, String> {
    if target == "stderr" {
        return Ok(Box::new(std::io::stderr()));
    }
    let file = OpenOptions::new().append(true).create(true).open(target);
    file.map(|f| Box::new(f) as _)
        .map_err(|e| format!("cannot write `{target}`: {e}"))
}
