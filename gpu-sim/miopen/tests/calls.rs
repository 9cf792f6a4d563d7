//! Convolution and pooling as MIGraphX calls them, on the HIP stand-in.

use gpu_sim_hip as _;
use gpu_sim_miopen::{convolution::*, pooling::*, problem::*, run::*, solution::*, tensor::*};
use std::ffi::{c_int, c_void};
use std::ptr::{null, null_mut};

unsafe extern "C" {
    fn hipMalloc(out: *mut *mut c_void, bytes: usize) -> c_int;
    fn hipMemcpy(to: *mut c_void, from: *const c_void, bytes: usize, kind: c_int) -> c_int;
    fn hipDeviceSynchronize() -> c_int;
}

fn upload(values: &[f32]) -> *mut c_void {
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

fn download(device: *const c_void, count: usize) -> Vec<f32> {
    let mut values = vec![0f32; count];
    // SAFETY: as long as the vector.
    unsafe {
        assert_eq!(hipDeviceSynchronize(), 0);
        assert_eq!(
            hipMemcpy(values.as_mut_ptr().cast(), device, count * 4, 2),
            0
        );
    }
    values
}

fn tensor(data_type: c_int, dims: [c_int; 4]) -> *mut Tensor {
    let [_, c, h, w] = dims;
    let mut tensor = null_mut();
    // SAFETY: arrays of four; the descriptor lives as long as the test.
    unsafe {
        assert_eq!(miopenCreateTensorDescriptor(&mut tensor), 0);
        let strides = [c * h * w, h * w, w, 1];
        assert_eq!(
            miopenSetTensorDescriptor(tensor, data_type, 4, dims.as_ptr(), strides.as_ptr()),
            0
        );
    }
    tensor
}

/// A 2 × 2 kernel over 3 × 3, of some type, padded by `pad`: the status of finding it, and the solution.
fn find(data_type: c_int, out_type: c_int, pad: c_int) -> (c_int, *mut Problem) {
    let (mut convolution, mut problem, mut solution) = (null_mut(), null_mut(), null_mut());
    let mut count = 0;
    // SAFETY: handles are used as their functions made them.
    unsafe {
        assert_eq!(miopenCreateConvolutionDescriptor(&mut convolution), 0);
        let (pads, ones) = ([pad; 2], [1; 2]);
        let status = miopenInitConvolutionNdDescriptor(
            convolution,
            2,
            pads.as_ptr(),
            ones.as_ptr(),
            ones.as_ptr(),
            0,
        );
        assert_eq!(status, 0);
        assert_eq!(miopenCreateConvProblem(&mut problem, convolution, 0), 0);
        for (id, tensor) in [
            (1, tensor(data_type, [1, 1, 3, 3])),
            (2, tensor(data_type, [1, 1, 2, 2])),
            (3, tensor(out_type, [1, 1, 2, 2])),
        ] {
            assert_eq!(miopenSetProblemTensorDescriptor(problem, id, tensor), 0);
        }
        let status = miopenFindSolutions(
            null_mut(),
            problem,
            null_mut(),
            &mut solution,
            &mut count,
            1,
        );
        assert_eq!(count, usize::from(status == 0));
        (status, solution)
    }
}

#[test]
fn a_convolution_is_found_saved_loaded_and_run() {
    let (status, found) = find(1, 1, 0);
    assert_eq!(status, 0);
    let x = upload(&[1., 2., 3., 4., 5., 6., 7., 8., 9.]);
    let w = upload(&[1., 0., 0., 10.]);
    let y = upload(&[0.; 4]);
    let (mut handle, mut loaded, mut size) = (null_mut(), null_mut(), 0);
    // SAFETY: the tensors have the sizes of `find`; the buffer has the size asked for.
    unsafe {
        assert_eq!(miopenCreateWithStream(&mut handle, null_mut()), 0);
        assert_eq!(miopenGetSolutionSize(found, &mut size), 0);
        let mut saved = vec![0; size];
        assert_eq!(miopenSaveSolution(found, saved.as_mut_ptr()), 0);
        assert_eq!(miopenLoadSolution(&mut loaded, saved.as_ptr(), size), 0);
        let arguments = [
            TensorArgument::new(1, x),
            TensorArgument::new(2, w),
            TensorArgument::new(3, y),
        ];
        assert_eq!(
            miopenRunSolution(handle, loaded, 3, arguments.as_ptr(), null_mut(), 0),
            0
        );
        assert_eq!(download(y, 4), [51., 62., 84., 95.]);
        assert_eq!(
            miopenRunSolution(handle, loaded, 2, arguments.as_ptr(), null_mut(), 0),
            3,
            "no output"
        );
        saved[0] ^= 1;
        assert_eq!(
            miopenLoadSolution(&mut loaded, saved.as_ptr(), size),
            3,
            "not ours"
        );
    }
}

#[test]
fn what_cannot_be_computed_has_no_solution() {
    const UNSUPPORTED: c_int = 8;
    assert_eq!(find(3, 2, 0).0, 0, "bytes into 32-bit integers");
    assert_eq!(find(3, 1, 0).0, UNSUPPORTED, "bytes into f32");
    assert_eq!(find(1, 1, 1).0, UNSUPPORTED, "an output of another size");
    let mut tensor = null_mut();
    // SAFETY: arrays of one.
    unsafe {
        assert_eq!(miopenCreateTensorDescriptor(&mut tensor), 0);
        assert_eq!(
            miopenSetTensorDescriptor(tensor, 7, 1, [4].as_ptr(), [1].as_ptr()),
            UNSUPPORTED,
            "fp8"
        );
    }
}

#[test]
fn averages_leave_the_padding_out() {
    let (mut pooling, mut handle) = (null_mut(), null_mut());
    let x = upload(&[1., 2., 3., 4., 5., 6., 7., 8., 9.]);
    let y = upload(&[0.; 4]);
    let (x_tensor, y_tensor) = (tensor(1, [1, 1, 3, 3]), tensor(1, [1, 1, 2, 2]));
    let run = |mode, handle, pooling| {
        let (window, pad, stride) = ([2, 2], [1, 1], [2, 2]);
        // SAFETY: the tensors have the sizes of their descriptors.
        unsafe {
            let status = miopenSetNdPoolingDescriptor(
                pooling,
                mode,
                2,
                window.as_ptr(),
                pad.as_ptr(),
                stride.as_ptr(),
            );
            assert_eq!(status, 0);
            let status = miopenPoolingForward(
                handle,
                pooling,
                null(),
                x_tensor,
                x,
                null(),
                y_tensor,
                y,
                false,
                null_mut(),
                0,
            );
            assert_eq!(status, 0);
        }
        download(y, 4)
    };
    // SAFETY: places for two handles.
    unsafe {
        assert_eq!(miopenCreatePoolingDescriptor(&mut pooling), 0);
        assert_eq!(miopenCreateWithStream(&mut handle, null_mut()), 0);
    }
    assert_eq!(
        run(1, handle, pooling),
        [1., 2.5, 5.5, 7.],
        "the elements that exist"
    );
    assert_eq!(
        run(2, handle, pooling),
        [0.25, 1.25, 2.75, 7.],
        "the whole window"
    );
    assert_eq!(run(0, handle, pooling), [1., 3., 7., 9.], "maximum");
}
