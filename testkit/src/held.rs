//! What a process holds, and whether that grows.
//!
//! glibc counts exactly only without its per-thread caches, whose chunks pass
//! for allocated: start the process with [`EXACT`] in its environment.

use std::fs;

/// The variable, and its value, with which glibc's count is exact.
pub const EXACT: (&str, &str) = ("GLIBC_TUNABLES", "glibc.malloc.tcache_count=0");

/// What a process holds at a moment; 0 where the system does not say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Held {
    /// Bytes of memory that are resident.
    pub resident: usize,
    /// Bytes allocated with `malloc` and not freed, over all arenas.
    pub heap: usize,
    /// Open file descriptors.
    pub files: usize,
    /// Threads.
    pub threads: usize,
}

impl Held {
    /// What this process holds now.
    pub fn now() -> Held {
        Held {
            resident: resident(),
            heap: live_heap(),
            files: entries("/proc/self/fd"),
            threads: entries("/proc/self/task"),
        }
    }
}

fn entries(folder: &str) -> usize {
    fs::read_dir(folder).map_or(0, Iterator::count)
}

/// The field `Rss` of all mappings together; exact, unlike that of `statm`.
fn resident() -> usize {
    let text = fs::read_to_string("/proc/self/smaps_rollup").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("Rss:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<usize>().ok());
    kib.unwrap_or(0) * 1024
}

/// Bytes allocated with `malloc` and not freed.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub fn live_heap() -> usize {
    // SAFETY: no arguments; glibc locks its arenas while it counts.
    let info = unsafe { libc::mallinfo2() };
    info.uordblks + info.hblkhd
}

/// Bytes allocated with `malloc` and not freed; unknown here.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub fn live_heap() -> usize {
    0
}

/// Looks at the start (after a warm-up), in the middle and at the end of equal rounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Looks {
    /// Rounds between the first look and the last.
    pub rounds: usize,
    /// After the warm-up.
    pub start: Held,
    /// After half of the rounds.
    pub middle: Held,
    /// After all of them.
    pub end: Held,
    /// Bytes of heap a round that somebody else is known to keep; 0 from [`watch`].
    pub others_keep: usize,
}

impl Looks {
    /// The least that `malloc` takes from a heap for an object is 32 bytes: below
    /// half of that a round, not every round keeps one.
    const HEAP_A_ROUND: usize = 16;
    /// What may come late, once: a table that grows, a thread's own state. The crate
    /// registers its exit hook at the 2nd, 4th, … 1024th return of each call site, and
    /// glibc takes 1056 bytes for 32 of those.
    const HEAP_ONCE: usize = 2 << 10;
    /// Of memory that is resident: pages of a heap are touched in no order.
    const RESIDENT_ONCE: usize = 1 << 20;

    /// Bytes that the heap may grow by from the middle to the end.
    pub fn heap_bound(&self) -> usize {
        let half = self.rounds / 2;
        (half * Self::HEAP_A_ROUND).clamp(Self::HEAP_ONCE, 64 << 10) + half * self.others_keep
    }

    /// Bytes of heap that 1000 rounds leave behind, by the second half.
    pub fn heap_each_thousand(&self) -> f64 {
        let grown = self.end.heap as f64 - self.middle.heap as f64;
        grown / (self.rounds as f64 / 2.0) * 1000.0
    }

    /// What the second half of the rounds has left behind, if anything. The first
    /// half is a longer warm-up: what is made once is no leak.
    ///
    /// # Errors
    /// What grows, by how much, and by how much it may.
    pub fn verdict(&self) -> Result<(), String> {
        type Bound = (&'static str, fn(&Held) -> usize, usize);
        let resident = Self::RESIDENT_ONCE + self.rounds / 2 * self.others_keep;
        let bounds: [Bound; 4] = [
            ("bytes of heap", |held| held.heap, self.heap_bound()),
            ("resident bytes", |held| held.resident, resident),
            ("open files", |held| held.files, 0),
            ("threads", |held| held.threads, 0),
        ];
        let grown = bounds.iter().filter_map(|(what, of, bound)| {
            let more = of(&self.end).saturating_sub(of(&self.middle));
            (more > *bound).then(|| format!("{more} {what} more, {bound} allowed"))
        });
        let grown: Vec<String> = grown.collect();
        match grown.is_empty() {
            true => Ok(()),
            false => Err(grown.join("; ")),
        }
    }
}

/// Does `rounds` rounds and a tenth of them before, to warm up, and looks.
///
/// # Errors
/// The first error of a round.
pub fn watch<E>(rounds: usize, mut round: impl FnMut() -> Result<(), E>) -> Result<Looks, E> {
    let mut many = |rounds: usize| (0..rounds).try_for_each(|_| round());
    many(rounds.div_ceil(10))?;
    let start = Held::now();
    many(rounds / 2)?;
    let middle = Held::now();
    many(rounds - rounds / 2)?;
    Ok(Looks {
        rounds,
        start,
        middle,
        end: Held::now(),
        others_keep: 0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const STILL: Held = Held {
        resident: 50 << 20,
        heap: 8 << 20,
        files: 5,
        threads: 2,
    };

    fn looks(rounds: usize, end: Held) -> Looks {
        Looks {
            rounds,
            start: Held::default(),
            middle: STILL,
            end,
            others_keep: 0,
        }
    }

    #[test]
    fn what_was_made_in_the_first_half_is_no_leak() {
        assert_eq!(looks(10_000, STILL).verdict(), Ok(()));
        assert_eq!(looks(256, STILL).heap_each_thousand(), 0.0);
    }

    #[test]
    fn the_least_object_a_round_is_a_leak_at_any_number_of_rounds() {
        for rounds in [200, 1_000, 10_000, 1_000_000] {
            let mut end = STILL;
            end.heap += rounds / 2 * 32;
            let problem = looks(rounds, end).verdict().unwrap_err();
            assert!(problem.contains("bytes of heap"), "{rounds}: {problem}");
            assert_eq!(looks(rounds, end).heap_each_thousand(), 32_000.0);
        }
    }

    #[test]
    fn each_thing_that_is_held_counts() {
        type Leak = fn(&mut Held);
        let leaks: [(&str, Leak); 3] = [
            ("open files", |end| end.files += 1),
            ("threads", |end| end.threads += 1),
            ("resident bytes", |end| end.resident += 2 << 20),
        ];
        for (what, leak) in leaks {
            let mut end = STILL;
            leak(&mut end);
            let problem = looks(10_000, end).verdict().unwrap_err();
            assert!(problem.contains(what), "{problem}");
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn this_process_is_seen() {
        let held = Held::now();
        assert!(held.resident > 1 << 20 && held.files >= 3 && held.threads >= 1);
    }
}
