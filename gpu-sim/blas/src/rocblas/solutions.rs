//! Solutions to choose from when tuning.

use super::{Handle, SUCCESS};
use std::ffi::{c_int, c_uint, c_void};

const INVALID_VALUE: c_int = 11;

unsafe fn no_solutions(count: *mut c_int) -> c_int {
    if count.is_null() {
        return INVALID_VALUE;
    }
    // SAFETY: writable.
    unsafe { *count = 0 };
    SUCCESS
}

/// Solutions to choose from when tuning: none, the caller keeps the default.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocblas_gemm_ex_get_solutions(
    _handle: *mut Handle,
    _op_a: c_int,
    _op_b: c_int,
    _m: c_int,
    _n: c_int,
    _k: c_int,
    _alpha: *const c_void,
    _a: *const c_void,
    _a_type: c_int,
    _lda: c_int,
    _b: *const c_void,
    _b_type: c_int,
    _ldb: c_int,
    _beta: *const c_void,
    _c: *const c_void,
    _c_type: c_int,
    _ldc: c_int,
    _d: *mut c_void,
    _d_type: c_int,
    _ldd: c_int,
    _compute: c_int,
    _algorithm: c_int,
    _flags: c_uint,
    _list: *mut c_int,
    count: *mut c_int,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { no_solutions(count) }
}

/// Solutions to choose from when tuning: none, the caller keeps the default.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocblas_gemm_strided_batched_ex_get_solutions(
    _handle: *mut Handle,
    _op_a: c_int,
    _op_b: c_int,
    _m: c_int,
    _n: c_int,
    _k: c_int,
    _alpha: *const c_void,
    _a: *const c_void,
    _a_type: c_int,
    _lda: c_int,
    _stride_a: i64,
    _b: *const c_void,
    _b_type: c_int,
    _ldb: c_int,
    _stride_b: i64,
    _beta: *const c_void,
    _c: *const c_void,
    _c_type: c_int,
    _ldc: c_int,
    _stride_c: i64,
    _d: *mut c_void,
    _d_type: c_int,
    _ldd: c_int,
    _stride_d: i64,
    _batch: c_int,
    _compute: c_int,
    _algorithm: c_int,
    _flags: c_uint,
    _list: *mut c_int,
    count: *mut c_int,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { no_solutions(count) }
}
