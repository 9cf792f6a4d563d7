//! What the library does not survive, or does not say, when it quantizes.

use std::collections::HashSet;

use super::eight_bits::Kind;
use crate::dtype::DataType;
use crate::error::{Error, Result};
use crate::ffi::handle::ProgramHandle;
use crate::listing::{self, Instruction, Listing};
use crate::program::{self, Program};

impl Kind<'_> {
    /// Whether the library looks at the operands of an operator. Recurrent ones
    /// become matrix products first.
    fn measures(self, operator: &str) -> bool {
        match self {
            Kind::Int8(_) => ["dot", "convolution", "rnn", "gru", "lstm"].contains(&operator),
            Kind::Fp8 => !operator.starts_with('@') && operator != "convert",
        }
    }
}

/// What was seen of a program before it was quantized.
#[derive(Debug)]
pub(super) struct Before<'a> {
    kind: Kind<'a>,
    /// It has operators to quantize.
    measured: bool,
    /// Infinite constants.
    infinite: usize,
}

/// Refuses what kills the process.
pub(super) fn check<'a>(program: &Program, kind: Kind<'a>) -> Result<Before<'a>> {
    let refuse = |text: String| Err(Error::InvalidArgument(text));
    let name = kind.name();
    let listing = listing::of(program.handle())?;
    let is_dynamic = |line: &&Instruction| {
        let mut shapes = line.tuple_shapes().iter().chain([line.shape()]);
        shapes.any(|shape| shape.is_dynamic())
    };
    if let Some(line) = listing.iter().find(is_dynamic) {
        return refuse(format!(
            "the result of `{}` has no fixed size ({}), and MIGraphX quantizes to {name} only where \
             all sizes are fixed",
            line.operator(),
            line.shape()
        ));
    }
    let mut measured = listing
        .iter()
        .filter(|line| kind.measures(line.operator()))
        .peekable();
    let any = measured.peek().is_some();
    for line in measured {
        if matches!(kind, Kind::Fp8) && matches!(line.operator(), "if" | "loop") {
            return refuse(format!(
                "MIGraphX cannot quantize programs with `{}` to FP8; use INT8, FP16 or BF16",
                line.operator()
            ));
        }
        let mut operands = line.inputs().iter().filter_map(|input| listing.find(input));
        if let Some(empty) = operands.find(|operand| is_empty_float(operand)) {
            return refuse(format!(
                "an operand of `{}` has no elements ({}, made by `{}`), and MIGraphX's calibration \
                 does not survive that; cut it out of the model",
                line.operator(),
                empty.shape(),
                empty.operator()
            ));
        }
    }
    Ok(Before {
        kind,
        measured: any,
        infinite: infinite(program)?,
    })
}

/// Of a type that the library quantizes, and without elements.
fn is_empty_float(line: &Instruction) -> bool {
    let floats = [DataType::Float, DataType::Double, DataType::Half];
    floats.contains(&line.shape().dtype()) && line.shape().elements() == 0
}

impl Before<'_> {
    /// Refuses a result that is not what was asked for.
    pub(super) fn compare(self, after: &Program) -> Result<()> {
        let kind = self.kind.name();
        if self.measured && !is_quantized(&listing::of(after.handle())?, self.kind) {
            return Err(Error::InvalidArgument(format!(
                "nothing was quantized to {kind}: MIGraphX takes operands of single, double and half \
                 precision, and this program's are bfloat16 or integers; quantize to {kind} alone, \
                 or together with FP16"
            )));
        }
        if infinite(after)? > self.infinite {
            return Err(Error::InvalidArgument(format!(
                "values that were to be quantized to {kind} grew infinite on the calibration, which \
                 leaves them no scale; look for infinities in the samples, or for overflow (half \
                 precision ends at 65504)"
            )));
        }
        Ok(())
    }
}

/// Whether an operator takes rounded values.
fn is_quantized(listing: &Listing, kind: Kind<'_>) -> bool {
    let rounded: HashSet<&str> = listing
        .with_operator("dequantizelinear")
        .map(Instruction::name)
        .collect();
    let measured = listing.iter().filter(|line| {
        kind.measures(line.operator()) && !line.operator().ends_with("quantizelinear")
    });
    let mut inputs = measured.flat_map(|line| line.inputs());
    inputs.any(|input| rounded.contains(input.as_str()))
}

/// How many constants are infinite; 0 where the program's text cannot be read.
fn infinite(program: &Program) -> Result<usize> {
    let text = program::print(program.handle())?.unwrap_or_default();
    Ok(text.matches(" = @literal{inf} -> ").count())
}

/// Refuses a loop that carries floats: the library converts what goes in, and
/// neither the body's parameters nor the results.
pub(super) fn check_loops(program: &ProgramHandle) -> Result<()> {
    // The text is far shorter than the listing's source, and says when there is none.
    if program::print(program)?.is_some_and(|text| !text.contains("loop[")) {
        return Ok(());
    }
    let listing = listing::of(program)?;
    for line in listing.with_operator("loop") {
        let mut carried = line.inputs().iter().filter_map(|input| listing.find(input));
        let floats = [DataType::Float, DataType::Double];
        if let Some(float) = carried.find(|value| floats.contains(&value.shape().dtype())) {
            return Err(Error::InvalidArgument(format!(
                "`loop` carries {} (made by `{}`), and MIGraphX converts it on the way in and not \
                 inside; name the operators to quantize instead, such as `dot` and `convolution`",
                float.shape(),
                float.operator()
            )));
        }
    }
    Ok(())
}
