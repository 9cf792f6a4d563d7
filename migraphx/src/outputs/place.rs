//! Where a result lies, checked.

use migraphx_sys::const_migraphx_argument_t;

use crate::dtype::{self, DataType, Element};
use crate::error::{Error, Result};
use crate::ffi::handle::ArgumentsHandle;
use crate::shape::{self, Shape};

/// Where an output lies, checked.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place<'a> {
    pub(super) dtype: DataType,
    pub(super) dims: &'a [usize],
    pub(super) strides: &'a [usize],
    pub(super) pointer: *const u8,
    pub(super) bytes: usize,
}

/// Where output `index` of `count` lies, with everything checked that the library does not check.
pub(crate) fn place(handle: &ArgumentsHandle, index: usize, count: usize) -> Result<Place<'_>> {
    let fail = |problem: String| Error::Output { index, problem };
    if index >= count {
        return Err(fail(format!("there are only {count} outputs")));
    }
    let mut argument: const_migraphx_argument_t = std::ptr::null();
    // SAFETY: C checks the index; the argument lives as long as the list.
    unsafe {
        peek!(migraphx_arguments_get(&mut argument, handle.raw(), index))?;
        place_of(index, argument)
    }
}

/// Where a result lies, with everything checked that the library does not check.
///
/// # Safety
/// `argument` is live for `'a`.
pub(super) unsafe fn place_of<'a>(
    index: usize,
    argument: const_migraphx_argument_t,
) -> Result<Place<'a>> {
    let fail = |problem: String| Error::Output { index, problem };
    let mut raw = std::ptr::null();
    let mut number = migraphx_sys::migraphx_shape_datatype_t(0);
    // SAFETY: the argument is live, and its shape as long.
    unsafe {
        peek!(migraphx_argument_shape(&mut raw, argument))?;
        peek!(migraphx_shape_type(&mut number, raw))?;
    }
    let dtype = DataType::from_raw(number, crate::ffi::library()?.numbering())?;
    if dtype == DataType::Tuple {
        return Err(fail("it is a tuple, which has no data of its own".into()));
    }
    // SAFETY: results are never dynamic, and the shape lives as long as the argument.
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

impl Place<'_> {
    /// Where it begins, in memory of whatever kind.
    #[cfg(feature = "hip")]
    pub(crate) fn pointer(&self) -> *const u8 {
        self.pointer
    }

    /// Whether it is of this shape.
    #[cfg(feature = "hip")]
    pub(crate) fn is_of(&self, shape: &Shape) -> bool {
        let (dims, strides) = layout_of(shape);
        self.dtype == shape.dtype() && self.dims == dims && self.strides == strides
    }

    pub(crate) fn shape(&self) -> Result<Shape> {
        match (self.dims, self.strides) {
            ([1], [0]) => Shape::scalar(self.dtype),
            _ => Shape::with_strides(self.dtype, self.dims, self.strides),
        }
    }

    fn is_standard(&self) -> bool {
        self.bytes == 0 || shape::is_packed(self.dims, self.strides)
    }
}

/// # Safety
/// `place` is checked, and its memory lives and is not written for `'a`.
pub(super) unsafe fn slice_of<'a, T: Element>(index: usize, place: &Place<'_>) -> Result<&'a [T]> {
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
pub(super) unsafe fn view_of<'a, T: Element>(
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

pub(super) fn check_type<T: Element>(index: usize, expected: DataType) -> Result<()> {
    dtype::check(expected, T::DTYPE, || format!("output {index}"))
}

/// Dimensions and strides as the library has them.
pub(super) fn layout_of(shape: &Shape) -> (&[usize], &[usize]) {
    match shape.is_scalar() {
        true => (&[1], &[0]),
        false => (shape.dims(), shape.strides()),
    }
}
