//! Traces for which the library calls.

use std::any::Any;
use std::borrow::Cow;
use std::ffi::{CStr, c_char, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::AtomicU32;
use std::time::{Duration, Instant};

use migraphx_sys::{const_migraphx_argument_t, migraphx_status, migraphx_trace_info_t};

use super::{OnStep, TraceStep, VARIABLE};
use crate::compiled::CompiledProgram;
use crate::error::{Error, Result};
use crate::ffi::call;
use crate::inputs::Inputs;
use crate::outputs::Outputs;

impl CompiledProgram {
    pub(super) fn run_called<'r>(
        &'r mut self,
        inputs: &'r mut Inputs<'_>,
        on_step: OnStep<'_>,
    ) -> Result<Outputs<'r>> {
        let nested = self.instructions()?;
        if let Some(runs) = nested.iter().find(|i| !i.submodules().is_empty()) {
            return Err(Error::InvalidArgument(format!(
                "the program runs submodules ({} in `{}`), for which this library's trace does \
                 not end; set {VARIABLE}=1 when the process starts instead",
                runs.submodules().join(", "),
                runs.name()
            )));
        }
        let functions = &crate::ffi::library()?.by_hand;
        let run_trace = functions.migraphx_program_run_trace.get()?;
        let mut state = State {
            calls: Calls {
                index: functions.migraphx_trace_info_get_index.get()?,
                name: functions.migraphx_trace_info_get_name.get()?,
                result: functions.migraphx_trace_info_get_result.get()?,
            },
            on_step,
            start: Instant::now(),
            last: Duration::ZERO,
            end: None,
        };
        static RETURNS: AtomicU32 = AtomicU32::new(0);
        let pointer = (&raw mut state).cast::<c_void>();
        let result = self.run_by(inputs, |out, program, map| {
            call::checked("migraphx_program_run_trace", &RETURNS, || {
                // SAFETY: as for an ordinary run, by the word of `run_by`; the callback
                // fits its data, which lives until the call returns.
                unsafe { run_trace(out, program, map, Some(called), pointer) }
            })
        });
        match state.end {
            None => result,
            Some(End::Error(error)) => Err(error),
            Some(End::Panic(panic)) => resume_unwind(panic),
        }
    }
}

/// What a callback works on.
struct State<'f> {
    calls: Calls,
    on_step: OnStep<'f>,
    start: Instant,
    /// When the last callback returned.
    last: Duration,
    /// Why the run was ended.
    end: Option<End>,
}

enum End {
    Error(Error),
    Panic(Box<dyn Any + Send>),
}

type Status = migraphx_status;
type Info = migraphx_sys::const_migraphx_trace_info_t;

struct Calls {
    index: unsafe extern "C" fn(*mut usize, Info) -> Status,
    name: unsafe extern "C" fn(*mut *const c_char, Info) -> Status,
    result: unsafe extern "C" fn(*mut const_migraphx_argument_t, Info) -> Status,
}

/// The library's callback. Nothing unwinds through C.
unsafe extern "C" fn called(info: migraphx_trace_info_t, data: *mut c_void) -> Status {
    // SAFETY: `data` is the state given with this function, used by nothing else
    // while the library is running.
    let state = unsafe { &mut *data.cast::<State<'_>>() };
    let now = state.start.elapsed();
    let step = catch_unwind(AssertUnwindSafe(|| state.step(info, now)));
    state.last = state.start.elapsed();
    state.end = match step {
        Ok(Ok(())) => return migraphx_status::migraphx_status_success,
        Ok(Err(error)) => Some(End::Error(error)),
        Err(panic) => Some(End::Panic(panic)),
    };
    migraphx_status::migraphx_status_unknown_error
}

impl State<'_> {
    fn step(&mut self, info: migraphx_trace_info_t, now: Duration) -> Result<()> {
        let (mut index, mut name, mut result) = (0, std::ptr::null(), std::ptr::null());
        // SAFETY: the library gives a live object, and the out pointers are valid.
        unsafe {
            let status = (self.calls.index)(&mut index, info);
            call::status_of("migraphx_trace_info_get_index", status)?;
            let status = (self.calls.name)(&mut name, info);
            call::status_of("migraphx_trace_info_get_name", status)?;
            let status = (self.calls.result)(&mut result, info);
            call::status_of("migraphx_trace_info_get_result", status)?;
        }
        let text = match name.is_null() {
            true => Cow::Borrowed(""),
            // SAFETY: a text that ends with NUL, the library's until this returns.
            false => unsafe { CStr::from_ptr(name) }.to_string_lossy(),
        };
        (self.on_step)(&TraceStep {
            index,
            depth: 0,
            text,
            began: self.last,
            took: now.saturating_sub(self.last),
            result: Some(result),
        })
    }
}
