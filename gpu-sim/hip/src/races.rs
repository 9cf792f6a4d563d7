//! Which operations are ordered, and which two touch the same memory without
//! an order between them.
//!
//! Each stream counts its operations. A [`Clock`] says, for each stream, up to
//! which operation everything is known to be done: every stream has one (what
//! comes before its next operation), every recorded event has a copy, and the
//! host has one (what it waited for). An access is safe against an earlier one
//! if the earlier is in the clock of the stream, or of the host. This finds a
//! race in immediate mode too, where every operation has in fact run already.
//!
//! The host's clock is one for all threads: what any thread has waited for is
//! done, whichever way the threads tell each other.

use crate::checks::{Kind, Use};
use crate::state::State;
use crate::streams::StreamId;
use std::collections::HashMap;
use std::time::Instant;

/// For each stream, the number of its last operation known to be done.
#[derive(Clone, Debug, Default)]
pub struct Clock {
    done: HashMap<StreamId, u64>,
    /// When all of them are over, where work takes a set time (see `engines`).
    over: Option<Instant>,
}

impl Clock {
    /// Whether an operation is known to be done.
    pub fn covers(&self, stream: StreamId, operation: u64) -> bool {
        self.done
            .get(&stream)
            .is_some_and(|done| *done >= operation)
    }

    /// Learns of one operation, and so of those before it in its stream.
    pub fn learn(&mut self, stream: StreamId, operation: u64) {
        let done = self.done.entry(stream).or_default();
        *done = operation.max(*done);
    }

    /// Learns all that another clock knows.
    pub fn join(&mut self, other: &Self) {
        for (stream, operation) in &other.done {
            self.learn(*stream, *operation);
        }
        self.over = self.over.max(other.over);
    }

    /// When all that it knows of is over; `None` where no time is kept.
    pub fn over(&self) -> Option<Instant> {
        self.over
    }

    /// Learns that it takes until then.
    pub fn reach(&mut self, time: Instant) {
        self.over = self.over.max(Some(time));
    }

    /// Forgets a stream.
    pub fn forget(&mut self, stream: StreamId) {
        self.done.remove(&stream);
    }
}

/// An access that was queued.
#[derive(Clone, Debug)]
pub struct Access {
    stream: StreamId,
    operation: u64,
    used: Use,
    name: String,
}

impl Access {
    fn conflicts(&self, other: &Use) -> bool {
        (self.used.write || other.write) && self.used.at < other.end() && other.at < self.used.end()
    }
}

impl State {
    /// A destroyed stream has finished: clr `Stream::Destroy` waits.
    fn is_done(&self, access: &Access) -> bool {
        self.host_knows.covers(access.stream, access.operation)
            || !self.streams.contains_key(&access.stream)
    }

    /// Looks for races of a new operation and remembers what it touches.
    pub fn note_accesses(&mut self, stream: StreamId, operation: u64, name: &str, uses: &[Use]) {
        for used in uses {
            let Some((base, _)) = self.memory.at(used.at) else {
                continue;
            };
            let mut accesses = self.take_accesses(base);
            let known = &self.streams[&stream].clock;
            let open = |a: &&Access| {
                a.stream != stream && !known.covers(a.stream, a.operation) && a.conflicts(used)
            };
            let text = accesses.iter().find(open).map(|earlier| {
                format!("{name} (stream {stream}) touches {:#x} while {} (stream {}) may still be running; nothing orders the two", used.at, earlier.name, earlier.stream)
            });
            if let Some(text) = text {
                self.violation(Kind::Race, text);
            }
            // A later access of the same kind in the same stream stands for the earlier.
            let same = |a: &Access| {
                a.stream == stream
                    && a.used.at == used.at
                    && a.used.bytes == used.bytes
                    && a.used.write == used.write
            };
            accesses.retain(|a| !same(a));
            accesses.push(Access {
                stream,
                operation,
                used: *used,
                name: name.to_owned(),
            });
            self.put_accesses(base, accesses);
        }
    }

    /// Looks for operations that may still run while the host touches memory.
    pub fn host_race(&mut self, what: &str, used: Use) -> bool {
        let Some((base, _)) = self.memory.at(used.at) else {
            return false;
        };
        let accesses = self.take_accesses(base);
        let text = accesses.iter().find(|a| a.conflicts(&used)).map(|earlier| {
            format!("{what} touches {:#x} while {} (stream {}) may still be running: nothing waited for it", used.at, earlier.name, earlier.stream)
        });
        self.put_accesses(base, accesses);
        match text {
            Some(text) => {
                self.violation(Kind::Race, text);
                true
            }
            None => false,
        }
    }

    /// The accesses of an allocation that the host has not waited for.
    fn take_accesses(&mut self, base: usize) -> Vec<Access> {
        let taken = self
            .memory
            .live
            .get_mut(&base)
            .map(|a| std::mem::take(&mut a.accesses));
        let mut accesses = taken.unwrap_or_default();
        accesses.retain(|access| !self.is_done(access));
        accesses
    }

    fn put_accesses(&mut self, base: usize, accesses: Vec<Access>) {
        if let Some(allocation) = self.memory.live.get_mut(&base) {
            allocation.accesses = accesses;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_learn_and_join() {
        let (a, b) = (StreamId::null(0), StreamId::null(1));
        let mut clock = Clock::default();
        assert!(!clock.covers(a, 1));
        clock.learn(a, 3);
        clock.learn(a, 2);
        assert!(clock.covers(a, 3) && !clock.covers(a, 4));
        let mut other = Clock::default();
        other.learn(b, 7);
        other.join(&clock);
        assert!(other.covers(a, 3) && other.covers(b, 7));
    }
}
