//! How a tensor lies in memory, and what cannot be computed.

use crate::DType;
use std::fmt;

/// Type, sizes and strides (in elements) of a tensor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Number type.
    pub dtype: DType,
    /// Sizes, outermost first.
    pub dims: Vec<usize>,
    /// Distance in elements between neighbours of each dimension.
    pub strides: Vec<isize>,
}

impl Layout {
    /// A tensor with the given strides.
    pub fn new(dtype: DType, dims: &[usize], strides: &[isize]) -> Self {
        Self {
            dtype,
            dims: dims.to_vec(),
            strides: strides.to_vec(),
        }
    }

    /// A packed tensor, the last dimension innermost.
    pub fn packed(dtype: DType, dims: &[usize]) -> Self {
        let mut strides = vec![1; dims.len()];
        for i in (1..dims.len()).rev() {
            strides[i - 1] = strides[i] * dims[i] as isize;
        }
        Self {
            dtype,
            dims: dims.to_vec(),
            strides,
        }
    }

    /// How many numbers the tensor has.
    pub fn elements(&self) -> usize {
        self.dims.iter().product()
    }

    /// Bytes from the first element to the end of the last one.
    pub fn span(&self) -> usize {
        if self.elements() == 0 {
            return 0;
        }
        let last: isize = self
            .dims
            .iter()
            .zip(&self.strides)
            .map(|(&d, &s)| (d as isize - 1) * s)
            .sum();
        (last as usize + 1) * self.dtype.size()
    }
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:?} {:?} strides {:?}",
            self.dtype, self.dims, self.strides
        )
    }
}

/// Work that this crate does not do, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsupported(pub String);

impl fmt::Display for Unsupported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Unsupported {}
