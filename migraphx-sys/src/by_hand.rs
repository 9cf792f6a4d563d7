//! Functions that the generated bindings do not hold: newer than the header
//! they were made from, or variadic.

use core::ffi::{c_char, c_int, c_void};

use libloading::Library;

use crate::bindings::*;
use crate::table::Function;

/// What one instruction gave, in a callback of `migraphx_program_run_trace` (since ROCm 7.13).
#[repr(C)]
#[derive(Debug)]
pub struct migraphx_trace_info {
    _unused: [u8; 0],
}
/// Owned handle to a [`migraphx_trace_info`].
pub type migraphx_trace_info_t = *mut migraphx_trace_info;
/// Borrowed handle to a [`migraphx_trace_info`].
pub type const_migraphx_trace_info_t = *const migraphx_trace_info;
/// Called after each instruction; a status other than success ends the run.
pub type migraphx_trace_callback_t =
    Option<unsafe extern "C" fn(info: migraphx_trace_info_t, data: *mut c_void) -> migraphx_status>;

function_table! {
    /// Functions newer than the header that the generated bindings were made
    /// from (ROCm 7.2: the operator list; ROCm 7.13: traces, debug symbols).
    ByHand {
        pub fn migraphx_get_onnx_operators_size(out: *mut usize) -> migraphx_status;
        pub fn migraphx_get_onnx_operator_name_at_index(
            out: *mut *mut c_char,
            index: usize,
        ) -> migraphx_status;
        pub fn migraphx_trace_info_destroy(trace_info: migraphx_trace_info_t) -> migraphx_status;
        pub fn migraphx_trace_info_assign_to(
            output: migraphx_trace_info_t,
            input: const_migraphx_trace_info_t,
        ) -> migraphx_status;
        pub fn migraphx_trace_info_create(trace_info: *mut migraphx_trace_info_t) -> migraphx_status;
        pub fn migraphx_trace_info_get_index(
            out: *mut usize,
            trace_info: const_migraphx_trace_info_t,
        ) -> migraphx_status;
        pub fn migraphx_trace_info_get_name(
            out: *mut *const c_char,
            trace_info: const_migraphx_trace_info_t,
        ) -> migraphx_status;
        pub fn migraphx_trace_info_get_result(
            out: *mut const_migraphx_argument_t,
            trace_info: const_migraphx_trace_info_t,
        ) -> migraphx_status;
        pub fn migraphx_program_run_trace(
            out: *mut migraphx_arguments_t,
            program: migraphx_program_t,
            params: migraphx_program_parameters_t,
            callback: migraphx_trace_callback_t,
            data: *mut c_void,
        ) -> migraphx_status;
        pub fn migraphx_onnx_options_set_use_debug_symbols(
            onnx_options: migraphx_onnx_options_t,
            value: bool,
        ) -> migraphx_status;
    }
}

/// `migraphx_operation_create`, the one variadic function: `attributes` is a
/// printf format, so a `%` in it must be written `%%`.
pub type OperationCreate = unsafe extern "C" fn(
    operation: *mut migraphx_operation_t,
    name: *const c_char,
    attributes: *const c_char,
    ...
) -> migraphx_status;

/// # Safety
/// `library` is MIGraphX's C library.
pub(crate) unsafe fn operation_create(library: &Library) -> Function<OperationCreate> {
    // SAFETY: the type is that of migraphx.h, unchanged since ROCm 5.0.
    unsafe { Function::look_up(library, "migraphx_operation_create") }
}

const _: () = assert!(size_of::<migraphx_status>() == size_of::<c_int>());
