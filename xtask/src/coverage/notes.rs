//! Why a C function stands behind no public item of its own. `*_end` stands for
//! all functions that end so and are not named.

/// Public items do the same another way.
pub const OTHERWISE: &[(&str, &str)] = &[
    (
        "migraphx_argument_create_empty",
        "memory of our own, in whole pages",
    ),
    ("migraphx_argument_equal", "compared in Rust"),
    (
        "migraphx_argument_load",
        "read in Rust: C reads past the end of short data",
    ),
    (
        "migraphx_argument_save",
        "written in Rust: C does not notice a full disk",
    ),
    ("migraphx_dynamic_dimension_is_fixed", "the range is known"),
    ("migraphx_shape_create", "with strides"),
    (
        "migraphx_shape_elements",
        "counted in Rust, where C overflows",
    ),
    (
        "migraphx_shape_index",
        "computed in Rust, where C divides by zero",
    ),
    ("migraphx_shape_ndim", "the dimensions are known"),
    ("migraphx_shape_standard", "the strides are known"),
];

/// Called where no public item shows it.
pub const INSIDE: &[(&str, &str)] = &[
    ("*_destroy", "when the value is dropped"),
    ("*_options_create", "when options are given to a call"),
    (
        "migraphx_argument_assign_to",
        "what a custom operator gives back",
    ),
    (
        "migraphx_dynamic_dimension_equal",
        "finds out the range of a dimension, for which C has no question",
    ),
    ("migraphx_dynamic_dimensions_create", "of `Shape::dynamic`"),
    (
        "migraphx_dynamic_dimensions_get",
        "of `Shape::dynamic_dims`",
    ),
    (
        "migraphx_dynamic_dimensions_size",
        "of `Shape::dynamic_dims`",
    ),
    ("migraphx_instructions_create", "the inputs of `Graph::add`"),
    ("migraphx_module_print", "`Display` of `Graph`"),
    (
        "migraphx_modules_create",
        "the submodules of `Graph::add_with_modules`",
    ),
    (
        "migraphx_program_parameter_shapes_size",
        "of `Program::parameters`",
    ),
    (
        "migraphx_program_parameters_add",
        "when an input set is made",
    ),
    ("migraphx_program_print", "`Display` of programs"),
    (
        "migraphx_quantize_op_names_add",
        "of `Program::quantize_fp16_ops` and `quantize_bf16_ops`",
    ),
    (
        "migraphx_quantize_op_names_create",
        "of `Program::quantize_fp16_ops` and `quantize_bf16_ops`",
    ),
    (
        "migraphx_shape_assign_to",
        "the shape that a custom operator gives back",
    ),
    ("migraphx_shape_equal", "checks outputs in a run"),
    ("migraphx_shapes_get", "of `output_shapes`"),
    ("migraphx_shapes_size", "of `output_shapes`"),
];

/// Not called.
pub const LEFT_OUT: &[(&str, &str)] = &[
    (
        "*_assign_to",
        "copies one handle over another; in Rust values move or are cloned",
    ),
    (
        "migraphx_context_finish",
        "the context cannot be freed in C; `hip::Stream::synchronize` and `PendingRun::wait` wait",
    ),
    (
        "migraphx_module_add_allocation",
        "made a constant by the GPU target and shared; custom operators get memory of their own",
    ),
    (
        "migraphx_module_create",
        "a module outside of a program, which C cannot free; `Graph::submodule` makes them",
    ),
    (
        "migraphx_onnx_options_set_use_debug_symbols",
        "of ROCm 7.13: puts names of the model behind printed instructions, a text that is read here",
    ),
    (
        "migraphx_program_experimental_get_context",
        "each call leaks, and makes later runs race with copies of the program; `hip::Stream` \
         is what it was for",
    ),
    (
        "migraphx_trace_info_create",
        "the library makes them, for the callback of `run_trace`",
    ),
    (
        "migraphx_trace_info_destroy",
        "the library frees what it gave to the callback of `run_trace`",
    ),
];
