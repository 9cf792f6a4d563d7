//! GPUs: devices, streams, memory, through HIP, AMD's runtime library (and
//! Hygon's, in DTK).
//!
//! HIP is opened at run time: the copy that MIGraphX's `gpu` target uses, so
//! that both see the same devices and memory ([`library_path`] tells which).
//! Where there is none, [`Device::count`] is 0, and errors list what was
//! looked for.
//!
//! | to | see |
//! |---|---|
//! | know which GPUs there are, and what they are | [`Device`] |
//! | give each child process a GPU of its own | [`Device::pin_child`] |
//! | run other HIP code on a device | [`Device::scope`] |
//! | keep data on a device, move it to another one | [`DeviceBuffer`] |
//! | copy while the host or the device does something else | [`Stream`], [`PinnedBuffer`], [`InFlight`] |
//! | order work of several streams, take times | [`Event`] |
//!
//! # The current device
//! HIP has a current device for each thread. Everything here knows its own
//! device; a call makes it current where HIP asks for that, and afterwards the
//! former one is current again, also on errors and panics.
//!
//! # Memory in use by a device
//! A copy in a stream takes its buffers by value and gives them back when it
//! is done ([`InFlight`]). So nothing safe can free or touch memory that a
//! device is using; what is forgotten is leaked.
//!
//! # Process exit
//! Values that are dropped after the process began to exit are leaked, since
//! HIP may be gone already.

#[macro_use]
pub(crate) mod functions;

mod buffer;
mod current;
mod device;
mod event;
mod find;
mod in_flight;
pub(crate) mod library;
mod pinned;
pub(crate) mod raw;
mod stream;
mod visible;

pub use buffer::DeviceBuffer;
#[allow(unused_imports)]
pub(crate) use current::Guard;
pub use device::{Device, MemoryInfo};
pub use event::Event;
pub use in_flight::InFlight;
pub use library::{Version, library_path, version};
pub use pinned::PinnedBuffer;
pub use stream::Stream;
pub(crate) use stream::WeakStream;

use crate::error::{Error, Result};

/// Says so where a destructor could not free something.
fn note_leak(what: &str, device: Device, freed: Result<()>) {
    match freed {
        Ok(()) | Err(Error::Exiting) => {}
        Err(error) => log::warn!(target: "migraphx", "a {what} of {device} was not freed: {error}"),
    }
}
