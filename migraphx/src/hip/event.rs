//! Points in streams.

use std::ffi::{c_uint, c_void};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::error::{Error, Result};
use crate::hip::device::Device;
use crate::hip::functions::{Handle, NOT_READY, failure};
use crate::hip::stream::{Stream, check_device};

/// `hipEventDefault`.
const TIMED: c_uint = 0;
/// `hipEventDisableTiming`.
const UNTIMED: c_uint = 2;

/// A point in a [`Stream`]: it is reached when all that was queued before it is done.
///
/// To wait for, in the program or in another stream
/// ([`Stream::wait_for`]), and to measure time between two.
///
/// ```
/// use migraphx::hip::{Device, Event, Stream};
///
/// if let Ok(device) = Device::new(0) {
///     let stream = Stream::new(device)?;
///     let (begin, end) = (Event::new(device)?, Event::new(device)?);
///     begin.record(&stream)?;
///     end.record(&stream)?;
///     println!("{:?} between them", end.elapsed_since(&begin)?);
/// }
/// # Ok::<(), migraphx::Error>(())
/// ```
#[derive(Debug)]
pub struct Event {
    device: Device,
    raw: Handle,
    recorded: AtomicBool,
}

// SAFETY: HIP's event functions may be called from any thread, also at once.
unsafe impl Send for Event {}
// SAFETY: as above.
unsafe impl Sync for Event {}

impl Event {
    /// An event for streams of `device`. It takes the time when it is reached.
    ///
    /// # Errors
    /// [`Error::Hip`].
    #[doc(alias = "hipEventCreateWithFlags")]
    pub fn new(device: Device) -> Result<Self> {
        Event::with_flags(device, TIMED)
    }

    /// An event that takes no time, which costs the device less.
    pub(crate) fn untimed(device: Device) -> Result<Self> {
        Event::with_flags(device, UNTIMED)
    }

    fn with_flags(device: Device, flags: c_uint) -> Result<Self> {
        let _current = device.enter()?;
        let mut raw = std::ptr::null_mut();
        // SAFETY: the out pointer is valid.
        unsafe { hip!(hipEventCreateWithFlags(&mut raw, flags)) }
            .map_err(|error| error.while_doing(|| format!("making an event on {device}")))?;
        Ok(Event {
            device,
            raw,
            recorded: AtomicBool::new(false),
        })
    }

    /// The device.
    pub fn device(&self) -> Device {
        self.device
    }

    /// Puts the event behind all that is queued in `stream`. Recorded again, it
    /// is a new point, and the old one is forgotten.
    ///
    /// # Errors
    /// [`Error::WrongDevice`] for a stream of another device; [`Error::Hip`].
    #[doc(alias = "hipEventRecord")]
    pub fn record(&self, stream: &Stream) -> Result<()> {
        check_device("the event", self.device, stream.device())?;
        let _current = self.device.enter()?;
        // SAFETY: both are live.
        unsafe { hip!(hipEventRecord(self.raw, stream.as_raw())) }
            .map_err(|error| error.while_doing(|| format!("recording on {}", self.device)))?;
        self.recorded.store(true, Ordering::Release);
        Ok(())
    }

    /// Waits until the event is reached.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] where it was never recorded; [`Error::Hip`].
    #[doc(alias = "hipEventSynchronize")]
    pub fn synchronize(&self) -> Result<()> {
        self.check_recorded()?;
        let _current = self.device.enter()?;
        // SAFETY: the event is live.
        unsafe { hip!(hipEventSynchronize(self.raw)) }
            .map_err(|error| error.while_doing(|| format!("waiting for {}", self.device)))
    }

    /// Whether the event is reached.
    ///
    /// # Errors
    /// As [`synchronize`](Event::synchronize).
    #[doc(alias = "hipEventQuery")]
    pub fn is_done(&self) -> Result<bool> {
        self.check_recorded()?;
        let _current = self.device.enter()?;
        // SAFETY: the event is live.
        match unsafe { hip_status!(hipEventQuery(self.raw)) }? {
            0 => Ok(true),
            NOT_READY => Ok(false),
            code => Err(failure("hipEventQuery", code)),
        }
    }

    /// The time from `earlier` to this event. Waits for both.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] where one was never recorded, or `earlier`
    /// was reached after this one; [`Error::WrongDevice`] for events of two
    /// devices, whose clocks are not the same; [`Error::Hip`].
    #[doc(alias = "hipEventElapsedTime")]
    pub fn elapsed_since(&self, earlier: &Event) -> Result<Duration> {
        check_device("the earlier event", earlier.device, self.device)?;
        earlier.synchronize()?;
        self.synchronize()?;
        let _current = self.device.enter()?;
        let mut milliseconds = 0f32;
        // SAFETY: both events are live, and the out pointer is valid.
        unsafe {
            hip!(hipEventElapsedTime(
                &mut milliseconds,
                earlier.raw,
                self.raw
            ))
        }?;
        Duration::try_from_secs_f64(f64::from(milliseconds) / 1e3).map_err(|_| {
            Error::InvalidArgument(format!(
                "the event given as the earlier one was reached {} ms after the other; take the \
                 time of the later one since the earlier one",
                -milliseconds
            ))
        })
    }

    /// The `hipEvent_t`, which stays this value's.
    pub fn as_raw(&self) -> *mut c_void {
        self.raw
    }

    pub(crate) fn check_recorded(&self) -> Result<()> {
        if self.recorded.load(Ordering::Acquire) {
            return Ok(());
        }
        Err(Error::InvalidArgument(
            "the event was never recorded, so it is no point in time; call `record` first".into(),
        ))
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        // Where its device cannot be made current, it can be destroyed all the same.
        let _current = self.device.enter();
        // SAFETY: the event is this value's, and destroyed once. What still waits for
        // it in a stream keeps HIP's own part of it.
        let destroyed = unsafe { hip!(hipEventDestroy(self.raw)) };
        crate::hip::note_leak("event", self.device, destroyed);
    }
}
