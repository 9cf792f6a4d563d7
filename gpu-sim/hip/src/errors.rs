//! The last error of a thread, and the names of errors.

use crate::abi::describe;
use crate::state::last_error;
use std::ffi::{c_char, c_int};

/// HIP's function of this name: gives the last error and clears it.
#[unsafe(no_mangle)]
pub extern "C" fn hipGetLastError() -> c_int {
    last_error(true)
}

/// HIP's function of this name.
#[unsafe(no_mangle)]
pub extern "C" fn hipPeekAtLastError() -> c_int {
    last_error(false)
}

/// HIP's function of this name.
#[unsafe(no_mangle)]
pub extern "C" fn hipGetErrorName(code: c_int) -> *const c_char {
    describe(code).0.as_ptr()
}

/// HIP's function of this name.
#[unsafe(no_mangle)]
pub extern "C" fn hipGetErrorString(code: c_int) -> *const c_char {
    describe(code).1.as_ptr()
}
