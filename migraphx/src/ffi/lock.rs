//! MIGraphX's registries of targets and operators are unsynchronised: loading a
//! target and registering an operator write them, and parse, compile, load and
//! quantize read them.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError, RwLock, RwLockReadGuard};

use crate::error::{Error, Result};

static REGISTRIES: RwLock<()> = RwLock::new(());

/// The targets loaded so far.
static TARGETS: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

thread_local! {
    /// How often this thread holds the lock: a custom operator may call back, and
    /// asking a second time would wait for whoever waits for the first.
    static HELD: Cell<u32> = const { Cell::new(0) };
}

/// Held while a call reads the registries.
pub(crate) struct Reading(#[allow(dead_code)] Option<RwLockReadGuard<'static, ()>>);

/// Keeps targets and operators from being added meanwhile.
pub(crate) fn reading() -> Reading {
    let first = HELD.get() == 0;
    Reading::counted(first.then(|| REGISTRIES.read().unwrap_or_else(PoisonError::into_inner)))
}

impl Reading {
    fn counted(guard: Option<RwLockReadGuard<'static, ()>>) -> Self {
        HELD.set(HELD.get() + 1);
        Reading(guard)
    }
}

impl Drop for Reading {
    fn drop(&mut self) {
        HELD.set(HELD.get() - 1);
    }
}

/// Runs `f`, which loads `targets` where they are not loaded yet.
///
/// The first load of a target runs alone; later ones run beside each other.
pub(crate) fn loading<R>(targets: &[String], f: impl FnOnce() -> Result<R>) -> Result<R> {
    if targets.iter().all(|target| is_loaded(target)) {
        let _reading = reading();
        return f();
    }
    let result = writing("a target cannot be loaded for the first time", f)?;
    let mut known = TARGETS.lock().unwrap_or_else(PoisonError::into_inner);
    known.extend(targets.iter().cloned());
    Ok(result)
}

/// Whether a target was loaded before.
pub(crate) fn is_loaded(target: &str) -> bool {
    let known = TARGETS.lock().unwrap_or_else(PoisonError::into_inner);
    known.contains(target)
}

/// Runs `f`, which registers an operator, alone.
pub(crate) fn registering<R>(f: impl FnOnce() -> Result<R>) -> Result<R> {
    writing("an operator cannot be registered", f)
}

fn writing<R>(what: &str, f: impl FnOnce() -> Result<R>) -> Result<R> {
    if HELD.get() > 0 {
        return Err(Error::InvalidArgument(format!(
            "{what} while this thread builds, parses, compiles or loads a program, as a custom \
             operator's `shape` does; do it before"
        )));
    }
    let alone = REGISTRIES.write().unwrap_or_else(PoisonError::into_inner);
    // What `f` calls may read: nobody else writes meanwhile.
    let held = Reading::counted(None);
    let result = f();
    drop(held);
    drop(alone);
    result
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_first_load_of_a_target_waits_for_readers_and_later_ones_do_not() {
        // No library is called: a target is only a name here.
        let targets = ["lock_test".to_owned()];
        let load = || loading(&["lock_test".to_owned()], || Ok(()));
        let (done, ended) = channel();
        let reader = reading();
        let thread = std::thread::spawn(move || done.send(load()).unwrap());
        assert!(ended.recv_timeout(Duration::from_millis(200)).is_err());
        drop(reader);
        ended.recv().unwrap().unwrap();
        thread.join().unwrap();

        // Known now: it goes on beside a reader. (It would hang otherwise.)
        let _reader = reading();
        loading(&targets, || Ok(())).unwrap();
    }

    #[test]
    fn a_target_that_failed_to_load_is_not_known() {
        let target = ["lock_test_failing".to_owned()];
        let failed = loading(&target, || Err::<(), _>(crate::Error::Exiting));
        assert!(failed.is_err());
        assert!(!is_loaded(&target[0]));
    }

    #[test]
    fn a_thread_that_reads_may_read_again_and_not_write() {
        let outer = reading();
        let (done, ended) = channel();
        let writer = std::thread::spawn(move || {
            registering(|| Ok(())).unwrap();
            done.send(()).unwrap();
        });
        // The writer waits by now; asking it to be let in again would hang.
        assert!(ended.recv_timeout(Duration::from_millis(200)).is_err());
        drop(reading());
        let refused = registering(|| Ok(())).unwrap_err().to_string();
        assert!(refused.contains("do it before"), "{refused}");
        assert!(ended.try_recv().is_err());
        drop(outer);
        ended.recv().unwrap();
        writer.join().unwrap();
        registering(|| {
            drop(reading());
            assert!(registering(|| Ok(())).is_err());
            Ok(())
        })
        .unwrap();
    }
}
