//! A stand-in for AMD's HIP runtime: up to 64 virtual devices in host memory,
//! for tests of GPU code on machines without a GPU.
//!
//! `../build` makes `libamdhip64.so.6` (HIP 6) and `libgalaxyhip.so.5` (HIP 5,
//! Hygon's DTK) of it. The rules of real HIP were read in the public source of
//! ROCm/clr, tag rocm-6.2.2; each file names the functions it follows. What a
//! program must not do is found and written down ([`checks`]), whether or not
//! real HIP would notice.
//!
//! Where to find what:
//! - calls: [`devices`], [`properties`], [`attributes`], [`memory`],
//!   [`host_memory`], [`pointers`], [`copy_calls`], [`fills`], [`streams`],
//!   [`callbacks`], [`events`], [`modules`], [`launches`], [`fat_binaries`],
//!   [`errors`]
//! - how work gets queued and run: [`copies`], [`queue`], [`work`],
//!   [`engines`]
//! - what is found wrong: [`checks`], [`kind`], [`races`], [`host_access`],
//!   [`report`]
//! - for tests and other stand-ins: [`control`], [`counters`], [`host_work`],
//!   [`options`], [`faults`], [`log`]
//! - underneath: [`state`], [`allocations`], [`pages`], [`code`],
//!   [`abi`]
//!
//! # Safety of the exported functions
//! They are C functions: pointers must be what the HIP manual asks for. Device
//! memory is only ever touched through addresses that were checked.

// The promise is the same for all of them, and stands above.
#![allow(clippy::missing_safety_doc)]
// HIP's functions have the names and the arguments HIP gives them.
#![allow(non_snake_case, clippy::too_many_arguments)]

#[cfg(not(all(target_os = "linux", target_pointer_width = "64")))]
compile_error!("gpu-sim plays a Linux library with 64-bit addresses");

pub mod abi;
pub mod allocations;
pub mod attributes;
pub mod callbacks;
pub mod checks;
pub mod code;
pub mod control;
pub mod copies;
pub mod copy_calls;
pub mod counters;
pub mod devices;
pub mod engines;
pub mod errors;
pub mod events;
pub mod fat_binaries;
pub mod faults;
pub mod fills;
pub mod host_access;
pub mod host_memory;
pub mod host_work;
pub mod kind;
pub mod launches;
pub mod log;
pub mod memory;
pub mod modules;
pub mod options;
pub mod pages;
pub mod pointers;
pub mod properties;
pub mod queue;
pub mod races;
pub mod report;
pub mod state;
pub mod streams;
pub mod work;
