//! How stream work gets queued, ordered and run.
//!
//! Immediate mode runs an operation inside the call that queues it. Deferred
//! mode leaves it until something waits: a program that forgets to wait reads
//! old bytes, every time. Either way the operations of a stream run in order,
//! one at a time, on the thread that drives the stream, without the lock.
//!
//! Where work takes a set time, it is over for the program at the time that was
//! booked for it (see `engines`), also if it ran before.

use crate::abi::{HipError, HipResult};
use crate::checks::Use;
use crate::races::Clock;
use crate::state::Locked;
use crate::streams::StreamId;
use crate::work::Work;
use std::collections::VecDeque;
use std::thread::ThreadId;

/// One queued operation.
#[derive(Debug)]
pub struct Operation {
    /// For messages.
    pub name: String,
    /// What it does.
    pub work: Work,
}

/// The work of one stream.
#[derive(Debug, Default)]
pub struct Queue {
    waiting: VecDeque<Operation>,
    /// Operations queued so far; the number of the last one.
    pub queued: u64,
    /// Operations finished so far.
    pub done: u64,
    /// The thread that runs one at this moment.
    running: Option<ThreadId>,
    /// The first failure that nobody has asked for yet.
    error: Option<HipError>,
}

impl Queue {
    /// Whether anything is left to do.
    pub fn is_idle(&self) -> bool {
        self.done == self.queued
    }
}

impl Locked {
    /// Queues an operation and, in immediate mode, runs it. Gives its number.
    pub fn submit(
        &mut self,
        stream: StreamId,
        name: &str,
        work: Work,
        uses: &[Use],
    ) -> HipResult<u64> {
        self.order_with_null_stream(stream);
        self.push(stream, name, work, uses)
    }

    /// The same without the rules of the null stream: for work that the
    /// library itself puts there (see `copies`).
    pub fn push(
        &mut self,
        stream: StreamId,
        name: &str,
        work: Work,
        uses: &[Use],
    ) -> HipResult<u64> {
        let number = self.stream(stream).queue.queued + 1;
        self.note_accesses(stream, number, name, uses);
        self.book(stream, &work);
        let state = self.stream(stream);
        state.queue.queued = number;
        state.queue.waiting.push_back(Operation {
            name: name.to_owned(),
            work,
        });
        state.clock.learn(stream, number);
        if !self.options.deferred {
            self.run_until(stream, number);
            self.take_error(stream)?;
        }
        Ok(number)
    }

    /// clr `hip::getStream`, `Device::WaitActiveStreams`: work on the null
    /// stream waits for all blocking streams of its device, work on a blocking
    /// stream waits for the null stream; streams made with
    /// hipStreamNonBlocking do neither.
    fn order_with_null_stream(&mut self, stream: StreamId) {
        let me = &self.streams[&stream];
        let (device, non_blocking) = (me.device, me.is_non_blocking());
        if stream.is_null() {
            let blocking: Vec<_> = self.blocking_streams(device).collect();
            for other in blocking {
                self.wait_in_stream(stream, other);
            }
        } else if !non_blocking {
            self.wait_in_stream(stream, StreamId::null(device));
        }
    }

    /// Makes what is queued next in `stream` wait for all of `other` so far.
    pub fn wait_in_stream(&mut self, stream: StreamId, other: StreamId) {
        let (number, clock) = (
            self.streams[&other].queue.queued,
            self.streams[&other].clock.clone(),
        );
        self.wait_for(stream, other, number, &clock);
    }

    /// Makes what is queued next in `stream` wait for an operation of `other`,
    /// whose clock was `clock`.
    pub fn wait_for(&mut self, stream: StreamId, other: StreamId, number: u64, clock: &Clock) {
        let pending = self
            .streams
            .get(&other)
            .is_some_and(|s| s.queue.done < number);
        let state = self.stream(stream);
        state.clock.join(clock);
        if pending && other != stream {
            state.queue.queued += 1;
            let work = Work::Wait {
                stream: other,
                operation: number,
            };
            state.queue.waiting.push_back(Operation {
                name: "wait".into(),
                work,
            });
        }
    }

    /// Runs the operations of a stream up to a number, or waits for the thread
    /// that is running them. Waits in a queue only ever name operations that
    /// were queued earlier, so two threads cannot wait for each other.
    pub fn run_until(&mut self, stream: StreamId, number: u64) {
        let me = std::thread::current().id();
        loop {
            let Some(state) = self.streams.get_mut(&stream) else {
                return;
            };
            if state.queue.done >= number.min(state.queue.queued) {
                return;
            }
            match state.queue.running {
                // A host function that waits for its own stream: HIP forbids
                // it, hardware hangs; here the wait is skipped.
                Some(thread) if thread == me => return,
                Some(_) => {
                    self.wait();
                    continue;
                }
                None => state.queue.running = Some(me),
            }
            let next = state.queue.waiting.pop_front();
            let result = next.map_or(Ok(()), |operation| self.perform(stream, operation));
            let state = self.stream(stream);
            state.queue.running = None;
            state.queue.done += 1;
            if let Err(error) = result {
                state.queue.error.get_or_insert(error);
            }
            self.changed();
        }
    }

    /// Waits for all of a stream so far; what it did is known to the host then.
    pub fn finish(&mut self, stream: StreamId) {
        let Some(state) = self.streams.get(&stream) else {
            return;
        };
        let (number, clock) = (state.queue.queued, state.clock.clone());
        self.run_until(stream, number);
        self.sleep_until(clock.over());
        self.host_knows.join(&clock);
    }

    /// Waits for all streams of a device: clr `Device::SyncAllStreams`.
    pub fn finish_device(&mut self, device: usize) {
        let all: Vec<_> = self
            .streams
            .iter()
            .filter(|(_, s)| s.device == device)
            .map(|(id, _)| *id)
            .collect();
        for stream in all {
            self.finish(stream);
        }
    }

    /// The failure of a stream's earlier work, given once.
    pub fn take_error(&mut self, stream: StreamId) -> HipResult {
        match self
            .streams
            .get_mut(&stream)
            .and_then(|s| s.queue.error.take())
        {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }
}
