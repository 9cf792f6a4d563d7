//! Host memory that the devices read and write directly.

use std::ffi::c_void;
use std::fmt;
use std::ptr::NonNull;

use crate::dtype::Element;
use crate::error::{Error, Result};
use crate::hip::functions::{OUT_OF_MEMORY, failure};

/// `hipHostMallocPortable`: pinned for all devices.
const PORTABLE: u32 = 1;

/// Host memory that every device copies from and to by itself, at full speed
/// and beside the program's own work ([`Stream::upload`](crate::hip::Stream::upload)).
///
/// It stays in memory, out of the system's reach: take what is needed, and
/// keep it. Zero at first, aligned to a page.
///
/// ```
/// use migraphx::hip::{Device, PinnedBuffer};
///
/// if Device::count() > 0 {
///     let mut buffer = PinnedBuffer::new(8)?;
///     buffer.as_mut_slice::<f32>()?[1] = 0.5;
///     assert_eq!(buffer.as_slice::<f32>()?, [0.0, 0.5]);
/// }
/// # Ok::<(), migraphx::Error>(())
/// ```
pub struct PinnedBuffer {
    at: NonNull<u8>,
    bytes: usize,
}

// SAFETY: plain memory that this value owns.
unsafe impl Send for PinnedBuffer {}
// SAFETY: shared access only reads.
unsafe impl Sync for PinnedBuffer {}

impl PinnedBuffer {
    /// `bytes` bytes of zeros. Where the host has several memories, near the
    /// calling thread's current device.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`]; [`Error::NoDevice`] where there is no GPU or no
    /// HIP; [`Error::Hip`].
    #[doc(alias = "hipHostMalloc")]
    pub fn new(bytes: usize) -> Result<Self> {
        let too_much = || Error::OutOfMemory {
            what: "a pinned buffer".into(),
            bytes,
        };
        if isize::try_from(bytes).is_err() {
            return Err(too_much());
        }
        // An empty one has an address too.
        let room = bytes.max(1);
        let mut at = std::ptr::null_mut();
        // SAFETY: the out pointer is valid.
        match unsafe { hip_status!(hipHostMalloc(&mut at, room, PORTABLE)) }? {
            0 => {}
            OUT_OF_MEMORY => return Err(too_much()),
            code => return Err(failure("hipHostMalloc", code)),
        }
        let at = NonNull::new(at.cast::<u8>()).ok_or_else(too_much)?;
        // SAFETY: HIP gave that many bytes.
        unsafe { at.write_bytes(0, room) };
        Ok(PinnedBuffer { at, bytes })
    }

    /// Bytes.
    pub fn len(&self) -> usize {
        self.bytes
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    /// The bytes.
    pub fn as_bytes(&self) -> &[u8] {
        // SAFETY: initialised memory of this value, which lives as long as the borrow.
        unsafe { std::slice::from_raw_parts(self.at.as_ptr(), self.bytes) }
    }

    /// The bytes, to write.
    pub fn as_mut_bytes(&mut self) -> &mut [u8] {
        // SAFETY: as in `as_bytes`, and borrowed alone.
        unsafe { std::slice::from_raw_parts_mut(self.at.as_ptr(), self.bytes) }
    }

    /// All of it as elements.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] where the length is not a multiple of an element's.
    pub fn as_slice<T: Element>(&self) -> Result<&[T]> {
        let count = self.count_of::<T>()?;
        // SAFETY: that many elements fit, the address is aligned (both checked),
        // and every bit pattern is an element.
        Ok(unsafe { std::slice::from_raw_parts(self.at.as_ptr().cast(), count) })
    }

    /// All of it as elements, to write.
    ///
    /// # Errors
    /// As [`as_slice`](PinnedBuffer::as_slice).
    pub fn as_mut_slice<T: Element>(&mut self) -> Result<&mut [T]> {
        let count = self.count_of::<T>()?;
        // SAFETY: as in `as_slice`, and borrowed alone.
        Ok(unsafe { std::slice::from_raw_parts_mut(self.at.as_ptr().cast(), count) })
    }

    /// The address, which stays this value's.
    pub fn as_raw(&self) -> *mut c_void {
        self.at.as_ptr().cast()
    }

    fn count_of<T: Element>(&self) -> Result<usize> {
        if self.bytes.is_multiple_of(size_of::<T>()) && self.at.cast::<T>().is_aligned() {
            return Ok(self.bytes / size_of::<T>());
        }
        Err(Error::InvalidArgument(format!(
            "a pinned buffer of {} bytes was used as {} ({} bytes each); its length must be a \
             multiple of that",
            self.bytes,
            T::DTYPE,
            size_of::<T>()
        )))
    }
}

impl fmt::Debug for PinnedBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PinnedBuffer({} bytes at {:p})", self.bytes, self.at)
    }
}

impl Drop for PinnedBuffer {
    fn drop(&mut self) {
        // SAFETY: HIP's pinned memory, this value's, freed once.
        match unsafe { hip!(hipHostFree(self.as_raw())) } {
            Ok(()) | Err(Error::Exiting) => {}
            Err(error) => log::warn!(target: "migraphx", "pinned memory was not freed: {error}"),
        }
    }
}
