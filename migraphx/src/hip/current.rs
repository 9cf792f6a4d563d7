//! The current device of a thread.

use std::ffi::c_int;
use std::marker::PhantomData;

use crate::error::{Error, Result};
use crate::hip::device::Device;

/// A device is current for this thread until this is dropped; then the former
/// one is again, whatever was made current in between.
#[must_use = "the former device is current again as soon as this is dropped"]
pub(crate) struct Guard {
    former: c_int,
    /// It restores the thread that it was made on.
    _thread: PhantomData<*const ()>,
}

impl Device {
    /// Makes this device the current one of the calling thread.
    pub(crate) fn enter(self) -> Result<Guard> {
        let former = current()?;
        let guard = Guard {
            former,
            _thread: PhantomData,
        };
        make_current(former, self.number())?;
        Ok(guard)
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        match current().and_then(|now| make_current(now, self.former)) {
            Ok(()) | Err(Error::Exiting) => {}
            Err(error) => log::warn!(
                target: "migraphx",
                "GPU {} cannot be made current again for this thread: {error}", self.former
            ),
        }
    }
}

pub(crate) fn current() -> Result<c_int> {
    let mut number = 0;
    // SAFETY: the out pointer is valid.
    unsafe { hip!(hipGetDevice(&mut number)) }?;
    Ok(number)
}

fn make_current(now: c_int, wanted: c_int) -> Result<()> {
    if now == wanted {
        return Ok(());
    }
    // SAFETY: HIP refuses numbers of no device.
    unsafe { hip!(hipSetDevice(wanted)) }
        .map_err(|error| error.while_doing(|| format!("making GPU {wanted} current")))
}
