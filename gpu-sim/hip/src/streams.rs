//! Streams: made on the current device, used from any thread.
//!
//! Read in: ROCm/clr rocm-6.2.2, `hip_stream.cpp`. A stream that is not valid
//! is hipErrorContextIsDestroyed in most calls, hipErrorInvalidHandle in
//! hipStreamWaitEvent.

use crate::abi::{Handle, HipError, HipResult};
use crate::checks::Kind;
use crate::queue::Queue;
use crate::races::Clock;
use crate::state::{Locked, State, api, give};
use std::ffi::{c_int, c_uint};
use std::fmt;
use std::time::Instant;

/// Names a stream: a handle, or the null stream of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StreamId(usize);

impl StreamId {
    /// The null stream of a device.
    pub fn null(device: usize) -> Self {
        Self(device)
    }

    /// Whether it is a null stream: handles are larger than any device number.
    pub fn is_null(self) -> bool {
        self.0 < crate::options::MAX_DEVICES
    }
}

impl fmt::Display for StreamId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_null() {
            write!(f, "null of device {}", self.0)
        } else {
            write!(f, "{:#x}", self.0)
        }
    }
}

const NON_BLOCKING: c_uint = 1;

/// A live stream.
#[derive(Debug)]
pub struct Stream {
    /// The device its work runs on.
    pub device: usize,
    flags: c_uint,
    priority: c_int,
    /// What comes before its next operation.
    pub clock: Clock,
    /// Its work.
    pub queue: Queue,
}

impl Stream {
    /// The null stream of a device.
    pub fn null(device: usize) -> Self {
        Self {
            device,
            flags: 0,
            priority: 0,
            clock: Clock::default(),
            queue: Queue::default(),
        }
    }

    /// Whether it ignores the null stream.
    pub fn is_non_blocking(&self) -> bool {
        self.flags & NON_BLOCKING != 0
    }
}

impl State {
    /// A stream that is known to be live.
    pub fn stream(&mut self, id: StreamId) -> &mut Stream {
        self.streams
            .get_mut(&id)
            .expect("only checked ids get here")
    }

    /// The blocking streams of a device, the null stream left out.
    pub fn blocking_streams(&self, device: usize) -> impl Iterator<Item = StreamId> + '_ {
        self.streams
            .iter()
            .filter(move |(id, s)| !id.is_null() && s.device == device && !s.is_non_blocking())
            .map(|(id, _)| *id)
    }

    /// Takes a stream out. It has finished.
    pub fn destroy_stream(&mut self, id: StreamId) {
        if let Some(gone) = self.streams.remove(&id) {
            self.devices[gone.device].counters.streams_live -= 1;
            self.streams.values_mut().for_each(|s| s.clock.forget(id));
            self.host_knows.forget(id);
        }
    }
}

impl Locked {
    /// The stream of a handle. Null is the null stream of the current device,
    /// as are hipStreamLegacy (1) and hipStreamPerThread (2) here.
    pub fn stream_of(&mut self, what: &str, handle: Handle) -> HipResult<StreamId> {
        if (handle as usize) <= 2 {
            return self.current().map(StreamId::null);
        }
        let id = StreamId(handle as usize);
        if let Some(device) = self.streams.get(&id).map(|s| s.device) {
            self.note(|| format!(" (stream of device {device})"));
            return Ok(id);
        }
        let was = if self.was_handle(handle as usize) {
            "was destroyed, or is no stream"
        } else {
            "is no stream"
        };
        self.violation(Kind::BadHandle, format!("{what}: stream {handle:p} {was}"));
        Err(HipError::CONTEXT_DESTROYED)
    }
}

/// clr `ihipStreamCreate`: only hipStreamDefault and hipStreamNonBlocking.
fn create(state: &mut Locked, out: *mut Handle, flags: c_uint, priority: c_int) -> HipResult {
    if out.is_null() || flags > NON_BLOCKING {
        return Err(HipError::INVALID_VALUE);
    }
    let device = state.current()?;
    let handle = state.new_handle();
    state.streams.insert(
        StreamId(handle),
        Stream {
            flags,
            priority,
            ..Stream::null(device)
        },
    );
    let counters = &mut state.devices[device].counters;
    counters.streams_made += 1;
    counters.streams_live += 1;
    state.note(|| format!("= {handle:#x}"));
    // SAFETY: the caller's out pointer, as HIP asks for.
    unsafe { give(out, handle as Handle) }
}

/// HIP's function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipStreamCreate(out: *mut Handle) -> c_int {
    api("hipStreamCreate", String::new, |s| create(s, out, 0, 0))
}

/// HIP's function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipStreamCreateWithFlags(out: *mut Handle, flags: c_uint) -> c_int {
    api(
        "hipStreamCreateWithFlags",
        || format!("flags={flags} "),
        |s| create(s, out, flags, 0),
    )
}

/// HIP's function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipStreamCreateWithPriority(
    out: *mut Handle,
    flags: c_uint,
    priority: c_int,
) -> c_int {
    api(
        "hipStreamCreateWithPriority",
        || format!("flags={flags} priority={priority} "),
        |s| create(s, out, flags, priority),
    )
}

/// HIP's function of this name. clr `Stream::Destroy`: what is queued runs to its end.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipStreamDestroy(stream: Handle) -> c_int {
    api(
        "hipStreamDestroy",
        || format!("{stream:p}"),
        |s| {
            if (stream as usize) <= 2 {
                return Err(HipError::INVALID_HANDLE);
            }
            let id = s.stream_of("hipStreamDestroy", stream)?;
            s.finish(id);
            s.destroy_stream(id);
            Ok(())
        },
    )
}

/// HIP's function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipStreamSynchronize(stream: Handle) -> c_int {
    api(
        "hipStreamSynchronize",
        || format!("{stream:p}"),
        |s| {
            let id = s.stream_of("hipStreamSynchronize", stream)?;
            let device = s.streams[&id].device;
            s.devices[device].counters.synchronisations += 1;
            // clr: the null stream waits for the blocking streams as well.
            if id.is_null() {
                let blocking: Vec<_> = s.blocking_streams(device).collect();
                blocking.into_iter().for_each(|other| s.finish(other));
            }
            s.finish(id);
            s.take_error(id)
        },
    )
}

/// HIP's function of this name. In deferred mode each query moves the stream
/// one operation on, so a program that polls comes to an end.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipStreamQuery(stream: Handle) -> c_int {
    api(
        "hipStreamQuery",
        || format!("{stream:p}"),
        |s| {
            let id = s.stream_of("hipStreamQuery", stream)?;
            if !s.streams[&id].queue.is_idle() {
                let next = s.streams[&id].queue.done + 1;
                s.run_until(id, next);
            }
            let state = &s.streams[&id];
            if !state.queue.is_idle() || state.clock.over() > Some(Instant::now()) {
                return Err(HipError::NOT_READY);
            }
            s.finish(id);
            s.take_error(id)
        },
    )
}

/// Reads one property of a stream.
fn get<T>(
    name: &'static str,
    stream: Handle,
    out: *mut T,
    read: impl FnOnce(&Stream) -> T,
) -> c_int {
    api(
        name,
        || format!("{stream:p}"),
        |s| {
            let id = s.stream_of(name, stream)?;
            // SAFETY: the caller's out pointer, as HIP asks for.
            unsafe { give(out, read(&s.streams[&id])) }
        },
    )
}

/// HIP's function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipStreamGetFlags(stream: Handle, out: *mut c_uint) -> c_int {
    get("hipStreamGetFlags", stream, out, |s| s.flags)
}

/// HIP's function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipStreamGetPriority(stream: Handle, out: *mut c_int) -> c_int {
    get("hipStreamGetPriority", stream, out, |s| s.priority)
}

/// HIP's function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipStreamGetDevice(stream: Handle, out: *mut c_int) -> c_int {
    get("hipStreamGetDevice", stream, out, |s| s.device as c_int)
}

/// HIP's function of this name: the stream's device, or -1.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipGetStreamDeviceId(stream: Handle) -> c_int {
    let mut state = Locked::new();
    match state.stream_of("hipGetStreamDeviceId", stream) {
        Ok(id) => state.streams[&id].device as c_int,
        Err(_) => -1,
    }
}

/// HIP's function of this name. Graph capture is left out, so never.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipStreamIsCapturing(stream: Handle, out: *mut c_int) -> c_int {
    get("hipStreamIsCapturing", stream, out, |_| 0)
}
