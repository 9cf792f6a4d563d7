//! The C++ functions, under their mangled names.

use super::matmul::{described, status};
use super::{
    Description, EXECUTION_FAILED, Heuristic, INVALID_VALUE, Layout, ONLY_ALGORITHM, ONLY_INDEX,
    SUCCESS,
};
use gpu_sim_work::complain;
use std::ffi::{c_int, c_void};

/// `std::vector` of libstdc++: three pointers, its memory from `operator new`, which is `malloc`.
#[repr(C)]
pub struct CppVector<T> {
    begin: *mut T,
    end: *mut T,
    capacity: *mut T,
}

/// `hipblaslt_ext::getIndexFromAlgo(hipblasLtMatmulAlgo_t&)`.
#[unsafe(export_name = "_ZN13hipblaslt_ext16getIndexFromAlgoER22_hipblasLtMatmulAlgo_t")]
pub extern "C" fn get_index_from_algo(_algorithm: *mut c_void) -> c_int {
    ONLY_INDEX
}

/// `hipblaslt_ext::getAllAlgos(…)`: leaves the vector as it is, so the caller takes the heuristic's.
#[unsafe(export_name = "_ZN13hipblaslt_ext11getAllAlgosEPvNS_8GemmTypeE18hipblasOperation_tS2_11hipDataTypeS3_S3_S3_20hipblasComputeType_tRSt6vectorI33_hipblasLtMatmulHeuristicResult_tSaIS6_EE")]
pub extern "C" fn get_all_algos() -> c_int {
    SUCCESS
}

/// `hipblaslt_ext::getAlgosFromIndex(handle, std::vector<int>&, std::vector<Result>&)`: one result.
#[unsafe(export_name = "_ZN13hipblaslt_ext17getAlgosFromIndexEPvRSt6vectorIiSaIiEERS1_I33_hipblasLtMatmulHeuristicResult_tSaIS5_EE")]
pub unsafe extern "C" fn get_algos_from_index(
    _handle: *mut u64,
    indices: *const CppVector<c_int>,
    results: *mut CppVector<Heuristic>,
) -> c_int {
    // SAFETY: both are references in C++; the first vector's elements lie between its pointers.
    let (indices, results) = unsafe {
        let indices = &*indices;
        let known = if indices.begin.is_null() {
            &[][..]
        } else {
            std::slice::from_raw_parts(
                indices.begin,
                indices.end.offset_from_unsigned(indices.begin),
            )
        };
        (known, &mut *results)
    };
    if indices != [ONLY_INDEX] {
        complain(
            "hipblaslt_ext::getAlgosFromIndex",
            &format!("indices {indices:?}; there is only {ONLY_INDEX}"),
        );
        return INVALID_VALUE;
    }
    // SAFETY: the vector's old memory is freed and the new one allocated as libstdc++'s operators do.
    unsafe {
        let new = libc::malloc(size_of::<Heuristic>()).cast::<Heuristic>();
        if new.is_null() {
            return EXECUTION_FAILED;
        }
        *new = ONLY_ALGORITHM;
        libc::free(results.begin.cast());
        *results = CppVector {
            begin: new,
            end: new.add(1),
            capacity: new.add(1),
        };
    }
    SUCCESS
}

/// `hipblaslt_ext::matmulIsAlgoSupported(…)`: whether the product is; it needs no workspace.
#[unsafe(export_name = "_ZN13hipblaslt_ext21matmulIsAlgoSupportedEPvP27hipblasLtMatmulDescOpaque_tPKvP29hipblasLtMatrixLayoutOpaque_tS6_S4_S6_S6_R22_hipblasLtMatmulAlgo_tRm")]
pub unsafe extern "C" fn matmul_is_algo_supported(
    _handle: *mut u64,
    description: *const Description,
    _alpha: *const c_void,
    a: *const Layout,
    b: *const Layout,
    _beta: *const c_void,
    c: *const Layout,
    d: *const Layout,
    _algorithm: *mut c_void,
    workspace: *mut usize,
) -> c_int {
    // SAFETY: descriptions or null.
    let Some(described) = (unsafe { described(description, [a, b, c, d]) }) else {
        return INVALID_VALUE;
    };
    if !workspace.is_null() {
        // SAFETY: a reference in C++. Not 0: MIGraphX would reserve its default of 256 MiB instead.
        unsafe { *workspace = 4096 };
    }
    status(
        "hipblaslt_ext::matmulIsAlgoSupported",
        described.product().and_then(|p| p.check()),
    )
}
