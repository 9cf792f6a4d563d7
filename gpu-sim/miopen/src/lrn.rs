//! Local response normalisation across channels.

use crate::activation::plain_scales;
use crate::api::{BAD_PARAMETER, SUCCESS, descriptor, give_up};
use crate::tensor::{Handle, Operand, Tensor, for_each_index, layout};
use gpu_sim_work::enqueue;
use std::ffi::{c_int, c_uint, c_void};

const CROSS_CHANNEL: c_int = 1;

/// Window and constants.
#[derive(Clone, Copy, Debug)]
pub struct Lrn {
    mode: c_int,
    size: c_uint,
    alpha: f64,
    beta: f64,
    k: f64,
}

descriptor!(miopenCreateLRNDescriptor() -> Lrn = Lrn { mode: CROSS_CHANNEL, size: 1, alpha: 0.0, beta: 0.0, k: 1.0 },
    miopenDestroyLRNDescriptor, "an LRN descriptor");

/// Sets window and constants.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn miopenSetLRNDescriptor(
    lrn: *mut Lrn,
    mode: c_int,
    size: c_uint,
    alpha: f64,
    beta: f64,
    k: f64,
) -> c_int {
    // SAFETY: a descriptor or null.
    let Some(lrn) = (unsafe { lrn.as_mut() }) else {
        return BAD_PARAMETER;
    };
    if size == 0 {
        return BAD_PARAMETER;
    }
    *lrn = Lrn {
        mode,
        size,
        alpha,
        beta,
        k,
    };
    SUCCESS
}

impl Lrn {
    /// `x / (k + alpha / size * sum of squares)^beta` over the channels around each one: of an even
    /// window, one more behind than in front, as ONNX has it.
    ///
    /// # Safety
    /// As [`Operand::get`] for every element of `x` and [`Operand::set`] for every one of `y`.
    unsafe fn run(self, x: &Operand, y: &Operand) {
        let (from, to) = (x.host(), y.host());
        let size = self.size as usize;
        let channels = x.layout.dims[1];
        for_each_index(&x.layout.dims, |index| {
            let mut at = index.to_vec();
            let first = index[1].saturating_sub((size - 1) / 2);
            let last = (index[1] + size / 2).min(channels - 1);
            let mut sum = 0.0;
            for channel in first..=last {
                at[1] = channel;
                // SAFETY: inside the tensor.
                let value = unsafe { x.get(from, &at) };
                sum += value * value;
            }
            let scale = (self.k + self.alpha / size as f64 * sum).powf(self.beta);
            // SAFETY: inside the tensor; one thread.
            unsafe { y.set(to, index, x.get(from, index) / scale) };
        });
    }
}

/// Normalises `x` into `y`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn miopenLRNForward(
    handle: *mut Handle,
    lrn: *const Lrn,
    alpha: *const c_void,
    x_tensor: *const Tensor,
    x: *const c_void,
    beta: *const c_void,
    y_tensor: *const Tensor,
    y: *mut c_void,
    _for_backward: bool,
    _workspace: *mut c_void,
) -> c_int {
    const CALL: &str = "miopenLRNForward";
    // SAFETY: descriptors or null.
    let (handle, lrn, x_layout, y_layout) = unsafe {
        (
            handle.as_ref(),
            lrn.as_ref(),
            layout(x_tensor),
            layout(y_tensor),
        )
    };
    let (Some(handle), Some(&lrn), Some(x_layout), Some(y_layout)) =
        (handle, lrn, x_layout, y_layout)
    else {
        give_up(CALL, &"a null or unset descriptor");
    };
    if lrn.mode != CROSS_CHANNEL
        || x_layout.dims != y_layout.dims
        || x_layout.dtype != y_layout.dtype
        || x_layout.dims.len() < 2
    {
        give_up(CALL, &format!("{lrn:?} of {x_layout} into {y_layout}"));
    }
    // SAFETY: null or an f32, as MIOpen says for all types.
    unsafe { plain_scales(CALL, alpha, beta) };
    let (x, y) = (Operand::new(x_layout, x), Operand::new(y_layout, y));
    let uses = [x.read(), y.write()];
    // SAFETY: the HIP stand-in checked the extents of both tensors.
    let work = move || unsafe { lrn.run(&x, &y) };
    // SAFETY: `uses` has both tensors.
    match unsafe { enqueue(handle.stream, CALL, &uses, work) } {
        Ok(()) => SUCCESS,
        Err(status) => give_up(
            CALL,
            &format!("the stream refused the work (hipError_t {status})"),
        ),
    }
}
