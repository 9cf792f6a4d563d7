//! Shapes of results. The C API cannot ask an instruction for its shape, so
//! each is first added to a small program of its own, whose output can be asked.

use migraphx_sys::{const_migraphx_instruction_t, const_migraphx_shape_t, migraphx_module_t};

use crate::error::Result;
use crate::ffi::handle::{
    InstructionHandle, InstructionsHandle, ModulesHandle, OperationHandle, ProgramHandle,
    ShapeHandle, ShapesHandle,
};
use crate::shape::Shape;

/// A shape, also as the library has it: the parts of a tuple are seen only there.
pub(super) struct Known {
    pub(super) shape: Shape,
    handle: Handle,
}

enum Handle {
    Own(ShapeHandle),
    /// The first of the list.
    Listed(#[allow(dead_code)] ShapesHandle, const_migraphx_shape_t),
}

// SAFETY: the pointer leads into the list beside it, which is Send and never changes.
unsafe impl Send for Known {}

impl Known {
    pub(super) fn new(shape: &Shape) -> Result<Self> {
        Ok(Known {
            handle: Handle::Own(shape.to_handle()?),
            shape: shape.clone(),
        })
    }

    /// Lives as long as `self`.
    pub(super) fn raw(&self) -> const_migraphx_shape_t {
        match &self.handle {
            Handle::Own(handle) => handle.raw(),
            Handle::Listed(_, raw) => *raw,
        }
    }

    /// What `operation` gives.
    ///
    /// # Safety
    /// The modules are live and finished.
    pub(super) unsafe fn result_of(
        operation: &OperationHandle,
        inputs: &[&Known],
        modules: &[migraphx_module_t],
    ) -> Result<Self> {
        let program = new_program()?;
        // SAFETY: the program is live while the module is used.
        let module = unsafe { main_module(&program) }?;
        let mut parameters = Vec::with_capacity(inputs.len());
        for (index, input) in inputs.iter().enumerate() {
            let name = crate::ffi::c_string("a number", &index.to_string())?;
            // SAFETY: module, name and shape are live; the name is new in the module.
            parameters.push(InstructionHandle::make(|out| unsafe {
                call!(migraphx_module_add_parameter(
                    out,
                    module,
                    name.as_ptr(),
                    input.raw()
                ))
            })?);
        }
        // SAFETY: the instructions are of this module, the modules live by the caller's word.
        let result = unsafe { add_instruction(module, operation, &parameters, modules) }?;
        // SAFETY: the instruction is of this module, which has no return yet.
        unsafe { add_return(module, &[&result]) }?;
        let shapes = ShapesHandle::make(|out| {
            // SAFETY: the program is live.
            unsafe { call!(migraphx_program_get_output_shapes(out, program.raw())) }
        })?;
        let mut raw = std::ptr::null();
        // SAFETY: the program has one output; the shape lives as long as the list.
        let shape = unsafe {
            peek!(migraphx_shapes_get(&mut raw, shapes.raw(), 0))?;
            Shape::from_raw(raw)
        }?;
        Ok(Known {
            shape,
            handle: Handle::Listed(shapes, raw),
        })
    }
}

pub(super) fn new_program() -> Result<ProgramHandle> {
    ProgramHandle::make(|out| {
        // SAFETY: the out pointer is valid.
        unsafe { call!(migraphx_program_create(out)) }
    })
}

/// # Safety
/// The module belongs to the program, and is not used after it.
pub(super) unsafe fn main_module(program: &ProgramHandle) -> Result<migraphx_module_t> {
    let mut module = std::ptr::null_mut();
    // SAFETY: the program is live.
    unsafe { call!(migraphx_program_get_main_module(&mut module, program.raw())) }?;
    Ok(module)
}

/// # Safety
/// The module is live, and the instructions belong to it or a module around it;
/// the submodules are live and finished.
pub(super) unsafe fn add_instruction(
    module: migraphx_module_t,
    operation: &OperationHandle,
    inputs: &[impl std::borrow::Borrow<InstructionHandle>],
    modules: &[migraphx_module_t],
) -> Result<InstructionHandle> {
    let inputs = list(inputs)?;
    if modules.is_empty() {
        return InstructionHandle::make(|out| {
            // SAFETY: all are live by the caller's word; C copies operation and list.
            unsafe {
                call!(migraphx_module_add_instruction(
                    out,
                    module,
                    operation.raw(),
                    inputs.raw()
                ))
            }
        });
    }
    let mut pointers = modules.to_vec();
    let modules = ModulesHandle::make(|out| {
        // SAFETY: the array has as many live pointers as said; C copies it.
        unsafe {
            call!(migraphx_modules_create(
                out,
                pointers.as_mut_ptr(),
                pointers.len()
            ))
        }
    })?;
    InstructionHandle::make(|out| {
        // SAFETY: as above.
        unsafe {
            call!(migraphx_module_add_instruction_with_mod_args(
                out,
                module,
                operation.raw(),
                inputs.raw(),
                modules.raw()
            ))
        }
    })
}

/// # Safety
/// The module is live and has no return; the instructions belong to it or a
/// module around it.
pub(super) unsafe fn add_return(
    module: migraphx_module_t,
    outputs: &[&InstructionHandle],
) -> Result<()> {
    let outputs = list(outputs)?;
    // SAFETY: all are live by the caller's word. The handle of the return itself
    // is of no use.
    InstructionHandle::make(|out| unsafe {
        call!(migraphx_module_add_return(out, module, outputs.raw()))
    })
    .map(drop)
}

fn list(
    instructions: &[impl std::borrow::Borrow<InstructionHandle>],
) -> Result<InstructionsHandle> {
    let pointers: Vec<const_migraphx_instruction_t> = instructions
        .iter()
        .map(|instruction| instruction.borrow().raw().cast_const())
        .collect();
    InstructionsHandle::make(|out| {
        // SAFETY: the array has as many live handles as said; C copies what they hold.
        unsafe {
            call!(migraphx_instructions_create(
                out,
                pointers.as_ptr(),
                pointers.len()
            ))
        }
    })
}
