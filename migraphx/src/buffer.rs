//! Memory for tensors.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ptr::NonNull;

use crate::error::{Error, Result};

/// Alignment of every buffer: a page, since a GPU registers whole pages.
const PAGE: usize = 4096;

/// Zeroed memory that starts at a page and fills whole pages.
#[derive(Debug)]
pub(crate) struct Buffer {
    pointer: NonNull<u8>,
    length: usize,
    layout: Layout,
}

// SAFETY: plain memory that this value owns alone.
unsafe impl Send for Buffer {}
// SAFETY: shared access only reads.
unsafe impl Sync for Buffer {}

impl Buffer {
    /// `length` zero bytes. At least a page is taken, so that the address is never shared.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`]: sizes come from models, so they must not abort the process.
    pub(crate) fn zeroed(length: usize) -> Result<Self> {
        let too_much = || Error::OutOfMemory {
            what: "a tensor".into(),
            bytes: length,
        };
        let layout = Layout::from_size_align(length.max(1), PAGE)
            .map(|layout| layout.pad_to_align())
            .map_err(|_| too_much())?;
        // SAFETY: the layout's size is not zero.
        let pointer = NonNull::new(unsafe { alloc_zeroed(layout) });
        Ok(Buffer {
            pointer: pointer.ok_or_else(too_much)?,
            length,
            layout,
        })
    }

    /// A copy of `bytes`.
    pub(crate) fn copy_of(bytes: &[u8]) -> Result<Self> {
        let mut buffer = Buffer::zeroed(bytes.len())?;
        buffer.bytes_mut().copy_from_slice(bytes);
        Ok(buffer)
    }

    pub(crate) fn pointer(&self) -> *mut u8 {
        self.pointer.as_ptr()
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        // SAFETY: the memory is ours, initialised, and `length` bytes long at least.
        unsafe { std::slice::from_raw_parts(self.pointer(), self.length) }
    }

    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `bytes`, and borrowed mutably.
        unsafe { std::slice::from_raw_parts_mut(self.pointer(), self.length) }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout, freed once.
        unsafe { dealloc(self.pointer(), self.layout) }
    }
}
