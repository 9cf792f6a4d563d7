//! Convolution descriptors. `problem.rs` has the problems made from them, `solution.rs` what MIGraphX
//! keeps in its programs, `run.rs` runs it.

use crate::api::{BAD_PARAMETER, SUCCESS, descriptor, sizes};
use crate::tensor::{Handle, Tensor};
use gpu_sim_gemm::{ConvOptions, Direction};
use std::ffi::c_int;

const MODE_CONVOLUTION: c_int = 0;
const MODE_TRANSPOSE: c_int = 1;
const MODE_DEPTHWISE: c_int = 3;

/// How a convolution moves over its input.
#[derive(Clone, Debug)]
pub struct Convolution {
    pub(crate) options: ConvOptions,
}

pub(crate) fn no_options() -> ConvOptions {
    ConvOptions {
        direction: Direction::Forward,
        pad: Vec::new(),
        stride: Vec::new(),
        dilation: Vec::new(),
        groups: 1,
    }
}

descriptor!(miopenCreateConvolutionDescriptor() -> Convolution = Convolution { options: no_options() },
    miopenDestroyConvolutionDescriptor, "a convolution descriptor");
descriptor!(miopenCreateFindOptions() -> u64 = 0, miopenDestroyFindOptions, "find options");

/// Sets padding, stride, dilation and mode.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn miopenInitConvolutionNdDescriptor(
    convolution: *mut Convolution,
    count: c_int,
    pad: *const c_int,
    stride: *const c_int,
    dilation: *const c_int,
    mode: c_int,
) -> c_int {
    // SAFETY: a descriptor or null; arrays of `count` entries or null.
    let (convolution, pad, stride, dilation) = unsafe {
        (
            convolution.as_mut(),
            sizes(pad, count),
            sizes(stride, count),
            sizes(dilation, count),
        )
    };
    let (Some(convolution), Some(pad), Some(stride), Some(dilation)) =
        (convolution, pad, stride, dilation)
    else {
        return BAD_PARAMETER;
    };
    let direction = match mode {
        MODE_CONVOLUTION..=MODE_DEPTHWISE if mode != MODE_TRANSPOSE => Direction::Forward,
        MODE_TRANSPOSE => Direction::Transposed,
        _ => return BAD_PARAMETER,
    };
    convolution.options = ConvOptions {
        direction,
        pad,
        stride,
        dilation,
        groups: 1,
    };
    SUCCESS
}

/// Sets the number of groups.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn miopenSetConvolutionGroupCount(
    convolution: *mut Convolution,
    groups: c_int,
) -> c_int {
    // SAFETY: a descriptor or null.
    let Some(convolution) = (unsafe { convolution.as_mut() }) else {
        return BAD_PARAMETER;
    };
    let Ok(groups) = usize::try_from(groups) else {
        return BAD_PARAMETER;
    };
    convolution.options.groups = groups;
    SUCCESS
}

/// How solutions are searched; there is one.
#[unsafe(no_mangle)]
pub extern "C" fn miopenHiddenSetConvolutionFindMode(
    _convolution: *mut Convolution,
    _mode: c_int,
) -> c_int {
    SUCCESS
}

/// Workspace of a convolution: none. Not 0, since a buffer of no bytes is not an allocation.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn miopenConvolutionForwardGetWorkSpaceSize(
    _handle: *mut Handle,
    _w: *const Tensor,
    _x: *const Tensor,
    _convolution: *const Convolution,
    _y: *const Tensor,
    size: *mut usize,
) -> c_int {
    // SAFETY: passed on.
    unsafe { workspace(size) }
}

pub(crate) unsafe fn workspace(size: *mut usize) -> c_int {
    if size.is_null() {
        return BAD_PARAMETER;
    }
    // SAFETY: writable.
    unsafe { *size = 64 };
    SUCCESS
}
