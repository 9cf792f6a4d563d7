//! Events: a mark in a stream that others can wait for.
//!
//! Read in: ROCm/clr rocm-6.2.2, `hip_event.cpp`. An event belongs to the
//! device that was current when it was made, and is recorded only on streams of
//! that device (else hipErrorInvalidHandle); any stream may wait for it. One
//! that was never recorded counts as done.

use crate::abi::{Handle, HipError, HipResult};
use crate::checks::Kind;
use crate::races::Clock;
use crate::state::{Locked, State, api, give};
use crate::streams::StreamId;
use crate::work::Work;
use std::ffi::{c_int, c_uint};
use std::time::Instant;

const DISABLE_TIMING: c_uint = 2;
const INTERPROCESS: c_uint = 4;
/// hipEventBlockingSync, DisableTiming, Interprocess, DisableSystemFence,
/// ReleaseToDevice, ReleaseToSystem.
const KNOWN_FLAGS: c_uint = 1 | DISABLE_TIMING | INTERPROCESS | RELEASE_FLAGS;
const RELEASE_FLAGS: c_uint = 0x2000_0000 | 0x4000_0000 | 0x8000_0000;

/// A live event.
#[derive(Debug)]
pub struct Event {
    /// Its device.
    pub device: usize,
    flags: c_uint,
    /// How often it was recorded.
    recordings: u64,
    /// The last recording that has happened, and when.
    happened: u64,
    time: Option<Instant>,
    /// Where the last recording is, and what was known there.
    mark: Option<(StreamId, u64, Clock)>,
}

impl State {
    /// A recording was reached in its stream.
    pub fn event_happened(&mut self, event: usize, recording: u64) {
        if let Some(event) = self.events.get_mut(&event)
            && event.happened < recording
        {
            event.happened = recording;
            event.time = Some(Instant::now());
        }
    }

    /// The event of a handle; one that was destroyed is a violation.
    fn event_of(&mut self, what: &str, handle: Handle) -> HipResult<&mut Event> {
        if !self.events.contains_key(&(handle as usize)) {
            if !handle.is_null() {
                let was = if self.was_handle(handle as usize) {
                    "was destroyed, or is no event"
                } else {
                    "is no event"
                };
                self.violation(Kind::BadHandle, format!("{what}: event {handle:p} {was}"));
            }
            return Err(HipError::INVALID_HANDLE);
        }
        Ok(self
            .events
            .get_mut(&(handle as usize))
            .expect("looked up above"))
    }
}

/// clr `ihipEventCreateWithFlags`: unknown flags, two release flags, or
/// Interprocess without DisableTiming are hipErrorInvalidValue.
fn create(state: &mut Locked, out: *mut Handle, flags: c_uint) -> HipResult {
    let illegal = flags & !KNOWN_FLAGS != 0
        || (flags & RELEASE_FLAGS).count_ones() > 1
        || flags & (INTERPROCESS | DISABLE_TIMING) == INTERPROCESS;
    if out.is_null() || illegal {
        return Err(HipError::INVALID_VALUE);
    }
    let device = state.current()?;
    let handle = state.new_handle();
    state.events.insert(
        handle,
        Event {
            device,
            flags,
            recordings: 0,
            happened: 0,
            time: None,
            mark: None,
        },
    );
    let counters = &mut state.devices[device].counters;
    counters.events_made += 1;
    counters.events_live += 1;
    state.note(|| format!("= {handle:#x}"));
    // SAFETY: the caller's out pointer, as HIP asks for.
    unsafe { give(out, handle as Handle) }
}

/// Puts a recording of an event into a stream.
pub fn record(s: &mut Locked, what: &str, event: Handle, stream: StreamId) -> HipResult {
    let device = s.streams[&stream].device;
    let target = s.event_of(what, event)?;
    if target.device != device {
        let text = format!(
            "{what}: event of device {} on stream {stream} of device {device}",
            target.device
        );
        s.violation(Kind::WrongDevice, text);
        return Err(HipError::INVALID_HANDLE);
    }
    target.recordings += 1;
    let recording = target.recordings;
    let number = s.submit(
        stream,
        "event",
        Work::Record {
            event: event as usize,
            recording,
        },
        &[],
    )?;
    let clock = s.streams[&stream].clock.clone();
    if let Ok(target) = s.event_of(what, event) {
        target.mark = Some((stream, number, clock));
    }
    Ok(())
}

/// HIP's function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipEventCreate(out: *mut Handle) -> c_int {
    api("hipEventCreate", String::new, |s| create(s, out, 0))
}

/// HIP's function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipEventCreateWithFlags(out: *mut Handle, flags: c_uint) -> c_int {
    api(
        "hipEventCreateWithFlags",
        || format!("flags={flags:#x} "),
        |s| create(s, out, flags),
    )
}

/// HIP's function of this name. It does not wait; clr: one that is gone
/// already is hipErrorContextIsDestroyed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipEventDestroy(event: Handle) -> c_int {
    api(
        "hipEventDestroy",
        || format!("{event:p}"),
        |s| {
            let gone = if event.is_null() {
                HipError::INVALID_HANDLE
            } else {
                HipError::CONTEXT_DESTROYED
            };
            let device = s
                .event_of("hipEventDestroy", event)
                .map_err(|_| gone)?
                .device;
            s.events.remove(&(event as usize));
            s.devices[device].counters.events_live -= 1;
            Ok(())
        },
    )
}

/// HIP's function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipEventRecord(event: Handle, stream: Handle) -> c_int {
    api(
        "hipEventRecord",
        || format!("event={event:p} stream={stream:p}"),
        |s| {
            if event.is_null() {
                return Err(HipError::INVALID_HANDLE);
            }
            let id = s.stream_of("hipEventRecord", stream)?;
            record(s, "hipEventRecord", event, id)
        },
    )
}

/// HIP's function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipEventSynchronize(event: Handle) -> c_int {
    api(
        "hipEventSynchronize",
        || format!("{event:p}"),
        |s| {
            let Some((stream, number, clock)) =
                s.event_of("hipEventSynchronize", event)?.mark.clone()
            else {
                return Ok(());
            };
            s.run_until(stream, number);
            s.sleep_until(clock.over());
            s.host_knows.join(&clock);
            s.take_error(stream)
        },
    )
}

/// HIP's function of this name. In deferred mode each query moves the stream
/// one operation on, so a program that polls comes to an end.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipEventQuery(event: Handle) -> c_int {
    api(
        "hipEventQuery",
        || format!("{event:p}"),
        |s| {
            let target = s.event_of("hipEventQuery", event)?;
            let (recordings, happened) = (target.recordings, target.happened);
            let Some((stream, _, clock)) = target.mark.clone() else {
                return Ok(());
            };
            if happened < recordings
                && let Some(state) = s.streams.get(&stream)
            {
                let next = state.queue.done + 1;
                s.run_until(stream, next);
            }
            let reached = s.event_of("hipEventQuery", event)?.happened >= recordings;
            if !reached || clock.over() > Some(Instant::now()) {
                return Err(HipError::NOT_READY);
            }
            s.host_knows.join(&clock);
            Ok(())
        },
    )
}

/// HIP's function of this name. clr `Event::elapsedTime`: an event without a
/// recording or without timing is hipErrorInvalidHandle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipEventElapsedTime(out: *mut f32, start: Handle, stop: Handle) -> c_int {
    api(
        "hipEventElapsedTime",
        || format!("{start:p} {stop:p}"),
        |s| {
            if out.is_null() {
                return Err(HipError::INVALID_VALUE);
            }
            let mut times = [None; 2];
            for (time, handle) in times.iter_mut().zip([start, stop]) {
                let event = s.event_of("hipEventElapsedTime", handle)?;
                if event.recordings == 0 || event.flags & DISABLE_TIMING != 0 {
                    return Err(HipError::INVALID_HANDLE);
                }
                *time = event.time.filter(|_| event.happened == event.recordings);
                // Where work takes a set time, that counts.
                let over = event.mark.as_ref().and_then(|(_, _, clock)| clock.over());
                if over.is_some() {
                    *time = time.and(over).filter(|over| *over <= Instant::now());
                }
            }
            let [Some(start), Some(stop)] = times else {
                return Err(HipError::NOT_READY);
            };
            let milliseconds = |d: std::time::Duration| d.as_secs_f32() * 1e3;
            let elapsed = match stop.checked_duration_since(start) {
                Some(forward) => milliseconds(forward),
                None => -milliseconds(start - stop),
            };
            // SAFETY: the caller's out pointer, as HIP asks for.
            unsafe { give(out, elapsed) }
        },
    )
}

/// HIP's function of this name. clr `hipStreamWaitEvent_common`: a bad stream
/// or event is hipErrorInvalidHandle, flags are not allowed, an event whose
/// stream is gone has happened. Event and stream may be of different devices.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipStreamWaitEvent(stream: Handle, event: Handle, flags: c_uint) -> c_int {
    api(
        "hipStreamWaitEvent",
        || format!("stream={stream:p} event={event:p}"),
        |s| {
            let mark = s.event_of("hipStreamWaitEvent", event)?.mark.clone();
            let id = s
                .stream_of("hipStreamWaitEvent", stream)
                .map_err(|_| HipError::INVALID_HANDLE)?;
            if flags != 0 {
                return Err(HipError::INVALID_VALUE);
            }
            if let Some((other, number, clock)) = mark {
                s.wait_for(id, other, number, &clock);
            }
            Ok(())
        },
    )
}
