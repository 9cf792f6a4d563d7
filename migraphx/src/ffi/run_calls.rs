//! What a run calls, side by side on one cache line: a small program runs in
//! 2 µs, and looking each function up where it lies in the library's table
//! takes 1 % of that.

use std::ffi::c_char;
use std::sync::atomic::AtomicU32;

use migraphx_sys::{
    const_migraphx_argument_t, const_migraphx_shape_t, migraphx_arguments_t,
    migraphx_program_parameters_t, migraphx_program_t, migraphx_status,
};
use once_cell::sync::OnceCell;

use crate::error::Result;
use crate::ffi::call;

type Out<T> = *mut T;
type Status = migraphx_status;

pub(crate) struct RunCalls {
    run: unsafe extern "C" fn(
        Out<migraphx_arguments_t>,
        migraphx_program_t,
        migraphx_program_parameters_t,
    ) -> Status,
    get:
        unsafe extern "C" fn(Out<const_migraphx_argument_t>, migraphx_arguments_t, usize) -> Status,
    shape: unsafe extern "C" fn(Out<const_migraphx_shape_t>, const_migraphx_argument_t) -> Status,
    equal:
        unsafe extern "C" fn(Out<bool>, const_migraphx_shape_t, const_migraphx_shape_t) -> Status,
    buffer: unsafe extern "C" fn(Out<*mut c_char>, const_migraphx_argument_t) -> Status,
    destroy: unsafe extern "C" fn(migraphx_arguments_t) -> Status,
    run_returns: AtomicU32,
    destroy_returns: AtomicU32,
}

#[repr(align(64))]
struct OneLine(OnceCell<RunCalls>);

static CALLS: OneLine = OneLine(OnceCell::new());

/// Looked up once.
#[inline]
pub(crate) fn run_calls() -> Result<&'static RunCalls> {
    CALLS.0.get_or_try_init(look_up)
}

#[cold]
fn look_up() -> Result<RunCalls> {
    let functions = &crate::ffi::library()?.functions;
    Ok(RunCalls {
        run: functions.migraphx_program_run.get()?,
        get: functions.migraphx_arguments_get.get()?,
        shape: functions.migraphx_argument_shape.get()?,
        equal: functions.migraphx_shape_equal.get()?,
        buffer: functions.migraphx_argument_buffer.get()?,
        destroy: functions.migraphx_arguments_destroy.get()?,
        run_returns: AtomicU32::new(0),
        destroy_returns: AtomicU32::new(0),
    })
}

impl RunCalls {
    /// `migraphx_program_run`, as [`call!`] does it.
    ///
    /// # Safety
    /// That of the C function.
    #[inline]
    pub(crate) unsafe fn run(
        &self,
        out: Out<migraphx_arguments_t>,
        program: migraphx_program_t,
        map: migraphx_program_parameters_t,
    ) -> Result<()> {
        call::checked("migraphx_program_run", &self.run_returns, || {
            // SAFETY: the caller's word.
            unsafe { (self.run)(out, program, map) }
        })
    }

    /// `migraphx_arguments_destroy`, as [`call!`] does it.
    ///
    /// # Safety
    /// The results are live, and not used again.
    #[inline]
    pub(crate) unsafe fn destroy(&self, results: migraphx_arguments_t) -> Result<()> {
        call::checked("migraphx_arguments_destroy", &self.destroy_returns, || {
            // SAFETY: the caller's word.
            unsafe { (self.destroy)(results) }
        })
    }

    /// The data of a result, if its shape equals `expected`. `None` where it
    /// does not, or something is out of the ordinary.
    ///
    /// # Safety
    /// The results and the shape are live. (C checks the index.)
    #[inline]
    pub(crate) unsafe fn data_of(
        &self,
        results: migraphx_arguments_t,
        index: usize,
        expected: const_migraphx_shape_t,
    ) -> Option<*const u8> {
        const OK: Status = Status::migraphx_status_success;
        let (mut argument, mut shape) = (std::ptr::null(), std::ptr::null());
        let (mut same, mut data) = (false, std::ptr::null_mut());
        // SAFETY: argument and its shape live as long as the results; the rest is
        // the caller's word.
        unsafe {
            let found = (self.get)(&mut argument, results, index) == OK
                && (self.shape)(&mut shape, argument) == OK
                && (self.equal)(&mut same, shape, expected) == OK
                && same
                && (self.buffer)(&mut data, argument) == OK
                && !data.is_null();
            found.then_some(data.cast_const().cast())
        }
    }
}
