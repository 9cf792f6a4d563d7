//! Host memory that every device reaches: pinned and registered.
//!
//! Read in: ROCm/clr rocm-6.2.2, `hip_memory.cpp`.
//! - A second hipHostRegister of a range is accepted and changes nothing;
//!   hipHostUnregister waits like hipFree, and takes the entry of
//!   hipHostMalloc memory too (`ihipHostRegister`, `ihipHostUnregister`).
//! - hipHostFree waits for the device that was current when the memory was
//!   made, for no other (`ihipFree`).

use crate::abi::HipError;
use crate::allocations::Place;
use crate::checks::Kind;
use crate::state::api;
use std::ffi::{c_int, c_uint, c_void};

const HOST_COHERENT: c_uint = 0x4000_0000;
const HOST_NON_COHERENT: c_uint = 0x8000_0000;

/// clr `hipHostMalloc`: coherent and non-coherent at once is hipErrorInvalidValue.
fn host_malloc(name: &'static str, out: *mut *mut c_void, bytes: usize, flags: c_uint) -> c_int {
    api(
        name,
        || format!("{bytes} flags={flags:#x} "),
        |s| {
            if flags & HOST_COHERENT != 0 && flags & HOST_NON_COHERENT != 0 {
                return Err(HipError::INVALID_VALUE);
            }
            let device = s.current()?;
            s.allocate(out, bytes, device, Place::Pinned, flags)
        },
    )
}

/// HIP's function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipHostMalloc(
    out: *mut *mut c_void,
    bytes: usize,
    flags: c_uint,
) -> c_int {
    host_malloc("hipHostMalloc", out, bytes, flags)
}

/// HIP's function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipHostAlloc(out: *mut *mut c_void, bytes: usize, flags: c_uint) -> c_int {
    host_malloc("hipHostAlloc", out, bytes, flags)
}

/// HIP's function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipMallocHost(out: *mut *mut c_void, bytes: usize) -> c_int {
    host_malloc("hipMallocHost", out, bytes, 0)
}

fn host_free(name: &'static str, at: *mut c_void) -> c_int {
    api(
        name,
        || format!("{at:p}"),
        |s| s.free(name, at as usize, |place| place == Place::Pinned),
    )
}

/// HIP's function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipHostFree(at: *mut c_void) -> c_int {
    host_free("hipHostFree", at)
}

/// HIP's function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipFreeHost(at: *mut c_void) -> c_int {
    host_free("hipFreeHost", at)
}

/// HIP's function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipHostRegister(at: *mut c_void, bytes: usize, flags: c_uint) -> c_int {
    api(
        "hipHostRegister",
        || format!("{at:p} {bytes} flags={flags:#x}"),
        |s| {
            if at.is_null() || bytes == 0 || flags > 15 {
                return Err(HipError::INVALID_VALUE);
            }
            let device = s.current()?;
            if s.check_range("hipHostRegister", at as usize, 1)?.is_some() {
                s.devices[device].counters.double_registers += 1;
                return if s.options.strict {
                    Err(HipError::ALREADY_REGISTERED)
                } else {
                    Ok(())
                };
            }
            s.memory.register(at as usize, bytes, device, flags);
            s.count_made(device, Place::Registered, bytes);
            Ok(())
        },
    )
}

/// HIP's function of this name. On hipHostMalloc memory real HIP drops that
/// memory's entry; here it is counted (refused when strict) and the memory
/// stays known, so that the program under test can go on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipHostUnregister(at: *mut c_void) -> c_int {
    api(
        "hipHostUnregister",
        || format!("{at:p}"),
        |s| {
            if at.is_null() {
                return Err(HipError::INVALID_VALUE);
            }
            let found = s
                .memory
                .at(at as usize)
                .map(|(base, a)| (base, a.place, a.device));
            match found {
                Some((base, Place::Registered, _)) if base == at as usize => {
                    s.settle("hipHostUnregister", base);
                    s.free_allocation(base);
                    Ok(())
                }
                Some((_, Place::Pinned, device)) => {
                    s.devices[device].counters.pinned_unregisters += 1;
                    if s.options.strict {
                        s.violation(Kind::BadFree, format!("hipHostUnregister: {at:p} is hipHostMalloc memory; real HIP drops its entry"));
                        return Err(HipError::NOT_REGISTERED);
                    }
                    Ok(())
                }
                _ => Err(HipError::NOT_REGISTERED),
            }
        },
    )
}
