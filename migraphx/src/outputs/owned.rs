//! Results on their own.

use std::marker::PhantomData;

use super::OutputRef;
use crate::buffer::Buffer;
use crate::dtype::Element;
use crate::error::{Error, Result};
use crate::ffi::handle::ArgumentsHandle;
use crate::shape::Shape;

/// Results that live on their own.
///
/// Memory stays the library's, but for outputs that lay in an input.
#[derive(Debug)]
pub struct OwnedOutputs {
    pub(super) items: Vec<Item>,
    /// Keeps the library's memory alive.
    #[allow(dead_code)]
    pub(super) handle: ArgumentsHandle,
}

#[derive(Debug)]
pub(super) struct Item {
    pub(super) shape: Shape,
    /// Into the library's memory, or into `copy`.
    pub(super) pointer: *const u8,
    #[allow(dead_code)]
    pub(super) copy: Option<Buffer>,
}

// SAFETY: the pointers lead into memory that this value owns.
unsafe impl Send for OwnedOutputs {}
// SAFETY: shared access only reads, and nothing writes results after the run.
unsafe impl Sync for OwnedOutputs {}

impl OwnedOutputs {
    /// The number of outputs.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether there are no outputs. (There always are.)
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// An output, with its shape.
    ///
    /// # Errors
    /// [`Error::Output`] where there is none at `index`.
    pub fn get(&self, index: usize) -> Result<OutputRef<'_>> {
        let item = self.items.get(index).ok_or_else(|| Error::Output {
            index,
            problem: format!("there are only {} outputs", self.items.len()),
        })?;
        Ok(OutputRef {
            index,
            shape: item.shape.clone(),
            pointer: item.pointer,
            lives: PhantomData,
        })
    }

    /// The elements of an output, row-major.
    ///
    /// # Errors
    /// As for [`Outputs::slice`](super::Outputs::slice).
    pub fn slice<T: Element>(&self, index: usize) -> Result<&[T]> {
        self.get(index)?.as_slice()
    }

    /// The elements of an output as an array of any layout.
    ///
    /// # Errors
    /// As for [`Outputs::view`](super::Outputs::view).
    #[cfg(feature = "ndarray")]
    pub fn view<T: Element>(&self, index: usize) -> Result<ndarray::ArrayViewD<'_, T>> {
        self.get(index)?.view()
    }
}
