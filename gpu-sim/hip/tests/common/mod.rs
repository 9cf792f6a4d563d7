//! What the tests of the HIP stand-in share: one at a time (the violations are
//! the process's), each in immediate and in deferred mode.
#![allow(dead_code)] // each test file uses its part

use gpu_sim_hip::abi::Handle;
use gpu_sim_hip::checks::Kind;
use gpu_sim_hip::control::*;
use gpu_sim_hip::copy_calls::*;
use gpu_sim_hip::counters::*;
use gpu_sim_hip::devices::*;
use gpu_sim_hip::events::*;
use gpu_sim_hip::host_memory::*;
use gpu_sim_hip::launches::*;
use gpu_sim_hip::memory::*;
use gpu_sim_hip::modules::*;
use gpu_sim_hip::streams::*;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr::null_mut;
use std::sync::{Mutex, MutexGuard, PoisonError};

pub const H2D: c_int = 1;
pub const D2H: c_int = 2;
pub const D2D: c_int = 3;
pub const NON_BLOCKING: u32 = 1;

static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// Sets an option of the stand-in.
pub fn set(name: &str, value: &str) {
    let (name, value) = (CString::new(name).unwrap(), CString::new(value).unwrap());
    // SAFETY: two C strings.
    let known = unsafe { hipsim_set_option(name.as_ptr(), value.as_ptr()) };
    assert_eq!(known, 1, "{name:?}={value:?}");
}

/// Takes the process for one test, in one mode, with nothing found so far.
pub fn start(deferred: bool) -> MutexGuard<'static, ()> {
    let guard = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    set("deferred", if deferred { "1" } else { "0" });
    set("strict", "0");
    set("fail", "");
    for time in ["op_us", "copy_us", "copy_gbps"] {
        set(time, "0");
    }
    hipsim_reset();
    ok(device(0));
    guard
}

/// Runs a test in both modes.
pub fn both(test: impl Fn(bool)) {
    for deferred in [false, true] {
        let _guard = start(deferred);
        test(deferred);
        // SAFETY: takes nothing.
        ok(unsafe { hipDeviceSynchronize() });
    }
}

pub fn ok(status: c_int) {
    assert_eq!(status, 0, "a HIP call failed; violations: {:#?}", texts());
}

/// How many violations of a kind there are.
pub fn found(kind: Kind) -> u64 {
    hipsim_violations(kind as c_int)
}

/// Exactly these violations, no others.
#[track_caller]
pub fn assert_found(expected: &[(Kind, u64)]) {
    for kind in Kind::ALL {
        let want = expected
            .iter()
            .find(|(k, _)| *k == kind)
            .map_or(0, |(_, n)| *n);
        assert_eq!(found(kind), want, "{}: {:#?}", kind.name(), texts());
    }
}

/// The texts of all violations.
pub fn texts() -> Vec<String> {
    let mut all = Vec::new();
    let mut text = [0 as c_char; 500];
    // SAFETY: the buffer has the room that is told; the text ends with a NUL.
    while unsafe { hipsim_violation_text(all.len(), text.as_mut_ptr(), text.len()) } == 1 {
        // SAFETY: as above.
        all.push(
            unsafe { CStr::from_ptr(text.as_ptr()) }
                .to_string_lossy()
                .into_owned(),
        );
    }
    all
}

pub fn device(index: c_int) -> c_int {
    // SAFETY: takes any number.
    unsafe { hipSetDevice(index) }
}

pub fn malloc(bytes: usize) -> *mut c_void {
    let mut at = null_mut();
    // SAFETY: an out pointer of ours.
    ok(unsafe { hipMalloc(&mut at, bytes) });
    at
}

pub fn free(at: *mut c_void) -> c_int {
    // SAFETY: the stand-in checks any value.
    unsafe { hipFree(at) }
}

/// Pinned host memory, all bytes `value`.
pub fn pinned(bytes: usize, value: u8) -> &'static mut [u8] {
    let mut at = null_mut();
    // SAFETY: an out pointer of ours; the memory is ours until `unpin`.
    unsafe {
        ok(hipHostMalloc(&mut at, bytes, 0));
        std::ptr::write_bytes(at.cast::<u8>(), value, bytes);
        std::slice::from_raw_parts_mut(at.cast(), bytes)
    }
}

pub fn unpin(memory: &'static mut [u8]) {
    // SAFETY: from `pinned`, and the borrow ends here.
    ok(unsafe { hipHostFree(memory.as_mut_ptr().cast()) });
}

pub fn copy(to: *mut c_void, from: *const c_void, bytes: usize, kind: c_int) -> c_int {
    // SAFETY: the stand-in checks what it knows; the tests pass real host memory.
    unsafe { hipMemcpy(to, from, bytes, kind) }
}

pub fn copy_async(
    to: *mut c_void,
    from: *const c_void,
    bytes: usize,
    kind: c_int,
    stream: Handle,
) -> c_int {
    // SAFETY: as `copy`; the host memory lives until the stream is done.
    unsafe { hipMemcpyAsync(to, from, bytes, kind, stream) }
}

pub fn stream() -> Handle {
    let mut handle = null_mut();
    // SAFETY: an out pointer of ours.
    ok(unsafe { hipStreamCreateWithFlags(&mut handle, NON_BLOCKING) });
    handle
}

pub fn synchronize(handle: Handle) -> c_int {
    // SAFETY: the stand-in checks any value.
    unsafe { hipStreamSynchronize(handle) }
}

pub fn destroy(handle: Handle) {
    // SAFETY: a stream of ours.
    ok(unsafe { hipStreamDestroy(handle) });
}

pub fn counters(index: c_int) -> Counters {
    let mut all = Counters::default();
    // SAFETY: a structure of ours.
    assert_eq!(unsafe { hipsim_get(index, &mut all) }, 1);
    all
}

pub fn event() -> *mut c_void {
    let mut handle = null_mut();
    // SAFETY: an out pointer of ours.
    ok(unsafe { hipEventCreateWithFlags(&mut handle, 2) });
    handle
}

/// A kernel by name on the current device.
pub fn kernel(image: &'static [u8]) -> (*mut c_void, *mut c_void) {
    let (mut module, mut function) = (null_mut(), null_mut());
    // SAFETY: a whole image of names, out pointers of ours.
    unsafe {
        ok(hipModuleLoadData(&mut module, image.as_ptr().cast()));
        ok(hipModuleGetFunction(&mut function, module, c"add".as_ptr()));
    }
    (module, function)
}

/// Launches with pointers as arguments.
pub fn launch(function: *mut c_void, stream: *mut c_void, pointers: &[*mut c_void]) -> c_int {
    let mut size = size_of_val(pointers);
    // HIP's markers: buffer, size, end.
    let marker = |number: usize| number as *mut c_void;
    let (block, bytes) = (pointers.as_ptr() as *mut c_void, (&raw mut size).cast());
    let mut extra = [marker(1), block, marker(2), bytes, marker(3)];
    // SAFETY: a list as HIP asks for, read before the call returns.
    unsafe {
        hipExtModuleLaunchKernel(
            function,
            64,
            1,
            1,
            64,
            1,
            1,
            0,
            stream,
            null_mut(),
            extra.as_mut_ptr(),
            null_mut(),
            null_mut(),
            0,
        )
    }
}

/// A module of names.
pub const NAMES: &[u8] = b"GPU-SIM-KERNELS:gfx90a:test\0";
