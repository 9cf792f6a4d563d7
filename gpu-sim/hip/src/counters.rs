//! What each device counts. Tests of the project take this file.

/// What a device did; `hipsim_get` hands it to tests.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// `hipSetDevice` calls for it.
    pub selections: u64,
    /// Allocations of device and managed memory.
    pub mallocs: u64,
    /// Frees of those.
    pub frees: u64,
    /// Those that are live.
    pub live_allocations: u64,
    /// Their bytes.
    pub live_bytes: u64,
    /// The most bytes ever live.
    pub peak_bytes: u64,
    /// Allocations refused for want of memory.
    pub out_of_memory: u64,
    /// Pinned allocations and registrations made while it was current.
    pub host_made: u64,
    /// Those that are live.
    pub host_live: u64,
    /// Copies.
    pub copies: u64,
    /// Bytes from host to device.
    pub host_to_device: u64,
    /// Bytes from device to host.
    pub device_to_host: u64,
    /// Bytes inside the device.
    pub inside: u64,
    /// Bytes between two devices.
    pub peer_to_peer: u64,
    /// Copies for another device's memory (HIP moves them to its null stream).
    pub cross_copies: u64,
    /// Asynchronous copies with pageable host memory (they wait).
    pub pageable_async: u64,
    /// Frees of its memory while another device was current.
    pub cross_frees: u64,
    /// Fills.
    pub fills: u64,
    /// Kernels and host work.
    pub launches: u64,
    /// Those launched while another device was current.
    pub cross_launches: u64,
    /// Streams made.
    pub streams_made: u64,
    /// Streams that are live.
    pub streams_live: u64,
    /// Events made.
    pub events_made: u64,
    /// Events that are live.
    pub events_live: u64,
    /// Modules loaded.
    pub modules_made: u64,
    /// Modules that are live.
    pub modules_live: u64,
    /// Waits for a stream or the device.
    pub synchronisations: u64,
    /// Host ranges registered again while registered.
    pub double_registers: u64,
    /// `hipHostUnregister` of `hipHostMalloc` memory.
    pub pinned_unregisters: u64,
}
