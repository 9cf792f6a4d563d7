//! One way to call C: enter the gate, collect what the library prints, check
//! the status, and make an error of it that carries MIGraphX's own text.

use std::sync::atomic::{AtomicU32, Ordering};

use migraphx_sys::migraphx_status;

use crate::error::{Error, Result};
use crate::ffi::{gate, text};

/// Calls a C function and gives `Result<()>`. Needs an unsafe block around it.
///
/// ```text
/// // SAFETY: …
/// unsafe { call!(migraphx_program_run(&mut out, program, parameters)) }?;
/// ```
macro_rules! call {
    ($name:ident($($argument:expr),* $(,)?)) => {
        match $crate::ffi::call::function(|library| library.functions.$name.get()) {
            Ok(function) => {
                static RETURNS: ::std::sync::atomic::AtomicU32 =
                    ::std::sync::atomic::AtomicU32::new(0);
                $crate::ffi::call::checked(stringify!($name), &RETURNS, || {
                    function($($argument),*)
                })
            }
            Err(error) => Err(error),
        }
    };
}

/// As [`call!`], for getters that print nothing and touch no state of the
/// library: no gate and no capture.
macro_rules! peek {
    ($name:ident($($argument:expr),* $(,)?)) => {
        match $crate::ffi::call::function(|library| library.functions.$name.get()) {
            Ok(function) => {
                let status = function($($argument),*);
                $crate::ffi::call::status_of(stringify!($name), status)
            }
            Err(error) => Err(error),
        }
    };
}

/// Looks a function up in the loaded library.
#[inline]
pub(crate) fn function<F>(
    pick: impl FnOnce(&'static migraphx_sys::Library) -> Result<F, migraphx_sys::MissingFunction>,
) -> Result<F> {
    Ok(pick(crate::ffi::library()?)?)
}

/// Runs `f`, a call of the C function `name`.
#[inline]
pub(crate) fn checked(
    name: &'static str,
    returns: &AtomicU32,
    f: impl FnOnce() -> migraphx_status,
) -> Result<()> {
    let _inside = gate::enter()?;
    let capture = text::Capture::begin();
    let status = f();
    if returns.load(Ordering::Relaxed) < gate::LAST_RENEWAL {
        gate::renew(returns);
    }
    let printed = capture.end();
    if status == migraphx_status::migraphx_status_success && printed.is_none() {
        return Ok(());
    }
    report(name, status, printed)
}

#[cold]
fn report(name: &'static str, status: migraphx_status, printed: Option<String>) -> Result<()> {
    if status == migraphx_status::migraphx_status_success {
        for line in printed.as_deref().unwrap_or_default().lines() {
            log::warn!(target: "migraphx", "{name}: {line}");
        }
        return Ok(());
    }
    Err(Error::Api {
        function: name,
        status: status.0,
        message: printed.map(|text| crate::custom_op::unabridged(message_of(&text))),
        context: String::new(),
    })
}

/// The status of a getter.
#[inline]
pub(crate) fn status_of(name: &'static str, status: migraphx_status) -> Result<()> {
    if status == migraphx_status::migraphx_status_success {
        Ok(())
    } else {
        report(name, status, None)
    }
}

/// What the exception said, in the text that one call printed.
///
/// The library prints `<function>: Error: <what>` (up to ROCm 7.0
/// `MIGraphX Error: <what>`) after any warnings.
fn message_of(text: &str) -> &str {
    let after = |mark: &str| text.rfind(mark).map(|at| &text[at + mark.len()..]);
    // A message may itself begin with "Error: ", so the first mark of the last
    // line that begins with a function's name counts.
    let mut start = 0;
    let mut found = None;
    for line in text.split_inclusive('\n') {
        if let Some((name, _)) = line.split_once(": Error: ")
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        {
            found = Some(start + name.len() + ": Error: ".len());
        }
        start += line.len();
    }
    found
        .map(|at| &text[at..])
        .or_else(|| after("MIGraphX Error: "))
        .unwrap_or(text)
        .trim()
}

#[cfg(test)]
mod tests {
    use super::message_of;

    #[test]
    fn the_message_is_what_follows_the_last_mark() {
        assert_eq!(message_of("migraphx_load: Error: a: b\n"), "a: b");
        assert_eq!(message_of("warning\nmigraphx_load: Error: x\ny\n"), "x\ny");
        assert_eq!(message_of("MIGraphX Error: old form\n"), "old form");
        assert_eq!(
            message_of("migraphx_load: Error: f.cpp:1: g: Error: version mismatch\n"),
            "f.cpp:1: g: Error: version mismatch"
        );
        assert_eq!(message_of("no mark\n"), "no mark");
    }
}
