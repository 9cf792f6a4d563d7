//! `hipGetDeviceProperties`; `gpu_sim_card` knows the layouts.

use crate::abi::HipError;
use crate::state::api;
use gpu_sim_card::properties::{Card, Layout, R0000, R0600, image};
use std::ffi::{c_int, c_void};

fn properties(name: &'static str, layout: &Layout, out: *mut c_void, device: c_int) -> c_int {
    api(
        name,
        || device.to_string(),
        |s| {
            if out.is_null() {
                return Err(HipError::INVALID_VALUE);
            }
            let index = s.device_index(device)?;
            let device = &s.devices[index];
            let card = Card {
                name: &device.name(),
                architecture: &device.architecture,
                memory: device.memory,
                number: device.card,
            };
            let image = image(layout, &card);
            // SAFETY: the caller's structure of this layout, as HIP asks for.
            unsafe { std::ptr::copy_nonoverlapping(image.as_ptr(), out.cast(), image.len()) };
            Ok(())
        },
    )
}

/// HIP 6's `hipGetDeviceProperties`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipGetDevicePropertiesR0600(out: *mut c_void, device: c_int) -> c_int {
    properties("hipGetDevicePropertiesR0600", &R0600, out, device)
}

/// HIP 5's `hipGetDeviceProperties`, under HIP 6's name for it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipGetDevicePropertiesR0000(out: *mut c_void, device: c_int) -> c_int {
    properties("hipGetDevicePropertiesR0000", &R0000, out, device)
}

/// HIP 5's `hipGetDeviceProperties`, under its own name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipGetDeviceProperties(out: *mut c_void, device: c_int) -> c_int {
    properties("hipGetDeviceProperties", &R0000, out, device)
}
