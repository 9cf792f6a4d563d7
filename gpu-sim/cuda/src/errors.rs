//! Errors: their numbers are CUDA's, which are HIP's.

use crate::cuda::{Status, runtime};
use std::ffi::{CStr, c_char};

/// HIP's names; both interfaces have these numbers.
const NAMES: [(Status, &CStr, &CStr); 16] = [
    (0, c"hipSuccess", c"no error"),
    (1, c"hipErrorInvalidValue", c"invalid argument"),
    (2, c"hipErrorOutOfMemory", c"out of memory"),
    (3, c"hipErrorNotInitialized", c"initialization error"),
    (100, c"hipErrorNoDevice", c"no device is detected"),
    (101, c"hipErrorInvalidDevice", c"invalid device ordinal"),
    (201, c"hipErrorInvalidContext", c"invalid device context"),
    (
        209,
        c"hipErrorNoBinaryForGpu",
        c"no kernel image is available",
    ),
    (400, c"hipErrorInvalidHandle", c"invalid resource handle"),
    (500, c"hipErrorNotFound", c"named symbol not found"),
    (600, c"hipErrorNotReady", c"device not ready"),
    (700, c"hipErrorIllegalAddress", c"an illegal memory access"),
    (
        712,
        c"hipErrorHostMemoryAlreadyRegistered",
        c"memory is already registered",
    ),
    (
        713,
        c"hipErrorHostMemoryNotRegistered",
        c"memory is not registered",
    ),
    (719, c"hipErrorLaunchFailure", c"launch failure"),
    (999, c"hipErrorUnknown", c"unknown error"),
];

fn entry(status: Status) -> (&'static CStr, &'static CStr) {
    let found = NAMES.iter().find(|(number, ..)| *number == status);
    found.map_or(
        (c"hipErrorUnknown", c"an error of CUDA's"),
        |(_, name, text)| (*name, *text),
    )
}

/// HIP's function of this name.
#[unsafe(no_mangle)]
pub extern "C" fn hipGetErrorName(status: Status) -> *const c_char {
    entry(status).0.as_ptr()
}

/// HIP's function of this name.
#[unsafe(no_mangle)]
pub extern "C" fn hipGetErrorString(status: Status) -> *const c_char {
    entry(status).1.as_ptr()
}

/// HIP's function of this name.
#[unsafe(no_mangle)]
pub extern "C" fn hipGetLastError() -> Status {
    // SAFETY: takes nothing.
    runtime(|cuda| unsafe { (cuda.last_error)() })
}

/// HIP's function of this name.
#[unsafe(no_mangle)]
pub extern "C" fn hipPeekAtLastError() -> Status {
    // SAFETY: takes nothing.
    runtime(|cuda| unsafe { (cuda.peek_error)() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_hip_s_names() {
        assert_eq!(entry(2).0, c"hipErrorOutOfMemory");
        assert_eq!(entry(12345).0, c"hipErrorUnknown");
    }
}
