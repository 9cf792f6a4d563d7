// Generated from migraphx.h by `cargo xtask codegen`; do not edit.

pub type migraphx_optimals_t = *mut migraphx_optimals;
pub type const_migraphx_optimals_t = *const migraphx_optimals;
pub type migraphx_dynamic_dimension_t = *mut migraphx_dynamic_dimension;
pub type const_migraphx_dynamic_dimension_t = *const migraphx_dynamic_dimension;
pub type migraphx_dynamic_dimensions_t = *mut migraphx_dynamic_dimensions;
pub type const_migraphx_dynamic_dimensions_t = *const migraphx_dynamic_dimensions;
pub type migraphx_shape_t = *mut migraphx_shape;
pub type const_migraphx_shape_t = *const migraphx_shape;
pub type migraphx_argument_t = *mut migraphx_argument;
pub type const_migraphx_argument_t = *const migraphx_argument;
pub type migraphx_target_t = *mut migraphx_target;
pub type const_migraphx_target_t = *const migraphx_target;
pub type migraphx_program_parameter_shapes_t = *mut migraphx_program_parameter_shapes;
pub type const_migraphx_program_parameter_shapes_t = *const migraphx_program_parameter_shapes;
pub type migraphx_program_parameters_t = *mut migraphx_program_parameters;
pub type const_migraphx_program_parameters_t = *const migraphx_program_parameters;
pub type migraphx_arguments_t = *mut migraphx_arguments;
pub type const_migraphx_arguments_t = *const migraphx_arguments;
pub type migraphx_shapes_t = *mut migraphx_shapes;
pub type const_migraphx_shapes_t = *const migraphx_shapes;
pub type migraphx_instruction_t = *mut migraphx_instruction;
pub type const_migraphx_instruction_t = *const migraphx_instruction;
pub type migraphx_instructions_t = *mut migraphx_instructions;
pub type const_migraphx_instructions_t = *const migraphx_instructions;
pub type migraphx_modules_t = *mut migraphx_modules;
pub type const_migraphx_modules_t = *const migraphx_modules;
pub type migraphx_module_t = *mut migraphx_module;
pub type const_migraphx_module_t = *const migraphx_module;
pub type migraphx_program_t = *mut migraphx_program;
pub type const_migraphx_program_t = *const migraphx_program;
pub type migraphx_operation_t = *mut migraphx_operation;
pub type const_migraphx_operation_t = *const migraphx_operation;
pub type migraphx_onnx_options_t = *mut migraphx_onnx_options;
pub type const_migraphx_onnx_options_t = *const migraphx_onnx_options;
pub type migraphx_file_options_t = *mut migraphx_file_options;
pub type const_migraphx_file_options_t = *const migraphx_file_options;
pub type migraphx_compile_options_t = *mut migraphx_compile_options;
pub type const_migraphx_compile_options_t = *const migraphx_compile_options;
pub type migraphx_tf_options_t = *mut migraphx_tf_options;
pub type const_migraphx_tf_options_t = *const migraphx_tf_options;
pub type migraphx_quantize_op_names_t = *mut migraphx_quantize_op_names;
pub type const_migraphx_quantize_op_names_t = *const migraphx_quantize_op_names;
pub type migraphx_quantize_int8_options_t = *mut migraphx_quantize_int8_options;
pub type const_migraphx_quantize_int8_options_t = *const migraphx_quantize_int8_options;
pub type migraphx_quantize_fp8_options_t = *mut migraphx_quantize_fp8_options;
pub type const_migraphx_quantize_fp8_options_t = *const migraphx_quantize_fp8_options;
pub type migraphx_context_t = *mut migraphx_context;
pub type const_migraphx_context_t = *const migraphx_context;
pub type migraphx_experimental_custom_op_t = *mut migraphx_experimental_custom_op;
pub type const_migraphx_experimental_custom_op_t = *const migraphx_experimental_custom_op;
pub type migraphx_experimental_custom_op_compute = ::core::option::Option<
    unsafe extern "C" fn(
        out: migraphx_argument_t,
        obj: *mut ::core::ffi::c_void,
        exception_msg: *mut ::core::ffi::c_char,
        exception_msg_size: usize,
        ctx: migraphx_context_t,
        output: migraphx_shape_t,
        inputs: migraphx_arguments_t,
    ) -> migraphx_status,
>;
pub type migraphx_experimental_custom_op_compute_shape = ::core::option::Option<
    unsafe extern "C" fn(
        out: migraphx_shape_t,
        obj: *mut ::core::ffi::c_void,
        exception_msg: *mut ::core::ffi::c_char,
        exception_msg_size: usize,
        inputs: migraphx_shapes_t,
    ) -> migraphx_status,
>;
pub type migraphx_experimental_custom_op_output_alias = ::core::option::Option<
    unsafe extern "C" fn(
        out: *mut usize,
        out_size: *mut usize,
        obj: *mut ::core::ffi::c_void,
        exception_msg: *mut ::core::ffi::c_char,
        exception_msg_size: usize,
        inputs: migraphx_shapes_t,
    ) -> migraphx_status,
>;
pub type migraphx_experimental_custom_op_runs_on_offload_target = ::core::option::Option<
    unsafe extern "C" fn(
        out: *mut bool,
        obj: *mut ::core::ffi::c_void,
        exception_msg: *mut ::core::ffi::c_char,
        exception_msg_size: usize,
    ) -> migraphx_status,
>;
pub type migraphx_experimental_custom_op_copy = ::core::option::Option<
    unsafe extern "C" fn(
        out: *mut *mut ::core::ffi::c_void,
        input: *mut ::core::ffi::c_void,
    ) -> migraphx_status,
>;
pub type migraphx_experimental_custom_op_delete = ::core::option::Option<
    unsafe extern "C" fn(input: *mut ::core::ffi::c_void) -> migraphx_status,
>;
#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct migraphx_status(pub ::core::ffi::c_uint);
#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct migraphx_shape_datatype_t(pub ::core::ffi::c_uint);
#[repr(C)]
#[derive(Debug)]
pub struct migraphx_optimals {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Debug)]
pub struct migraphx_dynamic_dimension {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Debug)]
pub struct migraphx_dynamic_dimensions {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Debug)]
pub struct migraphx_shape {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Debug)]
pub struct migraphx_argument {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Debug)]
pub struct migraphx_target {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Debug)]
pub struct migraphx_program_parameter_shapes {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Debug)]
pub struct migraphx_program_parameters {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Debug)]
pub struct migraphx_arguments {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Debug)]
pub struct migraphx_shapes {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Debug)]
pub struct migraphx_instruction {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Debug)]
pub struct migraphx_instructions {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Debug)]
pub struct migraphx_modules {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Debug)]
pub struct migraphx_module {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Debug)]
pub struct migraphx_program {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Debug)]
pub struct migraphx_operation {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Debug)]
pub struct migraphx_onnx_options {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Debug)]
pub struct migraphx_file_options {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Debug)]
pub struct migraphx_compile_options {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Debug)]
pub struct migraphx_tf_options {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Debug)]
pub struct migraphx_quantize_op_names {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Debug)]
pub struct migraphx_quantize_int8_options {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Debug)]
pub struct migraphx_quantize_fp8_options {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Debug)]
pub struct migraphx_context {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Debug)]
pub struct migraphx_experimental_custom_op {
    _unused: [u8; 0],
}
impl migraphx_status {
    pub const migraphx_status_success: migraphx_status = migraphx_status(0);
    pub const migraphx_status_bad_param: migraphx_status = migraphx_status(1);
    pub const migraphx_status_unknown_target: migraphx_status = migraphx_status(3);
    pub const migraphx_status_unknown_error: migraphx_status = migraphx_status(4);
}
impl migraphx_shape_datatype_t {
    pub const migraphx_shape_tuple_type: migraphx_shape_datatype_t = migraphx_shape_datatype_t(0);
    pub const migraphx_shape_fp4x2_type: migraphx_shape_datatype_t = migraphx_shape_datatype_t(1);
    pub const migraphx_shape_bool_type: migraphx_shape_datatype_t = migraphx_shape_datatype_t(2);
    pub const migraphx_shape_half_type: migraphx_shape_datatype_t = migraphx_shape_datatype_t(3);
    pub const migraphx_shape_float_type: migraphx_shape_datatype_t = migraphx_shape_datatype_t(4);
    pub const migraphx_shape_double_type: migraphx_shape_datatype_t = migraphx_shape_datatype_t(5);
    pub const migraphx_shape_uint8_type: migraphx_shape_datatype_t = migraphx_shape_datatype_t(6);
    pub const migraphx_shape_int8_type: migraphx_shape_datatype_t = migraphx_shape_datatype_t(7);
    pub const migraphx_shape_uint16_type: migraphx_shape_datatype_t = migraphx_shape_datatype_t(8);
    pub const migraphx_shape_int16_type: migraphx_shape_datatype_t = migraphx_shape_datatype_t(9);
    pub const migraphx_shape_int32_type: migraphx_shape_datatype_t = migraphx_shape_datatype_t(10);
    pub const migraphx_shape_int64_type: migraphx_shape_datatype_t = migraphx_shape_datatype_t(11);
    pub const migraphx_shape_uint32_type: migraphx_shape_datatype_t = migraphx_shape_datatype_t(12);
    pub const migraphx_shape_uint64_type: migraphx_shape_datatype_t = migraphx_shape_datatype_t(13);
    pub const migraphx_shape_fp8e4m3fnuz_type: migraphx_shape_datatype_t =
        migraphx_shape_datatype_t(14);
    pub const migraphx_shape_fp8e4m3fn_type: migraphx_shape_datatype_t =
        migraphx_shape_datatype_t(15);
    pub const migraphx_shape_fp8e5m2_type: migraphx_shape_datatype_t =
        migraphx_shape_datatype_t(16);
    pub const migraphx_shape_bf16_type: migraphx_shape_datatype_t = migraphx_shape_datatype_t(17);
    pub const migraphx_shape_fp8e5m2fnuz_type: migraphx_shape_datatype_t =
        migraphx_shape_datatype_t(18);
}
function_table! {
    /// The functions of `migraphx.h`, looked up in the loaded library.
    Functions {
    pub fn migraphx_optimals_destroy(optimals: migraphx_optimals_t) -> migraphx_status;
    pub fn migraphx_optimals_assign_to(
        output: migraphx_optimals_t,
        input: const_migraphx_optimals_t,
    ) -> migraphx_status;
    pub fn migraphx_optimals_create(
        optimals: *mut migraphx_optimals_t,
        ptr: *const usize,
        size: usize,
    ) -> migraphx_status;
    pub fn migraphx_dynamic_dimension_destroy(
        dynamic_dimension: migraphx_dynamic_dimension_t,
    ) -> migraphx_status;
    pub fn migraphx_dynamic_dimension_assign_to(
        output: migraphx_dynamic_dimension_t,
        input: const_migraphx_dynamic_dimension_t,
    ) -> migraphx_status;
    pub fn migraphx_dynamic_dimension_create_min_max(
        dynamic_dimension: *mut migraphx_dynamic_dimension_t,
        min: usize,
        max: usize,
    ) -> migraphx_status;
    pub fn migraphx_dynamic_dimension_create_min_max_optimals(
        dynamic_dimension: *mut migraphx_dynamic_dimension_t,
        min: usize,
        max: usize,
        optimals: migraphx_optimals_t,
    ) -> migraphx_status;
    pub fn migraphx_dynamic_dimension_is_fixed(
        out: *mut bool,
        dynamic_dimension: const_migraphx_dynamic_dimension_t,
    ) -> migraphx_status;
    pub fn migraphx_dynamic_dimension_equal(
        out: *mut bool,
        dynamic_dimension: const_migraphx_dynamic_dimension_t,
        x: const_migraphx_dynamic_dimension_t,
    ) -> migraphx_status;
    pub fn migraphx_dynamic_dimensions_destroy(
        dynamic_dimensions: migraphx_dynamic_dimensions_t,
    ) -> migraphx_status;
    pub fn migraphx_dynamic_dimensions_assign_to(
        output: migraphx_dynamic_dimensions_t,
        input: const_migraphx_dynamic_dimensions_t,
    ) -> migraphx_status;
    pub fn migraphx_dynamic_dimensions_create(
        dynamic_dimensions: *mut migraphx_dynamic_dimensions_t,
        ptr: *const const_migraphx_dynamic_dimension_t,
        size: usize,
    ) -> migraphx_status;
    pub fn migraphx_dynamic_dimensions_size(
        out: *mut usize,
        dynamic_dimensions: migraphx_dynamic_dimensions_t,
    ) -> migraphx_status;
    pub fn migraphx_dynamic_dimensions_get(
        out: *mut const_migraphx_dynamic_dimension_t,
        dynamic_dimensions: migraphx_dynamic_dimensions_t,
        idx: usize,
    ) -> migraphx_status;
    pub fn migraphx_shape_destroy(shape: migraphx_shape_t) -> migraphx_status;
    pub fn migraphx_shape_assign_to(
        output: migraphx_shape_t,
        input: const_migraphx_shape_t,
    ) -> migraphx_status;
    pub fn migraphx_shape_create(
        shape: *mut migraphx_shape_t,
        type_: migraphx_shape_datatype_t,
        lengths: *mut usize,
        lengths_size: usize,
    ) -> migraphx_status;
    pub fn migraphx_shape_create_with_strides(
        shape: *mut migraphx_shape_t,
        type_: migraphx_shape_datatype_t,
        lengths: *mut usize,
        lengths_size: usize,
        strides: *mut usize,
        strides_size: usize,
    ) -> migraphx_status;
    pub fn migraphx_shape_create_scalar(
        shape: *mut migraphx_shape_t,
        type_: migraphx_shape_datatype_t,
    ) -> migraphx_status;
    pub fn migraphx_shape_create_dynamic(
        shape: *mut migraphx_shape_t,
        type_: migraphx_shape_datatype_t,
        dims: migraphx_dynamic_dimensions_t,
    ) -> migraphx_status;
    pub fn migraphx_shape_lengths(
        out: *mut *const usize,
        out_size: *mut usize,
        shape: const_migraphx_shape_t,
    ) -> migraphx_status;
    pub fn migraphx_shape_strides(
        out: *mut *const usize,
        out_size: *mut usize,
        shape: const_migraphx_shape_t,
    ) -> migraphx_status;
    pub fn migraphx_shape_dyn_dims(
        out: *mut migraphx_dynamic_dimensions_t,
        shape: const_migraphx_shape_t,
    ) -> migraphx_status;
    pub fn migraphx_shape_type(
        out: *mut migraphx_shape_datatype_t,
        shape: const_migraphx_shape_t,
    ) -> migraphx_status;
    pub fn migraphx_shape_elements(
        out: *mut usize,
        shape: const_migraphx_shape_t,
    ) -> migraphx_status;
    pub fn migraphx_shape_bytes(out: *mut usize, shape: const_migraphx_shape_t) -> migraphx_status;
    pub fn migraphx_shape_ndim(out: *mut usize, shape: const_migraphx_shape_t) -> migraphx_status;
    pub fn migraphx_shape_equal(
        out: *mut bool,
        shape: const_migraphx_shape_t,
        x: const_migraphx_shape_t,
    ) -> migraphx_status;
    pub fn migraphx_shape_standard(
        out: *mut bool,
        shape: const_migraphx_shape_t,
    ) -> migraphx_status;
    pub fn migraphx_shape_dynamic(out: *mut bool, shape: const_migraphx_shape_t)
    -> migraphx_status;
    pub fn migraphx_shape_index(
        out: *mut usize,
        shape: const_migraphx_shape_t,
        i: usize,
    ) -> migraphx_status;
    pub fn migraphx_argument_destroy(argument: migraphx_argument_t) -> migraphx_status;
    pub fn migraphx_argument_assign_to(
        output: migraphx_argument_t,
        input: const_migraphx_argument_t,
    ) -> migraphx_status;
    pub fn migraphx_argument_create(
        argument: *mut migraphx_argument_t,
        shape: const_migraphx_shape_t,
        buffer: *mut ::core::ffi::c_void,
    ) -> migraphx_status;
    pub fn migraphx_argument_create_empty(
        argument: *mut migraphx_argument_t,
        shape: const_migraphx_shape_t,
    ) -> migraphx_status;
    pub fn migraphx_argument_shape(
        out: *mut const_migraphx_shape_t,
        argument: const_migraphx_argument_t,
    ) -> migraphx_status;
    pub fn migraphx_argument_buffer(
        out: *mut *mut ::core::ffi::c_char,
        argument: const_migraphx_argument_t,
    ) -> migraphx_status;
    pub fn migraphx_argument_equal(
        out: *mut bool,
        argument: const_migraphx_argument_t,
        x: const_migraphx_argument_t,
    ) -> migraphx_status;
    pub fn migraphx_argument_save(
        a: const_migraphx_argument_t,
        filename: *const ::core::ffi::c_char,
    ) -> migraphx_status;
    pub fn migraphx_argument_load(
        out: *mut migraphx_argument_t,
        filename: *const ::core::ffi::c_char,
    ) -> migraphx_status;
    pub fn migraphx_argument_generate(
        out: *mut migraphx_argument_t,
        s: const_migraphx_shape_t,
        seed: usize,
    ) -> migraphx_status;
    pub fn migraphx_target_destroy(target: migraphx_target_t) -> migraphx_status;
    pub fn migraphx_target_assign_to(
        output: migraphx_target_t,
        input: const_migraphx_target_t,
    ) -> migraphx_status;
    pub fn migraphx_target_create(
        target: *mut migraphx_target_t,
        name: *const ::core::ffi::c_char,
    ) -> migraphx_status;
    pub fn migraphx_program_parameter_shapes_destroy(
        program_parameter_shapes: migraphx_program_parameter_shapes_t,
    ) -> migraphx_status;
    pub fn migraphx_program_parameter_shapes_assign_to(
        output: migraphx_program_parameter_shapes_t,
        input: const_migraphx_program_parameter_shapes_t,
    ) -> migraphx_status;
    pub fn migraphx_program_parameter_shapes_size(
        out: *mut usize,
        program_parameter_shapes: migraphx_program_parameter_shapes_t,
    ) -> migraphx_status;
    pub fn migraphx_program_parameter_shapes_get(
        out: *mut const_migraphx_shape_t,
        program_parameter_shapes: migraphx_program_parameter_shapes_t,
        name: *const ::core::ffi::c_char,
    ) -> migraphx_status;
    pub fn migraphx_program_parameter_shapes_names(
        out: *mut *const ::core::ffi::c_char,
        program_parameter_shapes: migraphx_program_parameter_shapes_t,
    ) -> migraphx_status;
    pub fn migraphx_program_parameters_destroy(
        program_parameters: migraphx_program_parameters_t,
    ) -> migraphx_status;
    pub fn migraphx_program_parameters_assign_to(
        output: migraphx_program_parameters_t,
        input: const_migraphx_program_parameters_t,
    ) -> migraphx_status;
    pub fn migraphx_program_parameters_create(
        program_parameters: *mut migraphx_program_parameters_t,
    ) -> migraphx_status;
    pub fn migraphx_program_parameters_add(
        program_parameters: migraphx_program_parameters_t,
        name: *const ::core::ffi::c_char,
        argument: const_migraphx_argument_t,
    ) -> migraphx_status;
    pub fn migraphx_arguments_destroy(arguments: migraphx_arguments_t) -> migraphx_status;
    pub fn migraphx_arguments_assign_to(
        output: migraphx_arguments_t,
        input: const_migraphx_arguments_t,
    ) -> migraphx_status;
    pub fn migraphx_arguments_size(
        out: *mut usize,
        arguments: migraphx_arguments_t,
    ) -> migraphx_status;
    pub fn migraphx_arguments_get(
        out: *mut const_migraphx_argument_t,
        arguments: migraphx_arguments_t,
        idx: usize,
    ) -> migraphx_status;
    pub fn migraphx_shapes_destroy(shapes: migraphx_shapes_t) -> migraphx_status;
    pub fn migraphx_shapes_assign_to(
        output: migraphx_shapes_t,
        input: const_migraphx_shapes_t,
    ) -> migraphx_status;
    pub fn migraphx_shapes_size(out: *mut usize, shapes: migraphx_shapes_t) -> migraphx_status;
    pub fn migraphx_shapes_get(
        out: *mut const_migraphx_shape_t,
        shapes: migraphx_shapes_t,
        idx: usize,
    ) -> migraphx_status;
    pub fn migraphx_instruction_destroy(instruction: migraphx_instruction_t) -> migraphx_status;
    pub fn migraphx_instruction_assign_to(
        output: migraphx_instruction_t,
        input: const_migraphx_instruction_t,
    ) -> migraphx_status;
    pub fn migraphx_instructions_destroy(instructions: migraphx_instructions_t) -> migraphx_status;
    pub fn migraphx_instructions_assign_to(
        output: migraphx_instructions_t,
        input: const_migraphx_instructions_t,
    ) -> migraphx_status;
    pub fn migraphx_instructions_create(
        instructions: *mut migraphx_instructions_t,
        ptr: *const const_migraphx_instruction_t,
        size: usize,
    ) -> migraphx_status;
    pub fn migraphx_modules_destroy(modules: migraphx_modules_t) -> migraphx_status;
    pub fn migraphx_modules_assign_to(
        output: migraphx_modules_t,
        input: const_migraphx_modules_t,
    ) -> migraphx_status;
    pub fn migraphx_modules_create(
        modules: *mut migraphx_modules_t,
        ptr: *mut migraphx_module_t,
        size: usize,
    ) -> migraphx_status;
    pub fn migraphx_module_create(
        module: *mut migraphx_module_t,
        name: *mut ::core::ffi::c_char,
    ) -> migraphx_status;
    pub fn migraphx_module_print(module: const_migraphx_module_t) -> migraphx_status;
    pub fn migraphx_module_add_instruction(
        out: *mut migraphx_instruction_t,
        module: migraphx_module_t,
        op: migraphx_operation_t,
        args: migraphx_instructions_t,
    ) -> migraphx_status;
    pub fn migraphx_module_add_instruction_with_mod_args(
        out: *mut migraphx_instruction_t,
        module: migraphx_module_t,
        op: migraphx_operation_t,
        args: migraphx_instructions_t,
        module_refs: migraphx_modules_t,
    ) -> migraphx_status;
    pub fn migraphx_module_add_literal(
        out: *mut migraphx_instruction_t,
        module: migraphx_module_t,
        shape: const_migraphx_shape_t,
        buffer: *const ::core::ffi::c_char,
    ) -> migraphx_status;
    pub fn migraphx_module_add_parameter(
        out: *mut migraphx_instruction_t,
        module: migraphx_module_t,
        name: *const ::core::ffi::c_char,
        shape: const_migraphx_shape_t,
    ) -> migraphx_status;
    pub fn migraphx_module_add_return(
        out: *mut migraphx_instruction_t,
        module: migraphx_module_t,
        args: migraphx_instructions_t,
    ) -> migraphx_status;
    pub fn migraphx_module_add_allocation(
        out: *mut migraphx_instruction_t,
        module: migraphx_module_t,
        s: const_migraphx_shape_t,
    ) -> migraphx_status;
    pub fn migraphx_program_destroy(program: migraphx_program_t) -> migraphx_status;
    pub fn migraphx_program_assign_to(
        output: migraphx_program_t,
        input: const_migraphx_program_t,
    ) -> migraphx_status;
    pub fn migraphx_program_create(program: *mut migraphx_program_t) -> migraphx_status;
    pub fn migraphx_program_get_main_module(
        out: *mut migraphx_module_t,
        program: migraphx_program_t,
    ) -> migraphx_status;
    pub fn migraphx_program_create_module(
        out: *mut migraphx_module_t,
        program: migraphx_program_t,
        name: *const ::core::ffi::c_char,
    ) -> migraphx_status;
    pub fn migraphx_program_compile(
        program: migraphx_program_t,
        target: migraphx_target_t,
        options: migraphx_compile_options_t,
    ) -> migraphx_status;
    pub fn migraphx_program_get_parameter_shapes(
        out: *mut migraphx_program_parameter_shapes_t,
        program: migraphx_program_t,
    ) -> migraphx_status;
    pub fn migraphx_program_get_output_shapes(
        out: *mut migraphx_shapes_t,
        program: migraphx_program_t,
    ) -> migraphx_status;
    pub fn migraphx_program_print(program: const_migraphx_program_t) -> migraphx_status;
    pub fn migraphx_program_sort(program: migraphx_program_t) -> migraphx_status;
    pub fn migraphx_program_run(
        out: *mut migraphx_arguments_t,
        program: migraphx_program_t,
        params: migraphx_program_parameters_t,
    ) -> migraphx_status;
    pub fn migraphx_program_run_async(
        out: *mut migraphx_arguments_t,
        program: migraphx_program_t,
        params: migraphx_program_parameters_t,
        s: *mut ::core::ffi::c_void,
        name: *const ::core::ffi::c_char,
    ) -> migraphx_status;
    pub fn migraphx_program_equal(
        out: *mut bool,
        program: const_migraphx_program_t,
        x: const_migraphx_program_t,
    ) -> migraphx_status;
    pub fn migraphx_program_experimental_get_context(
        out: *mut migraphx_context_t,
        program: const_migraphx_program_t,
    ) -> migraphx_status;
    pub fn migraphx_operation_destroy(operation: migraphx_operation_t) -> migraphx_status;
    pub fn migraphx_operation_assign_to(
        output: migraphx_operation_t,
        input: const_migraphx_operation_t,
    ) -> migraphx_status;
    pub fn migraphx_operation_name(
        out: *mut ::core::ffi::c_char,
        out_size: usize,
        operation: migraphx_operation_t,
    ) -> migraphx_status;
    pub fn migraphx_load(
        out: *mut migraphx_program_t,
        name: *const ::core::ffi::c_char,
        options: migraphx_file_options_t,
    ) -> migraphx_status;
    pub fn migraphx_save(
        p: migraphx_program_t,
        name: *const ::core::ffi::c_char,
        options: migraphx_file_options_t,
    ) -> migraphx_status;
    pub fn migraphx_onnx_options_destroy(onnx_options: migraphx_onnx_options_t) -> migraphx_status;
    pub fn migraphx_onnx_options_assign_to(
        output: migraphx_onnx_options_t,
        input: const_migraphx_onnx_options_t,
    ) -> migraphx_status;
    pub fn migraphx_onnx_options_create(
        onnx_options: *mut migraphx_onnx_options_t,
    ) -> migraphx_status;
    pub fn migraphx_onnx_options_set_input_parameter_shape(
        onnx_options: migraphx_onnx_options_t,
        name: *const ::core::ffi::c_char,
        dims: *mut usize,
        dims_size: usize,
    ) -> migraphx_status;
    pub fn migraphx_onnx_options_set_dyn_input_parameter_shape(
        onnx_options: migraphx_onnx_options_t,
        name: *const ::core::ffi::c_char,
        dims: migraphx_dynamic_dimensions_t,
    ) -> migraphx_status;
    pub fn migraphx_onnx_options_set_default_dim_value(
        onnx_options: migraphx_onnx_options_t,
        value: usize,
    ) -> migraphx_status;
    pub fn migraphx_onnx_options_set_default_dyn_dim_value(
        onnx_options: migraphx_onnx_options_t,
        dd: const_migraphx_dynamic_dimension_t,
    ) -> migraphx_status;
    pub fn migraphx_onnx_options_set_default_loop_iterations(
        onnx_options: migraphx_onnx_options_t,
        value: i64,
    ) -> migraphx_status;
    pub fn migraphx_onnx_options_set_limit_loop_iterations(
        onnx_options: migraphx_onnx_options_t,
        value: i64,
    ) -> migraphx_status;
    pub fn migraphx_onnx_options_set_external_data_path(
        onnx_options: migraphx_onnx_options_t,
        external_data_path: *const ::core::ffi::c_char,
    ) -> migraphx_status;
    pub fn migraphx_file_options_destroy(file_options: migraphx_file_options_t) -> migraphx_status;
    pub fn migraphx_file_options_assign_to(
        output: migraphx_file_options_t,
        input: const_migraphx_file_options_t,
    ) -> migraphx_status;
    pub fn migraphx_file_options_create(
        file_options: *mut migraphx_file_options_t,
    ) -> migraphx_status;
    pub fn migraphx_file_options_set_file_format(
        file_options: migraphx_file_options_t,
        format: *const ::core::ffi::c_char,
    ) -> migraphx_status;
    pub fn migraphx_compile_options_destroy(
        compile_options: migraphx_compile_options_t,
    ) -> migraphx_status;
    pub fn migraphx_compile_options_assign_to(
        output: migraphx_compile_options_t,
        input: const_migraphx_compile_options_t,
    ) -> migraphx_status;
    pub fn migraphx_compile_options_create(
        compile_options: *mut migraphx_compile_options_t,
    ) -> migraphx_status;
    pub fn migraphx_compile_options_set_offload_copy(
        compile_options: migraphx_compile_options_t,
        value: bool,
    ) -> migraphx_status;
    pub fn migraphx_compile_options_set_fast_math(
        compile_options: migraphx_compile_options_t,
        value: bool,
    ) -> migraphx_status;
    pub fn migraphx_compile_options_set_exhaustive_tune_flag(
        compile_options: migraphx_compile_options_t,
        value: bool,
    ) -> migraphx_status;
    pub fn migraphx_parse_onnx(
        out: *mut migraphx_program_t,
        name: *const ::core::ffi::c_char,
        options: migraphx_onnx_options_t,
    ) -> migraphx_status;
    pub fn migraphx_parse_onnx_buffer(
        out: *mut migraphx_program_t,
        data: *const ::core::ffi::c_void,
        size: usize,
        options: migraphx_onnx_options_t,
    ) -> migraphx_status;
    pub fn migraphx_tf_options_destroy(tf_options: migraphx_tf_options_t) -> migraphx_status;
    pub fn migraphx_tf_options_assign_to(
        output: migraphx_tf_options_t,
        input: const_migraphx_tf_options_t,
    ) -> migraphx_status;
    pub fn migraphx_tf_options_create(tf_options: *mut migraphx_tf_options_t) -> migraphx_status;
    pub fn migraphx_tf_options_set_nhwc(
        tf_options: migraphx_tf_options_t,
        is_nhwc: bool,
    ) -> migraphx_status;
    pub fn migraphx_tf_options_set_input_parameter_shape(
        tf_options: migraphx_tf_options_t,
        name: *const ::core::ffi::c_char,
        dims: *mut usize,
        dims_size: usize,
    ) -> migraphx_status;
    pub fn migraphx_tf_options_set_default_dim_value(
        tf_options: migraphx_tf_options_t,
        value: usize,
    ) -> migraphx_status;
    pub fn migraphx_tf_options_set_output_names(
        tf_options: migraphx_tf_options_t,
        names: *mut *const ::core::ffi::c_char,
        names_size: usize,
    ) -> migraphx_status;
    pub fn migraphx_parse_tf(
        out: *mut migraphx_program_t,
        name: *const ::core::ffi::c_char,
        options: migraphx_tf_options_t,
    ) -> migraphx_status;
    pub fn migraphx_parse_tf_buffer(
        out: *mut migraphx_program_t,
        data: *const ::core::ffi::c_void,
        size: usize,
        options: migraphx_tf_options_t,
    ) -> migraphx_status;
    pub fn migraphx_quantize_op_names_destroy(
        quantize_op_names: migraphx_quantize_op_names_t,
    ) -> migraphx_status;
    pub fn migraphx_quantize_op_names_assign_to(
        output: migraphx_quantize_op_names_t,
        input: const_migraphx_quantize_op_names_t,
    ) -> migraphx_status;
    pub fn migraphx_quantize_op_names_create(
        quantize_op_names: *mut migraphx_quantize_op_names_t,
    ) -> migraphx_status;
    pub fn migraphx_quantize_op_names_add(
        quantize_op_names: migraphx_quantize_op_names_t,
        name: *const ::core::ffi::c_char,
    ) -> migraphx_status;
    pub fn migraphx_quantize_fp16_with_op_names(
        prog: migraphx_program_t,
        name: migraphx_quantize_op_names_t,
    ) -> migraphx_status;
    pub fn migraphx_quantize_fp16(prog: migraphx_program_t) -> migraphx_status;
    pub fn migraphx_quantize_bf16_with_op_names(
        prog: migraphx_program_t,
        name: migraphx_quantize_op_names_t,
    ) -> migraphx_status;
    pub fn migraphx_quantize_bf16(prog: migraphx_program_t) -> migraphx_status;
    pub fn migraphx_quantize_int8_options_destroy(
        quantize_int8_options: migraphx_quantize_int8_options_t,
    ) -> migraphx_status;
    pub fn migraphx_quantize_int8_options_assign_to(
        output: migraphx_quantize_int8_options_t,
        input: const_migraphx_quantize_int8_options_t,
    ) -> migraphx_status;
    pub fn migraphx_quantize_int8_options_create(
        quantize_int8_options: *mut migraphx_quantize_int8_options_t,
    ) -> migraphx_status;
    pub fn migraphx_quantize_int8_options_add_op_name(
        quantize_int8_options: migraphx_quantize_int8_options_t,
        name: *const ::core::ffi::c_char,
    ) -> migraphx_status;
    pub fn migraphx_quantize_int8_options_add_calibration_data(
        quantize_int8_options: migraphx_quantize_int8_options_t,
        data: migraphx_program_parameters_t,
    ) -> migraphx_status;
    pub fn migraphx_quantize_int8(
        prog: migraphx_program_t,
        target: migraphx_target_t,
        options: migraphx_quantize_int8_options_t,
    ) -> migraphx_status;
    pub fn migraphx_quantize_fp8_options_destroy(
        quantize_fp8_options: migraphx_quantize_fp8_options_t,
    ) -> migraphx_status;
    pub fn migraphx_quantize_fp8_options_assign_to(
        output: migraphx_quantize_fp8_options_t,
        input: const_migraphx_quantize_fp8_options_t,
    ) -> migraphx_status;
    pub fn migraphx_quantize_fp8_options_create(
        quantize_fp8_options: *mut migraphx_quantize_fp8_options_t,
    ) -> migraphx_status;
    pub fn migraphx_quantize_fp8_options_add_calibration_data(
        quantize_fp8_options: migraphx_quantize_fp8_options_t,
        data: migraphx_program_parameters_t,
    ) -> migraphx_status;
    pub fn migraphx_quantize_fp8(
        prog: migraphx_program_t,
        target: migraphx_target_t,
        options: migraphx_quantize_fp8_options_t,
    ) -> migraphx_status;
    pub fn migraphx_context_finish(context: const_migraphx_context_t) -> migraphx_status;
    pub fn migraphx_context_get_queue(
        out: *mut *mut ::core::ffi::c_void,
        context: migraphx_context_t,
    ) -> migraphx_status;
    pub fn migraphx_experimental_custom_op_destroy(
        experimental_custom_op: migraphx_experimental_custom_op_t,
    ) -> migraphx_status;
    pub fn migraphx_experimental_custom_op_assign_to(
        output: migraphx_experimental_custom_op_t,
        input: const_migraphx_experimental_custom_op_t,
    ) -> migraphx_status;
    pub fn migraphx_experimental_custom_op_create(
        experimental_custom_op: *mut migraphx_experimental_custom_op_t,
        obj: *mut ::core::ffi::c_void,
        c: migraphx_experimental_custom_op_copy,
        d: migraphx_experimental_custom_op_delete,
        obj_typename: *const ::core::ffi::c_char,
        name: *const ::core::ffi::c_char,
    ) -> migraphx_status;
    pub fn migraphx_experimental_custom_op_set_compute(
        obj: migraphx_experimental_custom_op_t,
        input: migraphx_experimental_custom_op_compute,
    ) -> migraphx_status;
    pub fn migraphx_experimental_custom_op_set_compute_shape(
        obj: migraphx_experimental_custom_op_t,
        input: migraphx_experimental_custom_op_compute_shape,
    ) -> migraphx_status;
    pub fn migraphx_experimental_custom_op_set_output_alias(
        obj: migraphx_experimental_custom_op_t,
        input: migraphx_experimental_custom_op_output_alias,
    ) -> migraphx_status;
    pub fn migraphx_experimental_custom_op_set_runs_on_offload_target(
        obj: migraphx_experimental_custom_op_t,
        input: migraphx_experimental_custom_op_runs_on_offload_target,
    ) -> migraphx_status;
    pub fn migraphx_experimental_custom_op_register(
        experimental_custom_op: migraphx_experimental_custom_op_t,
    ) -> migraphx_status;
}
}
