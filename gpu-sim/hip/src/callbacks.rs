//! Functions of the caller in a stream. They run in order with the stream's
//! work, on the thread that drives it, without any lock of this library.
//!
//! Read in: ROCm/clr rocm-6.2.2, `hip_stream.cpp`: `streamCallback_common`,
//! `hipLaunchHostFunc_common`, `hipStreamAddCallback_common`.

use crate::abi::{Handle, HipError};
use crate::state::api;
use crate::work::Work;
use std::ffi::{c_int, c_uint, c_void};

/// HIP's function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipLaunchHostFunc(
    stream: Handle,
    function: Option<unsafe extern "C" fn(*mut c_void)>,
    data: *mut c_void,
) -> c_int {
    api(
        "hipLaunchHostFunc",
        || format!("{stream:p}"),
        |s| {
            let function = function.ok_or(HipError::INVALID_VALUE)?;
            let id = s.stream_of("hipLaunchHostFunc", stream)?;
            s.submit(
                id,
                "host function",
                Work::HostFunction {
                    function,
                    data: data as usize,
                },
                &[],
            )
            .map(drop)
        },
    )
}

/// HIP's function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipStreamAddCallback(
    stream: Handle,
    function: Option<unsafe extern "C" fn(Handle, c_int, *mut c_void)>,
    data: *mut c_void,
    flags: c_uint,
) -> c_int {
    api(
        "hipStreamAddCallback",
        || format!("{stream:p}"),
        |s| {
            let function = function
                .filter(|_| flags == 0)
                .ok_or(HipError::INVALID_VALUE)?;
            let id = s.stream_of("hipStreamAddCallback", stream)?;
            let work = Work::Callback {
                function,
                stream: stream as usize,
                data: data as usize,
            };
            s.submit(id, "callback", work, &[]).map(drop)
        },
    )
}
