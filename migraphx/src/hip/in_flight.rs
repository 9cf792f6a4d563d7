//! What the device is working with.

use std::fmt;
use std::mem::ManuallyDrop;

use crate::error::{Error, Result};
use crate::hip::event::Event;
use crate::hip::stream::Stream;

/// A value that work in a stream uses, such as the two buffers of a copy.
///
/// [`wait`](InFlight::wait) gives it back when the work is done; dropping
/// waits too. Forgotten (`mem::forget`), or where waiting fails, the value is
/// leaked, so no memory is freed or touched while the device uses it.
#[must_use = "dropping waits for the device; keep it, and call `wait` when the value is needed"]
pub struct InFlight<T> {
    value: ManuallyDrop<T>,
    reached: Event,
    stream: Stream,
}

impl<T> InFlight<T> {
    /// Keeps `value` until all that `queue` puts into `stream` is done.
    ///
    /// Where that fails the stream is waited for, and the value dropped.
    pub(crate) fn queue(
        stream: &Stream,
        value: T,
        queue: impl FnOnce(&mut T) -> Result<()>,
    ) -> Result<Self> {
        let reached = Event::untimed(stream.device())?;
        // In place before anything is queued: a panic drops it, and waits.
        let mut flight = InFlight {
            value: ManuallyDrop::new(value),
            reached,
            stream: stream.clone(),
        };
        queue(&mut flight.value)?;
        flight.reached.record(stream)?;
        Ok(flight)
    }

    /// Waits until the work is done, and gives the value back.
    ///
    /// # Errors
    /// [`Error::Hip`] where the work or the waiting failed. The value is lost
    /// then: leaked, unless the device is known to be done with it.
    pub fn wait(mut self) -> Result<T> {
        self.finish()?;
        // SAFETY: taken once: `self` is forgotten, and only its other parts are dropped.
        let value = unsafe { ManuallyDrop::take(&mut self.value) };
        let mut rest = ManuallyDrop::new(self);
        // SAFETY: as above; neither is used again.
        unsafe {
            std::ptr::drop_in_place(&mut rest.reached);
            std::ptr::drop_in_place(&mut rest.stream);
        }
        Ok(value)
    }

    /// Whether the work is done: [`wait`](InFlight::wait) does not wait then.
    ///
    /// # Errors
    /// [`Error::Hip`] where the work failed.
    pub fn is_done(&self) -> Result<bool> {
        self.reached.is_done()
    }

    /// The stream that the work is in.
    pub fn stream(&self) -> &Stream {
        &self.stream
    }

    fn finish(&self) -> Result<()> {
        match self.reached.check_recorded() {
            Ok(()) => self.reached.synchronize(),
            Err(_) => self.stream.synchronize(),
        }
    }
}

impl<T> Drop for InFlight<T> {
    fn drop(&mut self) {
        match self.finish() {
            // SAFETY: dropped once, here; `wait` does not come here after taking it.
            Ok(()) => unsafe { ManuallyDrop::drop(&mut self.value) },
            Err(Error::Exiting) => {}
            Err(error) => log::warn!(
                target: "migraphx",
                "memory that {} may still use is not freed: {error}", self.stream.device()
            ),
        }
    }
}

impl<T> fmt::Debug for InFlight<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InFlight")
            .field("stream", &self.stream)
            .finish_non_exhaustive()
    }
}
