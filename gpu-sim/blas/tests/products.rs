//! rocBLAS and hipBLASLt calls as MIGraphX makes them, on the HIP stand-in.

use gpu_sim_blas::{hipblaslt, rocblas};
use gpu_sim_hip as _;
use std::ffi::{c_int, c_void};
use std::ptr::{null, null_mut};

unsafe extern "C" {
    fn hipMalloc(out: *mut *mut c_void, bytes: usize) -> c_int;
    fn hipMemcpy(to: *mut c_void, from: *const c_void, bytes: usize, kind: c_int) -> c_int;
    fn hipDeviceSynchronize() -> c_int;
}

/// A device copy of some numbers.
fn upload<T: Copy>(values: &[T]) -> *mut c_void {
    let mut device = null_mut();
    // SAFETY: as long as the slice.
    unsafe {
        assert_eq!(hipMalloc(&mut device, size_of_val(values)), 0);
        assert_eq!(
            hipMemcpy(device, values.as_ptr().cast(), size_of_val(values), 1),
            0
        );
    }
    device
}

fn download<T: Copy + Default>(device: *const c_void, count: usize) -> Vec<T> {
    let mut values = vec![T::default(); count];
    // SAFETY: as long as the vector.
    unsafe {
        assert_eq!(hipDeviceSynchronize(), 0);
        assert_eq!(
            hipMemcpy(
                values.as_mut_ptr().cast(),
                device,
                count * size_of::<T>(),
                2
            ),
            0
        );
    }
    values
}

const N: c_int = 111;
const T: c_int = 112;
const F16: c_int = 150;
const F32: c_int = 151;
const F8: c_int = 170;
const I8: c_int = 160;
const I32: c_int = 162;

/// `d = a * b` of 2 × 2 matrices through rocblas_gemm_ex.
fn rocblas_2x2(
    types: (c_int, c_int, c_int),
    a: *const c_void,
    b: *const c_void,
    d: *mut c_void,
    transpose_b: bool,
) -> c_int {
    let mut handle = null_mut();
    let (one, zero) = (1f32, 0f32);
    let (one_i, zero_i) = (1i32, 0i32);
    let scales: (*const c_void, *const c_void) = if types.2 == I32 {
        ((&raw const one_i).cast(), (&raw const zero_i).cast())
    } else {
        ((&raw const one).cast(), (&raw const zero).cast())
    };
    let op_b = if transpose_b { T } else { N };
    // SAFETY: the matrices have four elements each; the handle is freed once.
    unsafe {
        assert_eq!(rocblas::rocblas_create_handle(&mut handle), 0);
        assert_eq!(rocblas::rocblas_set_stream(handle, null_mut()), 0);
        let status = rocblas::rocblas_gemm_ex(
            handle, N, op_b, 2, 2, 2, scales.0, a, types.0, 2, b, types.0, 2, scales.1, d, types.1,
            2, d, types.1, 2, types.2, 0, 0, 0,
        );
        assert_eq!(rocblas::rocblas_destroy_handle(handle), 0);
        status
    }
}

#[test]
fn single_precision_column_major() {
    // Columns (1, 2), (3, 4) times columns (5, 6), (7, 8).
    let (a, b) = (upload(&[1f32, 2., 3., 4.]), upload(&[5f32, 6., 7., 8.]));
    let d = upload(&[0f32; 4]);
    assert_eq!(rocblas_2x2((F32, F32, F32), a, b, d, false), 0);
    assert_eq!(download::<f32>(d, 4), [23., 34., 31., 46.]);
    assert_eq!(rocblas_2x2((F32, F32, F32), a, b, d, true), 0);
    assert_eq!(download::<f32>(d, 4), [26., 38., 30., 44.]);
}

#[test]
fn half_precision_and_bytes() {
    // 0x3c00 is 1, 0x4000 is 2, 0x4200 is 3 in half precision.
    let (a, b) = (
        upload(&[0x3c00u16, 0, 0, 0x4000]),
        upload(&[0x3c00u16, 0x4000, 0x4200, 0]),
    );
    let d = upload(&[0u16; 4]);
    assert_eq!(rocblas_2x2((F16, F16, F32), a, b, d, false), 0);
    assert_eq!(download::<u16>(d, 4), [0x3c00, 0x4400, 0x4200, 0]);

    let (a, b) = (
        upload(&[127i8, -128, 127, -128]),
        upload(&[127i8, 127, -128, -128]),
    );
    let d = upload(&[0i32; 4]);
    assert_eq!(rocblas_2x2((I8, I32, I32), a, b, d, false), 0);
    assert_eq!(download::<i32>(d, 4), [32258, -32512, -32512, 32768]);
}

#[test]
fn other_types_are_not_implemented_and_write_nothing() {
    let a = upload(&[0u8; 4]);
    let d = upload(&[7f32; 4]);
    assert_eq!(rocblas_2x2((F8, F32, F32), a, a, d, false), 2);
    assert_eq!(rocblas_2x2((I8, F32, F32), a, a, d, false), 2);
    assert_eq!(download::<f32>(d, 4), [7.; 4]);
}

#[test]
fn memory_that_is_too_short_is_refused() {
    let (a, short) = (upload(&[1f32; 4]), upload(&[1f32; 3]));
    let d = upload(&[0f32; 4]);
    assert_eq!(rocblas_2x2((F32, F32, F32), a, short, d, false), 6);
}

/// `d = a * b` through hipblasLtMatmul, of 2 × 2 matrices of a hipDataType.
fn hipblaslt_2x2(
    number: c_int,
    compute: c_int,
    a: *const c_void,
    b: *const c_void,
    d: *mut c_void,
) -> c_int {
    let (mut layout, mut description) = (null_mut(), null_mut());
    let (one, zero) = (1f32, 0f32);
    // SAFETY: descriptions are made, used and freed here; matrices have four elements.
    unsafe {
        assert_eq!(
            hipblaslt::hipblasLtMatrixLayoutCreate(&mut layout, number, 2, 2, 2),
            0
        );
        assert_eq!(
            hipblaslt::hipblasLtMatmulDescCreate(&mut description, compute, 0),
            0
        );
        let status = hipblaslt::matmul::hipblasLtMatmul(
            null_mut(),
            description,
            (&raw const one).cast(),
            a,
            layout,
            b,
            layout,
            (&raw const zero).cast(),
            d,
            layout,
            d,
            layout,
            null(),
            null_mut(),
            0,
            null_mut(),
        );
        hipblaslt::hipblasLtMatrixLayoutDestroy(layout);
        hipblaslt::hipblasLtMatmulDescDestroy(description);
        status
    }
}

#[test]
fn hipblaslt_multiplies_and_refuses() {
    let (a, b) = (upload(&[1f32, 2., 3., 4.]), upload(&[5f32, 6., 7., 8.]));
    let d = upload(&[0f32; 4]);
    assert_eq!(hipblaslt_2x2(0, 2, a, b, d), 0);
    assert_eq!(download::<f32>(d, 4), [23., 34., 31., 46.]);
    assert_eq!(hipblaslt_2x2(28, 2, a, b, d), 7, "fp8");
    assert_eq!(
        hipblaslt_2x2(0, 4, a, b, d),
        7,
        "a compute type with fewer bits"
    );
}
