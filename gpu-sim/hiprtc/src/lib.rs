//! Stand-in for `libhiprtc.so.6`: MIGraphX's own kernels, built for the CPU.
//!
//! MIGraphX generates HIP C++ for every fused operation and compiles it through hiprtc. Here clang
//! compiles the same text for x86-64 with our device header in front (`device/`), and what comes back
//! as "code object" is a shared library that the HIP stand-in loads. Compiled kernels are cached by
//! content.
//!
//! | part | file |
//! |---|---|
//! | the C functions | here |
//! | which clang, which flags | `toolchain.rs` |
//! | from text to library | `build.rs` |
//! | where results are kept | `cache.rs` |
//! | what is changed in MIGraphX's text | `edits.rs` |
//! | the device language on a CPU | `device/*.h` |
//!
//! Environment: `GPU_SIM_JIT` (`auto`, `clang`, `names`), `GPU_SIM_CLANG`, `GPU_SIM_LD`,
//! `GPU_SIM_JIT_CACHE`. With `names`, or where no clang is found, a kernel is only a name: launches are
//! checked and compute nothing.

mod build;
mod cache;
mod edits;
mod toolchain;

use std::ffi::{CStr, c_char, c_int};

const SUCCESS: c_int = 0;
const INVALID_INPUT: c_int = 3;
const INVALID_PROGRAM: c_int = 4;
const COMPILATION: c_int = 6;

/// A program as the caller gave it, and what became of it.
#[derive(Default)]
pub struct Program {
    source: String,
    /// Name and text of each header.
    headers: Vec<(String, String)>,
    log: Vec<u8>,
    code: Vec<u8>,
}

/// # Safety
/// `text` is NUL-terminated.
unsafe fn text(text: *const c_char) -> String {
    // SAFETY: the caller's promise.
    unsafe { CStr::from_ptr(text) }
        .to_string_lossy()
        .into_owned()
}

/// Takes copies of a program's source and headers.
///
/// # Safety
/// As hiprtc's: strings are NUL-terminated, the arrays have `count` entries.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hiprtcCreateProgram(
    out: *mut *mut Program,
    source: *const c_char,
    _name: *const c_char,
    count: c_int,
    headers: *const *const c_char,
    names: *const *const c_char,
) -> c_int {
    let Ok(count) = usize::try_from(count) else {
        return INVALID_INPUT;
    };
    if out.is_null() || source.is_null() || (count > 0 && (headers.is_null() || names.is_null())) {
        return INVALID_INPUT;
    }
    // SAFETY: checked for null; lengths and terminators are the caller's promise.
    unsafe {
        let headers = (0..count)
            .map(|i| (text(*names.add(i)), text(*headers.add(i))))
            .collect();
        let program = Program {
            source: text(source),
            headers,
            ..Program::default()
        };
        *out = Box::into_raw(Box::new(program));
    }
    SUCCESS
}

/// Frees a program.
///
/// # Safety
/// `program` points to a handle of [`hiprtcCreateProgram`], or to null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hiprtcDestroyProgram(program: *mut *mut Program) -> c_int {
    if program.is_null() {
        return INVALID_INPUT;
    }
    // SAFETY: the handle came from Box::into_raw and is taken back once.
    unsafe {
        if !(*program).is_null() {
            drop(Box::from_raw(*program));
        }
        *program = std::ptr::null_mut();
    }
    SUCCESS
}

/// Builds a program.
///
/// # Safety
/// `program` is a handle; `options` has `count` NUL-terminated strings.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hiprtcCompileProgram(
    program: *mut Program,
    count: c_int,
    options: *const *const c_char,
) -> c_int {
    let Ok(count) = usize::try_from(count) else {
        return INVALID_INPUT;
    };
    // SAFETY: a handle or null, used by one thread at a time as hiprtc demands.
    let Some(program) = (unsafe { program.as_mut() }) else {
        return INVALID_PROGRAM;
    };
    if count > 0 && options.is_null() {
        return INVALID_INPUT;
    }
    // SAFETY: `count` strings.
    let options: Vec<String> = unsafe { (0..count).map(|i| text(*options.add(i))).collect() };
    match build::build(&program.source, &program.headers, &options) {
        Ok(code) => {
            program.code = code;
            program.log.clear();
            SUCCESS
        }
        Err(message) => {
            program.code.clear();
            program.log = message.into_bytes();
            COMPILATION
        }
    }
}

macro_rules! result {
    ($size:ident, $get:ident, $type:ty, $field:ident, $what:literal) => {
        #[doc = concat!("Length of ", $what, ".")]
        ///
        /// # Safety
        /// `program` is a handle, `size` is writable.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $size(program: *const Program, size: *mut usize) -> c_int {
            // SAFETY: a handle or null.
            let Some(program) = (unsafe { program.as_ref() }) else {
                return INVALID_PROGRAM;
            };
            if size.is_null() {
                return INVALID_INPUT;
            }
            // SAFETY: writable.
            unsafe { *size = program.$field.len() };
            SUCCESS
        }

        #[doc = concat!("Copies ", $what, ".")]
        ///
        /// # Safety
        /// `program` is a handle, `target` has room for the length asked for before.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $get(program: *const Program, target: *mut $type) -> c_int {
            // SAFETY: a handle or null.
            let Some(program) = (unsafe { program.as_ref() }) else {
                return INVALID_PROGRAM;
            };
            if target.is_null() {
                return INVALID_INPUT;
            }
            let bytes = &program.$field;
            // SAFETY: the caller made room for as many bytes.
            unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), target.cast(), bytes.len()) };
            SUCCESS
        }
    };
}
result!(
    hiprtcGetCodeSize,
    hiprtcGetCode,
    c_char,
    code,
    "the code object"
);
result!(
    hiprtcGetProgramLogSize,
    hiprtcGetProgramLog,
    c_char,
    log,
    "the compiler's messages"
);

/// Name of a status.
#[unsafe(no_mangle)]
pub extern "C" fn hiprtcGetErrorString(status: c_int) -> *const c_char {
    let name = match status {
        SUCCESS => c"HIPRTC_SUCCESS",
        INVALID_INPUT => c"HIPRTC_ERROR_INVALID_INPUT",
        INVALID_PROGRAM => c"HIPRTC_ERROR_INVALID_PROGRAM",
        COMPILATION => c"HIPRTC_ERROR_COMPILATION",
        _ => c"HIPRTC_ERROR_UNKNOWN",
    };
    name.as_ptr()
}
