//! Memory and copies. The kinds of copies have the same numbers.

use crate::cuda::{self, Handle, Status, runtime};
use std::ffi::{c_int, c_uint, c_void};

/// Portable, mapped, write-combined: HIP's further bits have no like in CUDA.
const HOST_FLAGS: c_uint = 7;
/// CUDA's number where host memory is registered twice, which HIP permits.
const ALREADY_REGISTERED: Status = 712;

/// HIP's function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipMalloc(out: *mut *mut c_void, bytes: usize) -> Status {
    // SAFETY: the caller's out pointer.
    runtime(|cuda| unsafe { (cuda.malloc)(out, bytes) })
}

/// HIP's function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipFree(at: *mut c_void) -> Status {
    // SAFETY: memory of `hipMalloc`, as HIP asks for.
    runtime(|cuda| unsafe { (cuda.free)(at) })
}

/// HIP's function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipHostMalloc(
    out: *mut *mut c_void,
    bytes: usize,
    flags: c_uint,
) -> Status {
    // SAFETY: the caller's out pointer.
    runtime(|cuda| unsafe { (cuda.host_alloc)(out, bytes, flags & HOST_FLAGS) })
}

/// HIP's function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipHostFree(at: *mut c_void) -> Status {
    // SAFETY: memory of `hipHostMalloc`, as HIP asks for.
    runtime(|cuda| unsafe { (cuda.free_host)(at) })
}

/// HIP's function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipHostRegister(at: *mut c_void, bytes: usize, flags: c_uint) -> Status {
    // SAFETY: the caller's memory, as HIP asks for.
    let status = runtime(|cuda| unsafe { (cuda.host_register)(at, bytes, flags & HOST_FLAGS) });
    if status == ALREADY_REGISTERED {
        // It is not to be the next call's error.
        crate::errors::hipGetLastError();
        return 0;
    }
    status
}

/// HIP's function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipHostUnregister(at: *mut c_void) -> Status {
    // SAFETY: registered memory, as HIP asks for.
    runtime(|cuda| unsafe { (cuda.host_unregister)(at) })
}

/// HIP's function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipHostGetDevicePointer(
    out: *mut *mut c_void,
    at: *mut c_void,
    flags: c_uint,
) -> Status {
    // SAFETY: the caller's out pointer and pinned memory, as HIP asks for.
    runtime(|cuda| unsafe { (cuda.host_device_pointer)(out, at, flags) })
}

/// `hipPointerAttribute_t`.
#[repr(C)]
#[allow(missing_docs)] // the fields are HIP's
pub struct PointerAttributes {
    pub kind: c_int,
    pub device: c_int,
    pub device_pointer: *mut c_void,
    pub host_pointer: *mut c_void,
    pub is_managed: c_int,
    pub flags: c_uint,
}

/// HIP's function of this name. The types of memory have the same numbers; 3 is
/// managed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipPointerGetAttributes(
    out: *mut PointerAttributes,
    at: *const c_void,
) -> Status {
    let null = std::ptr::null_mut();
    let mut found = cuda::PointerAttributes {
        kind: 0,
        device: 0,
        device_pointer: null,
        host_pointer: null,
        reserved: [0; 16],
    };
    // SAFETY: an out pointer of ours, larger than CUDA's structure; any address.
    let status = runtime(|cuda| unsafe { (cuda.pointer_attributes)(&raw mut found, at) });
    if status == 0 {
        let answer = PointerAttributes {
            kind: found.kind,
            device: found.device,
            device_pointer: found.device_pointer,
            host_pointer: found.host_pointer,
            is_managed: c_int::from(found.kind == 3),
            flags: 0,
        };
        // SAFETY: the caller's structure, as HIP asks for.
        unsafe { out.write(answer) };
    }
    status
}

/// HIP's function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipMemcpy(
    to: *mut c_void,
    from: *const c_void,
    bytes: usize,
    kind: c_int,
) -> Status {
    // SAFETY: the caller's memory, as HIP asks for.
    runtime(|cuda| unsafe { (cuda.memcpy)(to, from, bytes, kind) })
}

/// HIP's function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipMemcpyAsync(
    to: *mut c_void,
    from: *const c_void,
    bytes: usize,
    kind: c_int,
    stream: Handle,
) -> Status {
    // SAFETY: the caller's memory and stream, as HIP asks for.
    runtime(|cuda| unsafe { (cuda.memcpy_async)(to, from, bytes, kind, stream) })
}

/// HIP's function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipMemcpyPeer(
    to: *mut c_void,
    to_device: c_int,
    from: *const c_void,
    from_device: c_int,
    bytes: usize,
) -> Status {
    // SAFETY: the caller's memory, as HIP asks for.
    runtime(|cuda| unsafe { (cuda.memcpy_peer)(to, to_device, from, from_device, bytes) })
}

/// HIP's function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipMemset(at: *mut c_void, value: c_int, bytes: usize) -> Status {
    // SAFETY: the caller's memory, as HIP asks for.
    runtime(|cuda| unsafe { (cuda.memset)(at, value, bytes) })
}

/// HIP's function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipMemsetAsync(
    at: *mut c_void,
    value: c_int,
    bytes: usize,
    stream: Handle,
) -> Status {
    // SAFETY: the caller's memory and stream, as HIP asks for.
    runtime(|cuda| unsafe { (cuda.memset_async)(at, value, bytes, stream) })
}
