//! Registering an operator, and putting one into a module with the memory for its output.

use std::ffi::CString;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;

use migraphx_sys::{const_migraphx_instruction_t, migraphx_module_t};

use super::{Entry, callbacks, compute, sizes};
use crate::dtype::DataType;
use crate::error::{Error, Result};
use crate::ffi::call;
use crate::ffi::handle::{InstructionHandle, InstructionsHandle, OperationHandle, ProgramHandle};
use crate::program::Program;
use crate::shape::Shape;

owned!(
    CustomOpHandle,
    migraphx_experimental_custom_op,
    migraphx_experimental_custom_op_destroy
);

/// Gives the library an operator. To be called alone (`lock::registering`).
pub(super) fn register(entry: &Arc<Entry>) -> Result<()> {
    let name = entry.c_name()?;
    let object = Arc::as_ptr(entry).cast_mut().cast();
    let handle = CustomOpHandle::make(|out| {
        // SAFETY: the callbacks are as declared; `object` is counted by `copy`, which is
        // called at once; the library keeps the first name's pointer, which lives for ever.
        unsafe {
            call!(migraphx_experimental_custom_op_create(
                out,
                object,
                Some(callbacks::copy),
                Some(callbacks::delete),
                name.as_ptr(),
                name.as_ptr()
            ))
        }
    })?;
    let raw = handle.raw();
    // SAFETY: the handle is live, the callbacks are as declared and never unwind.
    unsafe {
        call!(migraphx_experimental_custom_op_set_compute_shape(
            raw,
            Some(callbacks::compute_shape)
        ))?;
        call!(migraphx_experimental_custom_op_set_compute(
            raw,
            Some(compute::compute)
        ))?;
        call!(migraphx_experimental_custom_op_set_output_alias(
            raw,
            Some(callbacks::output_alias)
        ))?;
        call!(migraphx_experimental_custom_op_set_runs_on_offload_target(
            raw,
            Some(callbacks::runs_on_device)
        ))?;
        call!(migraphx_experimental_custom_op_register(raw))
    }
}

/// An operation without attributes.
pub(super) fn operation(name: &str) -> Result<OperationHandle> {
    operation_with(name, None)
}

fn operation_with(name: &str, attributes: Option<&str>) -> Result<OperationHandle> {
    static RETURNS: AtomicU32 = AtomicU32::new(0);
    let create = crate::ffi::library()?.migraphx_operation_create.get()?;
    let name = crate::ffi::c_string("operator name", name)?;
    let attributes = attributes.map(CString::new).transpose();
    let attributes = attributes.map_err(|error| Error::InvalidArgument(error.to_string()))?;
    let text = attributes
        .as_ref()
        .map_or(std::ptr::null(), |text| text.as_ptr());
    OperationHandle::make(|out| {
        call::checked("migraphx_operation_create", &RETURNS, || {
            // SAFETY: both strings end with NUL, or there is none; the text is ours and
            // has no `%`.
            unsafe { create(out, name.as_ptr(), text) }
        })
    })
}

/// What keeps the output memories of a program apart: see [`memory`].
#[derive(Debug, Default)]
pub(crate) struct Allocations(i32);

/// Adds a registered operator to a module, with the memory for its output, and
/// copies of inputs that are views, if `accept` agrees to the shape of its output.
/// Gives the output and that shape.
///
/// # Safety
/// The module is live; the instructions are of the module, or of one around it.
pub(crate) unsafe fn add(
    module: migraphx_module_t,
    entry: &Arc<Entry>,
    inputs: &[const_migraphx_instruction_t],
    allocations: &mut Allocations,
    accept: impl FnOnce(&Shape) -> Result<()>,
) -> Result<(InstructionHandle, Shape)> {
    let operation = operation(&entry.name)?;
    // SAFETY: the caller's word.
    let put = |operation: &OperationHandle, inputs: &[const_migraphx_instruction_t]| unsafe {
        instruction(module, operation, inputs)
    };
    let (added, probed) = callbacks::probing(entry, || put(&operation, inputs));
    let Some(probed) = probed else {
        return Err(match added {
            Err(error) => error.while_doing(|| format!("adding `{}`", entry.name)),
            Ok(_) => {
                Error::InvalidArgument(format!("`{}` was not asked for its shape", entry.name))
            }
        });
    };
    accept(&probed.output)?;
    let mut arguments = inputs.to_vec();
    let mut kept = Vec::new();
    for (index, shape) in probed.inputs.iter().enumerate() {
        if !shape.is_standard() {
            let copy = put(&self::operation("contiguous")?, &inputs[index..=index])?;
            arguments[index] = copy.raw();
            kept.push(copy);
        }
    }
    if !entry.in_place {
        // SAFETY: the caller's word.
        let parts = unsafe { memory(module, &probed.output, allocations) }?;
        arguments.extend(parts.last().map(|memory| memory.raw().cast_const()));
        kept.extend(parts);
    }
    let mut output = put(&operation, &arguments)?;
    if !entry.in_place && probed.output.is_scalar() {
        let squeeze = operation_with("squeeze", Some("{axes: [0]}"))?;
        output = put(&squeeze, &[output.raw().cast_const()])?;
    }
    drop(kept);
    Ok((output, probed.output))
}

/// A program of this operator alone.
pub(super) fn program(entry: &Arc<Entry>, parameters: &[(&str, Shape)]) -> Result<Program> {
    let program = ProgramHandle::make(|out| {
        // SAFETY: the out pointer is valid.
        unsafe { call!(migraphx_program_create(out)) }
    })?;
    let mut module = std::ptr::null_mut();
    // SAFETY: the program is live; the module lives as long, and is not destroyed.
    unsafe { call!(migraphx_program_get_main_module(&mut module, program.raw())) }?;
    let mut inputs = Vec::with_capacity(parameters.len());
    for (index, (name, shape)) in parameters.iter().enumerate() {
        if name.is_empty() || parameters[..index].iter().any(|(former, _)| former == name) {
            return Err(Error::InvalidArgument(format!(
                "parameter {index} is named {name:?}; give each a name of its own"
            )));
        }
        let name = crate::ffi::c_string("parameter name", name)?;
        let shape = shape.to_handle()?;
        inputs.push(InstructionHandle::make(|out| {
            // SAFETY: module, name and shape are live; C copies both.
            unsafe {
                call!(migraphx_module_add_parameter(
                    out,
                    module,
                    name.as_ptr(),
                    shape.raw()
                ))
            }
        })?);
    }
    let raw: Vec<_> = inputs
        .iter()
        .map(|input| input.raw().cast_const())
        .collect();
    // SAFETY: the module is live, the parameters are its own.
    let (output, _) = unsafe { add(module, entry, &raw, &mut Allocations::default(), |_| Ok(())) }?;
    let outputs = [output.raw().cast_const()];
    let outputs = InstructionsHandle::make(|out| {
        // SAFETY: one live instruction; C copies the reference.
        unsafe { call!(migraphx_instructions_create(out, outputs.as_ptr(), 1)) }
    })?;
    InstructionHandle::make(|out| {
        // SAFETY: module and instructions are live.
        unsafe { call!(migraphx_module_add_return(out, module, outputs.raw())) }
    })?;
    Program::new(program, &entry.name)
}

/// Adds memory for an output of this shape (of one element for a scalar): the last
/// of the instructions.
///
/// # Safety
/// As for [`add`].
unsafe fn memory(
    module: migraphx_module_t,
    shape: &Shape,
    allocations: &mut Allocations,
) -> Result<Vec<InstructionHandle>> {
    let dims = if shape.is_scalar() {
        &[1]
    } else {
        shape.dims()
    };
    let sizes: Option<Vec<i32>> = dims.iter().map(|dim| (*dim).try_into().ok()).collect();
    let sizes = sizes.ok_or_else(|| {
        Error::InvalidShape(format!("{shape} is too large for an operator's output"))
    })?;
    allocations.0 += 1;
    let strides = Shape::new(shape.dtype(), dims)?;
    let attributes = format!(
        "{{shape: {{type: \"{}_type\", lens: {dims:?}, strides: {:?}, sub_shapes: [], \
         dynamic_dimensions: []}}}}",
        shape.dtype(),
        strides.strides()
    );
    // SAFETY: the caller's word.
    unsafe {
        let number = literal(module, &[allocations.0])?;
        let sizes = literal(module, &sizes)?;
        let both = [number.raw().cast_const(), sizes.raw()];
        let sizes_too = instruction(module, &operation(sizes::NAME)?, &both)?;
        let allocate = operation_with("allocate", Some(&attributes))?;
        let memory = instruction(module, &allocate, &[sizes_too.raw().cast_const()])?;
        Ok(vec![number, sizes, sizes_too, memory])
    }
}

/// # Safety
/// The module is live.
unsafe fn literal(module: migraphx_module_t, values: &[i32]) -> Result<InstructionHandle> {
    let shape = Shape::new(DataType::Int32, &[values.len()])?.to_handle()?;
    InstructionHandle::make(|out| {
        // SAFETY: all is live; C copies as many bytes as the shape has.
        unsafe {
            call!(migraphx_module_add_literal(
                out,
                module,
                shape.raw(),
                values.as_ptr().cast()
            ))
        }
    })
}

/// # Safety
/// As for [`add`].
unsafe fn instruction(
    module: migraphx_module_t,
    operation: &OperationHandle,
    inputs: &[const_migraphx_instruction_t],
) -> Result<InstructionHandle> {
    let list = InstructionsHandle::make(|out| {
        // SAFETY: as many live instructions as it says; C copies the references.
        unsafe {
            call!(migraphx_instructions_create(
                out,
                inputs.as_ptr(),
                inputs.len()
            ))
        }
    })?;
    InstructionHandle::make(|out| {
        // SAFETY: all handles are live; the caller's word for the instructions.
        unsafe {
            call!(migraphx_module_add_instruction(
                out,
                module,
                operation.raw(),
                list.raw()
            ))
        }
    })
}
