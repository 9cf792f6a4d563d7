//! The devices: which one is current in a thread, and which other devices'
//! memory its kernels reach.
//!
//! Read in: ROCm/clr rocm-6.2.2, `hip_device_runtime.cpp`, `hip_peer.cpp`.

use crate::abi::HipError;
use crate::allocations::Place;
use crate::counters::Counters;
use crate::engines::Engines;
use crate::options::Options;
use crate::state::{api, give, set_current};
use std::ffi::{c_int, c_uint};

/// One virtual device.
#[derive(Debug)]
pub struct Device {
    index: usize,
    /// Its number on the machine; another than the process's own where `HIP_VISIBLE_DEVICES` picks some.
    pub card: usize,
    /// Its architecture, features included: `gfx90a:sramecc+:xnack-`.
    pub architecture: String,
    /// Bytes it has.
    pub memory: usize,
    /// Bytes taken.
    pub used: usize,
    /// Bytes of the host, pinned or registered while it was current.
    pub pinned: usize,
    /// The most there ever were.
    pub most_pinned: usize,
    /// A bit for each device whose memory its kernels may reach.
    peers: u64,
    /// What works for it, and until when.
    pub engines: Engines,
    /// What it did.
    pub counters: Counters,
}

impl Device {
    /// A device as the options say.
    pub fn new(index: usize, options: &Options) -> Self {
        let card = options.visible[index];
        let architecture = options.architecture(card).to_owned();
        Self {
            index,
            card,
            architecture,
            memory: options.memory,
            used: 0,
            pinned: 0,
            most_pinned: 0,
            peers: 0,
            engines: Engines::default(),
            counters: Counters::default(),
        }
    }

    /// The architecture without its features: `gfx90a`.
    pub fn short_architecture(&self) -> &str {
        self.architecture.split(':').next().unwrap_or_default()
    }

    /// Its name, with the card's number.
    pub fn name(&self) -> String {
        format!("Virtual GPU {} #{}", self.short_architecture(), self.card)
    }

    /// Whether its kernels may touch memory of a device.
    pub fn reaches(&self, other: usize) -> bool {
        other == self.index || self.peers & (1 << other) != 0
    }
}

/// HIP's function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipInit(flags: c_uint) -> c_int {
    api("hipInit", String::new, |s| {
        if flags != 0 {
            return Err(HipError::INVALID_VALUE);
        }
        s.current().map(drop)
    })
}

/// HIP's function of this name. Without a device the count is 0 and the
/// status hipErrorNoDevice.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipGetDeviceCount(out: *mut c_int) -> c_int {
    api("hipGetDeviceCount", String::new, |s| {
        // SAFETY: the caller's out pointer, as HIP asks for.
        unsafe { give(out, s.devices.len() as c_int) }?;
        s.current().map(drop)
    })
}

/// HIP's function of this name: for the calling thread only.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipSetDevice(device: c_int) -> c_int {
    api(
        "hipSetDevice",
        || device.to_string(),
        |s| {
            let index = s.device_index(device)?;
            set_current(index);
            s.devices[index].counters.selections += 1;
            Ok(())
        },
    )
}

/// HIP's function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipGetDevice(out: *mut c_int) -> c_int {
    api("hipGetDevice", String::new, |s| {
        let current = s.current()?;
        // SAFETY: the caller's out pointer, as HIP asks for.
        unsafe { give(out, current as c_int) }
    })
}

/// HIP's function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipDeviceGet(out: *mut c_int, device: c_int) -> c_int {
    api(
        "hipDeviceGet",
        || device.to_string(),
        |s| {
            let index = s.device_index(device)?;
            // SAFETY: the caller's out pointer, as HIP asks for.
            unsafe { give(out, index as c_int) }
        },
    )
}

/// HIP's function of this name: waits for all streams of the current device
/// (clr `Device::SyncAllStreams`, the non-blocking ones included).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipDeviceSynchronize() -> c_int {
    api("hipDeviceSynchronize", String::new, |s| {
        let current = s.current()?;
        s.devices[current].counters.synchronisations += 1;
        s.finish_device(current);
        let streams: Vec<_> = s
            .streams
            .iter()
            .filter(|(_, x)| x.device == current)
            .map(|(id, _)| *id)
            .collect();
        // The first error is the answer, the others are cleared with it.
        let mut result = Ok(());
        for stream in streams {
            result = result.and(s.take_error(stream));
        }
        result
    })
}

/// HIP's function of this name: clr `Device::Reset` destroys the device's
/// streams and frees its memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipDeviceReset() -> c_int {
    api("hipDeviceReset", String::new, |s| {
        let current = s.current()?;
        s.finish_device(current);
        let streams: Vec<_> = s
            .streams
            .iter()
            .filter(|(id, x)| x.device == current && !id.is_null())
            .map(|(id, _)| *id)
            .collect();
        streams.into_iter().for_each(|id| s.destroy_stream(id));
        let memory: Vec<_> = s
            .memory
            .live
            .iter()
            .filter(|(_, a)| a.device == current && a.place != Place::Registered)
            .map(|(base, _)| *base)
            .collect();
        memory.into_iter().for_each(|base| s.free_allocation(base));
        Ok(())
    })
}

/// HIP's function of this name. clr `canAccessPeer`: a device is no peer of
/// itself. All virtual devices are linked.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipDeviceCanAccessPeer(
    out: *mut c_int,
    device: c_int,
    peer: c_int,
) -> c_int {
    api(
        "hipDeviceCanAccessPeer",
        || format!("{device} {peer}"),
        |s| {
            let can = s.device_index(device)? != s.device_index(peer)?;
            // SAFETY: the caller's out pointer, as HIP asks for.
            unsafe { give(out, c_int::from(can)) }
        },
    )
}

/// HIP's function of this name: one way only, from the current device.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipDeviceEnablePeerAccess(peer: c_int, flags: c_uint) -> c_int {
    api(
        "hipDeviceEnablePeerAccess",
        || peer.to_string(),
        |s| {
            if flags != 0 {
                return Err(HipError::INVALID_VALUE);
            }
            let (current, peer) = (s.current()?, s.device_index(peer)?);
            let device = &mut s.devices[current];
            match peer == current {
                true => Err(HipError::INVALID_DEVICE),
                false if device.reaches(peer) => Err(HipError::PEER_ENABLED),
                false => {
                    device.peers |= 1 << peer;
                    Ok(())
                }
            }
        },
    )
}

/// HIP's function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipDeviceDisablePeerAccess(peer: c_int) -> c_int {
    api(
        "hipDeviceDisablePeerAccess",
        || peer.to_string(),
        |s| {
            let (current, peer) = (s.current()?, s.device_index(peer)?);
            let device = &mut s.devices[current];
            match peer == current {
                true => Err(HipError::INVALID_DEVICE),
                false if !device.reaches(peer) => Err(HipError::PEER_NOT_ENABLED),
                false => {
                    device.peers &= !(1 << peer);
                    Ok(())
                }
            }
        },
    )
}
