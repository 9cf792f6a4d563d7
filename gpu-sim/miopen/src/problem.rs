//! Convolution problems, and finding their one solution.

use crate::api::{BAD_PARAMETER, SUCCESS, UNSUPPORTED};
use crate::convolution::Convolution;
use crate::tensor::{Handle, Tensor, layout};
use gpu_sim_gemm::{Conv, ConvOptions, Layout, Unsupported};
use gpu_sim_work::complain;
use std::ffi::{c_int, c_void};

const FORWARD: c_int = 0;
pub(crate) const X: c_int = 1;
pub(crate) const W: c_int = 2;
pub(crate) const Y: c_int = 3;

/// A convolution with its tensors; also what a solution is.
#[derive(Clone, Debug)]
pub struct Problem {
    pub(crate) options: ConvOptions,
    pub(crate) x: Option<Layout>,
    pub(crate) w: Option<Layout>,
    pub(crate) y: Option<Layout>,
}

/// Describes a convolution problem.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn miopenCreateConvProblem(
    out: *mut *mut Problem,
    convolution: *const Convolution,
    direction: c_int,
) -> c_int {
    // SAFETY: a descriptor or null.
    let Some(convolution) = (unsafe { convolution.as_ref() }) else {
        return BAD_PARAMETER;
    };
    if out.is_null() {
        return BAD_PARAMETER;
    }
    if direction != FORWARD {
        complain(
            "miopenCreateConvProblem",
            &format!("direction {direction}: only forward is computed"),
        );
        return UNSUPPORTED;
    }
    let problem = Problem {
        options: convolution.options.clone(),
        x: None,
        w: None,
        y: None,
    };
    // SAFETY: writable.
    unsafe { *out = Box::into_raw(Box::new(problem)) };
    SUCCESS
}

unsafe fn destroy(problem: *mut Problem) -> c_int {
    if !problem.is_null() {
        // SAFETY: made by this library and given back once.
        drop(unsafe { Box::from_raw(problem) });
    }
    SUCCESS
}

/// Frees a problem.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn miopenDestroyProblem(problem: *mut Problem) -> c_int {
    // SAFETY: passed on.
    unsafe { destroy(problem) }
}

/// Frees a solution.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn miopenDestroySolution(solution: *mut Problem) -> c_int {
    // SAFETY: passed on.
    unsafe { destroy(solution) }
}

/// Sets a tensor of a problem.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn miopenSetProblemTensorDescriptor(
    problem: *mut Problem,
    id: c_int,
    tensor: *const Tensor,
) -> c_int {
    // SAFETY: descriptors or null.
    let (Some(problem), Some(layout)) = (unsafe { (problem.as_mut(), layout(tensor)) }) else {
        return BAD_PARAMETER;
    };
    match id {
        X => problem.x = Some(layout),
        W => problem.w = Some(layout),
        Y => problem.y = Some(layout),
        _ => return BAD_PARAMETER,
    }
    SUCCESS
}

macro_rules! ignored {
    ($($(#[$doc:meta])* $name:ident($($type:ty),*);)*) => {$(
        $(#[$doc])*
        #[unsafe(no_mangle)]
        pub extern "C" fn $name($(_: $type),*) -> c_int {
            SUCCESS
        }
    )*};
}
ignored! {
    /// Whether to tune: there is one solution.
    miopenSetFindOptionTuning(*mut u64, c_int);
    /// Memory to try solutions with: none is needed.
    miopenSetFindOptionPreallocatedTensor(*mut u64, c_int, *mut c_void);
    /// Workspace to try solutions with: none is needed.
    miopenSetFindOptionPreallocatedWorkspace(*mut u64, *mut c_void, usize);
}

impl Problem {
    pub(crate) fn conv(&self) -> Result<(Conv, [&Layout; 3]), Unsupported> {
        let (Some(x), Some(w), Some(y)) = (&self.x, &self.w, &self.y) else {
            return Err(Unsupported(
                "a convolution without all of its tensors".into(),
            ));
        };
        Ok((Conv::new(x, w, y, &self.options)?, [x, w, y]))
    }
}

/// The solutions of a problem: one, if the convolution is supported.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn miopenFindSolutions(
    _handle: *mut Handle,
    problem: *const Problem,
    _options: *mut u64,
    solutions: *mut *mut Problem,
    count: *mut usize,
    most: usize,
) -> c_int {
    // SAFETY: a problem or null.
    let Some(problem) = (unsafe { problem.as_ref() }) else {
        return BAD_PARAMETER;
    };
    if solutions.is_null() || count.is_null() || most == 0 {
        return BAD_PARAMETER;
    }
    let known = problem.conv().map(|_| ());
    // SAFETY: writable, room for at least one solution.
    unsafe {
        *count = usize::from(known.is_ok());
        *solutions = match known {
            Ok(()) => Box::into_raw(Box::new(problem.clone())),
            Err(_) => std::ptr::null_mut(),
        };
    }
    match known {
        Ok(()) => SUCCESS,
        Err(why) => {
            complain("miopenFindSolutions", &why);
            UNSUPPORTED
        }
    }
}
