//! What a stand-in exports beside MIGraphX's functions.

use std::collections::BTreeMap;
use std::ffi::{CStr, CString, c_char, c_long};

use crate::process;

type Text = unsafe extern "C" fn() -> *const c_char;

/// Asks and tells the stand-in of this process.
pub struct StandIn {
    fail: unsafe extern "C" fn(*const c_char, c_long, u32),
    failed: unsafe extern "C" fn() -> bool,
    reset: unsafe extern "C" fn(),
    calls: Text,
    report: Text,
}

impl StandIn {
    /// The very copy that this crate uses.
    pub fn of_this_process() -> Self {
        // SAFETY: a stand-in, whose initialisers only prepare C++ streams.
        let library = unsafe { libloading::Library::new(process::library()) }.unwrap();
        // It is never unloaded.
        let library: &'static libloading::Library = Box::leak(Box::new(library));
        // SAFETY: the types are those of library/control.c.
        unsafe {
            StandIn {
                fail: *library.get(b"stand_in_fail").unwrap(),
                failed: *library.get(b"stand_in_failed").unwrap(),
                reset: *library.get(b"stand_in_reset").unwrap(),
                calls: *library.get(b"stand_in_calls").unwrap(),
                report: *library.get(b"stand_in_report").unwrap(),
            }
        }
    }

    /// Lets the `nth` call of a function from now on fail with a status.
    pub fn fail(&self, function: &str, nth: u32, status: u32) {
        let name = CString::new(function).unwrap();
        // SAFETY: the name ends with NUL and is copied.
        unsafe { (self.fail)(name.as_ptr(), c_long::from(nth), status) }
    }

    /// Whether that call has come.
    pub fn has_failed(&self) -> bool {
        // SAFETY: it only reads.
        unsafe { (self.failed)() }
    }

    /// Forgets calls, violations and what was to fail.
    pub fn reset(&self) {
        // SAFETY: no call is in flight on another thread.
        unsafe { (self.reset)() }
    }

    /// How often each function was called.
    pub fn calls(&self) -> BTreeMap<String, u32> {
        let entry = |line: &str| {
            let (name, count) = line.split_once(' ').unwrap();
            (name.to_owned(), count.parse().unwrap())
        };
        self.text(self.calls).lines().map(entry).collect()
    }

    /// Handles that live, and uses of dead ones; empty if all is well.
    pub fn report(&self) -> String {
        self.text(self.report)
    }

    fn text(&self, function: Text) -> String {
        // SAFETY: the text ends with NUL and lives until the next call.
        let text = unsafe { CStr::from_ptr(function()) };
        text.to_str().unwrap().to_owned()
    }
}
