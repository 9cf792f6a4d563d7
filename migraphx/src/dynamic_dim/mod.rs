//! Ranges of dimensions that the data of each run settles.

mod read;

use std::fmt;

use migraphx_sys::migraphx_shape_datatype_t;

use crate::error::{Error, Result};
use crate::ffi::handle::{DynamicDimHandle, DynamicDimsHandle, OptimalsHandle, ShapeHandle};

pub(crate) use read::read;

/// A dimension between two bounds, both included.
///
/// ```
/// use migraphx::DynamicDim;
///
/// let batch = DynamicDim::new(1, 8)?.with_optimals(&[1, 4])?;
/// assert!(batch.contains(3) && !batch.contains(9));
/// # Ok::<(), migraphx::Error>(())
/// ```
#[doc(alias = "migraphx_dynamic_dimension")]
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct DynamicDim {
    min: usize,
    max: usize,
    optimals: Vec<usize>,
}

impl DynamicDim {
    /// A dimension from `min` to `max`.
    ///
    /// # Errors
    /// [`Error::InvalidShape`] where `min` is above `max` (the library takes
    /// that, and means nothing by it).
    #[doc(alias = "migraphx_dynamic_dimension_create_min_max")]
    pub fn new(min: usize, max: usize) -> Result<Self> {
        if min > max || max > isize::MAX as usize {
            return Err(Error::InvalidShape(format!(
                "a dimension from {min} to {max}; give the smaller bound first"
            )));
        }
        Ok(DynamicDim {
            min,
            max,
            optimals: Vec::new(),
        })
    }

    /// A dimension of one size.
    pub fn fixed(size: usize) -> Self {
        DynamicDim {
            min: size,
            max: size,
            optimals: Vec::new(),
        }
    }

    /// Sizes for which the compiler should do its best.
    ///
    /// # Errors
    /// [`Error::InvalidShape`] where one lies outside the range.
    #[doc(alias = "migraphx_dynamic_dimension_create_min_max_optimals")]
    #[doc(alias = "migraphx_optimals_create")]
    pub fn with_optimals(mut self, optimals: &[usize]) -> Result<Self> {
        if let Some(outside) = optimals.iter().find(|size| !self.contains(**size)) {
            return Err(Error::InvalidShape(format!(
                "optimal size {outside} lies outside {self}"
            )));
        }
        self.optimals = optimals.to_vec();
        self.optimals.sort_unstable();
        self.optimals.dedup();
        Ok(self)
    }

    /// The smallest size.
    pub fn min(&self) -> usize {
        self.min
    }

    /// The largest size.
    pub fn max(&self) -> usize {
        self.max
    }

    /// The sizes given to [`with_optimals`](DynamicDim::with_optimals), sorted.
    ///
    /// C cannot tell them: for a program they are read from its text, and are
    /// empty where the C++ library does not let us read that.
    pub fn optimals(&self) -> &[usize] {
        &self.optimals
    }

    /// Whether there is but one size.
    #[doc(alias = "migraphx_dynamic_dimension_is_fixed")]
    pub fn is_fixed(&self) -> bool {
        self.min == self.max
    }

    /// Whether `size` is in the range.
    pub fn contains(&self, size: usize) -> bool {
        (self.min..=self.max).contains(&size)
    }

    pub(crate) fn to_handle(&self) -> Result<DynamicDimHandle> {
        if self.optimals.is_empty() {
            return DynamicDimHandle::make(|out| {
                // SAFETY: the out pointer is valid.
                unsafe {
                    call!(migraphx_dynamic_dimension_create_min_max(
                        out, self.min, self.max
                    ))
                }
            });
        }
        let optimals = OptimalsHandle::make(|out| {
            // SAFETY: C copies as many numbers as are said.
            unsafe {
                call!(migraphx_optimals_create(
                    out,
                    self.optimals.as_ptr(),
                    self.optimals.len()
                ))
            }
        })?;
        DynamicDimHandle::make(|out| {
            // SAFETY: the out pointer and the handle are valid; C copies the set.
            unsafe {
                call!(migraphx_dynamic_dimension_create_min_max_optimals(
                    out,
                    self.min,
                    self.max,
                    optimals.raw()
                ))
            }
        })
    }
}

impl fmt::Display for DynamicDim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_fixed() {
            write!(f, "{}", self.min)
        } else {
            write!(f, "{}..={}", self.min, self.max)
        }
    }
}

/// The library's list of `dims`.
pub(crate) fn list_of(dims: &[DynamicDim]) -> Result<DynamicDimsHandle> {
    let handles = dims
        .iter()
        .map(DynamicDim::to_handle)
        .collect::<Result<Vec<_>>>()?;
    let raw: Vec<_> = handles
        .iter()
        .map(|handle| handle.raw().cast_const())
        .collect();
    DynamicDimsHandle::make(|out| {
        // SAFETY: C copies as many dimensions as are said; none is null.
        unsafe {
            call!(migraphx_dynamic_dimensions_create(
                out,
                raw.as_ptr(),
                raw.len()
            ))
        }
    })
}

/// A dynamic shape of the library.
pub(crate) fn shape_of(
    dtype: migraphx_shape_datatype_t,
    dims: &[DynamicDim],
) -> Result<ShapeHandle> {
    let list = list_of(dims)?;
    ShapeHandle::make(|out| {
        // SAFETY: the out pointer and the list are valid, the type not a tuple; C copies the list.
        unsafe { call!(migraphx_shape_create_dynamic(out, dtype, list.raw())) }
    })
}
