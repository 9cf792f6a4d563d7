//! Leaving the process while a thread is inside MIGraphX crashes in the
//! library's static destructors. So calls in flight are counted; when the
//! process exits, a hook lets them end and keeps new ones from starting.
//!
//! Exit handlers run in reverse order of registration, and the library
//! registers destructors when a function first runs. The hook is therefore
//! registered after a call has returned, and again after the 2nd, 4th, 8th, …
//! return of each call site, since later calls reach new code.

use std::cell::Cell;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::error::{Error, Result};

/// From this many returns of a call site on, its hook is not registered again.
pub(crate) const LAST_RENEWAL: u32 = 1024;

/// How long the exit waits for calls in flight.
const PATIENCE: Duration = Duration::from_secs(5);

static IN_FLIGHT: AtomicUsize = AtomicUsize::new(0);
static EXITING: AtomicBool = AtomicBool::new(false);
/// The process that registered the hook; a fork has none of its threads.
static PROCESS: AtomicU32 = AtomicU32::new(0);

thread_local! {
    /// Calls of this thread that have not returned: a callback may call again.
    static DEPTH: Cell<u32> = const { Cell::new(0) };
    /// Set in the thread that runs the exit handlers.
    static LEAVING: Cell<bool> = const { Cell::new(false) };
}

/// A call in flight.
pub(crate) struct Inside(());

/// Counts a call in.
///
/// Once the process is exiting, it does not return on other threads, and is an
/// error on the exiting one.
#[inline]
pub(crate) fn enter() -> Result<Inside> {
    let depth = DEPTH.get();
    if depth == 0 {
        // SeqCst on both sides: either the hook sees this call, or this call sees EXITING.
        IN_FLIGHT.fetch_add(1, Ordering::SeqCst);
        if EXITING.load(Ordering::SeqCst) {
            IN_FLIGHT.fetch_sub(1, Ordering::SeqCst);
            if LEAVING.get() {
                return Err(Error::Exiting);
            }
            loop {
                std::thread::park();
            }
        }
    }
    DEPTH.set(depth + 1);
    Ok(Inside(()))
}

impl Drop for Inside {
    #[inline]
    fn drop(&mut self) {
        let depth = DEPTH.get() - 1;
        DEPTH.set(depth);
        if depth == 0 {
            IN_FLIGHT.fetch_sub(1, Ordering::SeqCst);
        }
    }
}

/// Notes that a call site has returned once more, and registers the hook if it is time.
pub(crate) fn renew(returns: &AtomicU32) {
    let count = returns.fetch_add(1, Ordering::Relaxed) + 1;
    if count.is_power_of_two() {
        static FIRST: Once = Once::new();
        FIRST.call_once(|| PROCESS.store(std::process::id(), Ordering::Relaxed));
        #[cfg(unix)]
        // SAFETY: `leave` is a function without arguments that does not unwind.
        unsafe {
            libc::atexit(leave);
        }
    }
}

#[cfg_attr(not(unix), allow(dead_code))]
extern "C" fn leave() {
    LEAVING.set(true);
    EXITING.store(true, Ordering::SeqCst);
    if PROCESS.load(Ordering::Relaxed) != std::process::id() {
        return;
    }
    // The exiting thread may itself be inside, in a callback that calls exit.
    let own = usize::from(DEPTH.get() > 0);
    let start = Instant::now();
    while IN_FLIGHT.load(Ordering::SeqCst) > own && start.elapsed() < PATIENCE {
        std::thread::sleep(Duration::from_micros(200));
    }
}
