//! How long work takes, where that is set, and what works beside what.
//!
//! A device has three engines, as the hardware has them: one computes, one
//! copies from the host, one to the host. Each does one thing at a time. An
//! operation begins when it is queued, what comes before it in its stream is
//! over, and its engine is free. One that is ready goes before another that was
//! queued earlier and still waits, if it is through before that one begins.
//!
//! All that an operation waits for was queued before it, so its end is known
//! when it is queued. It is booked then, and whoever waits for it sleeps until
//! that time: no thread is held while a device works, and a sleep that is too
//! long delays nothing that is booked already. Where nothing is set, no time is kept.

use crate::state::Locked;
use crate::streams::StreamId;
use crate::work::Work;
use std::time::{Duration, Instant};

/// What does a piece of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// Kernels, fills, copies inside the device.
    Compute,
    /// Copies to the device.
    Upload,
    /// Copies to the host.
    Download,
}

/// How long work takes. Events, waits and host functions take no time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Times {
    /// A kernel, a fill, a copy inside a device.
    pub kernel: Duration,
    /// Another copy, whatever its length.
    pub copy: Duration,
    /// Its bytes come on top: 10⁹ of them a second, in each direction.
    pub rate: Option<f64>,
}

impl Times {
    fn are_set(&self) -> bool {
        *self != Self::default()
    }

    fn of(&self, work: &Work) -> Option<(Engine, Duration)> {
        match work {
            Work::Copy {
                engine,
                bytes,
                rows,
                ..
            } if *engine != Engine::Compute => {
                let bytes = (bytes * rows) as f64;
                let length = self.rate.map_or(0.0, |rate| bytes / (rate * 1e9));
                Some((*engine, self.copy + Duration::from_secs_f64(length)))
            }
            Work::Copy { .. } | Work::Fill { .. } | Work::Kernel { .. } | Work::Host(_) => {
                Some((Engine::Compute, self.kernel))
            }
            Work::HostFunction { .. }
            | Work::Callback { .. }
            | Work::Record { .. }
            | Work::Wait { .. } => None,
        }
    }
}

/// The engines of a device: the stretches for which each is taken, in order.
#[derive(Debug, Default)]
pub struct Engines([Vec<(Instant, Instant)>; 3]);

impl Engines {
    /// Takes the first free stretch of this length from `ready` on; gives its end.
    /// Nothing will be asked for that is ready before `now`.
    fn book(&mut self, engine: Engine, now: Instant, ready: Instant, length: Duration) -> Instant {
        let taken = &mut self.0[engine as usize];
        taken.retain(|(_, end)| *end > now);
        let (mut start, mut at) = (ready, 0usize);
        for (from, to) in &*taken {
            if start + length <= *from {
                break;
            }
            start = start.max(*to);
            at += 1;
        }
        let end = start + length;
        match at.checked_sub(1).map(|before| &mut taken[before]) {
            Some((_, until)) if *until == start => *until = end,
            _ => taken.insert(at, (start, end)),
        }
        end
    }
}

impl Locked {
    /// Notes when an operation that is queued now will be over: it and all before
    /// it, in the clock of its stream.
    pub fn book(&mut self, stream: StreamId, work: &Work) {
        let times = self.options.times;
        if !times.are_set() {
            return;
        }
        let now = Instant::now();
        let state = &self.streams[&stream];
        let ready = state.clock.over().map_or(now, |over| over.max(now));
        let device = state.device;
        let end = match times.of(work) {
            Some((engine, length)) => self.devices[device]
                .engines
                .book(engine, now, ready, length),
            None => ready,
        };
        self.stream(stream).clock.reach(end);
    }

    /// Sleeps until then, without the lock.
    pub fn sleep_until(&mut self, time: Option<Instant>) {
        let left = time.map(|time| time.saturating_duration_since(Instant::now()));
        if let Some(left) = left.filter(|left| !left.is_zero()) {
            self.unlocked(|| std::thread::sleep(left));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_engine_does_one_thing_at_a_time_and_the_ready_ones_first() {
        let now = Instant::now();
        let ms = Duration::from_millis;
        let mut engines = Engines::default();
        let mut book = |engine, now: Instant, ready, length| {
            engines.book(engine, now, now + ms(ready), ms(length)) - now
        };
        assert_eq!(book(Engine::Compute, now, 0, 10), ms(10));
        assert_eq!(book(Engine::Compute, now, 0, 10), ms(20));
        assert_eq!(book(Engine::Upload, now, 0, 10), ms(10));
        // One that waits until 50 leaves room for one that does not, if it fits.
        assert_eq!(book(Engine::Compute, now, 50, 10), ms(60));
        assert_eq!(book(Engine::Compute, now, 5, 31), ms(91));
        assert_eq!(book(Engine::Compute, now, 5, 30), ms(50));
        // What is over is forgotten.
        assert_eq!(book(Engine::Compute, now + ms(91), 0, 10), ms(10));
        assert_eq!(engines.0[0].len(), 1);
    }
}
