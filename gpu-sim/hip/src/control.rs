//! What a test asks and sets. The functions are C, so that a test in any
//! language can take them from the HIP library it has loaded already.

use crate::checks::Kind;
use crate::counters::Counters;
use crate::faults::Faults;
use crate::options::{parse_flag, parse_rate, parse_size};
use crate::report::find_leaks;
use crate::state::{Locked, State};
use std::ffi::{CStr, c_char, c_int};
use std::time::Duration;

/// How many violations of a kind there were; 0 counts all kinds.
#[unsafe(no_mangle)]
pub extern "C" fn hipsim_violations(kind: c_int) -> u64 {
    let state = Locked::new();
    match Kind::ALL.into_iter().find(|k| *k as c_int == kind) {
        Some(kind) => state.violations.count(Some(kind)),
        None if kind == 0 => state.violations.count(None),
        None => 0,
    }
}

/// Writes the text of the n-th violation (from 0), cut to fit, with its NUL.
/// 0 if there is no such violation.
///
/// # Safety
/// `out` has room for `bytes`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipsim_violation_text(
    number: usize,
    out: *mut c_char,
    bytes: usize,
) -> c_int {
    let state = Locked::new();
    let Some(violation) = state.violations.list().get(number) else {
        return 0;
    };
    // SAFETY: the caller's promise.
    c_int::from(unsafe {
        write_text(
            out,
            bytes,
            &format!("{}: {}", violation.kind.name(), violation.text),
        )
    })
}

/// Live allocations, pinned and registered memory included; -1 counts all devices.
#[unsafe(no_mangle)]
pub extern "C" fn hipsim_live(device: c_int) -> usize {
    let state = Locked::new();
    state
        .memory
        .live
        .values()
        .filter(|a| device < 0 || a.device == device as usize)
        .count()
}

/// Reads the counters of a device. 0 if there is no such device.
///
/// # Safety
/// `out` is valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipsim_get(device: c_int, out: *mut Counters) -> c_int {
    let state = Locked::new();
    let Ok(index) = state.device_index(device) else {
        return 0;
    };
    // SAFETY: the caller's promise.
    unsafe { out.write(state.devices[index].counters) };
    1
}

/// Writes a device's architecture without its features, with its NUL. 0 if
/// there is no such device or it does not fit.
///
/// # Safety
/// `out` has room for `bytes`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipsim_device_arch(
    device: c_int,
    out: *mut c_char,
    bytes: usize,
) -> c_int {
    let state = Locked::new();
    let Ok(index) = state.device_index(device) else {
        return 0;
    };
    let text = state.devices[index].short_architecture();
    // SAFETY: the caller's promise.
    c_int::from(text.len() < bytes && unsafe { write_text(out, bytes, text) })
}

/// Counts what is live of a device (-1: of all) as leaks, and says how many.
/// For the end of a test; at the end of the process it happens by itself.
#[unsafe(no_mangle)]
pub extern "C" fn hipsim_check_leaks(device: c_int) -> usize {
    let mut state = Locked::new();
    let leaks = find_leaks(&state, usize::try_from(device).ok());
    let count = leaks.len();
    leaks
        .into_iter()
        .for_each(|text| state.violation(Kind::Leak, text));
    count
}

/// Forgets violations and counts; what is live stays and stays counted.
#[unsafe(no_mangle)]
pub extern "C" fn hipsim_reset() {
    let mut state = Locked::new();
    state.violations.clear();
    for device in &mut state.devices {
        let old = device.counters;
        device.counters = Counters {
            live_allocations: old.live_allocations,
            live_bytes: old.live_bytes,
            peak_bytes: old.live_bytes,
            host_live: old.host_live,
            streams_live: old.streams_live,
            events_live: old.events_live,
            modules_live: old.modules_live,
            ..Counters::default()
        };
    }
}

/// Changes an option while the process runs: `deferred`, `strict`, `poison`,
/// `abort`, `compute` (0 or 1), `op_us`, `copy_us`, `copy_gbps` (how long work takes that is
/// queued from here on), `memory` (of every device), `fail` (faults from here on).
/// 0 if the option or its value is not understood.
///
/// # Safety
/// Both are C strings.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipsim_set_option(name: *const c_char, value: *const c_char) -> c_int {
    // SAFETY: the caller's C strings.
    let (name, value) = unsafe {
        (
            CStr::from_ptr(name).to_string_lossy(),
            CStr::from_ptr(value).to_string_lossy(),
        )
    };
    let mut state = Locked::new();
    match set_option(&mut state, &name, &value) {
        Ok(()) => 1,
        Err(message) => {
            eprintln!("gpu-sim: {message}");
            0
        }
    }
}

fn set_option(state: &mut State, name: &str, value: &str) -> Result<(), String> {
    match name {
        "deferred" => state.options.deferred = parse_flag(value)?,
        "strict" => state.options.strict = parse_flag(value)?,
        "poison" => state.options.poison = parse_flag(value)?,
        "abort" => state.options.abort = parse_flag(value)?,
        "compute" => state.options.compute = parse_flag(value)?,
        "op_us" => state.options.times.kernel = Duration::from_micros(parse_size(value)? as u64),
        "copy_us" => state.options.times.copy = Duration::from_micros(parse_size(value)? as u64),
        "copy_gbps" => state.options.times.rate = parse_rate(value)?,
        "fail" => state.faults = Faults::parse(value)?,
        "memory" => {
            let bytes = parse_size(value)?;
            if let Some(full) = state.devices.iter().find(|d| d.used > bytes) {
                return Err(format!(
                    "memory: {} bytes are in use, {bytes} are too few",
                    full.used
                ));
            }
            state.devices.iter_mut().for_each(|d| d.memory = bytes);
        }
        _ => {
            return Err(format!(
                "no option `{name}` (deferred, strict, poison, abort, compute, op_us, copy_us, \
                 copy_gbps, fail, memory)"
            ));
        }
    }
    Ok(())
}

/// # Safety
/// `out` has room for `bytes`.
unsafe fn write_text(out: *mut c_char, bytes: usize, text: &str) -> bool {
    if out.is_null() || bytes == 0 {
        return false;
    }
    let text = &text.as_bytes()[..text.len().min(bytes - 1)];
    // SAFETY: the caller's promise; one byte is left for the NUL.
    unsafe {
        std::ptr::copy_nonoverlapping(text.as_ptr(), out.cast(), text.len());
        *out.add(text.len()) = 0;
    }
    true
}
