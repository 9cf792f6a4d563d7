//! Memory on a device.

use std::ffi::c_void;

use crate::dtype::{Element, bytes_of};
use crate::error::{Error, Result};
use crate::hip::device::Device;
use crate::hip::functions::OUT_OF_MEMORY;

const HOST_TO_DEVICE: i32 = 1;
const DEVICE_TO_HOST: i32 = 2;
const DEVICE_TO_DEVICE: i32 = 3;

/// Bytes in the memory of a device.
///
/// Its copies wait until they are done; for copies beside other work see
/// [`Stream::upload`](crate::hip::Stream::upload). Zero at first. Two never
/// have the same address, not even empty ones.
///
/// ```
/// use migraphx::hip::{Device, DeviceBuffer};
///
/// if let Ok(device) = Device::new(0) {
///     let mut buffer = DeviceBuffer::from_slice(device, &[1.0f32, 2.0])?;
///     assert_eq!(buffer.to_vec::<f32>()?, [1.0, 2.0]);
///     buffer.copy_from_slice(&[3.0f32, 4.0])?;
///     assert_eq!(buffer.to_vec::<f32>()?, [3.0, 4.0]);
/// }
/// # Ok::<(), migraphx::Error>(())
/// ```
#[derive(Debug)]
pub struct DeviceBuffer {
    device: Device,
    at: *mut c_void,
    bytes: usize,
    owned: bool,
}

// SAFETY: the address is used by HIP only, whose functions may be called from any thread.
unsafe impl Send for DeviceBuffer {}
// SAFETY: shared access only reads the device's memory.
unsafe impl Sync for DeviceBuffer {}

impl DeviceBuffer {
    /// `bytes` bytes of zeros on `device`.
    ///
    /// # Errors
    /// [`Error::DeviceMemory`], which says how much is free; [`Error::Hip`].
    #[doc(alias = "hipMalloc")]
    pub fn new(device: Device, bytes: usize) -> Result<Self> {
        let buffer = DeviceBuffer::uninitialised(device, bytes)?;
        let _current = device.enter()?;
        // SAFETY: the memory is the buffer's, and that long.
        unsafe { hip!(hipMemset(buffer.at, 0, bytes.max(1))) }
            .and_then(|()| finish_null_stream())
            .map_err(|error| error.while_doing(|| format!("filling memory of {device}")))?;
        Ok(buffer)
    }

    /// A copy of `data` on `device`.
    ///
    /// # Errors
    /// As [`new`](DeviceBuffer::new).
    pub fn from_slice<T: Element>(device: Device, data: &[T]) -> Result<Self> {
        let mut buffer = DeviceBuffer::uninitialised(device, size_of_val(data))?;
        buffer.copy_from_slice(data)?;
        Ok(buffer)
    }

    /// Memory of other code, which stays that code's: it is not freed here.
    ///
    /// # Safety
    /// `at` are `bytes` bytes of memory of `device`, initialised, made by the
    /// HIP library of [`library_path`](crate::hip::library_path). They live
    /// longer than this value, and nobody else writes them meanwhile, nor
    /// reads them while this value is borrowed `&mut` or given to a stream.
    pub unsafe fn from_raw(device: Device, at: *mut c_void, bytes: usize) -> Self {
        DeviceBuffer {
            device,
            at,
            bytes,
            owned: false,
        }
    }

    /// Whose content has to be written before it is read.
    fn uninitialised(device: Device, bytes: usize) -> Result<Self> {
        let _current = device.enter()?;
        let too_much = || {
            let free = device.memory().map_or(0, |memory| memory.free);
            Error::DeviceMemory {
                what: "a device buffer".into(),
                device: device.to_string(),
                bytes,
                free,
            }
        };
        // HIP rounds up, and must not overflow.
        if isize::try_from(bytes).is_err() {
            return Err(too_much());
        }
        let mut at = std::ptr::null_mut();
        // An empty one has an address too.
        // SAFETY: the out pointer is valid.
        unsafe { hip!(hipMalloc(&mut at, bytes.max(1))) }.map_err(|error| match error {
            Error::Hip { code, .. } if code == OUT_OF_MEMORY => too_much(),
            error => error.while_doing(|| format!("taking {bytes} bytes of {device}")),
        })?;
        Ok(DeviceBuffer {
            device,
            at,
            bytes,
            owned: true,
        })
    }

    /// The device.
    pub fn device(&self) -> Device {
        self.device
    }

    /// Bytes.
    pub fn len(&self) -> usize {
        self.bytes
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    /// Fills the buffer with `data`, which has exactly its length.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for another length; [`Error::Hip`].
    #[doc(alias = "hipMemcpy")]
    pub fn copy_from_slice<T: Element>(&mut self, data: &[T]) -> Result<()> {
        self.check_length::<T>(data.len())?;
        let from = bytes_of(data).as_ptr().cast();
        // SAFETY: both have this many bytes; the buffer is borrowed alone.
        unsafe { self.copy(self.at, from, HOST_TO_DEVICE) }
    }

    /// Copies all of the buffer into `data`, which has exactly its length.
    ///
    /// # Errors
    /// As [`copy_from_slice`](DeviceBuffer::copy_from_slice).
    #[doc(alias = "hipMemcpy")]
    pub fn copy_to_slice<T: Element>(&self, data: &mut [T]) -> Result<()> {
        self.check_length::<T>(data.len())?;
        // SAFETY: both have this many bytes, and every bit pattern is an element.
        unsafe { self.copy(data.as_mut_ptr().cast(), self.at, DEVICE_TO_HOST) }
    }

    /// A copy of the buffer on the host.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] where the length is not a multiple of an
    /// element's; [`Error::OutOfMemory`]; [`Error::Hip`].
    pub fn to_vec<T: Element>(&self) -> Result<Vec<T>> {
        let count = self.bytes / size_of::<T>();
        self.check_length::<T>(count)?;
        let mut data = Vec::<T>::new();
        data.try_reserve_exact(count)
            .map_err(|_| Error::OutOfMemory {
                what: format!("a copy of memory of {}", self.device),
                bytes: self.bytes,
            })?;
        // SAFETY: the vector has room for them; once copied, they are initialised,
        // and every bit pattern is an element.
        unsafe {
            self.copy(data.as_mut_ptr().cast(), self.at, DEVICE_TO_HOST)?;
            data.set_len(count);
        }
        Ok(data)
    }

    /// Copies all of `from`, of the same length, on this device or another.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for another length; [`Error::Hip`].
    #[doc(alias = "hipMemcpyPeer")]
    pub fn copy_from_buffer(&mut self, from: &DeviceBuffer) -> Result<()> {
        if from.bytes != self.bytes {
            return Err(Error::InvalidArgument(format!(
                "a buffer of {} bytes on {} takes all of one of that length, and was given one \
                 of {} bytes on {}",
                self.bytes, self.device, from.bytes, from.device
            )));
        }
        if from.device == self.device {
            // SAFETY: both have this many bytes, and are different buffers.
            return unsafe { self.copy(self.at, from.at, DEVICE_TO_DEVICE) };
        }
        if self.bytes == 0 {
            return Ok(());
        }
        let (to_device, from_device) = (self.device.number(), from.device.number());
        let _current = self.device.enter()?;
        // SAFETY: each is memory of the device that is named, this long.
        unsafe {
            hip!(hipMemcpyPeer(
                self.at,
                to_device,
                from.at,
                from_device,
                self.bytes
            ))
        }
        .and_then(|()| finish_null_stream())
        .map_err(|error| {
            let (to, from) = (self.device, from.device);
            error.while_doing(|| format!("copying {} bytes from {from} to {to}", self.bytes))
        })
    }

    /// The device's address, which stays this value's. The host must not read it.
    pub fn as_raw(&self) -> *mut c_void {
        self.at
    }

    /// Copies `self.bytes` bytes, and waits.
    ///
    /// # Safety
    /// Both have that many bytes, of the kind that is said; nobody else writes them.
    unsafe fn copy(&self, to: *mut c_void, from: *const c_void, kind: i32) -> Result<()> {
        if self.bytes == 0 {
            return Ok(());
        }
        let _current = self.device.enter()?;
        // Not the asynchronous form: whatever it answers, the host's memory is
        // not used any more. What it may leave to the device is waited for.
        // SAFETY: the caller's word.
        unsafe { hip!(hipMemcpy(to, from, self.bytes, kind)) }
            .and_then(|()| finish_null_stream())
            .map_err(|error| {
                let way = match kind {
                    HOST_TO_DEVICE => "to",
                    DEVICE_TO_HOST => "from",
                    _ => "inside",
                };
                error.while_doing(|| format!("copying {} bytes {way} {}", self.bytes, self.device))
            })
    }

    fn check_length<T: Element>(&self, count: usize) -> Result<()> {
        if count.checked_mul(size_of::<T>()) == Some(self.bytes) {
            return Ok(());
        }
        Err(Error::InvalidArgument(format!(
            "a buffer of {} bytes on {} is copied as a whole, and {count} elements of {} ({} \
             bytes each) are not its length",
            self.bytes,
            self.device,
            T::DTYPE,
            size_of::<T>()
        )))
    }
}

/// Waits for the null stream of the current device, where plain copies and fills are.
fn finish_null_stream() -> Result<()> {
    // SAFETY: null is the null stream.
    unsafe { hip!(hipStreamSynchronize(std::ptr::null_mut())) }
}

impl Drop for DeviceBuffer {
    fn drop(&mut self) {
        if !self.owned {
            return;
        }
        // Where its device cannot be made current, it can be freed all the same.
        let _current = self.device.enter();
        // SAFETY: HIP's memory, this value's, freed once; HIP waits for the device.
        let freed = unsafe { hip!(hipFree(self.at)) };
        crate::hip::note_leak("buffer", self.device, freed);
    }
}
