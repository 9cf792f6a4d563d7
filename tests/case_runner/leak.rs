//! Does a row's cycle leave something behind each time?

use std::time::{Duration, Instant};
use testkit::held::live_heap;

/// The child's environment, in which glibc counts exactly: its per-thread
/// caches, whose chunks pass for allocated, are off.
pub const EXACT: (&str, &str) = (
    "GLIBC_TUNABLES",
    "glibc.malloc.tcache_count=0:glibc.malloc.arena_max=1",
);

/// What a process holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Held {
    heap: usize,
    files: usize,
}

impl Held {
    fn now() -> Held {
        Held {
            heap: live_heap(),
            files: std::fs::read_dir("/proc/self/fd").map_or(0, Iterator::count),
        }
    }
}

/// Cycles before the first look: lazy statics and other things made once.
const WARM_UP: usize = 3;
/// Looks in a round; a round is repeated before anything is called a leak.
const LOOKS: usize = 6;
const ROUNDS: usize = 4;
/// A row too slow for all this is measured for as long as this allows.
const BUDGET: Duration = Duration::from_secs(4);

/// Repeats `cycle`. `Err` if what the process holds grows from look to look in
/// every round: what is made once, or ever more rarely, grows some of them.
pub fn check(mut cycle: impl FnMut() -> Result<(), String>) -> Result<(), String> {
    let start = Instant::now();
    for _ in 0..WARM_UP {
        cycle()?;
        if start.elapsed() > BUDGET / 3 {
            return Ok(());
        }
    }
    let mut grown = String::new();
    for _ in 0..ROUNDS {
        let mut looks = [Held { heap: 0, files: 0 }; LOOKS];
        for look in &mut looks {
            if start.elapsed() > BUDGET {
                return Ok(());
            }
            cycle()?;
            *look = Held::now();
        }
        match growth(&looks) {
            Some(text) => grown = text,
            None => return Ok(()),
        }
    }
    Err(grown)
}

/// What every look of the second half exceeds every look of the first half by.
fn growth(looks: &[Held]) -> Option<String> {
    let (first, second) = looks.split_at(looks.len() / 2);
    for (what, of) in [
        ("bytes of heap", (|h: &Held| h.heap) as fn(&Held) -> usize),
        ("open files", |h: &Held| h.files),
    ] {
        let before = first.iter().map(of).max()?;
        let after = second.iter().map(of).min()?;
        if after > before {
            let cycles = second.len();
            return Some(format!(
                "leaks {} {what} in {cycles} cycles",
                after - before
            ));
        }
    }
    None
}
