//! hipBLASLt: the 13 C and 4 C++ functions MIGraphX calls. Numbers and struct sizes are those of
//! `hipblaslt.h`, `hipblas-common.h` and `library_types.h` (hipBLASLt 7.1).
//!
//! Here: descriptions and their attributes. `matmul`: the product. `extension`: the C++ functions.

#![allow(
    non_snake_case,
    clippy::missing_safety_doc,
    reason = "hipBLASLt's own interface"
)]

pub mod extension;
pub mod matmul;

use gpu_sim_gemm::DType;
use gpu_sim_work::complain;
use std::ffi::{c_int, c_void};

const SUCCESS: c_int = 0;
const INVALID_VALUE: c_int = 3;
const EXECUTION_FAILED: c_int = 5;
const NOT_SUPPORTED: c_int = 7;

const OP_N: c_int = 111;
const COMPUTE_32F: c_int = 2;
const COMPUTE_64F: c_int = 7;
const COMPUTE_32I: c_int = 9;

/// A matrix: type number, shape, batch.
pub struct Layout {
    number: c_int,
    rows: u64,
    columns: u64,
    leading: i64,
    batch: i32,
    stride: i64,
}

/// How a product is computed.
pub struct Description {
    compute: c_int,
    scale: c_int,
    op_a: c_int,
    op_b: c_int,
}

/// What MIGraphX gets for a product: one algorithm, no workspace.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Heuristic {
    algorithm: [u8; 16],
    max_workspace: usize,
    workspace: usize,
    state: c_int,
    waves: f32,
    reserved: [c_int; 4],
}

const ONLY_ALGORITHM: Heuristic = Heuristic {
    algorithm: [0; 16],
    max_workspace: 0,
    workspace: 0,
    state: SUCCESS,
    waves: 1.0,
    reserved: [0; 4],
};
/// Its index; 0 would mean "not chosen yet" to MIGraphX.
const ONLY_INDEX: c_int = 1;

fn dtype(number: c_int) -> Option<DType> {
    Some(match number {
        0 => DType::F32,
        1 => DType::F64,
        2 => DType::F16,
        3 => DType::I8,
        8 => DType::U8,
        10 => DType::I32,
        14 => DType::Bf16,
        _ => return None,
    })
}

macro_rules! handles {
    ($create:ident($($argument:ident: $type:ty),*) -> $handle:ty = $value:expr, $destroy:ident, $what:literal) => {
        #[doc = concat!("Makes ", $what, ".")]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $create(out: *mut *mut $handle $(, $argument: $type)*) -> c_int {
            if out.is_null() {
                return INVALID_VALUE;
            }
            // SAFETY: writable, as hipBLASLt demands.
            unsafe { *out = Box::into_raw(Box::new($value)) };
            SUCCESS
        }

        #[doc = concat!("Frees ", $what, ".")]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $destroy(handle: *mut $handle) -> c_int {
            if !handle.is_null() {
                // SAFETY: made by the function above and given back once.
                drop(unsafe { Box::from_raw(handle) });
            }
            SUCCESS
        }
    };
}
handles!(hipblasLtCreate() -> u64 = 0, hipblasLtDestroy, "a handle");
handles!(hipblasLtMatrixLayoutCreate(number: c_int, rows: u64, columns: u64, leading: i64) -> Layout
    = Layout { number, rows, columns, leading, batch: 1, stride: 0 },
    hipblasLtMatrixLayoutDestroy, "a matrix's description");
handles!(hipblasLtMatmulDescCreate(compute: c_int, scale: c_int) -> Description
    = Description { compute, scale, op_a: OP_N, op_b: OP_N },
    hipblasLtMatmulDescDestroy, "a product's description");
handles!(hipblasLtMatmulPreferenceCreate() -> u64 = 0, hipblasLtMatmulPreferenceDestroy, "a preference");

/// Reads an attribute's value: 4 or 8 bytes.
unsafe fn value(pointer: *const c_void, size: usize) -> Option<i64> {
    // SAFETY: the caller's promise that `size` bytes are readable, at any alignment.
    unsafe {
        match size {
            _ if pointer.is_null() => None,
            4 => Some(pointer.cast::<i32>().read_unaligned().into()),
            8 => Some(pointer.cast::<i64>().read_unaligned()),
            _ => None,
        }
    }
}

/// Sets the batch count (0) or the distance between matrices (1).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipblasLtMatrixLayoutSetAttribute(
    layout: *mut Layout,
    attribute: c_int,
    pointer: *const c_void,
    size: usize,
) -> c_int {
    // SAFETY: a description or null; the value is the caller's promise.
    let (Some(layout), Some(value)) = (unsafe { (layout.as_mut(), value(pointer, size)) }) else {
        return INVALID_VALUE;
    };
    match (attribute, i32::try_from(value)) {
        (0, Ok(batch)) => layout.batch = batch,
        (1, _) => layout.stride = value,
        _ => {
            complain(
                "hipblasLtMatrixLayoutSetAttribute",
                &format!("attribute {attribute} = {value}"),
            );
            return NOT_SUPPORTED;
        }
    }
    SUCCESS
}

/// Sets the transposition of A (0) or B (1).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipblasLtMatmulDescSetAttribute(
    description: *mut Description,
    attribute: c_int,
    pointer: *const c_void,
    size: usize,
) -> c_int {
    // SAFETY: a description or null; the value is the caller's promise.
    let (Some(description), Some(value)) =
        (unsafe { (description.as_mut(), value(pointer, size)) })
    else {
        return INVALID_VALUE;
    };
    match (attribute, value as c_int) {
        (0, operation @ 111..=113) => description.op_a = operation,
        (1, operation @ 111..=113) => description.op_b = operation,
        _ => {
            complain(
                "hipblasLtMatmulDescSetAttribute",
                &format!("attribute {attribute} = {value}"),
            );
            return NOT_SUPPORTED;
        }
    }
    SUCCESS
}

/// Preferences choose among algorithms; there is one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipblasLtMatmulPreferenceSetAttribute(
    _preference: *mut u64,
    _attribute: c_int,
    _pointer: *const c_void,
    _size: usize,
) -> c_int {
    SUCCESS
}
