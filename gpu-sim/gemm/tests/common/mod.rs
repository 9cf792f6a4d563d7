//! Tensors with random numbers, and the comparison with sums in f64.
#![allow(dead_code, reason = "each test file uses its part")]

use gpu_sim_gemm::{DType, Layout, read_f64, write_f64};

/// Memory order of a test tensor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    Nchw,
    Nhwc,
    /// Rows with room after them.
    Gaps,
}

pub struct Tensor {
    pub layout: Layout,
    /// In words of 8 bytes, for alignment.
    pub bytes: Vec<u64>,
}

fn layout(dtype: DType, dims: &[usize], kind: Kind) -> Layout {
    let packed = Layout::packed(dtype, dims);
    match kind {
        Kind::Nchw => packed,
        Kind::Nhwc => {
            let mut strides = vec![0; dims.len()];
            let mut step = 1;
            for axis in std::iter::once(1).chain((2..dims.len()).rev()).chain([0]) {
                strides[axis] = step;
                step *= dims[axis] as isize;
            }
            Layout { strides, ..packed }
        }
        Kind::Gaps => {
            let mut wider = dims.to_vec();
            *wider.last_mut().unwrap() += 3;
            Layout {
                strides: Layout::packed(dtype, &wider).strides,
                ..packed
            }
        }
    }
}

impl Tensor {
    pub fn zero(dtype: DType, dims: &[usize], kind: Kind) -> Self {
        let layout = layout(dtype, dims, kind);
        let bytes = vec![0; layout.span().div_ceil(8) + 1];
        Self { layout, bytes }
    }

    fn at(&self, index: &[usize]) -> isize {
        index
            .iter()
            .zip(&self.layout.strides)
            .map(|(&i, &s)| i as isize * s)
            .sum()
    }

    pub fn get(&self, index: &[usize]) -> f64 {
        // SAFETY: inside the tensor, aligned to 8.
        unsafe {
            read_f64(
                self.layout.dtype,
                self.bytes.as_ptr().cast(),
                self.at(index),
            )
        }
    }

    pub fn set(&mut self, index: &[usize], value: f64) {
        let at = self.at(index);
        // SAFETY: as in `get`.
        unsafe { write_f64(self.layout.dtype, self.bytes.as_mut_ptr().cast(), at, value) }
    }
}

/// Every index of a tensor, the last dimension fastest.
pub fn indices(dims: &[usize]) -> impl Iterator<Item = Vec<usize>> + '_ {
    (0..dims.iter().product()).map(|mut flat| {
        let mut index = vec![0; dims.len()];
        for axis in (0..dims.len()).rev() {
            index[axis] = flat % dims[axis];
            flat /= dims[axis];
        }
        index
    })
}

/// Numbers in -1..1, or the whole range of a byte.
pub fn random(dtype: DType, dims: &[usize], kind: Kind, seed: u64) -> Tensor {
    let mut tensor = Tensor::zero(dtype, dims, kind);
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    for index in indices(dims) {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        let unit = (state >> 40) as f64 / (1u64 << 24) as f64;
        let value = match dtype {
            DType::I8 => (unit * 256.0).floor() - 128.0,
            DType::U8 => (unit * 256.0).floor(),
            _ => unit * 2.0 - 1.0,
        };
        tensor.set(&index, value);
    }
    tensor
}

/// `found` is `expected` within the rounding of its type (integers: exactly).
pub fn close(found: &Tensor, expected: &[f64], what: &str) {
    let tolerance = match found.layout.dtype {
        DType::F32 => 1e-5,
        DType::F16 => 1e-3,
        DType::Bf16 => 8e-3,
        DType::F64 => 1e-12,
        DType::I32 | DType::I8 | DType::U8 => 0.0,
    };
    assert!(!expected.is_empty());
    for (index, &value) in indices(&found.layout.dims).zip(expected) {
        let got = found.get(&index);
        assert!(
            (got - value).abs() <= tolerance * value.abs().max(1.0),
            "{what}: {got} for {value} at {index:?}"
        );
    }
}
