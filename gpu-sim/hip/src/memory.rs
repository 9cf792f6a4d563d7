//! Memory of a device: made and freed.
//!
//! Read in: ROCm/clr rocm-6.2.2, `hip_memory.cpp`.
//! - Zero bytes give a null pointer and success (`ihipMalloc`).
//! - hipFree waits for the device that was current when the memory was made,
//!   for no other, and takes pinned memory as well (`ihipFree`).
//! - Any thread may free any device's memory.

use crate::abi::{Handle, HipError, HipResult};
use crate::allocations::{Found, Place};
use crate::checks::{Kind, Use};
use crate::state::{Locked, api, give};
use std::ffi::{c_int, c_uint, c_void};

impl Locked {
    /// Makes an allocation and gives it to the caller.
    pub(crate) fn allocate(
        &mut self,
        out: *mut *mut c_void,
        bytes: usize,
        device: usize,
        place: Place,
        flags: u32,
    ) -> HipResult {
        let mut at = 0;
        if bytes > 0 && !out.is_null() {
            let free = self.devices[device].memory - self.devices[device].used;
            if place.on_device() && bytes > free {
                self.devices[device].counters.out_of_memory += 1;
                return Err(HipError::OUT_OF_MEMORY);
            }
            let (open, poison) = (
                place != Place::Device || self.options.host_access,
                self.options.poison,
            );
            let made = self.memory.make(bytes, device, place, flags, open, poison);
            at = made.map_err(|error| {
                eprintln!("gpu-sim: no room for {bytes} bytes of device {device}: {error}");
                HipError::OUT_OF_MEMORY
            })?;
            self.count_made(device, place, bytes);
        }
        self.note(|| format!("= {at:#x}"));
        // SAFETY: the caller's out pointer, as HIP asks for.
        unsafe { give(out, at as *mut c_void) }
    }

    /// Counts an allocation or a registration.
    pub fn count_made(&mut self, device: usize, place: Place, bytes: usize) {
        let device = &mut self.devices[device];
        let counters = &mut device.counters;
        if place.on_device() {
            device.used += bytes;
            counters.mallocs += 1;
            counters.live_allocations += 1;
            counters.live_bytes += bytes as u64;
            counters.peak_bytes = counters.peak_bytes.max(device.used as u64);
        } else {
            counters.host_made += 1;
            counters.host_live += 1;
            device.pinned += bytes;
            device.most_pinned = device.most_pinned.max(device.pinned);
        }
    }

    /// Takes an allocation back, once nothing works on it any more.
    pub fn free_allocation(&mut self, base: usize) {
        while self.memory.live.get(&base).is_some_and(|a| a.running > 0) {
            self.wait();
        }
        let Some(gone) = self.memory.remove(base) else {
            return;
        };
        let clean = gone
            .backing
            .as_ref()
            .is_none_or(|b| b.red_zone_is_clean(gone.size));
        let (number, size) = (gone.number, gone.size);
        if !clean {
            let text = format!(
                "something wrote past the end of allocation {number} ({size} bytes at {base:#x}); seen when it was freed"
            );
            self.violation(Kind::OutOfBounds, text);
        }
        let device = &mut self.devices[gone.device];
        if gone.place.on_device() {
            device.used -= size;
            device.counters.frees += 1;
            device.counters.live_allocations -= 1;
            device.counters.live_bytes -= size as u64;
        } else {
            device.counters.host_live -= 1;
            device.pinned -= size;
        }
    }

    /// Waits for the owner's streams; other devices' work on the memory that
    /// is not ordered before the free is a race.
    pub fn settle(&mut self, what: &str, base: usize) {
        let Some(allocation) = self.memory.live.get(&base) else {
            return;
        };
        let (device, bytes) = (allocation.device, allocation.size);
        self.finish_device(device);
        self.host_race(
            what,
            Use {
                at: base,
                bytes,
                write: true,
            },
        );
    }

    /// Frees what starts at `at`.
    pub fn free(&mut self, what: &str, at: usize, wanted: impl Fn(Place) -> bool) -> HipResult {
        if at == 0 {
            return Ok(());
        }
        let text = match self.memory.find(at) {
            Found::Live(base) if base == at && wanted(self.memory.live[&base].place) => {
                let device = self.memory.live[&base].device;
                if self.current()? != device {
                    self.devices[device].counters.cross_frees += 1;
                }
                self.settle(what, base);
                self.free_allocation(base);
                return Ok(());
            }
            Found::Live(base) if base == at => format!(
                "{what}: {at:#x} is {:?} memory",
                self.memory.live[&base].place
            ),
            Found::Live(base) => {
                format!("{what}: {at:#x} is inside of an allocation that starts at {base:#x}")
            }
            Found::Freed(freed) => format!(
                "{what}: {at:#x} (allocation {}) is freed a second time",
                freed.number
            ),
            Found::Nothing => format!("{what}: {at:#x} is no memory of HIP"),
        };
        self.violation(Kind::BadFree, text);
        Err(HipError::INVALID_VALUE)
    }
}

/// HIP's function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipMalloc(out: *mut *mut c_void, bytes: usize) -> c_int {
    api(
        "hipMalloc",
        || format!("{bytes} "),
        |s| {
            let device = s.current()?;
            s.allocate(out, bytes, device, Place::Device, 0)
        },
    )
}

/// HIP's function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipExtMallocWithFlags(
    out: *mut *mut c_void,
    bytes: usize,
    flags: c_uint,
) -> c_int {
    api(
        "hipExtMallocWithFlags",
        || format!("{bytes} flags={flags:#x} "),
        |s| {
            let device = s.current()?;
            s.allocate(out, bytes, device, Place::Device, flags)
        },
    )
}

/// HIP's function of this name. The memory is there at once, on the stream's device.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipMallocAsync(
    out: *mut *mut c_void,
    bytes: usize,
    stream: Handle,
) -> c_int {
    api(
        "hipMallocAsync",
        || format!("{bytes} stream={stream:p} "),
        |s| {
            let id = s
                .stream_of("hipMallocAsync", stream)
                .map_err(|_| HipError::INVALID_HANDLE)?;
            let device = s.streams[&id].device;
            s.allocate(out, bytes, device, Place::Device, 0)
        },
    )
}

/// HIP's function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipMallocManaged(
    out: *mut *mut c_void,
    bytes: usize,
    flags: c_uint,
) -> c_int {
    api(
        "hipMallocManaged",
        || format!("{bytes} flags={flags:#x} "),
        |s| {
            let device = s.current()?;
            s.allocate(out, bytes, device, Place::Managed, flags)
        },
    )
}

/// HIP's function of this name: rows start at multiples of 256.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipMallocPitch(
    out: *mut *mut c_void,
    pitch: *mut usize,
    width: usize,
    height: usize,
) -> c_int {
    api(
        "hipMallocPitch",
        || format!("{width}x{height} "),
        |s| {
            let device = s.current()?;
            let row = width
                .checked_next_multiple_of(256)
                .ok_or(HipError::INVALID_VALUE)?;
            let bytes = row.checked_mul(height).ok_or(HipError::OUT_OF_MEMORY)?;
            // SAFETY: the caller's out pointer, as HIP asks for.
            unsafe { give(pitch, row) }?;
            s.allocate(out, bytes, device, Place::Device, 0)
        },
    )
}

/// HIP's function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipFree(at: *mut c_void) -> c_int {
    api(
        "hipFree",
        || format!("{at:p}"),
        |s| s.free("hipFree", at as usize, |place| place != Place::Registered),
    )
}

/// HIP's function of this name: waits for its stream, then frees.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipFreeAsync(at: *mut c_void, stream: Handle) -> c_int {
    api(
        "hipFreeAsync",
        || format!("{at:p} stream={stream:p}"),
        |s| {
            let id = s
                .stream_of("hipFreeAsync", stream)
                .map_err(|_| HipError::INVALID_HANDLE)?;
            s.finish(id);
            s.free("hipFreeAsync", at as usize, |place| place == Place::Device)
        },
    )
}
