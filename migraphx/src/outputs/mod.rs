//! Results of a run.

mod owned;
mod place;

use std::marker::PhantomData;

use migraphx_sys::const_migraphx_argument_t;

use owned::Item;
pub use owned::OwnedOutputs;
use place::Place;
#[cfg(feature = "hip")]
pub(crate) use place::place;

use crate::buffer::Buffer;
use crate::dtype::{self, DataType, Element};
use crate::error::{Error, Result};
use crate::ffi::handle::ArgumentsHandle;
use crate::ffi::run_calls::run_calls;
use crate::shape::Shape;
use crate::signature::Signature;

/// The results of a run, read where the library left them.
///
/// An output may be an input's own memory (a model that hands an input on), so
/// this borrows the program and the inputs until it is dropped: the borrow
/// checker refuses to refill or run meanwhile. To keep results longer, copy
/// what is needed, or take [`into_owned`](Outputs::into_owned).
#[doc(alias = "migraphx_arguments")]
#[derive(Debug)]
pub struct Outputs<'r> {
    handle: ArgumentsHandle,
    /// Of the program that ran.
    signature: &'r Signature,
    inputs: &'r [(usize, usize)],
    run: PhantomData<&'r mut ()>,
}

impl<'r> Outputs<'r> {
    #[inline]
    pub(crate) fn new(
        handle: ArgumentsHandle,
        signature: &'r Signature,
        inputs: &'r [(usize, usize)],
    ) -> Self {
        Outputs {
            handle,
            signature,
            inputs,
            run: PhantomData,
        }
    }

    /// The number of outputs.
    #[doc(alias = "migraphx_arguments_size")]
    pub fn len(&self) -> usize {
        self.signature.outputs().len()
    }

    /// Whether there are no outputs. (There always are.)
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// An output, with its shape.
    ///
    /// # Errors
    /// [`Error::Output`] where there is none at `index`, or what the library
    /// gave cannot be read safely (a tuple, or sizes that contradict each other).
    #[doc(alias = "migraphx_arguments_get")]
    pub fn get(&self, index: usize) -> Result<OutputRef<'_>> {
        let place = self.place(index)?;
        Ok(OutputRef {
            index,
            shape: place.shape()?,
            pointer: place.pointer,
            lives: PhantomData,
        })
    }

    /// The elements of an output, row-major. Nothing is copied or allocated.
    ///
    /// # Errors
    /// [`Error::DataTypeMismatch`] where `T` is another type than the output's;
    /// [`Error::Output`] as for [`get`](Outputs::get), and where the elements do
    /// not lie row-major in one piece (use [`view`](Outputs::view) or
    /// [`OutputRef::to_vec`]).
    #[inline]
    pub fn slice<T: Element>(&self, index: usize) -> Result<&[T]> {
        // The usual case: the shape is the one that was checked when the program was made.
        if let Some((shape, bytes)) = self.signature.packed_output(index, T::DTYPE)
            // SAFETY: results and shape are live.
            && let Some(data) = unsafe { run_calls()?.data_of(self.handle.raw(), index, shape) }
            && data.cast::<T>().is_aligned()
        {
            // SAFETY: a shape of `bytes` bytes without gaps, aligned and not null; the
            // results live as long as `self`.
            return Ok(unsafe { std::slice::from_raw_parts(data.cast(), bytes / size_of::<T>()) });
        }
        self.slice_of_any_shape(index)
    }

    #[cold]
    fn slice_of_any_shape<T: Element>(&self, index: usize) -> Result<&[T]> {
        // SAFETY: the place is that of a live output.
        unsafe { place::slice_of(index, &self.place(index)?) }
    }

    /// The elements of an output as an array of any layout. Nothing is copied.
    ///
    /// # Errors
    /// As for [`slice`](Outputs::slice), whatever the layout.
    #[cfg(feature = "ndarray")]
    pub fn view<T: Element>(&self, index: usize) -> Result<ndarray::ArrayViewD<'_, T>> {
        // SAFETY: the place is that of a live output.
        unsafe { place::view_of(index, &self.place(index)?) }
    }

    /// The outputs on their own. The library's memory is kept; only outputs that
    /// lie in an input are copied.
    ///
    /// # Errors
    /// As for [`get`](Outputs::get), for every output.
    pub fn into_owned(self) -> Result<OwnedOutputs> {
        let mut items = Vec::with_capacity(self.len());
        for index in 0..self.len() {
            let place = self.place(index)?;
            let start = place.pointer.addr();
            let in_input = |&(input, bytes): &(usize, usize)| {
                start < input + bytes && input < start + place.bytes
            };
            let copy = match self.inputs.iter().any(in_input) {
                false => None,
                // SAFETY: the place holds that many bytes, and nothing writes them now.
                true => Some(Buffer::copy_of(unsafe {
                    std::slice::from_raw_parts(place.pointer, place.bytes)
                })?),
            };
            let pointer = copy
                .as_ref()
                .map_or(place.pointer, |copy| copy.pointer().cast_const());
            items.push(Item {
                shape: place.shape()?,
                pointer,
                copy,
            });
        }
        Ok(OwnedOutputs {
            items,
            handle: self.handle,
        })
    }

    fn place(&self, index: usize) -> Result<Place<'_>> {
        place::place(&self.handle, index, self.len())
    }
}

/// One output, borrowed.
#[derive(Debug, Clone)]
pub struct OutputRef<'a> {
    index: usize,
    shape: Shape,
    pointer: *const u8,
    lives: PhantomData<&'a [u8]>,
}

// SAFETY: a shared view of bytes that nothing writes.
unsafe impl Send for OutputRef<'_> {}
// SAFETY: as above.
unsafe impl Sync for OutputRef<'_> {}

impl<'a> OutputRef<'a> {
    /// # Safety
    /// `argument` is live for `'a`, and nothing writes its data.
    pub(crate) unsafe fn of_argument(
        index: usize,
        argument: const_migraphx_argument_t,
    ) -> Result<Self> {
        // SAFETY: the caller's word.
        let place = unsafe { place::place_of(index, argument) }?;
        Ok(OutputRef {
            index,
            shape: place.shape()?,
            pointer: place.pointer,
            lives: PhantomData,
        })
    }

    /// # Safety
    /// `pointer` has the bytes of `shape` and its alignment, lives for `'a`, and
    /// nothing writes there.
    #[cfg(feature = "hip")]
    pub(crate) unsafe fn new(index: usize, shape: Shape, pointer: *const u8) -> Self {
        OutputRef {
            index,
            shape,
            pointer,
            lives: PhantomData,
        }
    }

    /// The shape, strides included.
    #[doc(alias = "migraphx_argument_shape")]
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// The bytes from the first element to the last, gaps between them included.
    #[doc(alias = "migraphx_argument_buffer")]
    pub fn as_bytes(&self) -> &'a [u8] {
        // SAFETY: checked when this was made; nothing writes the bytes for 'a.
        unsafe { std::slice::from_raw_parts(self.pointer, self.shape.bytes()) }
    }

    /// The elements, row-major.
    ///
    /// # Errors
    /// [`Error::DataTypeMismatch`] where `T` is another type than the output's;
    /// [`Error::Output`] where the elements do not lie row-major in one piece.
    pub fn as_slice<T: Element>(&self) -> Result<&'a [T]> {
        // SAFETY: checked when this was made; nothing writes the bytes for 'a.
        unsafe { place::slice_of(self.index, &self.place()) }
    }

    /// The elements as an array of any layout.
    ///
    /// # Errors
    /// [`Error::DataTypeMismatch`] where `T` is another type than the output's.
    #[cfg(feature = "ndarray")]
    pub fn view<T: Element>(&self) -> Result<ndarray::ArrayViewD<'a, T>> {
        // SAFETY: checked when this was made; nothing writes the bytes for 'a.
        unsafe { place::view_of(self.index, &self.place()) }
    }

    /// A row-major copy of the elements, whatever their layout.
    ///
    /// # Errors
    /// [`Error::DataTypeMismatch`] where `T` is another type than the output's.
    pub fn to_vec<T: Element>(&self) -> Result<Vec<T>> {
        place::check_type::<T>(self.index, self.shape.dtype())?;
        if self.shape.is_standard() {
            return self.as_slice().map(<[T]>::to_vec);
        }
        let bytes = self.as_bytes();
        let (dims, strides) = (self.shape.dims(), self.shape.strides());
        let at = |mut number: usize| {
            let mut offset = 0;
            for (dim, stride) in dims.iter().zip(strides).rev() {
                offset += number % dim * stride;
                number /= dim;
            }
            let element = &bytes[offset * size_of::<T>()..][..size_of::<T>()];
            // SAFETY: the bytes of one element, and every pattern is an element.
            unsafe { element.as_ptr().cast::<T>().read_unaligned() }
        };
        Ok((0..self.shape.elements()).map(at).collect())
    }

    /// A row-major copy of bools.
    ///
    /// # Errors
    /// [`Error::DataTypeMismatch`] where the output is none of bools;
    /// [`Error::Output`] where the library wrote a byte other than 0 and 1.
    pub fn to_bools(&self) -> Result<Vec<bool>> {
        let index = self.index;
        dtype::check(self.shape.dtype(), DataType::Bool, || {
            format!("output {index}")
        })?;
        let place = Place {
            dtype: DataType::Uint8,
            ..self.place()
        };
        let as_bytes = OutputRef {
            shape: place.shape()?,
            ..self.clone()
        };
        let bytes: Vec<u8> = as_bytes.to_vec()?;
        crate::argument::check_bools(&bytes).map_err(|error| Error::Output {
            index: self.index,
            problem: error.to_string(),
        })?;
        Ok(bytes.into_iter().map(|byte| byte == 1).collect())
    }

    fn place(&self) -> Place<'_> {
        let (dims, strides) = place::layout_of(&self.shape);
        Place {
            dtype: self.shape.dtype(),
            dims,
            strides,
            pointer: self.pointer,
            bytes: self.shape.bytes(),
        }
    }
}
