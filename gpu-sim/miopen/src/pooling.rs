//! Maximum and average pooling over one to three space dimensions.

use crate::api::{BAD_PARAMETER, SUCCESS, descriptor, give_up, sizes};
use crate::tensor::{Handle, Operand, Tensor, for_each_index, layout};
use gpu_sim_gemm::for_each;
use gpu_sim_work::enqueue;
use std::ffi::{c_int, c_void};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Max,
    /// Over the elements of the window that exist.
    Average,
    /// Over the whole window, padding as zeros.
    AverageInclusive,
}

/// A window that moves over the input.
#[derive(Clone, Debug)]
pub struct Pooling {
    mode: Mode,
    window: Vec<usize>,
    pad: Vec<usize>,
    stride: Vec<usize>,
}

descriptor!(miopenCreatePoolingDescriptor() -> Pooling
    = Pooling { mode: Mode::Max, window: Vec::new(), pad: Vec::new(), stride: Vec::new() },
    miopenDestroyPoolingDescriptor, "a pooling descriptor");

/// Sets mode, window, padding and stride.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn miopenSetNdPoolingDescriptor(
    pooling: *mut Pooling,
    mode: c_int,
    count: c_int,
    window: *const c_int,
    pad: *const c_int,
    stride: *const c_int,
) -> c_int {
    // SAFETY: a descriptor or null; arrays of `count` entries or null.
    let (pooling, window, pad, stride) = unsafe {
        (
            pooling.as_mut(),
            sizes(window, count),
            sizes(pad, count),
            sizes(stride, count),
        )
    };
    let (Some(pooling), Some(window), Some(pad), Some(stride)) = (pooling, window, pad, stride)
    else {
        return BAD_PARAMETER;
    };
    let mode = match mode {
        0 => Mode::Max,
        1 => Mode::Average,
        2 => Mode::AverageInclusive,
        _ => return BAD_PARAMETER,
    };
    *pooling = Pooling {
        mode,
        window,
        pad,
        stride,
    };
    SUCCESS
}

impl Pooling {
    /// The positions of the window's elements on one axis that lie inside the input.
    fn reach(&self, axis: usize, output: usize, input: usize) -> std::ops::Range<usize> {
        let start = (output * self.stride[axis]) as isize - self.pad[axis] as isize;
        let end = (start + self.window[axis] as isize).clamp(0, input as isize);
        start.clamp(0, end) as usize..end as usize
    }

    /// # Safety
    /// As [`Operand::get`] for every element of `x` and [`Operand::set`] for every one of `y`.
    unsafe fn run(&self, x: &Operand, y: &Operand) {
        let space = self.window.len();
        let [batch, channels] = [y.layout.dims[0], y.layout.dims[1]];
        let whole: usize = self.window.iter().product();
        let bases = (x.host() as usize, y.host() as usize);
        for_each(batch * channels, |plane| {
            let (from, to) = (bases.0 as *const u8, bases.1 as *mut u8);
            let mut at = vec![plane / channels, plane % channels];
            at.resize(2 + space, 0);
            for_each_index(&y.layout.dims[2..], |output| {
                let mut index = at.clone();
                index[2..].copy_from_slice(output);
                let ranges: Vec<_> = (0..space)
                    .map(|a| self.reach(a, output[a], x.layout.dims[2 + a]))
                    .collect();
                let lengths: Vec<usize> = ranges.iter().map(ExactSizeIterator::len).collect();
                let mut result = if self.mode == Mode::Max {
                    f64::NEG_INFINITY
                } else {
                    0.0
                };
                let mut source = at.clone();
                for_each_index(&lengths, |inside| {
                    for (axis, i) in inside.iter().enumerate() {
                        source[2 + axis] = ranges[axis].start + i;
                    }
                    // SAFETY: inside the input.
                    let value = unsafe { x.get(from, &source) };
                    match self.mode {
                        Mode::Max => {
                            result = if value > result || value.is_nan() {
                                value
                            } else {
                                result
                            }
                        }
                        _ => result += value,
                    }
                });
                match self.mode {
                    Mode::Max => {}
                    Mode::Average => result /= lengths.iter().product::<usize>().max(1) as f64,
                    Mode::AverageInclusive => result /= whole as f64,
                }
                // SAFETY: planes are written by one thread each.
                unsafe { y.set(to, &index, result) };
            });
        });
    }
}

/// Pools `x` into `y`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn miopenPoolingForward(
    handle: *mut Handle,
    pooling: *const Pooling,
    alpha: *const c_void,
    x_tensor: *const Tensor,
    x: *const c_void,
    beta: *const c_void,
    y_tensor: *const Tensor,
    y: *mut c_void,
    keep_indices: bool,
    _workspace: *mut c_void,
    _workspace_size: usize,
) -> c_int {
    const CALL: &str = "miopenPoolingForward";
    // SAFETY: descriptors or null.
    let (handle, pooling, x_layout, y_layout) = unsafe {
        (
            handle.as_ref(),
            pooling.as_ref(),
            layout(x_tensor),
            layout(y_tensor),
        )
    };
    let (Some(handle), Some(pooling), Some(x_layout), Some(y_layout)) =
        (handle, pooling, x_layout, y_layout)
    else {
        give_up(CALL, &"a null or unset descriptor");
    };
    let space = pooling.window.len();
    if x_layout.dims.len() != space + 2
        || y_layout.dims.len() != space + 2
        || x_layout.dims[..2] != y_layout.dims[..2]
        || x_layout.dtype != y_layout.dtype
    {
        give_up(CALL, &format!("{pooling:?} of {x_layout} into {y_layout}"));
    }
    // SAFETY: null or an f32, as MIOpen says for all types.
    unsafe { crate::activation::plain_scales(CALL, alpha, beta) };
    if keep_indices {
        give_up(CALL, &"indices of the maxima");
    }
    let (x, y) = (Operand::new(x_layout, x), Operand::new(y_layout, y));
    let uses = [x.read(), y.write()];
    let pooling = pooling.clone();
    // SAFETY: the HIP stand-in checked the extents of both tensors.
    let work = move || unsafe { pooling.run(&x, &y) };
    // SAFETY: `uses` has both tensors.
    match unsafe { enqueue(handle.stream, CALL, &uses, work) } {
        Ok(()) => SUCCESS,
        Err(status) => give_up(
            CALL,
            &format!("the stream refused the work (hipError_t {status})"),
        ),
    }
}
