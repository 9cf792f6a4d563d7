//! Activations.

use crate::api::{BAD_PARAMETER, SUCCESS, descriptor, give_up};
use crate::tensor::{Handle, Operand, Tensor, for_each_index, layout};
use gpu_sim_work::enqueue;
use std::ffi::{c_int, c_void};

/// A function and its parameters.
#[derive(Clone, Copy, Debug)]
pub struct Activation {
    mode: c_int,
    alpha: f64,
    beta: f64,
    gamma: f64,
}

descriptor!(miopenCreateActivationDescriptor() -> Activation
    = Activation { mode: 0, alpha: 0.0, beta: 0.0, gamma: 0.0 },
    miopenDestroyActivationDescriptor, "an activation descriptor");

/// Sets function and parameters.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn miopenSetActivationDescriptor(
    activation: *mut Activation,
    mode: c_int,
    alpha: f64,
    beta: f64,
    gamma: f64,
) -> c_int {
    // SAFETY: a descriptor or null.
    let Some(activation) = (unsafe { activation.as_mut() }) else {
        return BAD_PARAMETER;
    };
    if !(0..=9).contains(&mode) {
        return BAD_PARAMETER;
    }
    *activation = Activation {
        mode,
        alpha,
        beta,
        gamma,
    };
    SUCCESS
}

impl Activation {
    /// The formulas of `miopenActivationMode_t`.
    fn apply(self, x: f64) -> f64 {
        let Self {
            alpha, beta, gamma, ..
        } = self;
        match self.mode {
            0 => x,
            1 => 1.0 / (1.0 + (-x).exp()),
            2 => beta * (alpha * x).tanh(),
            3 => x.max(0.0),
            4 => x.exp().ln_1p(),
            5 => x.abs(),
            6 => (alpha + beta * x).powf(gamma),
            7 => x.max(0.0).min(alpha),
            8 => {
                if x > 0.0 {
                    x
                } else {
                    alpha * x
                }
            }
            9 => {
                if x > 0.0 {
                    x
                } else {
                    alpha * x.exp_m1()
                }
            }
            mode => unreachable!("mode {mode} was refused when it was set"),
        }
    }
}

/// MIGraphX scales by 1 and adds nothing; the process ends for anything else.
///
/// # Safety
/// The scales are null or point to an f32.
pub(crate) unsafe fn plain_scales(call: &str, alpha: *const c_void, beta: *const c_void) {
    let read = |p: *const c_void, default: f32| {
        if p.is_null() {
            return default;
        }
        // SAFETY: not null: an f32, as the caller promises.
        unsafe { *p.cast::<f32>() }
    };
    let (alpha, beta) = (read(alpha, 1.0), read(beta, 0.0));
    if alpha != 1.0 || beta != 0.0 {
        give_up(call, &format!("alpha {alpha}, beta {beta}"));
    }
}

/// Applies an activation to each element of `x`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn miopenActivationForward(
    handle: *mut Handle,
    activation: *const Activation,
    alpha: *const c_void,
    x_tensor: *const Tensor,
    x: *const c_void,
    beta: *const c_void,
    y_tensor: *const Tensor,
    y: *mut c_void,
) -> c_int {
    const CALL: &str = "miopenActivationForward";
    // SAFETY: descriptors or null.
    let (handle, activation, x_layout, y_layout) = unsafe {
        (
            handle.as_ref(),
            activation.as_ref(),
            layout(x_tensor),
            layout(y_tensor),
        )
    };
    let (Some(handle), Some(&activation), Some(x_layout), Some(y_layout)) =
        (handle, activation, x_layout, y_layout)
    else {
        give_up(CALL, &"a null or unset descriptor");
    };
    if x_layout.dims != y_layout.dims || x_layout.dtype != y_layout.dtype {
        give_up(CALL, &format!("{x_layout} into {y_layout}"));
    }
    // SAFETY: null or an f32, as MIOpen says for all types.
    unsafe { plain_scales(CALL, alpha, beta) };
    let (x, y) = (Operand::new(x_layout, x), Operand::new(y_layout, y));
    let uses = [x.read(), y.write()];
    let work = move || {
        let (from, to) = (x.host(), y.host());
        for_each_index(&x.layout.dims, |index| {
            // SAFETY: inside tensors whose extents the HIP stand-in checked; one thread.
            unsafe { y.set(to, index, activation.apply(x.get(from, index))) };
        });
    };
    // SAFETY: `uses` has both tensors.
    match unsafe { enqueue(handle.stream, CALL, &uses, work) } {
        Ok(()) => SUCCESS,
        Err(status) => give_up(
            CALL,
            &format!("the stream refused the work (hipError_t {status})"),
        ),
    }
}
