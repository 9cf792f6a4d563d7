//! Calls on streams and memory that are MIGraphX's own: for custom operators.

use std::ffi::c_void;

use crate::error::Result;

/// Which side is whose, for [`copy_now`].
#[derive(Debug, Clone, Copy)]
pub(crate) enum Direction {
    HostToDevice = 1,
    DeviceToHost = 2,
    /// HIP looks at the addresses.
    ByAddress = 4,
}

/// Waits for all that is queued on a stream.
///
/// # Safety
/// The stream is live.
pub(crate) unsafe fn synchronize(stream: *mut c_void) -> Result<()> {
    // SAFETY: the caller's word.
    unsafe { hip!(hipStreamSynchronize(stream)) }
}

/// Queues a copy inside a device.
///
/// # Safety
/// The stream is live; both sides are device memory of that many bytes until the
/// copy has run.
pub(crate) unsafe fn queue_copy(
    stream: *mut c_void,
    to: *mut c_void,
    from: *const c_void,
    bytes: usize,
) -> Result<()> {
    const DEVICE_TO_DEVICE: i32 = 3;
    // SAFETY: the caller's word.
    unsafe { hip!(hipMemcpyAsync(to, from, bytes, DEVICE_TO_DEVICE, stream)) }
}

/// Copies between the host and a device, and is done when it returns.
///
/// # Safety
/// Both sides are of that many bytes, and nothing queued uses the device's side.
pub(crate) unsafe fn copy_now(
    to: *mut c_void,
    from: *const c_void,
    bytes: usize,
    direction: Direction,
) -> Result<()> {
    // SAFETY: the caller's word; null is the null stream, where a plain copy is, and
    // which may still have its end before it.
    unsafe {
        hip!(hipMemcpy(to, from, bytes, direction as i32))?;
        hip!(hipStreamSynchronize(std::ptr::null_mut()))
    }
}
