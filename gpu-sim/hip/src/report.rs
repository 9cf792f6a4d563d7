//! The end of the process: what was left behind, what went wrong, and the
//! counts (`GPU_SIM_REPORT`).

use crate::counters::Counters;
use crate::log::open_output;
use crate::state::{Locked, State};
use std::io::{self, Write};

/// Arranges for the report. It is asked for at the first HIP call, so what
/// libraries free in their own exit code, loaded before, is freed before.
pub fn at_exit() {
    extern "C" fn report() {
        at_end();
    }
    // SAFETY: a function without arguments that lives as long as this library,
    // which is never unloaded (linked with `-z nodelete`).
    unsafe { libc::atexit(report) };
}

/// One text for each thing of a device (`None`: of all) that is still live.
/// Memory, streams, events and modules that a process still has when it ends
/// are no error to real HIP; for a test they are the sign of a leak.
pub fn find_leaks(state: &State, device: Option<usize>) -> Vec<String> {
    let mine = |owner: usize| device.is_none_or(|device| device == owner);
    let memory = state.memory.live.iter().filter(|(_, a)| mine(a.device));
    let mut leaks: Vec<_> = memory
        .map(|(base, a)| {
            format!(
                "{:?} memory, allocation {} of device {}: {} bytes at {base:#x}",
                a.place, a.number, a.device, a.size
            )
        })
        .collect();
    leaks.extend(
        state
            .streams
            .iter()
            .filter(|(id, s)| !id.is_null() && mine(s.device))
            .map(|(id, s)| format!("stream {id} of device {}", s.device)),
    );
    leaks.extend(
        state
            .events
            .iter()
            .filter(|(_, e)| mine(e.device))
            .map(|(handle, e)| format!("event {handle:#x} of device {}", e.device)),
    );
    leaks.extend(
        state
            .modules
            .live
            .iter()
            .filter(|(_, m)| mine(m.device))
            .map(|(handle, m)| format!("module {handle:#x} of device {}", m.device)),
    );
    leaks
}

fn at_end() {
    let state = Locked::new();
    let leaks = find_leaks(&state, None);
    if let Some(target) = state.options.report.clone()
        && let Err(error) = open_output(&target)
            .map_err(io::Error::other)
            .and_then(|mut out| write_report(&state, &leaks, &mut out))
    {
        eprintln!("gpu-sim: GPU_SIM_REPORT: {error}");
    }
    if state.options.abort && !leaks.is_empty() {
        leaks
            .iter()
            .for_each(|text| eprintln!("gpu-sim: leak: {text}"));
        // SAFETY: ends the process at once; exit code runs already.
        unsafe { libc::_exit(1) };
    }
}

fn write_report(state: &State, leaks: &[String], out: &mut dyn Write) -> io::Result<()> {
    for (index, device) in state.devices.iter().enumerate() {
        if device.counters != Counters::default() {
            writeln!(
                out,
                "gpu-sim: device {index} ({}): {:?}, {} bytes of the host pinned at most",
                device.architecture, device.counters, device.most_pinned
            )?;
        }
    }
    for text in leaks {
        writeln!(out, "gpu-sim: LEAK {text}")?;
    }
    for v in state.violations.list() {
        writeln!(
            out,
            "gpu-sim: VIOLATION {} (tid {}, device {}): {}",
            v.kind.name(),
            v.thread,
            v.device,
            v.text
        )?;
    }
    writeln!(
        out,
        "gpu-sim: {} violations, {} leaks",
        state.violations.count(None),
        leaks.len()
    )
}
