//! A tensor as plain bytes, row-major, whatever its type: what the rows give
//! and what they expect.

use crate::case_runner::npz::Array;
use migraphx::{Argument, DataType, OutputRef};

#[derive(Clone, Debug, PartialEq)]
pub struct Tensor {
    pub dtype: DataType,
    pub dims: Vec<usize>,
    pub bytes: Vec<u8>,
}

impl Tensor {
    /// `dtype` is the name a JSON gives; without one numpy's type decides.
    pub fn from_array(array: &Array, dtype: Option<&str>) -> Result<Tensor, String> {
        let dtype = dtype_named(dtype.unwrap_or(&array.kind))?;
        let stored: usize = array.kind[1..].parse().map_err(|_| "bad npy type")?;
        if dtype.size() != stored {
            return Err(format!("{dtype} does not fit npy type {}", array.kind));
        }
        let (dims, bytes) = (array.dims.clone(), array.bytes.clone());
        Ok(Tensor { dtype, dims, bytes })
    }

    pub fn argument(&self) -> migraphx::Result<Argument<'static>> {
        Argument::from_bytes(self.dtype, &self.dims, &self.bytes)
    }

    /// Copies a result out in logical order, whatever its strides.
    pub fn from_output(output: &OutputRef<'_>) -> Tensor {
        let shape = output.shape();
        let (size, dims) = (shape.dtype().size(), shape.dims().to_vec());
        let raw = output.as_bytes();
        let bytes = if shape.is_standard() {
            raw.to_vec()
        } else {
            gather(raw, &dims, shape.strides(), size)
        };
        Tensor {
            dtype: shape.dtype(),
            dims,
            bytes,
        }
    }
}

/// Row-major copy of a strided view.
pub fn gather(raw: &[u8], dims: &[usize], strides: &[usize], size: usize) -> Vec<u8> {
    let elements: usize = dims.iter().product();
    let mut bytes = Vec::with_capacity(elements * size);
    for element in 0..elements {
        let (mut rest, mut offset) = (element, 0);
        for (dim, stride) in dims.iter().zip(strides).rev() {
            offset += rest % dim * stride;
            rest /= dim;
        }
        bytes.extend_from_slice(&raw[offset * size..(offset + 1) * size]);
    }
    bytes
}

/// Names of numpy, of npy files and of MIGraphX.
pub fn dtype_named(name: &str) -> Result<DataType, String> {
    Ok(match name.strip_suffix("_type").unwrap_or(name) {
        "bool" | "b1" => DataType::Bool,
        "float16" | "half" | "f2" => DataType::Half,
        "float32" | "float" | "f4" => DataType::Float,
        "float64" | "double" | "f8" => DataType::Double,
        "uint8" | "u1" => DataType::Uint8,
        "int8" | "i1" => DataType::Int8,
        "uint16" | "u2" => DataType::Uint16,
        "int16" | "i2" => DataType::Int16,
        "int32" | "i4" => DataType::Int32,
        "int64" | "i8" => DataType::Int64,
        "uint32" | "u4" => DataType::Uint32,
        "uint64" | "u8" => DataType::Uint64,
        "bfloat16" | "bf16" => DataType::Bf16,
        "float8_e4m3fn" | "float8e4m3fn" | "fp8e4m3fn" => DataType::Fp8E4M3Fn,
        "float8_e4m3fnuz" | "float8e4m3fnuz" | "fp8e4m3fnuz" => DataType::Fp8E4M3FnUz,
        "float8_e5m2" | "float8e5m2" | "fp8e5m2" => DataType::Fp8E5M2,
        "float8_e5m2fnuz" | "float8e5m2fnuz" | "fp8e5m2fnuz" => DataType::Fp8E5M2FnUz,
        _ => return Err(format!("unknown type `{name}`")),
    })
}
