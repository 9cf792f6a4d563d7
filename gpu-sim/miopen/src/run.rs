//! Running a convolution.

use crate::api::{BAD_PARAMETER, INTERNAL_ERROR, SUCCESS, UNSUPPORTED};
use crate::problem::{Problem, W, X, Y};
use crate::tensor::{Handle, Operand, Tensor};
use gpu_sim_work::{complain, enqueue};
use std::ffi::{c_int, c_void};

/// A tensor given to a solution.
#[repr(C)]
pub struct TensorArgument {
    id: c_int,
    _descriptor: *mut *mut Tensor,
    buffer: *mut c_void,
}

impl TensorArgument {
    /// Tensor `id` (1 input, 2 weights, 3 output) at `buffer`.
    pub fn new(id: c_int, buffer: *mut c_void) -> Self {
        Self {
            id,
            _descriptor: std::ptr::null_mut(),
            buffer,
        }
    }
}

/// Runs a convolution.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn miopenRunSolution(
    handle: *mut Handle,
    solution: *const Problem,
    count: usize,
    tensors: *const TensorArgument,
    _workspace: *mut c_void,
    _workspace_size: usize,
) -> c_int {
    const CALL: &str = "miopenRunSolution (convolution)";
    // SAFETY: a handle and a solution, or null.
    let (Some(handle), Some(solution)) = (unsafe { (handle.as_ref(), solution.as_ref()) }) else {
        return BAD_PARAMETER;
    };
    if tensors.is_null() {
        return BAD_PARAMETER;
    }
    // SAFETY: `count` entries, as the caller says.
    let given = unsafe { std::slice::from_raw_parts(tensors, count) };
    let buffer = |id| {
        given
            .iter()
            .find(|t| t.id == id)
            .map(|t| t.buffer.cast_const())
    };
    let (Some(x), Some(w), Some(y)) = (buffer(X), buffer(W), buffer(Y)) else {
        return BAD_PARAMETER;
    };
    let (conv, layouts) = match solution.conv() {
        Ok(known) => known,
        Err(why) => {
            complain(CALL, &why);
            return UNSUPPORTED;
        }
    };
    let [x, w, y] = [(layouts[0], x), (layouts[1], w), (layouts[2], y)]
        .map(|(l, p)| Operand::new(l.clone(), p));
    let uses = [x.read(), w.read(), y.write()];
    let work = move || {
        // SAFETY: the stream keeps the tensors alive and to us while the work runs; their extents were
        // checked by the HIP stand-in.
        unsafe { conv.run(x.host(), w.host(), y.host()) };
    };
    // SAFETY: `uses` has all three tensors.
    match unsafe { enqueue(handle.stream, CALL, &uses, work) } {
        Ok(()) => SUCCESS,
        Err(status) => {
            complain(
                CALL,
                &format!("the stream refused the work (hipError_t {status})"),
            );
            INTERNAL_ERROR
        }
    }
}
