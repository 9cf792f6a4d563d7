//! One try in a process of its own, forked from one in which MIGraphX is loaded.

use migraphx::{Error, Result};
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, FromRawFd};
use std::time::Duration;

/// Of a try, beside what the process had mapped before.
const MEMORY: u64 = 4 << 30;
/// Begins a line of ours in what a try prints.
const MARK: &str = "\u{1}";

/// What became of a try.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    Ran,
    /// By the crate, with these words.
    Refused {
        text: String,
    },
    /// By MIGraphX, during a step.
    Api {
        step: String,
    },
    Killed {
        signal: i32,
        reason: String,
    },
    Panicked {
        reason: String,
    },
    TimedOut {
        step: String,
    },
}

/// A try under way.
pub struct Victim {
    process: libc::pid_t,
    says: File,
}

/// Starts `attempt`; it is ended after `limit`.
pub fn start(
    attempt: impl FnOnce(&dyn Fn(&str)) -> Result<()>,
    limit: Duration,
) -> std::io::Result<Victim> {
    let mut ends = [0; 2];
    // SAFETY: there is room for the two descriptors.
    if unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) } != 0 {
        return Err(std::io::Error::last_os_error());
    }
    // SAFETY: two new descriptors, which nobody else has.
    let [says, said] = ends.map(|end| unsafe { File::from_raw_fd(end) });
    // SAFETY: no other thread runs in this process: the tool makes none, and
    // MIGraphX's `ref` target joins its own after each operator.
    match unsafe { libc::fork() } {
        -1 => Err(std::io::Error::last_os_error()),
        0 => {
            drop(says);
            run(attempt, said, limit)
        }
        process => Ok(Victim { process, says }),
    }
}

/// The forked process, from its start to its end.
fn run(attempt: impl FnOnce(&dyn Fn(&str)) -> Result<()>, said: File, limit: Duration) -> ! {
    confine(&said, limit);
    let say = |word: &str| {
        let _ = (&said).write_all(format!("{MARK}{word}\n").as_bytes());
    };
    let attempt = std::panic::AssertUnwindSafe(|| attempt(&say));
    match std::panic::catch_unwind(attempt) {
        Ok(Ok(())) => say("ran"),
        Ok(Err(error)) => say(&told(&error)),
        Err(_) => say("panicked"),
    }
    // SAFETY: ends this process, which has nothing to put in order.
    unsafe { libc::_exit(0) }
}

fn told(error: &Error) -> String {
    match error {
        Error::Api { .. } => "api".to_owned(),
        error => format!("refused {}", error.to_string().replace('\n', " ")),
    }
}

/// Limits of time and memory, and its words to `said`.
fn confine(said: &File, limit: Duration) {
    let mapped = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: u64 = mapped
        .split(' ')
        .next()
        .and_then(|word| word.parse().ok())
        .unwrap_or(0);
    let memory = MEMORY + 4096 * pages;
    let limits = |most| libc::rlimit {
        rlim_cur: most,
        rlim_max: most,
    };
    // SAFETY: each takes numbers, descriptors that are open, or a valid pointer
    // to limits; the handler is a C function that is there as long as the process.
    unsafe {
        libc::setrlimit(libc::RLIMIT_AS, &limits(memory));
        libc::setrlimit(libc::RLIMIT_CORE, &limits(0));
        libc::dup2(said.as_raw_fd(), 1);
        libc::dup2(said.as_raw_fd(), 2);
        for signal in [libc::SIGSEGV, libc::SIGFPE, libc::SIGBUS, libc::SIGILL] {
            let handler: extern "C" fn(i32) = tell_where;
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = handler as usize;
            action.sa_flags = libc::SA_ONSTACK | libc::SA_RESETHAND | libc::SA_NODEFER;
            libc::sigaction(signal, &action, std::ptr::null_mut());
        }
        libc::alarm(limit.as_secs().max(1) as u32);
    }
}

/// Prints the functions that led to a deadly signal, and dies of it.
extern "C" fn tell_where(signal: i32) {
    let mut frames = [std::ptr::null_mut(); 24];
    // SAFETY: the process is lost in any case; there is room for the frames, and
    // descriptor 2 is open. The signal's own action is the system's again.
    unsafe {
        let count = libc::backtrace(frames.as_mut_ptr(), frames.len() as i32);
        libc::backtrace_symbols_fd(frames.as_ptr(), count, 2);
        libc::raise(signal);
    }
}

impl Victim {
    /// Waits for its end.
    pub fn end(mut self) -> Outcome {
        let mut said = Vec::new();
        let _ = self.says.read_to_end(&mut said);
        let said = String::from_utf8_lossy(&said);
        let mut status = 0;
        // SAFETY: a child of this process that nobody has waited for.
        unsafe { libc::waitpid(self.process, &mut status, 0) };
        let mut words = said.lines().filter_map(|line| line.split_once(MARK));
        let last = words
            .next_back()
            .map_or("start", |(_, word)| word)
            .to_owned();
        if libc::WIFSIGNALED(status) {
            return match libc::WTERMSIG(status) {
                libc::SIGALRM => Outcome::TimedOut { step: last },
                signal => Outcome::Killed {
                    signal,
                    reason: format!("{last}: {}", reason(&said)),
                },
            };
        }
        let (word, rest) = last.split_once(' ').unwrap_or((&last, ""));
        match word {
            "ran" => Outcome::Ran,
            "refused" => Outcome::Refused {
                text: rest.to_owned(),
            },
            "api" => {
                let steps = said.lines().filter_map(|line| line.strip_prefix(MARK));
                let step = steps.rev().nth(1).unwrap_or("start").to_owned();
                Outcome::Api { step }
            }
            "panicked" => Outcome::Panicked {
                reason: reason(&said),
            },
            // Left by `exit`, without a word.
            step => Outcome::Killed {
                signal: 0,
                reason: format!("{step}: exit"),
            },
        }
    }
}

/// The line that says most of why a process died.
fn reason(said: &str) -> String {
    let find = |part: &str| said.lines().find(|line| line.contains(part));
    if let Some(line) = find("Assertion") {
        return line
            .split_once(": ")
            .map_or(line, |(_, rest)| rest)
            .to_owned();
    }
    if let Some(line) = find("what():").or_else(|| find("terminate called")) {
        return line.trim().to_owned();
    }
    if let Some(at) = said.find("panicked at") {
        return said[at..].lines().take(2).collect::<Vec<_>>().join(" ");
    }
    if let Some(line) = find("stack overflow").or_else(|| find("memory allocation of")) {
        return line.to_owned();
    }
    // The first functions of the library among the frames: `lib.so(name+0x1)[0x2]`.
    let frames = said.lines().filter(|line| line.contains("libmigraphx"));
    let names: Vec<&str> = frames
        .filter_map(|line| Some(line.split_once('(')?.1.split_once('+')?.0))
        .filter(|name| !name.is_empty())
        .take(2)
        .collect();
    match names.as_slice() {
        [] => "no words".to_owned(),
        names => names.join(" < "),
    }
}
