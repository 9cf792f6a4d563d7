//! Shapes: data type, dimensions and strides of a tensor.

use std::fmt;

use migraphx_sys::{const_migraphx_shape_t, migraphx_shape_datatype_t};

use crate::dtype::DataType;
use crate::dynamic_dim::DynamicDim;
use crate::error::{Error, Result};
use crate::ffi::handle::ShapeHandle;

/// The data type, dimensions and strides of a tensor.
///
/// Dimensions and strides count elements. A rank-0 scalar has no dimensions and
/// one element. A parameter of a program with a dynamic batch has a *dynamic*
/// shape, with a range for each dimension instead.
///
/// ```
/// use migraphx::{DataType, Shape};
///
/// let images = Shape::new(DataType::Float, &[64, 3, 640, 640])?;
/// assert_eq!(images.bytes(), 64 * 3 * 640 * 640 * 4);
/// assert_eq!(images.strides(), [3 * 640 * 640, 640 * 640, 640, 1]);
/// assert_eq!(images.to_string(), "float [64, 3, 640, 640]");
/// # Ok::<(), migraphx::Error>(())
/// ```
#[doc(alias = "migraphx_shape")]
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Shape {
    dtype: DataType,
    dims: Vec<usize>,
    strides: Vec<usize>,
    /// From the first element to the last in memory, gaps included.
    bytes: usize,
    dynamic: Vec<DynamicDim>,
}

impl Shape {
    /// A packed, row-major shape. No dimensions make a scalar.
    ///
    /// # Errors
    /// [`Error::InvalidShape`] where the data would not fit into memory, and for tuples.
    #[doc(alias = "migraphx_shape_create")]
    pub fn new(dtype: DataType, dims: &[usize]) -> Result<Self> {
        let strides = row_major(dims).ok_or_else(|| too_large(dtype, dims))?;
        Shape::with_strides(dtype, dims, &strides)
    }

    /// A shape with one element and no dimensions.
    ///
    /// # Errors
    /// [`Error::InvalidShape`] for a tuple.
    #[doc(alias = "migraphx_shape_create_scalar")]
    pub fn scalar(dtype: DataType) -> Result<Self> {
        Shape::new(dtype, &[])
    }

    /// A shape with given strides, in elements.
    ///
    /// # Errors
    /// [`Error::InvalidShape`] where the counts differ, the data would not fit
    /// into memory, or the type is a tuple.
    #[doc(alias = "migraphx_shape_create_with_strides")]
    pub fn with_strides(dtype: DataType, dims: &[usize], strides: &[usize]) -> Result<Self> {
        if dtype == DataType::Tuple {
            return Err(Error::InvalidShape("a tuple has no dimensions".into()));
        }
        if dims.len() != strides.len() {
            return Err(Error::InvalidShape(format!(
                "{} dimensions and {} strides; give one stride a dimension",
                dims.len(),
                strides.len()
            )));
        }
        let bytes = span(dims, strides)
            .and_then(|elements| elements.checked_mul(dtype.size()))
            .filter(|bytes| *bytes <= isize::MAX as usize)
            .filter(|_| count(dims).is_some())
            .ok_or_else(|| too_large(dtype, dims))?;
        Ok(Shape {
            dtype,
            dims: dims.to_vec(),
            strides: strides.to_vec(),
            bytes,
            dynamic: Vec::new(),
        })
    }

    /// A shape with a range for each dimension.
    ///
    /// The largest size may be larger than memory: what counts is the size that
    /// each run gives.
    ///
    /// # Errors
    /// [`Error::InvalidShape`] without dimensions, and for a tuple.
    #[doc(alias = "migraphx_shape_create_dynamic")]
    pub fn dynamic(dtype: DataType, dims: &[DynamicDim]) -> Result<Self> {
        if dims.is_empty() {
            return Err(Error::InvalidShape(
                "a dynamic shape needs at least one dimension".into(),
            ));
        }
        if dtype == DataType::Tuple {
            return Err(Error::InvalidShape("a tuple has no dimensions".into()));
        }
        let shape = Shape {
            dtype,
            dims: Vec::new(),
            strides: Vec::new(),
            bytes: 0,
            dynamic: dims.to_vec(),
        };
        Ok(Shape {
            bytes: shape.elements().saturating_mul(dtype.size()),
            ..shape
        })
    }

    /// Several tensors as one value, whose own shapes are not held here.
    pub(crate) fn tuple() -> Self {
        Shape {
            dtype: DataType::Tuple,
            dims: Vec::new(),
            strides: Vec::new(),
            bytes: 0,
            dynamic: Vec::new(),
        }
    }

    /// The type of the elements.
    #[doc(alias = "migraphx_shape_type")]
    pub fn dtype(&self) -> DataType {
        self.dtype
    }

    /// Sizes, outermost first; empty for a scalar and for a dynamic shape.
    #[doc(alias = "migraphx_shape_lengths")]
    pub fn dims(&self) -> &[usize] {
        &self.dims
    }

    /// Steps from one element to the next along each dimension, in elements.
    #[doc(alias = "migraphx_shape_strides")]
    pub fn strides(&self) -> &[usize] {
        &self.strides
    }

    /// The ranges of a dynamic shape; empty for a static one.
    #[doc(alias = "migraphx_shape_dyn_dims")]
    pub fn dynamic_dims(&self) -> &[DynamicDim] {
        &self.dynamic
    }

    /// Whether dimensions are ranges, settled by the data of each run.
    #[doc(alias = "migraphx_shape_dynamic")]
    pub fn is_dynamic(&self) -> bool {
        !self.dynamic.is_empty()
    }

    /// The number of dimensions.
    #[doc(alias = "migraphx_shape_ndim")]
    pub fn rank(&self) -> usize {
        self.dims.len().max(self.dynamic.len())
    }

    /// The number of elements; the largest possible for a dynamic shape.
    #[doc(alias = "migraphx_shape_elements")]
    pub fn elements(&self) -> usize {
        if self.is_dynamic() {
            let sizes = self.dynamic.iter().map(DynamicDim::max);
            sizes.fold(1, usize::saturating_mul)
        } else {
            self.dims.iter().product()
        }
    }

    /// Bytes from the first element to the last, gaps between them included;
    /// the largest possible for a dynamic shape.
    #[doc(alias = "migraphx_shape_bytes")]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Where the element of this number in row-major order lies in memory, in
    /// elements from the first. `None` past the end, and for a dynamic shape.
    ///
    /// ```
    /// use migraphx::{DataType, Shape};
    ///
    /// let turned = Shape::with_strides(DataType::Float, &[2, 3], &[1, 2])?;
    /// assert_eq!(turned.offset(1), Some(2));
    /// assert_eq!(turned.offset(6), None);
    /// # Ok::<(), migraphx::Error>(())
    /// ```
    #[doc(alias = "migraphx_shape_index")]
    pub fn offset(&self, element: usize) -> Option<usize> {
        if self.is_dynamic() || element >= self.elements() {
            return None;
        }
        let mut rest = element;
        let mut offset = 0;
        for (dim, stride) in self.dims.iter().zip(&self.strides).rev() {
            offset += rest % dim * stride;
            rest /= dim;
        }
        Some(offset)
    }

    /// Whether this is a rank-0 scalar.
    pub fn is_scalar(&self) -> bool {
        self.dims.is_empty() && !self.is_dynamic() && self.dtype != DataType::Tuple
    }

    /// Whether the elements lie in memory in row-major order without gaps, so
    /// that they can be read as one slice.
    #[doc(alias = "migraphx_shape_standard")]
    pub fn is_standard(&self) -> bool {
        !self.is_dynamic()
            && self.dtype != DataType::Tuple
            && (self.bytes == 0 || is_packed(&self.dims, &self.strides))
    }

    /// Whether data of the static shape `other` may be given where this shape is
    /// asked for: equal for a static shape, within all ranges for a dynamic one.
    pub fn accepts(&self, other: &Shape) -> bool {
        if !self.is_dynamic() {
            return self == other;
        }
        self.dtype == other.dtype
            && other.is_standard()
            && self.dynamic.len() == other.dims.len()
            && self
                .dynamic
                .iter()
                .zip(&other.dims)
                .all(|(range, dim)| range.contains(*dim))
    }

    /// Reads a shape of the library, and checks all that it says: it computes
    /// sizes without looking for overflow.
    ///
    /// # Safety
    /// `raw` is a live shape handle.
    pub(crate) unsafe fn from_raw(raw: const_migraphx_shape_t) -> Result<Self> {
        let library = crate::ffi::library()?;
        let mut number = migraphx_shape_datatype_t(0);
        // SAFETY: the handle is live by the caller's word, the out pointer valid.
        unsafe { peek!(migraphx_shape_type(&mut number, raw)) }?;
        let dtype = DataType::from_raw(number, library.numbering())?;
        if dtype == DataType::Tuple {
            return Ok(Shape::tuple());
        }
        // SAFETY: as above.
        if unsafe { is_dynamic(raw) }? {
            // SAFETY: as above.
            let dims = unsafe { crate::dynamic_dim::read(raw) }?;
            return Shape::dynamic(dtype, &dims);
        }
        // SAFETY: as above; the slices are used while the shape lives.
        let (dims, strides, bytes) = unsafe { layout(raw) }?;
        let shape = match (dims, strides) {
            // The library's way to say rank 0.
            ([1], [0]) => Shape::scalar(dtype)?,
            _ => Shape::with_strides(dtype, dims, strides)?,
        };
        if shape.bytes != bytes {
            return Err(Error::InvalidShape(format!(
                "MIGraphX says that {shape} has {bytes} bytes, and it has {}",
                shape.bytes
            )));
        }
        Ok(shape)
    }

    /// A shape of the library.
    pub(crate) fn to_handle(&self) -> Result<ShapeHandle> {
        let raw = self.dtype.to_raw(crate::ffi::library()?.numbering())?;
        if self.is_dynamic() {
            return crate::dynamic_dim::shape_of(raw, &self.dynamic);
        }
        ShapeHandle::make(|out| {
            if self.dims.is_empty() {
                // SAFETY: the out pointer is valid, the type not a tuple.
                return unsafe { call!(migraphx_shape_create_scalar(out, raw)) };
            }
            // SAFETY: both arrays hold as many numbers as they say; C copies them.
            unsafe {
                call!(migraphx_shape_create_with_strides(
                    out,
                    raw,
                    self.dims.as_ptr().cast_mut(),
                    self.dims.len(),
                    self.strides.as_ptr().cast_mut(),
                    self.strides.len(),
                ))
            }
        })
    }
}

/// Dimensions, strides and bytes of a static shape, as the library has them.
///
/// # Safety
/// `raw` is a live, static shape handle that outlives `'a`.
pub(crate) unsafe fn layout<'a>(
    raw: const_migraphx_shape_t,
) -> Result<(&'a [usize], &'a [usize], usize)> {
    let (mut dims, mut rank) = (std::ptr::null(), 0);
    let (mut strides, mut strides_rank) = (std::ptr::null(), 0);
    let mut bytes = 0;
    // SAFETY: the handle is live, the out pointers valid; the pointers that come
    // back point into the shape and hold that many numbers (null for none).
    unsafe {
        peek!(migraphx_shape_lengths(&mut dims, &mut rank, raw))?;
        peek!(migraphx_shape_strides(&mut strides, &mut strides_rank, raw))?;
        peek!(migraphx_shape_bytes(&mut bytes, raw))?;
        let slice = |pointer: *const usize, length| {
            if length == 0 || pointer.is_null() {
                &[][..]
            } else {
                std::slice::from_raw_parts(pointer, length)
            }
        };
        Ok((slice(dims, rank), slice(strides, strides_rank), bytes))
    }
}

/// # Safety
/// `raw` is a live shape handle.
unsafe fn is_dynamic(raw: const_migraphx_shape_t) -> Result<bool> {
    let mut dynamic = false;
    // Before ROCm 5.6 there are no dynamic shapes and no such function.
    // SAFETY: the handle is live by the caller's word, the out pointer valid.
    match unsafe { peek!(migraphx_shape_dynamic(&mut dynamic, raw)) } {
        Ok(()) => Ok(dynamic),
        Err(Error::Unsupported { .. }) => Ok(false),
        Err(error) => Err(error),
    }
}

/// The number of elements; `None` where it, or a dimension, does not fit.
pub(crate) fn count(dims: &[usize]) -> Option<usize> {
    if dims.iter().any(|dim| *dim > isize::MAX as usize) {
        return None;
    }
    dims.iter()
        .try_fold(1usize, |product, dim| product.checked_mul(*dim))
}

/// Elements from the first to the last in memory.
pub(crate) fn span(dims: &[usize], strides: &[usize]) -> Option<usize> {
    if dims.contains(&0) {
        return Some(0);
    }
    dims.iter()
        .zip(strides)
        .try_fold(1usize, |span, (dim, stride)| {
            span.checked_add((dim - 1).checked_mul(*stride)?)
        })
}

fn row_major(dims: &[usize]) -> Option<Vec<usize>> {
    let mut strides = vec![1usize; dims.len()];
    for index in (1..dims.len()).rev() {
        strides[index - 1] = strides[index].checked_mul(dims[index])?;
    }
    Some(strides)
}

fn too_large(dtype: DataType, dims: &[usize]) -> Error {
    Error::InvalidShape(format!("{dtype} {dims:?} is larger than memory can be"))
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_dynamic() {
            let ranges: Vec<String> = self.dynamic.iter().map(ToString::to_string).collect();
            return write!(f, "{} [{}]", self.dtype, ranges.join(", "));
        }
        if self.is_scalar() {
            return write!(f, "{} scalar", self.dtype);
        }
        write!(f, "{} {:?}", self.dtype, self.dims)?;
        if !self.is_standard() && self.dtype != DataType::Tuple {
            write!(f, " with strides {:?}", self.strides)?;
        }
        Ok(())
    }
}

/// Whether elements lie row-major in one piece.
pub(crate) fn is_packed(dims: &[usize], strides: &[usize]) -> bool {
    let mut packed = 1usize;
    dims.iter().zip(strides).rev().all(|(dim, stride)| {
        let fits = *dim <= 1 || *stride == packed;
        packed = packed.wrapping_mul(*dim);
        fits
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_that_wrap_are_refused() {
        for dims in [
            &[1 << 32, 1 << 32][..],
            &[1 << 62],
            &[usize::MAX],
            &[usize::MAX, 0],
            &[0, 1 << 40, 1 << 40],
        ] {
            assert!(Shape::new(DataType::Float, dims).is_err(), "{dims:?}");
        }
        assert!(Shape::new(DataType::Uint8, &[70_000, 70_000]).is_ok());
    }

    #[test]
    fn strides_give_the_span() {
        let shape = Shape::with_strides(DataType::Float, &[2, 2], &[1, 100]).unwrap();
        assert_eq!((shape.elements(), shape.bytes()), (4, 408));
        assert!(!shape.is_standard());
        let broadcast = Shape::with_strides(DataType::Float, &[2, 2], &[0, 1]).unwrap();
        assert_eq!(broadcast.bytes(), 8);
        assert!(Shape::with_strides(DataType::Float, &[2, 2], &[1]).is_err());
        let empty = Shape::with_strides(DataType::Float, &[0], &[5]).unwrap();
        assert_eq!(empty.bytes(), 0);
    }

    #[test]
    fn dimensions_of_one_have_any_stride() {
        let shape = Shape::with_strides(DataType::Half, &[1, 3, 1], &[7, 1, 9]).unwrap();
        assert!(shape.is_standard());
    }

    #[test]
    fn ranges_accept_what_lies_in_them() {
        let batch = DynamicDim::new(1, 4).unwrap();
        let shape = Shape::dynamic(DataType::Float, &[batch, DynamicDim::fixed(3)]).unwrap();
        let of = |dims: &[usize]| Shape::new(DataType::Float, dims).unwrap();
        assert!(shape.accepts(&of(&[1, 3])) && shape.accepts(&of(&[4, 3])));
        assert!(!shape.accepts(&of(&[5, 3])) && !shape.accepts(&of(&[0, 3])));
        assert!(!shape.accepts(&of(&[3])) && !shape.accepts(&of(&[2, 4])));
        let double = Shape::new(DataType::Double, &[2, 3]).unwrap();
        assert!(!shape.accepts(&double));
        assert_eq!(shape.to_string(), "float [1..=4, 3]");
        let endless = DynamicDim::new(0, isize::MAX as usize).unwrap();
        let shape = Shape::dynamic(DataType::Float, &[endless.clone(), endless]).unwrap();
        assert_eq!((shape.elements(), shape.bytes()), (usize::MAX, usize::MAX));
        assert!(shape.accepts(&of(&[7, 9])));
    }
}
