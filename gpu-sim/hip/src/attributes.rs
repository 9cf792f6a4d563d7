//! Single facts about a device: attributes, names, memory, versions. DTK
//! numbers the attributes in a way of its own.

use crate::abi::HipError;
use crate::state::{api, give};
use gpu_sim_card::architectures::{Architecture, architecture};
use gpu_sim_card::properties::{
    BUS_BITS, LARGEST_BLOCK, LARGEST_GRID, LOCAL_MEMORY, MEMORY_KHZ, REGISTERS,
};
use std::ffi::{c_char, c_int, c_uint};

/// `hipDeviceAttribute_t` of HIP 6 (and of ROCm's HIP 5).
fn attribute(number: c_int, card: usize, arch: &Architecture) -> Option<i32> {
    Some(match number {
        2 => 2,                    // asynchronous engines
        3 | 4 | 10 | 88 | 90 => 1, // maps host memory, registered pointers, cooperative launch, pools, registers
        5 => arch.mhz * 1000,
        9 | 16 | 17 | 18 => 0, // managed at the same time, integrated, multi-board, timeout
        19 => arch.l2_kib << 10,
        23 => arch.version.0,
        24 => 1, // managed memory
        26..=28 | 56 => LARGEST_BLOCK,
        29..=31 => LARGEST_GRID[number as usize - 29],
        57 => arch.threads,
        59 => BUS_BITS,
        60 => MEMORY_KHZ,
        61 => arch.version.1,
        63 => arch.units,
        65 | 66 => 0,          // pageable memory from a kernel
        67 => card as i32 + 1, // PCI bus
        68 | 69 => 0,          // PCI device, PCI domain
        71 | 72 => REGISTERS,
        74 | 10002 => LOCAL_MEMORY as i32, // a block, a compute unit
        87 => arch.wave,
        _ => return None,
    })
}

/// DTK's own numbers (from public code that uses them).
fn dtk_attribute(number: c_int, arch: &Architecture) -> Option<i32> {
    Some(match number {
        25 | 28 | 10002 => LOCAL_MEMORY as i32,
        27 => arch.wave,
        32 => arch.units,
        34 => arch.l2_kib << 10,
        35 => arch.threads,
        36 => arch.version.0,
        37 => arch.version.1,
        41 | 42 => 0,
        _ => return None,
    })
}

/// HIP's function of this name. A number without an answer here is refused,
/// never answered by a guess.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipDeviceGetAttribute(
    out: *mut c_int,
    number: c_int,
    device: c_int,
) -> c_int {
    api(
        "hipDeviceGetAttribute",
        || format!("{number} device={device}"),
        |s| {
            let index = s.device_index(device)?;
            let arch = architecture(&s.devices[index].architecture);
            let value = if s.is_hip5() {
                dtk_attribute(number, &arch)
            } else {
                attribute(number, s.devices[index].card, &arch)
            };
            // SAFETY: the caller's out pointer, as HIP asks for.
            unsafe { give(out, value.ok_or(HipError::INVALID_VALUE)?) }
        },
    )
}

/// Writes a text into the caller's buffer, cut to fit, with its NUL.
fn give_text(out: *mut c_char, bytes: c_int, text: &str) -> Result<(), HipError> {
    let room = usize::try_from(bytes)
        .ok()
        .filter(|n| *n > 0 && !out.is_null())
        .ok_or(HipError::INVALID_VALUE)?;
    let text = &text.as_bytes()[..text.len().min(room - 1)];
    // SAFETY: the caller's buffer has `room` bytes, as HIP asks for.
    unsafe {
        std::ptr::copy_nonoverlapping(text.as_ptr(), out.cast(), text.len());
        *out.add(text.len()) = 0;
    }
    Ok(())
}

/// HIP's function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipDeviceGetName(out: *mut c_char, bytes: c_int, device: c_int) -> c_int {
    api(
        "hipDeviceGetName",
        || device.to_string(),
        |s| {
            let index = s.device_index(device)?;
            give_text(out, bytes, &s.devices[index].name())
        },
    )
}

/// HIP's function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipDeviceGetPCIBusId(
    out: *mut c_char,
    bytes: c_int,
    device: c_int,
) -> c_int {
    api(
        "hipDeviceGetPCIBusId",
        || device.to_string(),
        |s| {
            let index = s.device_index(device)?;
            let bus = s.devices[index].card + 1;
            give_text(out, bytes, &format!("0000:{bus:02x}:00.0"))
        },
    )
}

/// HIP's function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipDeviceTotalMem(out: *mut usize, device: c_int) -> c_int {
    api(
        "hipDeviceTotalMem",
        || device.to_string(),
        |s| {
            let index = s.device_index(device)?;
            // SAFETY: the caller's out pointer, as HIP asks for.
            unsafe { give(out, s.devices[index].memory) }
        },
    )
}

/// HIP's function of this name: of the current device.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipMemGetInfo(free: *mut usize, total: *mut usize) -> c_int {
    api("hipMemGetInfo", String::new, |s| {
        let device = s.current()?;
        let device = &s.devices[device];
        // SAFETY: the caller's out pointers, as HIP asks for.
        unsafe {
            give(free, device.memory - device.used)?;
            give(total, device.memory)
        }
    })
}

/// Writes the version of the runtime this library plays.
fn version(name: &'static str, out: *mut c_int) -> c_int {
    api(name, String::new, |s| {
        // major * 10^7 + minor * 10^5 + patch: 5.7.31921 and 6.4.43484
        let version = if s.is_hip5() { 50_731_921 } else { 60_443_484 };
        // SAFETY: the caller's out pointer, as HIP asks for.
        unsafe { give(out, version) }
    })
}

/// HIP's function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipRuntimeGetVersion(out: *mut c_int) -> c_int {
    version("hipRuntimeGetVersion", out)
}

/// HIP's function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipDriverGetVersion(out: *mut c_int) -> c_int {
    version("hipDriverGetVersion", out)
}

/// HIP's function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipGetDeviceFlags(out: *mut c_uint) -> c_int {
    api("hipGetDeviceFlags", String::new, |s| {
        s.current()?;
        // SAFETY: the caller's out pointer, as HIP asks for.
        unsafe { give(out, 0) }
    })
}

/// HIP's function of this name. How the host waits has no meaning here, so any
/// known flag is taken (clr: schedule mask, map host, keep local memory).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipSetDeviceFlags(flags: c_uint) -> c_int {
    api(
        "hipSetDeviceFlags",
        || format!("{flags:#x}"),
        |s| {
            s.current()?;
            if flags & !0x1f != 0 {
                Err(HipError::INVALID_VALUE)
            } else {
                Ok(())
            }
        },
    )
}

/// HIP's function of this name: low is 1, high is -1, as on AMD's cards.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipDeviceGetStreamPriorityRange(
    least: *mut c_int,
    greatest: *mut c_int,
) -> c_int {
    api("hipDeviceGetStreamPriorityRange", String::new, |_| {
        for (out, value) in [(least, 1), (greatest, -1)] {
            if !out.is_null() {
                // SAFETY: the caller's out pointer, as HIP asks for.
                unsafe { give(out, value) }?;
            }
        }
        Ok(())
    })
}
