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
