//! Lower precision, through the library's own passes.

use crate::error::{Error, Result};
use crate::ffi::handle::{OpNamesHandle, ProgramHandle};
use crate::ffi::{self, lock};

pub(crate) fn fp16(program: &ProgramHandle) -> Result<()> {
    let _reading = lock::reading();
    // SAFETY: the program is live and not compiled.
    unsafe { call!(migraphx_quantize_fp16(program.raw())) }
}

pub(crate) fn fp16_ops(program: &ProgramHandle, operators: &[&str]) -> Result<()> {
    let names = names_of(operators)?;
    let _reading = lock::reading();
    // SAFETY: the program is live and not compiled, the list is live.
    unsafe {
        call!(migraphx_quantize_fp16_with_op_names(
            program.raw(),
            names.raw()
        ))
    }
}

pub(crate) fn bf16(program: &ProgramHandle) -> Result<()> {
    let _reading = lock::reading();
    // SAFETY: the program is live and not compiled.
    unsafe { call!(migraphx_quantize_bf16(program.raw())) }
}

pub(crate) fn bf16_ops(program: &ProgramHandle, operators: &[&str]) -> Result<()> {
    let names = names_of(operators)?;
    let _reading = lock::reading();
    // SAFETY: the program is live and not compiled, the list is live.
    unsafe {
        call!(migraphx_quantize_bf16_with_op_names(
            program.raw(),
            names.raw()
        ))
    }
}

fn names_of(operators: &[&str]) -> Result<OpNamesHandle> {
    if operators.is_empty() {
        return Err(Error::InvalidArgument(
            "no operator names to quantize; name some, or quantize the whole program".into(),
        ));
    }
    let names = OpNamesHandle::make(|out| {
        // SAFETY: the out pointer is valid.
        unsafe { call!(migraphx_quantize_op_names_create(out)) }
    })?;
    for operator in operators {
        let name = ffi::c_string("operator name", operator)?;
        // SAFETY: the list is live; C copies the name.
        unsafe { call!(migraphx_quantize_op_names_add(names.raw(), name.as_ptr())) }?;
    }
    Ok(names)
}
