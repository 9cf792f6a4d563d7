//! The function table: every C function as a value that may be absent.

use std::fmt;

use libloading::Library;

/// A C function of the loaded library, or the knowledge that it is not there.
pub struct Function<F> {
    name: &'static str,
    pointer: Option<F>,
}

impl<F: Copy> Function<F> {
    /// The function pointer.
    ///
    /// # Errors
    /// [`MissingFunction`] where the loaded library does not export it.
    #[inline]
    pub fn get(&self) -> Result<F, MissingFunction> {
        match self.pointer {
            Some(pointer) => Ok(pointer),
            None => Err(MissingFunction {
                function: self.name,
            }),
        }
    }

    /// The C name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Whether the loaded library exports it.
    pub fn is_available(&self) -> bool {
        self.pointer.is_some()
    }

    /// # Safety
    /// The symbol `name` of `library`, where it exists, is a function of type `F`.
    pub(crate) unsafe fn look_up(library: &Library, name: &'static str) -> Self {
        // SAFETY: the type is the caller's promise.
        let symbol = unsafe { library.get::<F>(name.as_bytes()) };
        Function {
            name,
            pointer: symbol.ok().map(|symbol| *symbol),
        }
    }
}

impl<F> fmt::Debug for Function<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = if self.pointer.is_some() {
            ""
        } else {
            " (missing)"
        };
        write!(f, "{}{state}", self.name)
    }
}

/// The loaded library lacks a function.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the loaded MIGraphX library has no function `{function}`{}; use a library that has it",
    since(.function).map(|release| format!(" (present since ROCm {release})")).unwrap_or_default()
)]
pub struct MissingFunction {
    /// The C name.
    pub function: &'static str,
}

impl MissingFunction {
    /// The first ROCm release with this function, where it is younger than 5.0.
    pub fn since(&self) -> Option<&'static str> {
        since(self.function)
    }
}

/// The first ROCm release whose `migraphx.h` declares `function`, for functions
/// added after 5.0. Read from the headers of every release tag of
/// ROCm/AMDMIGraphX.
pub fn since(function: &str) -> Option<&'static str> {
    let name = function.strip_prefix("migraphx_")?;
    // From 5.1 on every handle of the 5.0 header has it; later handles came with it.
    SINCE
        .iter()
        .find(|(_, names)| names.contains(&name))
        .map(|(release, _)| *release)
        .or_else(|| name.ends_with("_assign_to").then_some("5.1"))
}

const SINCE: &[(&str, &[&str])] = &[
    (
        "5.2",
        &[
            "instruction_destroy",
            "instruction_assign_to",
            "instructions_destroy",
            "instructions_assign_to",
            "instructions_create",
            "modules_destroy",
            "modules_assign_to",
            "modules_create",
            "module_create",
            "module_add_instruction",
            "module_add_instruction_with_mod_args",
            "module_add_parameter",
            "module_add_return",
            "program_create",
            "program_create_module",
            "program_experimental_get_context",
            "context_finish",
            "context_get_queue",
            "experimental_custom_op_destroy",
            "experimental_custom_op_assign_to",
            "experimental_custom_op_create",
            "experimental_custom_op_set_compute_shape",
            "experimental_custom_op_register",
        ],
    ),
    (
        "5.3",
        &[
            "shape_standard",
            "module_add_literal",
            "module_add_allocation",
            "experimental_custom_op_set_compute",
        ],
    ),
    (
        "5.4",
        &[
            "shape_elements",
            "shape_index",
            "program_run_async",
            "experimental_custom_op_set_output_alias",
            "experimental_custom_op_set_runs_on_offload_target",
        ],
    ),
    (
        "5.6",
        &[
            "optimals_destroy",
            "optimals_assign_to",
            "optimals_create",
            "dynamic_dimension_destroy",
            "dynamic_dimension_assign_to",
            "dynamic_dimension_create_min_max",
            "dynamic_dimension_create_min_max_optimals",
            "dynamic_dimension_is_fixed",
            "dynamic_dimension_equal",
            "dynamic_dimensions_destroy",
            "dynamic_dimensions_assign_to",
            "dynamic_dimensions_create",
            "dynamic_dimensions_size",
            "dynamic_dimensions_get",
            "shape_create_dynamic",
            "shape_dyn_dims",
            "shape_ndim",
            "shape_dynamic",
            "argument_create_empty",
            "onnx_options_set_dyn_input_parameter_shape",
            "onnx_options_set_default_dyn_dim_value",
            "compile_options_set_exhaustive_tune_flag",
        ],
    ),
    ("6.1", &["onnx_options_set_limit_loop_iterations"]),
    ("6.2", &["onnx_options_set_external_data_path"]),
    (
        "6.4",
        &[
            "quantize_fp8",
            "quantize_fp8_options_destroy",
            "quantize_fp8_options_assign_to",
            "quantize_fp8_options_create",
            "quantize_fp8_options_add_calibration_data",
        ],
    ),
    (
        "7.0",
        &[
            "argument_save",
            "argument_load",
            "parse_tf_buffer",
            "quantize_bf16",
            "quantize_bf16_with_op_names",
        ],
    ),
    (
        "7.2",
        &["get_onnx_operators_size", "get_onnx_operator_name_at_index"],
    ),
    (
        "7.13",
        &[
            "program_run_trace",
            "trace_info_destroy",
            "trace_info_assign_to",
            "trace_info_create",
            "trace_info_get_index",
            "trace_info_get_name",
            "trace_info_get_result",
            "onnx_options_set_use_debug_symbols",
        ],
    ),
];

/// Makes a struct with one [`Function`] a C function from declarations in the
/// form that bindgen writes.
macro_rules! function_table {
    (
        $(#[$meta:meta])*
        $table:ident {
            $(pub fn $name:ident($($argument:ident: $type:ty),* $(,)?) -> $result:ty;)*
        }
    ) => {
        $(#[$meta])*
        #[derive(Debug)]
        #[allow(missing_docs, reason = "named and documented by MIGraphX")]
        pub struct $table {
            $(pub $name: $crate::Function<unsafe extern "C" fn($($argument: $type),*) -> $result>,)*
        }

        impl $table {
            /// The C names, in the order of the declarations.
            pub const NAMES: &'static [&'static str] = &[$(stringify!($name)),*];

            /// # Safety
            /// The symbols of `library` with these names have these types.
            pub(crate) unsafe fn look_up(library: &libloading::Library) -> Self {
                $table {
                    // SAFETY: the type is the caller's promise.
                    $($name: unsafe {
                        $crate::Function::look_up(library, stringify!($name))
                    },)*
                }
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_are_known() {
        assert_eq!(since("migraphx_quantize_fp8"), Some("6.4"));
        assert_eq!(since("migraphx_shape_assign_to"), Some("5.1"));
        assert_eq!(since("migraphx_instruction_assign_to"), Some("5.2"));
        assert_eq!(since("migraphx_program_run"), None);
    }

    #[test]
    fn every_name_is_declared() {
        let declared: Vec<&str> = crate::Functions::NAMES
            .iter()
            .chain(crate::ByHand::NAMES)
            .copied()
            .collect();
        for name in SINCE.iter().flat_map(|(_, names)| *names) {
            let name = format!("migraphx_{name}");
            assert!(declared.contains(&name.as_str()), "{name} is not declared");
        }
    }

    #[test]
    fn a_missing_function_says_since_when() {
        let missing = MissingFunction {
            function: "migraphx_quantize_fp8",
        };
        let text = missing.to_string();
        assert!(
            text.contains("`migraphx_quantize_fp8` (present since ROCm 6.4)"),
            "{text}"
        );
    }
}
