//! rocBLAS: the seven functions MIGraphX calls. Numbers are those of `rocblas-types.h` (rocBLAS 4).

#![allow(
    non_camel_case_types,
    clippy::missing_safety_doc,
    reason = "rocBLAS's own interface"
)]

pub mod solutions;

use crate::product::{Operand, Product, Refused, scale};
use gpu_sim_gemm::DType;
use gpu_sim_work::complain;
use std::ffi::{c_int, c_uint, c_void};

const SUCCESS: c_int = 0;
const INVALID_HANDLE: c_int = 1;
const NOT_IMPLEMENTED: c_int = 2;
const INVALID_POINTER: c_int = 3;
const INTERNAL_ERROR: c_int = 6;

const TRANSPOSE: c_int = 112;
const CONJUGATE: c_int = 113;
const CHECK_SOLUTION_INDEX: c_uint = 8;

/// A handle: the stream its work goes to.
pub struct Handle {
    stream: *mut c_void,
}

fn dtype(number: c_int) -> Option<DType> {
    Some(match number {
        150 => DType::F16,
        151 => DType::F32,
        152 => DType::F64,
        160 => DType::I8,
        161 => DType::U8,
        162 => DType::I32,
        168 => DType::Bf16,
        _ => return None,
    })
}

/// Makes a handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocblas_create_handle(out: *mut *mut Handle) -> c_int {
    if out.is_null() {
        return INVALID_POINTER;
    }
    // SAFETY: writable, as rocBLAS demands.
    unsafe {
        *out = Box::into_raw(Box::new(Handle {
            stream: std::ptr::null_mut(),
        }))
    };
    SUCCESS
}

/// Frees a handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocblas_destroy_handle(handle: *mut Handle) -> c_int {
    if handle.is_null() {
        return INVALID_HANDLE;
    }
    // SAFETY: a handle of rocblas_create_handle, given back once.
    drop(unsafe { Box::from_raw(handle) });
    SUCCESS
}

/// Chooses the stream of a handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocblas_set_stream(handle: *mut Handle, stream: *mut c_void) -> c_int {
    // SAFETY: a handle or null.
    let Some(handle) = (unsafe { handle.as_mut() }) else {
        return INVALID_HANDLE;
    };
    handle.stream = stream;
    SUCCESS
}

/// One matrix as the functions take it.
struct Given {
    pointer: *const c_void,
    number: c_int,
    leading: c_int,
    stride: i64,
    operation: c_int,
}

struct Call {
    name: &'static str,
    size: (c_int, c_int, c_int, c_int),
    scales: (*const c_void, *const c_void),
    matrices: [Given; 4],
    compute: c_int,
    flags: c_uint,
}

unsafe fn multiply(handle: *mut Handle, call: Call) -> c_int {
    // SAFETY: a handle or null.
    let Some(handle) = (unsafe { handle.as_ref() }) else {
        return INVALID_HANDLE;
    };
    let operand = |g: &Given| {
        Some(Operand {
            pointer: g.pointer,
            dtype: dtype(g.number)?,
            leading: g.leading.into(),
            batch_stride: g.stride,
            transposed: matches!(g.operation, TRANSPOSE | CONJUGATE),
        })
    };
    let [a, b, c, d] = call.matrices.each_ref().map(operand);
    let (Some(a), Some(b), Some(c), Some(d), Some(compute)) = (a, b, c, d, dtype(call.compute))
    else {
        let numbers = call.matrices.each_ref().map(|g| g.number);
        complain(
            call.name,
            &format!(
                "types {numbers:?}, computed in {} (rocblas_datatype)",
                call.compute
            ),
        );
        return NOT_IMPLEMENTED;
    };
    let (m, n, k, batch) = call.size;
    // SAFETY: scales have the compute type and lie in host memory (rocBLAS's default pointer mode).
    let (alpha, beta) = unsafe { (scale(call.scales.0, compute), scale(call.scales.1, compute)) };
    let [m, n, k, batch] = [m, n, k, batch].map(i64::from);
    let product = Product {
        m,
        n,
        k,
        batch,
        a,
        b,
        c,
        d,
        alpha,
        beta,
    };
    let done = if call.flags & CHECK_SOLUTION_INDEX != 0 {
        product.check()
    } else {
        // SAFETY: the caller's promise.
        unsafe { product.queue(handle.stream, call.name) }
    };
    match done {
        Ok(()) => SUCCESS,
        Err(refused) => {
            complain(call.name, &refused);
            match refused {
                Refused::Unsupported(_) => NOT_IMPLEMENTED,
                Refused::Hip(_) => INTERNAL_ERROR,
            }
        }
    }
}

/// `d = alpha * op(a) * op(b) + beta * c`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocblas_gemm_ex(
    handle: *mut Handle,
    op_a: c_int,
    op_b: c_int,
    m: c_int,
    n: c_int,
    k: c_int,
    alpha: *const c_void,
    a: *const c_void,
    a_type: c_int,
    lda: c_int,
    b: *const c_void,
    b_type: c_int,
    ldb: c_int,
    beta: *const c_void,
    c: *const c_void,
    c_type: c_int,
    ldc: c_int,
    d: *mut c_void,
    d_type: c_int,
    ldd: c_int,
    compute: c_int,
    _algorithm: c_int,
    _solution: c_int,
    flags: c_uint,
) -> c_int {
    let given = |pointer, number, leading, operation| Given {
        pointer,
        number,
        leading,
        stride: 0,
        operation,
    };
    let call = Call {
        name: "rocblas_gemm_ex",
        size: (m, n, k, 1),
        scales: (alpha, beta),
        matrices: [
            given(a, a_type, lda, op_a),
            given(b, b_type, ldb, op_b),
            given(c, c_type, ldc, 0),
            given(d, d_type, ldd, 0),
        ],
        compute,
        flags,
    };
    // SAFETY: the caller's promise, passed on.
    unsafe { multiply(handle, call) }
}

/// The same for a batch of matrices at even distances.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocblas_gemm_strided_batched_ex(
    handle: *mut Handle,
    op_a: c_int,
    op_b: c_int,
    m: c_int,
    n: c_int,
    k: c_int,
    alpha: *const c_void,
    a: *const c_void,
    a_type: c_int,
    lda: c_int,
    stride_a: i64,
    b: *const c_void,
    b_type: c_int,
    ldb: c_int,
    stride_b: i64,
    beta: *const c_void,
    c: *const c_void,
    c_type: c_int,
    ldc: c_int,
    stride_c: i64,
    d: *mut c_void,
    d_type: c_int,
    ldd: c_int,
    stride_d: i64,
    batch: c_int,
    compute: c_int,
    _algorithm: c_int,
    _solution: c_int,
    flags: c_uint,
) -> c_int {
    let given = |pointer, number, leading, stride, operation| Given {
        pointer,
        number,
        leading,
        stride,
        operation,
    };
    let call = Call {
        name: "rocblas_gemm_strided_batched_ex",
        size: (m, n, k, batch),
        scales: (alpha, beta),
        matrices: [
            given(a, a_type, lda, stride_a, op_a),
            given(b, b_type, ldb, stride_b, op_b),
            given(c, c_type, ldc, stride_c, 0),
            given(d, d_type, ldd, stride_d, 0),
        ],
        compute,
        flags,
    };
    // SAFETY: the caller's promise, passed on.
    unsafe { multiply(handle, call) }
}
