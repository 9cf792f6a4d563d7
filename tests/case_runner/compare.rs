//! Do two tensors hold the same values?

use crate::case_runner::tensor::Tensor;
use half::{bf16, f16};
use migraphx::DataType;

/// `|got - want| <= absolute + relative * |want|`, for floating-point types;
/// every other type is compared exactly.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tolerance {
    pub relative: f64,
    pub absolute: f64,
}

impl Tolerance {
    pub const FLOAT: Tolerance = Tolerance {
        relative: 1e-4,
        absolute: 1e-6,
    };
    /// For half precision.
    pub const HALF: f64 = 2e-3;

    pub fn both(tolerance: f64) -> Tolerance {
        Tolerance {
            relative: tolerance,
            absolute: tolerance,
        }
    }
}

/// What differs, if anything. A result of shape `[1]` stands for a rank-0
/// truth: MIGraphX has no rank-0 tensors.
pub fn compare(got: &Tensor, want: &Tensor, tolerance: Tolerance) -> Result<(), String> {
    if got.dtype != want.dtype {
        return Err(format!("expected type {}, came {}", want.dtype, got.dtype));
    }
    let scalar = |dims: &[usize]| dims.is_empty() || dims == [1];
    let same = got.dims == want.dims || (want.dims.is_empty() && scalar(&got.dims));
    if !same {
        return Err(format!(
            "expected shape {:?}, came {:?}",
            want.dims, got.dims
        ));
    }
    let size = want.dtype.size();
    if got.bytes.len() != want.bytes.len() {
        let (want, got) = (want.bytes.len(), got.bytes.len());
        return Err(format!("expected {want} bytes, came {got}"));
    }
    let pairs = got
        .bytes
        .chunks_exact(size)
        .zip(want.bytes.chunks_exact(size));
    for (i, (got, want_bytes)) in pairs.enumerate() {
        let close = match (float(want.dtype, got), float(want.dtype, want_bytes)) {
            (Some(got), Some(want)) => is_close(got, want, tolerance),
            _ => got == want_bytes,
        };
        if !close {
            let (got, want) = (show(want.dtype, got), show(want.dtype, want_bytes));
            return Err(format!("element {i}: expected {want}, came {got}"));
        }
    }
    Ok(())
}

fn is_close(got: f64, want: f64, tolerance: Tolerance) -> bool {
    if want.is_nan() {
        return got.is_nan();
    }
    if want.is_infinite() {
        return got == want;
    }
    (got - want).abs() <= tolerance.absolute + tolerance.relative * want.abs()
}

/// The value, for the floating-point types Rust can read.
fn float(dtype: DataType, bytes: &[u8]) -> Option<f64> {
    Some(match dtype {
        DataType::Float => f32::from_le_bytes(bytes.try_into().ok()?).into(),
        DataType::Double => f64::from_le_bytes(bytes.try_into().ok()?),
        DataType::Half => f16::from_le_bytes(bytes.try_into().ok()?).into(),
        DataType::Bf16 => bf16::from_le_bytes(bytes.try_into().ok()?).into(),
        _ => return None,
    })
}

fn show(dtype: DataType, bytes: &[u8]) -> String {
    if let Some(value) = float(dtype, bytes) {
        return value.to_string();
    }
    let mut wide = [0; 8];
    wide[..bytes.len()].copy_from_slice(bytes);
    let signed = matches!(
        dtype,
        DataType::Int8 | DataType::Int16 | DataType::Int32 | DataType::Int64
    );
    if signed {
        let unused = 64 - 8 * bytes.len() as u32;
        return (i64::from_le_bytes(wide) << unused >> unused).to_string();
    }
    u64::from_le_bytes(wide).to_string()
}
