//! Runs, loads, pools and the rest over very many rounds: results must stay the
//! same to the bit, and what the process holds must stay flat. `cargo xtask soak`
//! runs it; words select the subjects whose names hold one of them.
//!
//! Each subject is looked at after a warm-up, in the middle and at the end
//! ([`testkit::held`]). First of all come loops that leak on purpose: a look that
//! does not see those ends everything.

mod gpu;
mod life;
mod loads;
mod pool;
mod runs;
#[path = "../../tests/gpu/sim.rs"]
mod sim;
mod table;

use anyhow::{Context, Result, bail};
use std::process::ExitCode;
use std::time::{Duration, Instant};
use testkit::held::{self, Looks};

/// One subject: what is done, how often, and how.
pub struct Subject {
    pub name: &'static str,
    /// With `--quick`, and without.
    pub rounds: [usize; 2],
    pub run: fn(usize) -> Result<Looks>,
}

/// A subject that takes longer than this hangs.
const LIMIT: Duration = Duration::from_secs(3600);

/// [`watch`](held::watch), for a subject whose rounds are all alike.
pub fn watch(rounds: usize, round: impl FnMut() -> Result<()>) -> Result<Looks> {
    held::watch(rounds, round)
}

/// Names the folder of the virtual GPU's library, in the run with `--gpu`.
const LIB_DIR: &str = "MIGRAPHX_SOAK_LIB_DIR";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match soak(&arguments) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn soak(arguments: &[String]) -> Result<bool> {
    let has = |option: &str| arguments.iter().any(|word| word == option);
    let quick = has("--quick");
    let mut subjects = Vec::new();
    if has("--gpu") {
        if let Some(folder) = std::env::var_os(LIB_DIR) {
            // SAFETY: no other thread runs yet.
            unsafe { std::env::set_var("MIGRAPHX_LIB_DIR", folder) };
        }
        gpu::check()?;
        subjects.extend(gpu::SUBJECTS);
    } else {
        for of in [
            runs::SUBJECTS,
            loads::SUBJECTS,
            life::SUBJECTS,
            pool::SUBJECTS,
        ] {
            subjects.extend(of);
        }
    }
    let words: Vec<&String> = arguments.iter().filter(|a| !a.starts_with('-')).collect();
    let wanted = |subject: &&Subject| {
        words.is_empty()
            || words
                .iter()
                .any(|word| subject.name.contains(word.as_str()))
    };
    quiet_workers();
    notices_leaks()?;
    println!("{}", table::head());
    let mut flat = true;
    for subject in subjects.into_iter().filter(wanted) {
        let rounds = subject.rounds[usize::from(!quick)];
        let _end = limit(subject.name);
        let began = Instant::now();
        let looks = (subject.run)(rounds).with_context(|| subject.name);
        println!("{}", table::line(subject.name, &looks, began.elapsed()));
        flat &= looks.is_ok_and(|looks| looks.verdict().is_ok());
    }
    Ok(flat)
}

/// Leaks the smallest handle that the crate has, and a descriptor, at the fewest
/// rounds that a subject has.
fn notices_leaks() -> Result<()> {
    type Leak = fn() -> Result<()>;
    let leaks: [(&str, Leak); 2] = [
        ("bytes of heap", || {
            std::mem::forget(migraphx::Shape::new(migraphx::DataType::Float, &[1])?);
            Ok(())
        }),
        ("open files", || {
            std::mem::forget(std::fs::File::open("/dev/null")?);
            Ok(())
        }),
    ];
    for (what, leak) in leaks {
        let problem = watch(200, leak)?.verdict().err().unwrap_or_default();
        if !problem.contains(what) {
            bail!("a loop that leaks {what} was not noticed: {problem:?}");
        }
    }
    Ok(())
}

/// Jobs that panic on purpose say nothing.
fn quiet_workers() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        let thread = std::thread::current();
        if !thread
            .name()
            .is_some_and(|name| name.starts_with("migraphx-"))
        {
            usual(info);
        }
    }));
}

/// Ends the process where the subject is not over in time: a lost job would be
/// waited for without end. Dropped, it no longer does.
fn limit(name: &'static str) -> impl Drop {
    struct Limit(Option<(std::sync::mpsc::Sender<()>, std::thread::JoinHandle<()>)>);
    impl Drop for Limit {
        fn drop(&mut self) {
            if let Some((over, thread)) = self.0.take() {
                drop(over);
                let _ = thread.join();
            }
        }
    }
    let (over, wait) = std::sync::mpsc::channel();
    let thread = std::thread::spawn(move || {
        if wait.recv_timeout(LIMIT) == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
            eprintln!("error: {name}: not over after {LIMIT:?}: something hangs");
            std::process::abort();
        }
    });
    Limit(Some((over, thread)))
}
