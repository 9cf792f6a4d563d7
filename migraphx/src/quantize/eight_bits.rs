//! INT8 and FP8: the library runs the program on the calibration, then rounds.

use super::calibration::Calibration;
use super::limits;
use crate::binding::{self, Binding};
use crate::bound;
use crate::buffer::Buffer;
use crate::error::{Error, Result};
use crate::ffi::handle::{Fp8OptionsHandle, Int8OptionsHandle, ParametersHandle};
use crate::ffi::{self, lock};
use crate::program::Program;
use crate::target::Target;

/// What the library can turn to INT8.
const INT8_OPERATORS: [&str; 2] = ["dot", "convolution"];

#[derive(Debug, Clone, Copy)]
pub(super) enum Kind<'a> {
    /// With the names of the operators; none for all that it knows.
    Int8(&'a [&'a str]),
    Fp8,
}

impl Kind<'_> {
    pub(super) fn name(self) -> &'static str {
        match self {
            Kind::Int8(_) => "INT8",
            Kind::Fp8 => "FP8",
        }
    }
}

pub(super) fn check_names(operators: &[&str]) -> Result<()> {
    if operators.is_empty() {
        return Err(Error::InvalidArgument(
            "no operator names to quantize; name `dot`, `convolution` or both, or call `quantize_int8`"
                .into(),
        ));
    }
    match operators.iter().find(|name| !INT8_OPERATORS.contains(name)) {
        None => Ok(()),
        Some(other) => Err(Error::InvalidArgument(format!(
            "`{other}` cannot be quantized to INT8; MIGraphX quantizes `dot` and `convolution`, \
             others can be turned to half precision with `quantize_fp16_ops`"
        ))),
    }
}

/// Quantizes a copy, and puts it in the program's place: after a failure the
/// library leaves operators in it that point to memory that is gone.
pub(super) fn quantize(
    program: &mut Program,
    kind: Kind<'_>,
    target: &Target,
    calibration: &Calibration,
) -> Result<()> {
    if calibration.is_empty() {
        return Err(Error::InvalidArgument(format!(
            "the calibration holds no sample, and {} needs some to know how large values get; \
             push inputs like those of later runs",
            kind.name()
        )));
    }
    calibration.check(program)?;
    let before = limits::check(program, kind)?;
    let copy = program.try_clone()?;
    call(&copy, kind, target, calibration)
        .map_err(|error| error.while_doing(|| format!("quantizing to {}", kind.name())))?;
    before.compare(&copy)?;
    *program = copy;
    Ok(())
}

/// The options, and what has to live while they are used.
type Given<O> = Result<(O, Vec<Buffer>)>;

fn call(
    program: &Program,
    kind: Kind<'_>,
    target: &Target,
    calibration: &Calibration,
) -> Result<()> {
    // Calibrating runs on the host's memory as it lies, and a few operators write.
    let bindings = binding::of(program.handle(), program.parameters(), "ref")?;
    let written: Vec<bool> = bindings.iter().map(|b| *b != Binding::Shared).collect();
    let raw = (program.handle().raw(), target.handle().raw());
    let run = |quantize: &mut dyn FnMut() -> Result<()>| {
        bound::compiling(program.handle(), target.name(), target.device(), || {
            let _reading = lock::reading();
            quantize()
        })
        .map(|_| ())
    };
    match kind {
        Kind::Int8(operators) => {
            let (options, _copies) = int8_options(operators, calibration, &written)?;
            // SAFETY: all handles are live; the program is not compiled and not empty;
            // its samples have its own shapes, and the calibration and the copies keep
            // their memory until the call has returned.
            run(&mut || unsafe { call!(migraphx_quantize_int8(raw.0, raw.1, options.raw())) })
                .map_err(|error| only_together(error, operators))
        }
        Kind::Fp8 => {
            let (options, _copies) = fp8_options(calibration, &written)?;
            // SAFETY: as above.
            run(&mut || unsafe { call!(migraphx_quantize_fp8(raw.0, raw.1, options.raw())) })
        }
    }
}

fn int8_options(
    operators: &[&str],
    calibration: &Calibration,
    written: &[bool],
) -> Given<Int8OptionsHandle> {
    let options = Int8OptionsHandle::make(|out| {
        // SAFETY: the out pointer is valid.
        unsafe { call!(migraphx_quantize_int8_options_create(out)) }
    })?;
    for operator in operators {
        let name = ffi::c_string("operator name", operator)?;
        // SAFETY: the options are live; C copies the name.
        unsafe {
            call!(migraphx_quantize_int8_options_add_op_name(
                options.raw(),
                name.as_ptr()
            ))
        }?;
    }
    // SAFETY: options and map are live; C copies the map, not the data.
    let add = |map: &ParametersHandle| unsafe {
        call!(migraphx_quantize_int8_options_add_calibration_data(
            options.raw(),
            map.raw()
        ))
    };
    let copies = calibration.give(written, add)?;
    Ok((options, copies))
}

fn fp8_options(calibration: &Calibration, written: &[bool]) -> Given<Fp8OptionsHandle> {
    let options = Fp8OptionsHandle::make(|out| {
        // SAFETY: the out pointer is valid.
        unsafe { call!(migraphx_quantize_fp8_options_create(out)) }
    })?;
    // SAFETY: options and map are live; C copies the map, not the data.
    let add = |map: &ParametersHandle| unsafe {
        call!(migraphx_quantize_fp8_options_add_calibration_data(
            options.raw(),
            map.raw()
        ))
    };
    let copies = calibration.give(written, add)?;
    Ok((options, copies))
}

fn only_together(error: Error, operators: &[&str]) -> Error {
    let both = INT8_OPERATORS.iter().all(|name| operators.contains(name));
    if operators.is_empty() || both {
        return error;
    }
    error.while_doing(|| {
        format!(
            "since ROCm 6.1 MIGraphX takes `dot` and `convolution` only together, and {} was asked \
             for; call `quantize_int8`",
            operators
                .iter()
                .map(|name| format!("`{name}`"))
                .collect::<Vec<_>>()
                .join(", ")
        )
    })
}
