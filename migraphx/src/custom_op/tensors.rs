//! What an operator's `compute` reads and writes in host memory.

use std::fmt;

use crate::argument::check_bools;
use crate::dtype::{self, DataType, Element};
use crate::error::{Error, Result};
use crate::shape::Shape;

/// An input of an operator, for the time of one call.
pub struct Input<'a> {
    shape: Shape,
    bytes: &'a [u8],
}

impl<'a> Input<'a> {
    /// `bytes` are those of `shape`, which is row-major, and aligned for its type.
    pub(super) fn new(shape: Shape, bytes: &'a [u8]) -> Self {
        Input { shape, bytes }
    }

    /// The shape, as `shape` was told it.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// The elements, in row-major order.
    ///
    /// # Errors
    /// [`Error::DataTypeMismatch`] where `T` is another type than the tensor's.
    pub fn slice<T: Element>(&self) -> Result<&'a [T]> {
        check_type::<T>("the operator's input", &self.shape)?;
        if self.bytes.is_empty() {
            return Ok(&[]);
        }
        // SAFETY: the bytes are whole, aligned elements of T (see `new`), of which
        // every bit pattern is valid.
        Ok(
            unsafe {
                std::slice::from_raw_parts(self.bytes.as_ptr().cast(), self.shape.elements())
            },
        )
    }

    /// The elements as an array.
    ///
    /// # Errors
    /// As [`slice`](Input::slice).
    #[cfg(feature = "ndarray")]
    pub fn view<T: Element>(&self) -> Result<ndarray::ArrayViewD<'a, T>> {
        let dims = ndarray::IxDyn(self.shape.dims());
        ndarray::ArrayView::from_shape(dims, self.slice()?)
            .map_err(|error| Error::InvalidShape(error.to_string()))
    }

    /// The raw bytes, of any data type.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// A copy of bools.
    ///
    /// # Errors
    /// [`Error::DataTypeMismatch`] where the tensor is no bool;
    /// [`Error::InvalidArgument`] where a byte is neither 0 nor 1.
    pub fn to_bools(&self) -> Result<Vec<bool>> {
        check_bool("the operator's input", &self.shape)?;
        check_bools(self.bytes)?;
        Ok(self.bytes.iter().map(|byte| *byte == 1).collect())
    }
}

/// The output of an operator, for the time of one call.
///
/// It holds zeros at first; for an [in-place](super::CustomOp::in_place)
/// operator, the last input.
pub struct Output<'a> {
    shape: Shape,
    bytes: &'a mut [u8],
}

impl<'a> Output<'a> {
    /// As for [`Input::new`].
    pub(super) fn new(shape: Shape, bytes: &'a mut [u8]) -> Self {
        Output { shape, bytes }
    }

    /// The shape that `shape` gave.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// The elements, in row-major order.
    ///
    /// # Errors
    /// [`Error::DataTypeMismatch`] where `T` is another type than the tensor's.
    pub fn slice_mut<T: Element>(&mut self) -> Result<&mut [T]> {
        check_type::<T>("the operator's output", &self.shape)?;
        if self.bytes.is_empty() {
            return Ok(&mut []);
        }
        // SAFETY: as in `Input::slice`; the bytes are borrowed alone.
        Ok(unsafe {
            std::slice::from_raw_parts_mut(self.bytes.as_mut_ptr().cast(), self.shape.elements())
        })
    }

    /// The elements as an array.
    ///
    /// # Errors
    /// As [`slice_mut`](Output::slice_mut).
    #[cfg(feature = "ndarray")]
    pub fn view_mut<T: Element>(&mut self) -> Result<ndarray::ArrayViewMutD<'_, T>> {
        let dims = ndarray::IxDyn(self.shape.dims());
        ndarray::ArrayViewMut::from_shape(dims, self.slice_mut()?)
            .map_err(|error| Error::InvalidShape(error.to_string()))
    }

    /// The raw bytes, of any data type. Bools are 0 or 1: other bytes make the
    /// call fail.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        self.bytes
    }

    /// Writes bools.
    ///
    /// # Errors
    /// [`Error::DataTypeMismatch`] where the tensor is no bool;
    /// [`Error::LengthMismatch`] where it has not as many elements.
    pub fn set_bools(&mut self, values: &[bool]) -> Result<()> {
        check_bool("the operator's output", &self.shape)?;
        if values.len() != self.bytes.len() {
            return Err(Error::LengthMismatch {
                what: "the operator's output".into(),
                shape: Box::new(self.shape.clone()),
                expected: self.bytes.len(),
                found: values.len(),
            });
        }
        for (byte, value) in self.bytes.iter_mut().zip(values) {
            *byte = u8::from(*value);
        }
        Ok(())
    }

    /// What C++ may read: bools are 0 or 1.
    pub(super) fn check(&self) -> Result<()> {
        match self.shape.dtype() {
            DataType::Bool => check_bools(self.bytes),
            _ => Ok(()),
        }
    }
}

pub(super) fn check_type<T: Element>(what: &str, shape: &Shape) -> Result<()> {
    dtype::check(shape.dtype(), T::DTYPE, || what.into())
}

fn check_bool(what: &str, shape: &Shape) -> Result<()> {
    dtype::check(shape.dtype(), DataType::Bool, || what.into())
}

impl fmt::Debug for Input<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Input({})", self.shape)
    }
}

impl fmt::Debug for Output<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Output({})", self.shape)
    }
}
