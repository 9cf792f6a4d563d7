//! What HIP tells of a pointer.
//!
//! Read in: ROCm/clr rocm-6.2.2, `hipPointerGetAttributes`,
//! `hipHostGetDevicePointer`, `hipMemGetAddressRange`. HIP 6 answers success
//! for memory it does not know, with a type of its own; HIP 5 and DTK answer
//! hipErrorInvalidValue and number the types in another way.

use crate::abi::{Handle, HipError, HipResult};
use crate::allocations::{Allocation, Place};
use crate::state::{Locked, api, give};
use std::ffi::{c_int, c_uint, c_void};

/// `hipPointerAttribute_t`; both generations have this shape, the first field
/// is called `memoryType` in HIP 5.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)] // the fields are HIP's
pub struct PointerAttributes {
    pub kind: c_int,
    pub device: c_int,
    pub device_pointer: *mut c_void,
    pub host_pointer: *mut c_void,
    pub is_managed: c_int,
    pub flags: c_uint,
}

/// hipInvalidDeviceId
const NO_DEVICE: c_int = -2;

/// hipMemoryType: HIP 6 has Unregistered 0, Host 1, Device 2, Managed 3; HIP 5
/// has Host 0, Device 1.
fn kind_number(place: Place, hip5: bool) -> c_int {
    match (place, hip5) {
        (Place::Pinned | Place::Registered, false) => 1,
        (Place::Device, false) => 2,
        (Place::Managed, false) => 3,
        (Place::Pinned | Place::Registered, true) => 0,
        (Place::Device | Place::Managed, true) => 1,
    }
}

/// HIP's function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipPointerGetAttributes(
    out: *mut PointerAttributes,
    at: *const c_void,
) -> c_int {
    api(
        "hipPointerGetAttributes",
        || format!("{at:p} "),
        |s| {
            if at.is_null() {
                return Err(HipError::INVALID_VALUE);
            }
            let null = std::ptr::null_mut();
            let mut answer = PointerAttributes {
                kind: 0,
                device: NO_DEVICE,
                device_pointer: null,
                host_pointer: null,
                is_managed: 0,
                flags: 0,
            };
            match s.check_range("hipPointerGetAttributes", at as usize, 1)? {
                None if s.is_hip5() => return Err(HipError::INVALID_VALUE),
                None => {}
                Some(base) => {
                    let allocation = &s.memory.live[&base];
                    answer.kind = kind_number(allocation.place, s.is_hip5());
                    answer.device = allocation.device as c_int;
                    answer.device_pointer = at.cast_mut();
                    if allocation.place != Place::Device {
                        answer.host_pointer = at.cast_mut();
                    }
                    answer.is_managed = c_int::from(allocation.place == Place::Managed);
                    answer.flags = allocation.flags;
                }
            }
            s.note(|| format!("kind={} device={}", answer.kind, answer.device));
            // SAFETY: the caller's structure, as HIP asks for.
            unsafe { give(out, answer) }
        },
    )
}

/// The live allocation at an address; another is hipErrorInvalidValue.
fn known<'a>(
    s: &'a mut Locked,
    what: &str,
    at: *const c_void,
) -> HipResult<(usize, &'a Allocation)> {
    let base = s
        .check_range(what, at as usize, 1)?
        .ok_or(HipError::INVALID_VALUE)?;
    Ok((base, &s.memory.live[&base]))
}

/// HIP's function of this name: host memory has the same address on every
/// device.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipHostGetDevicePointer(
    out: *mut *mut c_void,
    at: *mut c_void,
    flags: c_uint,
) -> c_int {
    api(
        "hipHostGetDevicePointer",
        || format!("{at:p}"),
        |s| {
            known(s, "hipHostGetDevicePointer", at)?;
            if flags != 0 {
                return Err(HipError::INVALID_VALUE);
            }
            // SAFETY: the caller's out pointer, as HIP asks for.
            unsafe { give(out, at) }
        },
    )
}

/// HIP's function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipHostGetFlags(out: *mut c_uint, at: *mut c_void) -> c_int {
    api(
        "hipHostGetFlags",
        || format!("{at:p}"),
        |s| {
            let flags = known(s, "hipHostGetFlags", at)?.1.flags;
            // SAFETY: the caller's out pointer, as HIP asks for.
            unsafe { give(out, flags) }
        },
    )
}

/// HIP's function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipMemGetAddressRange(
    base_out: *mut *mut c_void,
    bytes_out: *mut usize,
    at: *mut c_void,
) -> c_int {
    api(
        "hipMemGetAddressRange",
        || format!("{at:p}"),
        |s| {
            let (base, allocation) = known(s, "hipMemGetAddressRange", at)?;
            // SAFETY: the caller's out pointers; HIP allows either to be null.
            unsafe {
                if !base_out.is_null() {
                    give(base_out, base as *mut c_void)?;
                }
                if bytes_out.is_null() {
                    Ok(())
                } else {
                    give(bytes_out, allocation.size)
                }
            }
        },
    )
}

/// HIP's function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipMemPtrGetInfo(at: *mut c_void, out: *mut usize) -> c_int {
    api(
        "hipMemPtrGetInfo",
        || format!("{at:p}"),
        |s| {
            let size = known(s, "hipMemPtrGetInfo", at)?.1.size;
            // SAFETY: the caller's out pointer, as HIP asks for.
            unsafe { give(out, size) }
        },
    )
}

/// HIP's function of this name. Pools are not modelled: hipMallocAsync takes
/// from the device, so the one pool of a device is a name only.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipDeviceGetDefaultMemPool(out: *mut Handle, device: c_int) -> c_int {
    api(
        "hipDeviceGetDefaultMemPool",
        || device.to_string(),
        |s| {
            let index = s.device_index(device)?;
            // SAFETY: the caller's out pointer, as HIP asks for.
            unsafe { give(out, (index + 1) as Handle) }
        },
    )
}

/// HIP's function of this name: a pool keeps nothing back, so nothing is given back.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipMemPoolTrimTo(pool: Handle, keep: usize) -> c_int {
    api(
        "hipMemPoolTrimTo",
        || format!("{pool:p} {keep}"),
        |s| {
            let known = (1..=s.devices.len()).contains(&(pool as usize));
            if known {
                Ok(())
            } else {
                Err(HipError::INVALID_VALUE)
            }
        },
    )
}
