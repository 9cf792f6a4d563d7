//! The loops of the benches in plain C (`baseline.c`), over a program that the C
//! side parses and compiles by itself.

use std::ffi::{CString, c_char, c_int, c_uint};
use std::fmt;
use std::path::Path;

/// What went wrong on the C side: a status of MIGraphX, or a negative number of
/// the C side's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Failure(c_int);

impl Failure {
    const CANNOT_OPEN: c_int = -1;
    const NOT_BUILT: c_int = -5;
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Failure::CANNOT_OPEN => "the C side cannot open MIGraphX",
            -2 => "this MIGraphX lacks a function that the C side calls",
            -3 => "the C side is out of memory",
            -4 => "the model has more inputs than the C side takes",
            -6 => "the C side got an empty output",
            Failure::NOT_BUILT => {
                "the C side was not compiled: it takes a C compiler (`cc`); install one, then \
                 `cargo clean -p c-baseline`"
            }
            status => return write!(f, "the C side got status {status} of MIGraphX"),
        })
    }
}

impl std::error::Error for Failure {}

/// One of the loops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Loop {
    /// Inputs stay as they are: the first row.
    Kept,
    /// As `Kept`; C takes the output's shape for granted.
    Unasked,
    /// Inputs are copied into the same buffers before each run.
    Refill,
    /// Two input sets take turns, each filled before its run.
    Turns,
    /// Each run reads its inputs where they lie.
    Rebind,
    /// Shapes, map and arguments are made for each run.
    Anew,
}

/// A program of the C side: f32 inputs of equal size, and one output of that size.
#[derive(Debug)]
pub struct Baseline {
    raw: *mut Opaque,
    elements: usize,
}

/// `struct baseline`.
#[derive(Debug)]
#[repr(C)]
struct Opaque {
    nothing: [u8; 0],
}

#[cfg(c_baseline)]
unsafe extern "C" {
    fn baseline_create(
        out: *mut *mut Opaque,
        library: *const c_char,
        model: *const u8,
        size: usize,
        elements: usize,
    ) -> c_int;
    fn baseline_run(
        baseline: *mut Opaque,
        which: c_uint,
        rows: *const f32,
        count: usize,
        runs: usize,
        sum: *mut f64,
    ) -> c_int;
    fn baseline_destroy(baseline: *mut Opaque);
}

/// What stands for C where it was not compiled.
#[cfg(not(c_baseline))]
mod absent {
    use super::*;

    pub unsafe fn baseline_create(
        _: *mut *mut Opaque,
        _: *const c_char,
        _: *const u8,
        _: usize,
        _: usize,
    ) -> c_int {
        Failure::NOT_BUILT
    }

    pub unsafe fn baseline_run(
        _: *mut Opaque,
        _: c_uint,
        _: *const f32,
        _: usize,
        _: usize,
        _: *mut f64,
    ) -> c_int {
        Failure::NOT_BUILT
    }

    pub unsafe fn baseline_destroy(_: *mut Opaque) {}
}
#[cfg(not(c_baseline))]
use absent::{baseline_create, baseline_destroy, baseline_run};

impl Baseline {
    /// Has C parse and compile `model` for `ref` with the library at `library`;
    /// inputs and output hold `elements` floats each.
    ///
    /// # Errors
    /// [`Failure`].
    pub fn new(library: &Path, model: &[u8], elements: usize) -> Result<Self, Failure> {
        let path = library.to_str().and_then(|path| CString::new(path).ok());
        let path = path.ok_or(Failure(Failure::CANNOT_OPEN))?;
        let mut raw = std::ptr::null_mut();
        let (bytes, size) = (model.as_ptr(), model.len());
        // SAFETY: the path ends with NUL, the model has as many bytes as said.
        match unsafe { baseline_create(&mut raw, path.as_ptr(), bytes, size, elements) } {
            0 => Ok(Baseline { raw, elements }),
            status => Err(Failure(status)),
        }
    }

    /// Runs a loop `runs` times, over the rows of `rows` in turn, and gives the
    /// sum of the outputs' last elements.
    ///
    /// # Errors
    /// [`Failure`].
    ///
    /// # Panics
    /// Where `rows` is not a whole number of rows, or none.
    pub fn run(&mut self, which: Loop, rows: &[f32], runs: usize) -> Result<f64, Failure> {
        assert!(!rows.is_empty() && rows.len().is_multiple_of(self.elements));
        let count = rows.len() / self.elements;
        let mut sum = 0.0;
        let which = which as c_uint;
        // SAFETY: the baseline is live and borrowed alone; there are `count` rows of
        // its size, which C reads until it returns and does not keep.
        match unsafe { baseline_run(self.raw, which, rows.as_ptr(), count, runs, &mut sum) } {
            0 => Ok(sum),
            status => Err(Failure(status)),
        }
    }
}

impl Drop for Baseline {
    fn drop(&mut self) {
        // SAFETY: made by baseline_create, destroyed once.
        unsafe { baseline_destroy(self.raw) };
    }
}
