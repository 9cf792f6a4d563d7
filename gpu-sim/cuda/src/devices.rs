//! Devices: CUDA's, in the clothes of an AMD card, since compiled programs are
//! for an architecture of AMD's (`GPU_SIM_ARCH`, default gfx90a).

use crate::cuda::{NO_DEVICE, Status, cuda, runtime};
use gpu_sim_card::properties::{Card, Layout, R0000, R0600, image};
use std::ffi::{CStr, c_char, c_int, c_void};

/// HIP's number for: a null pointer.
const INVALID_VALUE: Status = 1;
/// The version that is played: 6.2.
const HIP_VERSION: c_int = 60_200_000;

/// HIP's function of this name. No CUDA is no device.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipGetDeviceCount(count: *mut c_int) -> Status {
    // SAFETY: the caller's out pointer.
    runtime(|cuda| unsafe { (cuda.device_count)(count) })
}

/// HIP's function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipGetDevice(device: *mut c_int) -> Status {
    // SAFETY: the caller's out pointer.
    runtime(|cuda| unsafe { (cuda.get_device)(device) })
}

/// HIP's function of this name.
#[unsafe(no_mangle)]
pub extern "C" fn hipSetDevice(device: c_int) -> Status {
    // SAFETY: any number may be asked for.
    runtime(|cuda| unsafe { (cuda.set_device)(device) })
}

/// HIP's function of this name.
#[unsafe(no_mangle)]
pub extern "C" fn hipDeviceSynchronize() -> Status {
    // SAFETY: takes nothing.
    runtime(|cuda| unsafe { (cuda.device_synchronize)() })
}

/// HIP's function of this name.
#[unsafe(no_mangle)]
pub extern "C" fn hipDeviceReset() -> Status {
    // SAFETY: takes nothing.
    runtime(|cuda| unsafe { (cuda.device_reset)() })
}

/// HIP's function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipMemGetInfo(free: *mut usize, total: *mut usize) -> Status {
    // SAFETY: the caller's out pointers.
    runtime(|cuda| unsafe { (cuda.memory_info)(free, total) })
}

/// HIP's function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipDeviceGetPCIBusId(
    out: *mut c_char,
    len: c_int,
    device: c_int,
) -> Status {
    // SAFETY: `len` bytes of the caller's.
    runtime(|cuda| unsafe { (cuda.pci_bus)(out, len, device) })
}

/// HIP's function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipRuntimeGetVersion(version: *mut c_int) -> Status {
    if version.is_null() {
        return INVALID_VALUE;
    }
    // SAFETY: the caller's out pointer.
    unsafe { version.write(HIP_VERSION) };
    0
}

/// A device's name and memory.
fn told(device: c_int) -> Result<(String, usize), Status> {
    let driver = &cuda().ok_or(NO_DEVICE)?.driver;
    let checked = |status| if status == 0 { Ok(()) } else { Err(status) };
    let (mut handle, mut text, mut memory) = (0, [0 as c_char; 256], 0);
    // The driver starts with the runtime's first call.
    let mut count = 0;
    // SAFETY: out pointers of ours.
    checked(unsafe { hipGetDeviceCount(&raw mut count) })?;
    // SAFETY: out pointers of ours, with their sizes.
    unsafe {
        checked((driver.device_get)(&raw mut handle, device))?;
        checked((driver.device_name)(text.as_mut_ptr(), 256, handle))?;
        checked((driver.device_memory)(&raw mut memory, handle))?;
    }
    // SAFETY: the driver ends it.
    let name = unsafe { CStr::from_ptr(text.as_ptr()) };
    Ok((name.to_string_lossy().into_owned(), memory))
}

fn properties(layout: &Layout, out: *mut c_void, device: c_int) -> Status {
    if out.is_null() {
        return INVALID_VALUE;
    }
    let (name, memory) = match told(device) {
        Ok(told) => told,
        Err(status) => return status,
    };
    let architecture = std::env::var("GPU_SIM_ARCH");
    let image = image(
        layout,
        &Card {
            name: &name,
            architecture: architecture.as_deref().unwrap_or("gfx90a:sramecc+:xnack-"),
            memory,
            number: device as usize,
        },
    );
    // SAFETY: the caller's structure of this layout, as HIP asks for.
    unsafe { std::ptr::copy_nonoverlapping(image.as_ptr(), out.cast(), image.len()) };
    0
}

/// HIP 6's `hipGetDeviceProperties`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipGetDevicePropertiesR0600(out: *mut c_void, device: c_int) -> Status {
    properties(&R0600, out, device)
}

/// HIP 5's `hipGetDeviceProperties`, under its own name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipGetDeviceProperties(out: *mut c_void, device: c_int) -> Status {
    properties(&R0000, out, device)
}

/// HIP's function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipDeviceGetName(out: *mut c_char, len: c_int, device: c_int) -> Status {
    let (Ok(len), false) = (usize::try_from(len), out.is_null()) else {
        return INVALID_VALUE;
    };
    match told(device) {
        Err(status) => status,
        Ok((name, _)) => {
            let text = &name.as_bytes()[..name.len().min(len.saturating_sub(1))];
            // SAFETY: `len` bytes of the caller's; the text and its end fit.
            unsafe {
                std::ptr::copy_nonoverlapping(text.as_ptr(), out.cast(), text.len());
                if len > 0 {
                    out.add(text.len()).write(0);
                }
            }
            0
        }
    }
}
