//! Results of a run.

use std::marker::PhantomData;

use migraphx_sys::const_migraphx_argument_t;

use crate::buffer::Buffer;
use crate::dtype::{DataType, Element};
use crate::error::{Error, Result};
use crate::ffi::handle::ArgumentsHandle;
use crate::ffi::run_calls::run_calls;
use crate::shape::{self, Shape};
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

/// Where an output lies, checked.
#[derive(Debug, Clone, Copy)]
struct Place<'a> {
    dtype: DataType,
    dims: &'a [usize],
    strides: &'a [usize],
    pointer: *const u8,
    bytes: usize,
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
        unsafe { slice_of(index, &self.place(index)?) }
    }

    /// The elements of an output as an array of any layout. Nothing is copied.
    ///
    /// # Errors
    /// As for [`slice`](Outputs::slice), whatever the layout.
    #[cfg(feature = "ndarray")]
    pub fn view<T: Element>(&self, index: usize) -> Result<ndarray::ArrayViewD<'_, T>> {
        // SAFETY: the place is that of a live output.
        unsafe { view_of(index, &self.place(index)?) }
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

    /// Where output `index` lies, with everything checked that the library does not check.
    fn place(&self, index: usize) -> Result<Place<'_>> {
        let fail = |problem: String| Error::Output { index, problem };
        if index >= self.len() {
            return Err(fail(format!("there are only {} outputs", self.len())));
        }
        let mut argument: const_migraphx_argument_t = std::ptr::null();
        let mut raw = std::ptr::null();
        let mut number = migraphx_sys::migraphx_shape_datatype_t(0);
        // SAFETY: C checks the index; argument and shape live as long as the list.
        unsafe {
            peek!(migraphx_arguments_get(
                &mut argument,
                self.handle.raw(),
                index
            ))?;
            peek!(migraphx_argument_shape(&mut raw, argument))?;
            peek!(migraphx_shape_type(&mut number, raw))?;
        }
        let dtype = DataType::from_raw(number, crate::ffi::library()?.numbering())?;
        if dtype == DataType::Tuple {
            return Err(fail("it is a tuple, which has no data of its own".into()));
        }
        // SAFETY: results are never dynamic, and the shape lives as long as the list.
        let (dims, strides, bytes) = unsafe { shape::layout(raw) }?;
        // A slice whose start lies behind its end gives dimensions near 2^64 and sizes that wrap.
        let spanned = shape::count(dims)
            .filter(|_| dims.len() == strides.len())
            .and_then(|_| shape::span(dims, strides))
            .and_then(|elements| elements.checked_mul(dtype.size()))
            .filter(|spanned| *spanned == bytes && bytes <= isize::MAX as usize);
        if spanned.is_none() {
            return Err(fail(format!(
                "its dimensions {dims:?} and strides {strides:?} contradict its {bytes} bytes; \
                 the model computes an impossible shape"
            )));
        }
        let mut pointer: *const u8 = std::ptr::dangling::<u64>().cast();
        if bytes > 0 {
            let mut buffer = std::ptr::null_mut();
            // SAFETY: the argument is live and holds data.
            unsafe { peek!(migraphx_argument_buffer(&mut buffer, argument)) }?;
            pointer = buffer.cast_const().cast();
        }
        if pointer.is_null() || !pointer.addr().is_multiple_of(dtype.size()) {
            return Err(fail(format!(
                "its data lies at {pointer:p}, unfit for {dtype}"
            )));
        }
        Ok(Place {
            dtype,
            dims,
            strides,
            pointer,
            bytes,
        })
    }
}

impl Place<'_> {
    fn shape(&self) -> Result<Shape> {
        match (self.dims, self.strides) {
            ([1], [0]) => Shape::scalar(self.dtype),
            _ => Shape::with_strides(self.dtype, self.dims, self.strides),
        }
    }

    fn is_standard(&self) -> bool {
        let mut packed = 1usize;
        self.bytes == 0
            || self
                .dims
                .iter()
                .zip(self.strides)
                .rev()
                .all(|(dim, stride)| {
                    let fits = *dim <= 1 || *stride == packed;
                    packed = packed.wrapping_mul(*dim);
                    fits
                })
    }
}

/// # Safety
/// `place` is checked, and its memory lives and is not written for `'a`.
unsafe fn slice_of<'a, T: Element>(index: usize, place: &Place<'_>) -> Result<&'a [T]> {
    check_type::<T>(index, place.dtype)?;
    if !place.is_standard() {
        return Err(Error::Output {
            index,
            problem: format!(
                "its elements do not lie row-major in one piece (strides {:?}); use `view` or `to_vec`",
                place.strides
            ),
        });
    }
    let length = place.bytes / size_of::<T>();
    // SAFETY: checked: aligned, not null, that many bytes; the rest is the caller's word.
    Ok(unsafe { std::slice::from_raw_parts(place.pointer.cast(), length) })
}

/// # Safety
/// As for `slice_of`.
#[cfg(feature = "ndarray")]
unsafe fn view_of<'a, T: Element>(
    index: usize,
    place: &Place<'_>,
) -> Result<ndarray::ArrayViewD<'a, T>> {
    use ndarray::ShapeBuilder;
    check_type::<T>(index, place.dtype)?;
    let (dims, strides) = match (place.dims, place.strides) {
        ([1], [0]) => (&[][..], &[][..]),
        other => other,
    };
    let shape = ndarray::IxDyn(dims).strides(ndarray::IxDyn(strides));
    // SAFETY: dimensions and strides stay within the bytes of the place (checked), the
    // pointer is aligned and not null; the rest is the caller's word.
    Ok(unsafe { ndarray::ArrayViewD::from_shape_ptr(shape, place.pointer.cast()) })
}

fn check_type<T: Element>(index: usize, expected: DataType) -> Result<()> {
    if T::DTYPE == expected {
        return Ok(());
    }
    Err(Error::DataTypeMismatch {
        what: format!("output {index}"),
        expected,
        found: T::DTYPE,
    })
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
        unsafe { slice_of(self.index, &self.place()) }
    }

    /// The elements as an array of any layout.
    ///
    /// # Errors
    /// [`Error::DataTypeMismatch`] where `T` is another type than the output's.
    #[cfg(feature = "ndarray")]
    pub fn view<T: Element>(&self) -> Result<ndarray::ArrayViewD<'a, T>> {
        // SAFETY: checked when this was made; nothing writes the bytes for 'a.
        unsafe { view_of(self.index, &self.place()) }
    }

    /// A row-major copy of the elements, whatever their layout.
    ///
    /// # Errors
    /// [`Error::DataTypeMismatch`] where `T` is another type than the output's.
    pub fn to_vec<T: Element>(&self) -> Result<Vec<T>> {
        check_type::<T>(self.index, self.shape.dtype())?;
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
        if self.shape.dtype() != DataType::Bool {
            return Err(Error::DataTypeMismatch {
                what: format!("output {}", self.index),
                expected: self.shape.dtype(),
                found: DataType::Bool,
            });
        }
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
        let (dims, strides) = match self.shape.is_scalar() {
            true => (&[1][..], &[0][..]),
            false => (self.shape.dims(), self.shape.strides()),
        };
        Place {
            dtype: self.shape.dtype(),
            dims,
            strides,
            pointer: self.pointer,
            bytes: self.shape.bytes(),
        }
    }
}

/// Results that live on their own.
///
/// Memory stays the library's, but for outputs that lay in an input.
#[derive(Debug)]
pub struct OwnedOutputs {
    items: Vec<Item>,
    /// Keeps the library's memory alive.
    #[allow(dead_code)]
    handle: ArgumentsHandle,
}

#[derive(Debug)]
struct Item {
    shape: Shape,
    /// Into the library's memory, or into `copy`.
    pointer: *const u8,
    #[allow(dead_code)]
    copy: Option<Buffer>,
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
    /// As for [`Outputs::slice`].
    pub fn slice<T: Element>(&self, index: usize) -> Result<&[T]> {
        self.get(index)?.as_slice()
    }

    /// The elements of an output as an array of any layout.
    ///
    /// # Errors
    /// As for [`Outputs::view`].
    #[cfg(feature = "ndarray")]
    pub fn view<T: Element>(&self, index: usize) -> Result<ndarray::ArrayViewD<'_, T>> {
        self.get(index)?.view()
    }
}
