//! All state of the virtual devices, behind one lock that is held for
//! bookkeeping only: copies, kernels and host functions run without it, so
//! devices work at the same time on the threads that drive them.

use crate::abi::{Generation, HipError, HipResult};
use crate::allocations::Allocations;
use crate::checks::{Kind, Violations};
use crate::devices::Device;
use crate::events::Event;
use crate::faults::Faults;
use crate::log::Log;
use crate::modules::Modules;
use crate::options::Options;
use crate::races::Clock;
use crate::streams::{Stream, StreamId};
use std::cell::Cell;
use std::collections::{BTreeMap, HashMap};
use std::ffi::c_int;
use std::ops::{Deref, DerefMut};
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};

/// Everything there is.
pub struct State {
    /// What the environment chose.
    pub options: Options,
    /// The virtual devices.
    pub devices: Vec<Device>,
    /// Device, pinned, managed and registered memory.
    pub memory: Allocations,
    /// Live streams, the null stream of each device included.
    pub streams: BTreeMap<StreamId, Stream>,
    /// Live events by handle.
    pub events: HashMap<usize, Event>,
    /// Loaded code and its functions.
    pub modules: Modules,
    /// What the host knows to be done, because it waited for it.
    pub host_knows: Clock,
    /// What was found wrong.
    pub violations: Violations,
    /// Faults to inject.
    pub faults: Faults,
    /// The call log.
    pub log: Log,
    next_handle: usize,
}

struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

static SHARED: OnceLock<Shared> = OnceLock::new();

thread_local! {
    static CURRENT: Cell<usize> = const { Cell::new(0) };
    static LAST_ERROR: Cell<c_int> = const { Cell::new(0) };
}

/// Handles of streams, events, modules and functions count up from here and
/// are never used again, so a stale one is always recognised. The addresses
/// are not mapped.
const FIRST_HANDLE: usize = 0x4_0000;

fn shared() -> &'static Shared {
    SHARED.get_or_init(|| {
        let state = State::new(Options::from_env());
        // Only now: the report needs the state, and bad options end the process.
        crate::report::at_exit();
        crate::host_access::install();
        Shared {
            state: Mutex::new(state),
            changed: Condvar::new(),
        }
    })
}

impl State {
    fn new(options: Options) -> Self {
        let stop = |message: String| -> ! {
            eprintln!("gpu-sim: {message}");
            std::process::exit(2)
        };
        let log =
            Log::open(options.log.as_deref()).unwrap_or_else(|e| stop(format!("GPU_SIM_LOG: {e}")));
        let faults =
            Faults::parse(&options.faults).unwrap_or_else(|e| stop(format!("GPU_SIM_FAIL: {e}")));
        let devices: Vec<_> = (0..options.visible.len())
            .map(|d| Device::new(d, &options))
            .collect();
        let streams = (0..devices.len())
            .map(|d| (StreamId::null(d), Stream::null(d)))
            .collect();
        Self {
            memory: Allocations::new(devices.len()),
            devices,
            streams,
            events: HashMap::new(),
            modules: Modules::default(),
            host_knows: Clock::default(),
            violations: Violations::default(),
            faults,
            log,
            options,
            next_handle: FIRST_HANDLE,
        }
    }

    /// A handle nobody had before.
    pub fn new_handle(&mut self) -> usize {
        self.next_handle += 16;
        self.next_handle
    }

    /// Whether a value was handed out as a handle at some time.
    pub fn was_handle(&self, value: usize) -> bool {
        value > FIRST_HANDLE && value <= self.next_handle && value.is_multiple_of(16)
    }

    /// The device number, if there is such a device.
    /// clr `hipSetDevice`: no device at all is another error than a wrong number.
    pub fn device_index(&self, device: c_int) -> HipResult<usize> {
        match usize::try_from(device) {
            Ok(index) if index < self.devices.len() => Ok(index),
            _ if self.devices.is_empty() => Err(HipError::NO_DEVICE),
            _ => Err(HipError::INVALID_DEVICE),
        }
    }

    /// The calling thread's current device.
    pub fn current(&self) -> HipResult<usize> {
        if self.devices.is_empty() {
            return Err(HipError::NO_DEVICE);
        }
        Ok(CURRENT.get())
    }

    /// Whether this library plays HIP 5.
    pub fn is_hip5(&self) -> bool {
        self.options.generation == Generation::Hip5
    }

    /// Writes down a violation; with `GPU_SIM_ABORT` the process ends here.
    pub fn violation(&mut self, kind: Kind, text: String) {
        let (thread, device) = (thread_id(), CURRENT.get());
        self.log.line(
            thread,
            device,
            &format!("VIOLATION {}: {text}", kind.name()),
        );
        if self.options.abort {
            eprintln!("gpu-sim: {}: {text}", kind.name());
            std::process::abort();
        }
        self.violations.add(kind, thread, device, text);
    }
}

/// The state while its lock is held.
pub struct Locked {
    guard: Option<MutexGuard<'static, State>>,
    note: String,
}

impl Locked {
    /// Takes the lock.
    pub fn new() -> Self {
        let guard = shared()
            .state
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        Self {
            guard: Some(guard),
            note: String::new(),
        }
    }

    /// Runs something without the lock.
    pub fn unlocked<R>(&mut self, work: impl FnOnce() -> R) -> R {
        self.guard = None;
        let result = work();
        self.guard = Some(
            shared()
                .state
                .lock()
                .unwrap_or_else(PoisonError::into_inner),
        );
        result
    }

    /// Sleeps until another thread calls [`Locked::changed`].
    pub fn wait(&mut self) {
        if let Some(guard) = self.guard.take() {
            self.guard = Some(
                shared()
                    .changed
                    .wait(guard)
                    .unwrap_or_else(PoisonError::into_inner),
            );
        }
    }

    /// Wakes the threads in [`Locked::wait`].
    pub fn changed(&self) {
        shared().changed.notify_all();
    }

    /// Adds what a call found to its line in the log.
    pub fn note(&mut self, text: impl FnOnce() -> String) {
        if self.log.enabled() {
            let text = text();
            self.note.push_str(&text);
        }
    }
}

impl Default for Locked {
    fn default() -> Self {
        Self::new()
    }
}

impl Deref for Locked {
    type Target = State;
    fn deref(&self) -> &State {
        self.guard
            .as_ref()
            .expect("the lock is held outside of `unlocked`")
    }
}

impl DerefMut for Locked {
    fn deref_mut(&mut self) -> &mut State {
        self.guard
            .as_mut()
            .expect("the lock is held outside of `unlocked`")
    }
}

/// Every HIP call goes through here: injected faults, the last error, the log.
///
/// clr `hip_internal.hpp`, HIP_RETURN: each call, also one that succeeds,
/// becomes the thread's last error.
pub fn api(
    name: &'static str,
    arguments: impl FnOnce() -> String,
    body: impl FnOnce(&mut Locked) -> HipResult,
) -> c_int {
    let mut state = Locked::new();
    let result = match state.faults.take(name) {
        Some(HipError(0)) | None => body(&mut state),
        Some(error) => Err(error),
    };
    let code = result.map_or_else(|error| error.0, |()| 0);
    LAST_ERROR.set(code);
    if state.log.enabled() {
        let note = std::mem::take(&mut state.note);
        let line = format!("{name} {}{note} -> {code}", arguments());
        state.log.line(thread_id(), CURRENT.get(), &line);
    }
    code
}

/// Makes a device the calling thread's current one.
pub fn set_current(device: usize) {
    CURRENT.set(device);
}

/// The thread's last error; `clear` forgets it.
pub fn last_error(clear: bool) -> c_int {
    let code = LAST_ERROR.get();
    if clear {
        LAST_ERROR.set(0);
    }
    code
}

/// The kernel's number of this thread.
pub fn thread_id() -> u64 {
    thread_local!(static ID: u64 = {
        // SAFETY: takes no arguments and cannot fail.
        unsafe { libc::gettid() as u64 }
    });
    ID.with(|id| *id)
}

/// Writes a result through the caller's pointer; null is hipErrorInvalidValue.
///
/// # Safety
/// `out` is null or valid for a write of `T`.
pub unsafe fn give<T>(out: *mut T, value: T) -> HipResult {
    if out.is_null() {
        return Err(HipError::INVALID_VALUE);
    }
    // SAFETY: not null, and the caller vouches for the rest. HIP's callers owe
    // no alignment beyond C's, so none is assumed.
    unsafe { out.write_unaligned(value) };
    Ok(())
}
