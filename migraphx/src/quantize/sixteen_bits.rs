//! FP16 and BF16: no calibration, whole or by operator names.

use super::limits;
use crate::error::{Error, Result};
use crate::ffi::handle::{OpNamesHandle, ProgramHandle};
use crate::ffi::{self, lock};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Precision {
    Fp16,
    Bf16,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Operators<'a> {
    All,
    Named(&'a [&'a str]),
}

impl<'a> Operators<'a> {
    pub(super) fn named(operators: &'a [&'a str]) -> Result<Self> {
        match operators.is_empty() {
            false => Ok(Operators::Named(operators)),
            true => Err(Error::InvalidArgument(
                "no operator names to quantize; name some, or quantize the whole program".into(),
            )),
        }
    }

    /// Whether operators of this name are among them. (The library takes `all` for a name.)
    fn has(self, name: &str) -> bool {
        match self {
            Operators::All => true,
            Operators::Named(names) => names.contains(&name) || names.contains(&"all"),
        }
    }
}

pub(super) fn quantize(
    program: &ProgramHandle,
    precision: Precision,
    operators: Operators<'_>,
) -> Result<()> {
    if operators.has("loop") {
        limits::check_loops(program)?;
    }
    let names = match operators {
        Operators::All => None,
        Operators::Named(names) => Some(names_of(names)?),
    };
    let program = program.raw();
    let _reading = lock::reading();
    // SAFETY: the program is live and not compiled, the list is live.
    unsafe {
        match (precision, names) {
            (Precision::Fp16, None) => call!(migraphx_quantize_fp16(program)),
            (Precision::Bf16, None) => call!(migraphx_quantize_bf16(program)),
            (Precision::Fp16, Some(names)) => {
                call!(migraphx_quantize_fp16_with_op_names(program, names.raw()))
            }
            (Precision::Bf16, Some(names)) => {
                call!(migraphx_quantize_bf16_with_op_names(program, names.raw()))
            }
        }
    }
}

fn names_of(operators: &[&str]) -> Result<OpNamesHandle> {
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
