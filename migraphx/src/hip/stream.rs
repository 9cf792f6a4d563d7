//! Queues of work on a device.

use std::ffi::c_void;
use std::sync::{Arc, Weak};

use crate::error::{Error, Result};
use crate::hip::buffer::DeviceBuffer;
use crate::hip::device::Device;
use crate::hip::event::Event;
use crate::hip::functions::{Handle, NOT_READY, failure};
use crate::hip::in_flight::InFlight;
use crate::hip::pinned::PinnedBuffer;

/// `hipStreamNonBlocking`: it does not wait for the device's null stream.
const NON_BLOCKING: u32 = 1;
const HOST_TO_DEVICE: i32 = 1;
const DEVICE_TO_HOST: i32 = 2;
/// `hipMemcpyDefault`.
const BY_ADDRESS: i32 = 4;

/// A queue of work on one device: what is put into it runs in order, beside
/// what other streams run.
///
/// A clone is the same queue. It is destroyed with the last of them, after the
/// work in it is done.
///
/// ```
/// use migraphx::hip::{Device, DeviceBuffer, PinnedBuffer, Stream};
///
/// if let Ok(device) = Device::new(0) {
///     let stream = Stream::new(device)?;
///     let mut there = PinnedBuffer::new(16)?;
///     there.as_mut_slice::<f32>()?.copy_from_slice(&[1.0, 2.0, 3.0, 4.0]);
///     let copying = stream.upload(there, DeviceBuffer::new(device, 16)?)?;
///     // … other work of the host …
///     let (_, on_device) = copying.wait()?;
///     let (_, back) = stream.download(on_device, PinnedBuffer::new(16)?)?.wait()?;
///     assert_eq!(back.as_slice::<f32>()?, [1.0, 2.0, 3.0, 4.0]);
/// }
/// # Ok::<(), migraphx::Error>(())
/// ```
#[doc(alias = "hipStream_t")]
#[derive(Clone, Debug)]
pub struct Stream {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    device: Device,
    raw: Handle,
    owned: bool,
}

// SAFETY: HIP's stream functions may be called from any thread, also at once.
unsafe impl Send for Inner {}
// SAFETY: as above.
unsafe impl Sync for Inner {}

impl Stream {
    /// A stream of its own on `device`, which waits for no other.
    ///
    /// # Errors
    /// [`Error::Hip`].
    #[doc(alias = "hipStreamCreateWithFlags")]
    pub fn new(device: Device) -> Result<Self> {
        let _current = device.enter()?;
        let mut raw = std::ptr::null_mut();
        // SAFETY: the out pointer is valid.
        unsafe { hip!(hipStreamCreateWithFlags(&mut raw, NON_BLOCKING)) }
            .map_err(|error| error.while_doing(|| format!("making a stream on {device}")))?;
        Ok(Stream::of(device, raw, true))
    }

    /// A stream of other code, which stays that code's: it is not destroyed here.
    /// Null is the null stream of `device`.
    ///
    /// # Safety
    /// It is a `hipStream_t` of `device` in the HIP library of
    /// [`library_path`](crate::hip::library_path), and lives longer than this
    /// value, its clones, and what is queued through them. It is the same for every
    /// thread (`hipStreamPerThread` is not).
    pub unsafe fn from_raw(device: Device, raw: *mut c_void) -> Self {
        Stream::of(device, raw, false)
    }

    fn of(device: Device, raw: Handle, owned: bool) -> Self {
        let inner = Inner { device, raw, owned };
        Stream {
            inner: Arc::new(inner),
        }
    }

    /// The device.
    pub fn device(&self) -> Device {
        self.inner.device
    }

    /// Waits until all that is queued is done.
    ///
    /// # Errors
    /// [`Error::Hip`], also for work queued earlier that failed.
    #[doc(alias = "hipStreamSynchronize")]
    pub fn synchronize(&self) -> Result<()> {
        self.inner.synchronize()
    }

    /// Whether all that is queued is done.
    ///
    /// # Errors
    /// As [`synchronize`](Stream::synchronize).
    #[doc(alias = "hipStreamQuery")]
    pub fn is_idle(&self) -> Result<bool> {
        // The null stream is that of the current device.
        let _current = self.device().enter()?;
        // SAFETY: the stream is live.
        match unsafe { hip_status!(hipStreamQuery(self.as_raw())) }? {
            0 => Ok(true),
            NOT_READY => Ok(false),
            code => Err(failure("hipStreamQuery", code)),
        }
    }

    /// What is queued from here on waits until `event` is reached, as it is
    /// recorded now. The event may be of another device. The host does not wait.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] where the event was never recorded; [`Error::Hip`].
    #[doc(alias = "hipStreamWaitEvent")]
    pub fn wait_for(&self, event: &Event) -> Result<()> {
        event.check_recorded()?;
        let _current = self.device().enter()?;
        // SAFETY: both are live; 0 is no flags.
        unsafe { hip!(hipStreamWaitEvent(self.as_raw(), event.as_raw(), 0)) }
    }

    /// Queues the copy of all of `from` into `to`. Both come back when it is done.
    ///
    /// # Errors
    /// [`Error::WrongDevice`] for a buffer of another device;
    /// [`Error::InvalidArgument`] for different lengths; [`Error::Hip`]. The
    /// buffers are freed then.
    #[doc(alias = "hipMemcpyAsync")]
    pub fn upload(
        &self,
        from: PinnedBuffer,
        to: DeviceBuffer,
    ) -> Result<InFlight<(PinnedBuffer, DeviceBuffer)>> {
        self.check_copy(&to, &from)?;
        InFlight::queue(self, (from, to), |(from, to)| {
            // SAFETY: the lengths are the same, and `InFlight` keeps both buffers.
            unsafe { self.queue_upload(from, to) }
        })
    }

    /// Queues the copy of all of `from` into `to`. Both come back when it is done.
    ///
    /// # Errors
    /// As [`upload`](Stream::upload).
    #[doc(alias = "hipMemcpyAsync")]
    pub fn download(
        &self,
        from: DeviceBuffer,
        to: PinnedBuffer,
    ) -> Result<InFlight<(DeviceBuffer, PinnedBuffer)>> {
        self.check_copy(&from, &to)?;
        InFlight::queue(self, (from, to), |(from, to)| {
            // SAFETY: the lengths are the same, and `InFlight` keeps both buffers.
            unsafe { self.queue_download(from, to) }
        })
    }

    /// The `hipStream_t`, which stays this value's.
    pub fn as_raw(&self) -> *mut c_void {
        self.inner.raw
    }

    /// Queues the copy of all of `from` to the beginning of `to`.
    ///
    /// # Safety
    /// `to` is at least as long, and on this stream's device; both live, and
    /// `from` is not written and `to` not touched, until the copy is done.
    pub(crate) unsafe fn queue_upload(&self, from: &PinnedBuffer, to: &DeviceBuffer) -> Result<()> {
        // SAFETY: the caller's word.
        unsafe { self.queue_copy(to.as_raw(), from.as_raw(), from.len(), HOST_TO_DEVICE) }
    }

    /// Queues the copy of all of `to` from the beginning of `from`.
    ///
    /// # Safety
    /// `from` is at least as long, and on this stream's device; both live, and
    /// `from` is not written and `to` not touched, until the copy is done.
    pub(crate) unsafe fn queue_download(
        &self,
        from: &DeviceBuffer,
        to: &PinnedBuffer,
    ) -> Result<()> {
        // SAFETY: the caller's word.
        unsafe { self.queue_copy(to.as_raw(), from.as_raw(), to.len(), DEVICE_TO_HOST) }
    }

    /// As [`queue_download`](Stream::queue_download), from memory of this stream's
    /// device, or of the host if it is pinned.
    ///
    /// # Safety
    /// As there.
    pub(crate) unsafe fn queue_fetch(&self, from: *const c_void, to: &PinnedBuffer) -> Result<()> {
        // SAFETY: the caller's word.
        unsafe { self.queue_copy(to.as_raw(), from, to.len(), BY_ADDRESS) }
    }

    /// # Safety
    /// As [`queue_upload`](Stream::queue_upload).
    unsafe fn queue_copy(
        &self,
        to: *mut c_void,
        from: *const c_void,
        bytes: usize,
        kind: i32,
    ) -> Result<()> {
        if bytes == 0 {
            return Ok(());
        }
        let _current = self.device().enter()?;
        // SAFETY: the caller's word.
        unsafe { hip!(hipMemcpyAsync(to, from, bytes, kind, self.as_raw())) }.map_err(|error| {
            let way = if kind == HOST_TO_DEVICE { "to" } else { "from" };
            error.while_doing(|| format!("copying {bytes} bytes {way} {}", self.device()))
        })
    }

    fn check_copy(&self, buffer: &DeviceBuffer, pinned: &PinnedBuffer) -> Result<()> {
        check_device("the device buffer", buffer.device(), self.device())?;
        if buffer.len() == pinned.len() {
            return Ok(());
        }
        Err(Error::InvalidArgument(format!(
            "the device buffer has {} bytes and the pinned buffer {}; make them of one length",
            buffer.len(),
            pinned.len()
        )))
    }
}

impl Inner {
    fn synchronize(&self) -> Result<()> {
        // The null stream is that of the current device.
        let _current = self.device.enter()?;
        // SAFETY: the stream is live.
        unsafe { hip!(hipStreamSynchronize(self.raw)) }.map_err(|error| {
            error.while_doing(|| format!("waiting for a stream of {}", self.device))
        })
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        if !self.owned {
            return;
        }
        // Where its device cannot be made current, it is destroyed all the same: only
        // the null stream depends on that, and is nobody's own.
        let _current = self.device.enter();
        // SAFETY: the stream is this value's, and destroyed once.
        let destroyed = unsafe {
            let waited = hip!(hipStreamSynchronize(self.raw));
            hip!(hipStreamDestroy(self.raw)).and(waited)
        };
        crate::hip::note_leak("stream", self.device, destroyed);
    }
}

/// An error where `what` of one device meets something of another.
pub(crate) fn check_device(what: &str, found: Device, expected: Device) -> Result<()> {
    if found == expected {
        return Ok(());
    }
    Err(Error::WrongDevice {
        what: what.into(),
        expected: expected.to_string(),
        found: found.to_string(),
    })
}

/// A stream that others keep alive.
#[derive(Debug)]
pub(crate) struct WeakStream(Weak<Inner>);

impl Stream {
    pub(crate) fn downgrade(&self) -> WeakStream {
        WeakStream(Arc::downgrade(&self.inner))
    }
}

impl WeakStream {
    /// Whether it is not destroyed yet.
    pub(crate) fn is_alive(&self) -> bool {
        self.0.strong_count() > 0
    }

    /// Whether it is this one.
    pub(crate) fn is(&self, stream: &Stream) -> bool {
        std::ptr::eq(self.0.as_ptr(), Arc::as_ptr(&stream.inner))
    }

    pub(crate) fn upgrade(&self) -> Option<Stream> {
        self.0.upgrade().map(|inner| Stream { inner })
    }
}
