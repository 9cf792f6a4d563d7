//! Fusion plans. They can be described and never compile, which MIOpen allows: MIGraphX then keeps the
//! convolution, the bias and the activation as single operations.

use crate::api::{NOT_IMPLEMENTED, SUCCESS, UNSUPPORTED, descriptor};
use crate::convolution::Convolution;
use crate::tensor::{Handle, Tensor};
use std::ffi::{c_int, c_void};

/// A plan: nothing is kept of it.
pub struct Plan;
/// Arguments of a plan: nothing is kept of them.
pub struct Arguments;

descriptor!(miopenCreateFusionPlan(_direction: c_int, _input: *const Tensor) -> Plan = Plan,
    miopenDestroyFusionPlan, "a fusion plan");
descriptor!(miopenCreateOperatorArgs() -> Arguments = Arguments, miopenDestroyOperatorArgs, "arguments of a plan");

unsafe fn operation(plan: *mut Plan, out: *mut *mut Plan) -> c_int {
    if !out.is_null() {
        // SAFETY: writable. An operation is told apart from its plan by nobody.
        unsafe { *out = plan };
    }
    SUCCESS
}

/// Adds a convolution.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn miopenCreateOpConvForward(
    plan: *mut Plan,
    out: *mut *mut Plan,
    _convolution: *const Convolution,
    _weights: *const Tensor,
) -> c_int {
    // SAFETY: passed on.
    unsafe { operation(plan, out) }
}

/// Adds a bias.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn miopenCreateOpBiasForward(
    plan: *mut Plan,
    out: *mut *mut Plan,
    _bias: *const Tensor,
) -> c_int {
    // SAFETY: passed on.
    unsafe { operation(plan, out) }
}

/// Adds an activation.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn miopenCreateOpActivationForward(
    plan: *mut Plan,
    out: *mut *mut Plan,
    _mode: c_int,
) -> c_int {
    // SAFETY: passed on.
    unsafe { operation(plan, out) }
}

/// Refuses to compile, without a message: this is an answer MIGraphX counts on.
#[unsafe(no_mangle)]
pub extern "C" fn miopenCompileFusionPlan(_handle: *mut Handle, _plan: *mut Plan) -> c_int {
    UNSUPPORTED
}

macro_rules! refused {
    ($($(#[$doc:meta])* $name:ident($($type:ty),*);)*) => {$(
        $(#[$doc])*
        #[unsafe(no_mangle)]
        pub extern "C" fn $name($(_: $type),*) -> c_int {
            gpu_sim_work::complain(stringify!($name), &"no fusion plan was ever compiled");
            NOT_IMPLEMENTED
        }
    )*};
}
type Pointer = *const c_void;
refused! {
    /// Arguments of a plan that does not exist.
    miopenSetOpArgsConvForward(*mut Arguments, *mut Plan, Pointer, Pointer, Pointer);
    /// Arguments of a plan that does not exist.
    miopenSetOpArgsBiasForward(*mut Arguments, *mut Plan, Pointer, Pointer, Pointer);
    /// Arguments of a plan that does not exist.
    miopenSetOpArgsActivForward(*mut Arguments, *mut Plan, Pointer, Pointer, f64, f64, f64);
    /// Runs a plan that does not exist.
    miopenExecuteFusionPlan(*mut Handle, *mut Plan, *const Tensor, Pointer, *const Tensor, Pointer, *mut Arguments);
}
