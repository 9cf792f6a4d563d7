//! MIGraphX's registries of targets and operators are unsynchronised: loading a
//! target writes them, and parse, compile, load and quantize read them.

use std::collections::BTreeSet;
use std::sync::{PoisonError, RwLock, RwLockReadGuard};

use crate::error::Result;

/// The targets loaded so far; the lock is the point.
static TARGETS: RwLock<BTreeSet<String>> = RwLock::new(BTreeSet::new());

/// Held while a call reads the registries.
pub(crate) struct Reading(#[allow(dead_code)] RwLockReadGuard<'static, BTreeSet<String>>);

/// Keeps targets from being loaded meanwhile.
pub(crate) fn reading() -> Reading {
    Reading(TARGETS.read().unwrap_or_else(PoisonError::into_inner))
}

/// Runs `f`, which loads `targets` where they are not loaded yet.
///
/// The first load of a target runs alone; later ones run beside each other.
pub(crate) fn loading<R>(targets: &[String], f: impl FnOnce() -> Result<R>) -> Result<R> {
    let known = TARGETS.read().unwrap_or_else(PoisonError::into_inner);
    if targets.iter().all(|target| known.contains(target)) {
        return f();
    }
    drop(known);
    let mut known = TARGETS.write().unwrap_or_else(PoisonError::into_inner);
    let result = f()?;
    known.extend(targets.iter().cloned());
    Ok(result)
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
        let known = TARGETS.read().unwrap_or_else(PoisonError::into_inner);
        assert!(!known.contains(&target[0]));
    }
}
