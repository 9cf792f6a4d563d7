//! Leaving the process while a thread is inside MIGraphX crashes in the
//! library's static destructors. So calls in flight are counted; when the
//! process exits, a hook lets them end and keeps new ones from starting.
//!
//! Exit handlers run in reverse order of registration, and the library
//! registers destructors when a function first runs. The hook is therefore
//! registered after a call has returned, and again after the 2nd, 4th, 8th, …
//! return of each call site, since later calls reach new code.
//!
//! Each thread counts in a slot of its own, so that threads that run programs
//! side by side share no cache line, and a call costs one atomic exchange.

use std::cell::Cell;
use std::ptr;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use crate::error::{Error, Result};

/// From this many returns of a call site on, its hook is not registered again.
pub(crate) const LAST_RENEWAL: u32 = 1024;

/// How long the exit waits for calls in flight.
const PATIENCE: Duration = Duration::from_secs(5);

static EXITING: AtomicBool = AtomicBool::new(false);
/// The process that registered the hook; a fork has none of its threads.
static PROCESS: AtomicU32 = AtomicU32::new(0);
/// The first of all slots. None is ever freed.
static SLOTS: AtomicPtr<Slot> = AtomicPtr::new(ptr::null_mut());

/// What one thread has in flight; on a cache line of its own.
#[repr(align(128))]
struct Slot {
    /// Calls that have not returned: a callback may call again.
    depth: AtomicU32,
    /// Whether a living thread has it.
    taken: AtomicBool,
    next: AtomicPtr<Slot>,
}

thread_local! {
    /// This thread's slot, or null.
    static SLOT: Cell<*const Slot> = const { Cell::new(ptr::null()) };
    /// Set in the thread that runs the exit handlers.
    static LEAVING: Cell<bool> = const { Cell::new(false) };
    static GIVE_BACK: GiveBack = const { GiveBack };
}

/// Gives the slot to a later thread when this one ends.
struct GiveBack;

impl Drop for GiveBack {
    fn drop(&mut self) {
        // Inside: a callback called `exit`, and the hook will look at the slot.
        if let Some(slot) = own_slot()
            && slot.depth.load(Ordering::Relaxed) == 0
        {
            // A call from a later destructor of this thread takes a slot again.
            SLOT.set(ptr::null());
            slot.taken.store(false, Ordering::Release);
        }
    }
}

/// A call in flight.
pub(crate) struct Inside(&'static Slot);

/// Counts a call in.
///
/// Once the process is exiting, it does not return on other threads, and is an
/// error on the exiting one.
#[inline]
pub(crate) fn enter() -> Result<Inside> {
    let slot = own_slot().unwrap_or_else(take_slot);
    let depth = slot.depth.load(Ordering::Relaxed);
    if depth == 0 {
        // SeqCst on both sides: either the hook sees this call, or this call sees EXITING.
        slot.depth.swap(1, Ordering::SeqCst);
        if EXITING.load(Ordering::SeqCst) {
            refuse(slot)?;
        }
    } else {
        slot.depth.store(depth + 1, Ordering::Relaxed);
    }
    Ok(Inside(slot))
}

#[inline]
fn own_slot() -> Option<&'static Slot> {
    // SAFETY: slots are leaked.
    unsafe { SLOT.get().as_ref() }
}

#[cold]
fn refuse(slot: &Slot) -> Result<()> {
    slot.depth.store(0, Ordering::SeqCst);
    if LEAVING.get() {
        return Err(Error::Exiting);
    }
    loop {
        std::thread::park();
    }
}

#[cold]
fn take_slot() -> &'static Slot {
    if let Some(free) = slots().find(|slot| !slot.taken.swap(true, Ordering::Acquire)) {
        return keep(free);
    }
    let slot: &'static Slot = Box::leak(Box::new(Slot {
        depth: AtomicU32::new(0),
        taken: AtomicBool::new(true),
        next: AtomicPtr::new(ptr::null_mut()),
    }));
    let pushed = |first: *mut Slot| {
        slot.next.store(first, Ordering::Relaxed);
        Some(ptr::from_ref(slot).cast_mut())
    };
    // SeqCst, since the hook must see the slot of whoever did not see EXITING.
    let _ = SLOTS.fetch_update(Ordering::SeqCst, Ordering::SeqCst, pushed);
    keep(slot)
}

fn slots() -> impl Iterator<Item = &'static Slot> {
    // SAFETY: slots are leaked, and whole before they are in the list.
    let slot = |pointer: *mut Slot| unsafe { pointer.as_ref() };
    std::iter::successors(slot(SLOTS.load(Ordering::SeqCst)), move |former| {
        slot(former.next.load(Ordering::Relaxed))
    })
}

fn keep(slot: &'static Slot) -> &'static Slot {
    SLOT.set(slot);
    // In a thread that is ending the slot stays taken: one leaks.
    let _ = GIVE_BACK.try_with(|_| ());
    slot
}

impl Drop for Inside {
    #[inline]
    fn drop(&mut self) {
        let depth = self.0.depth.load(Ordering::Relaxed);
        self.0.depth.store(depth - 1, Ordering::Release);
    }
}

/// How many threads are inside.
fn in_flight() -> usize {
    slots()
        .filter(|slot| slot.depth.load(Ordering::SeqCst) > 0)
        .count()
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
    let own = usize::from(own_slot().is_some_and(|slot| slot.depth.load(Ordering::Relaxed) > 0));
    let start = Instant::now();
    while in_flight() > own && start.elapsed() < PATIENCE {
        std::thread::sleep(Duration::from_micros(200));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_that_ended_leave_their_slots_to_later_ones() {
        let before = slots().count();
        for _ in 0..64 {
            std::thread::spawn(|| drop(enter().unwrap()))
                .join()
                .unwrap();
        }
        // Other tests run beside this one, on threads of their own.
        assert!(slots().count() < before + 32);
    }

    #[test]
    fn a_nested_call_does_not_end_the_outer_one() {
        let outer = enter().unwrap();
        drop(enter().unwrap());
        let own = own_slot().unwrap();
        assert_eq!(own.depth.load(Ordering::SeqCst), 1);
        drop(outer);
        assert_eq!(own.depth.load(Ordering::SeqCst), 0);
    }
}
