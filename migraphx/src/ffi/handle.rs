//! Owned C handles, by one macro: made by a call that fills an out pointer,
//! destroyed once.

use crate::ffi::run_calls::run_calls;

/// `owned!(Name, raw type, destroy function)`, or `|raw|` how to destroy it.
macro_rules! owned {
    ($(#[$meta:meta])* $name:ident, $raw:ident, $destroy:ident) => {
        owned!($(#[$meta])* $name, $raw, |raw| call!($destroy(raw)));
    };
    ($(#[$meta:meta])* $name:ident, $raw:ident, |$pointer:ident| $destroy:expr) => {
        $(#[$meta])*
        #[derive(Debug)]
        pub(crate) struct $name(::std::ptr::NonNull<::migraphx_sys::$raw>);

        impl $name {
            /// Takes ownership of what `make` writes through the out pointer.
            #[inline]
            pub(crate) fn make(
                make: impl FnOnce(*mut *mut ::migraphx_sys::$raw) -> $crate::error::Result<()>,
            ) -> $crate::error::Result<Self> {
                let mut raw = ::std::ptr::null_mut();
                make(&mut raw)?;
                ::std::ptr::NonNull::new(raw).map($name).ok_or_else(|| {
                    $crate::error::Error::Api {
                        function: stringify!($raw),
                        status: 0,
                        message: Some("the library gave a null handle".into()),
                        context: String::new(),
                    }
                })
            }

            /// The raw handle, for one call.
            #[inline]
            pub(crate) fn raw(&self) -> *mut ::migraphx_sys::$raw {
                self.0.as_ptr()
            }
        }

        impl Drop for $name {
            #[inline]
            fn drop(&mut self) {
                let $pointer = self.raw();
                // SAFETY: the handle is owned by this value and destroyed once, here.
                // A failure (the process is exiting) leaks it, which is harmless then.
                let _ = unsafe { $destroy };
            }
        }
    };
}

owned!(
    /// A shape made by us.
    ShapeHandle, migraphx_shape, migraphx_shape_destroy
);
owned!(ArgumentHandle, migraphx_argument, migraphx_argument_destroy);
owned!(
    /// The results of a run.
    ArgumentsHandle, migraphx_arguments,
    |raw| run_calls().and_then(|calls| calls.destroy(raw))
);
owned!(ShapesHandle, migraphx_shapes, migraphx_shapes_destroy);
owned!(TargetHandle, migraphx_target, migraphx_target_destroy);
owned!(ProgramHandle, migraphx_program, migraphx_program_destroy);
owned!(
    ParameterShapesHandle,
    migraphx_program_parameter_shapes,
    migraphx_program_parameter_shapes_destroy
);
owned!(
    ParametersHandle,
    migraphx_program_parameters,
    migraphx_program_parameters_destroy
);
owned!(
    OnnxOptionsHandle,
    migraphx_onnx_options,
    migraphx_onnx_options_destroy
);
owned!(
    FileOptionsHandle,
    migraphx_file_options,
    migraphx_file_options_destroy
);
owned!(
    CompileOptionsHandle,
    migraphx_compile_options,
    migraphx_compile_options_destroy
);
owned!(
    OpNamesHandle,
    migraphx_quantize_op_names,
    migraphx_quantize_op_names_destroy
);
owned!(
    Int8OptionsHandle,
    migraphx_quantize_int8_options,
    migraphx_quantize_int8_options_destroy
);
owned!(
    Fp8OptionsHandle,
    migraphx_quantize_fp8_options,
    migraphx_quantize_fp8_options_destroy
);
owned!(
    TfOptionsHandle,
    migraphx_tf_options,
    migraphx_tf_options_destroy
);
owned!(
    DynamicDimHandle,
    migraphx_dynamic_dimension,
    migraphx_dynamic_dimension_destroy
);
owned!(
    DynamicDimsHandle,
    migraphx_dynamic_dimensions,
    migraphx_dynamic_dimensions_destroy
);
owned!(OptimalsHandle, migraphx_optimals, migraphx_optimals_destroy);
owned!(
    OperationHandle,
    migraphx_operation,
    migraphx_operation_destroy
);
owned!(
    /// A place in a module; the module owns the instruction.
    InstructionHandle, migraphx_instruction, migraphx_instruction_destroy
);
owned!(
    InstructionsHandle,
    migraphx_instructions,
    migraphx_instructions_destroy
);
owned!(ModulesHandle, migraphx_modules, migraphx_modules_destroy);

macro_rules! send {
    ($($name:ident)*) => {
        $(
            // SAFETY: the object is on the heap and bound to no thread; destroying it on
            // another one was run on the real library, and reference counts are atomic.
            unsafe impl Send for $name {}
        )*
    };
}
send!(ShapeHandle ArgumentHandle ArgumentsHandle ShapesHandle TargetHandle ProgramHandle);
send!(InstructionHandle ParameterShapesHandle ParametersHandle);

// SAFETY: MIGraphX never changes a shape list after making it, and we only read it.
unsafe impl Sync for ParameterShapesHandle {}
// SAFETY: a target holds no state (semantics of `migraphx::target`); compile reads it.
unsafe impl Sync for TargetHandle {}
// SAFETY: shared access reads results, which nothing writes after the run.
unsafe impl Sync for ArgumentsHandle {}
