//! Compares a target, or a precision, with MIGraphX's reference: the same model
//! and the same inputs on both.
//!
//! ```text
//! cargo run --release --example verify -- model.onnx --gpu --fp16
//! cargo run --release --example verify -- model.onnx --ref --bf16 --bisect
//! cargo run --release --example verify -- model.onnx --compiled-model model.mxr
//! ```
//! ```text
//! cancelling.onnx: ref (BF16) against ref
//!   tolerance  rms 8e-2, elements 4e-2 + 4e-2 x value
//! they part at node 5 `Sub_5` (Sub); the 5 before it agree
//!   takes large: rms 4.40e-3, largest 2.82e1 (element 51), all 64 elements in tolerance
//!   takes b: rms 4.02e-3, largest 2.78e1 (element 51), all 64 elements in tolerance
//!   gives small: rms 6.15e-1, largest 3.95e0 (element 35), 62 of 64 elements over it
//! ```
//!
//! The exit code is 0 where the outputs agree within the tolerance, 1 where they
//! do not, 2 where something else went wrong.

#[path = "../tools_common/mod.rs"]
mod tools_common;

mod bisect;
mod errors;
mod onnx_graph;
#[cfg(test)]
mod tests;

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::Parser;
use migraphx::{Argument, CompiledProgram, DataType, OwnedOutputs, Program, Target, mxr};

use errors::{Errors, Tolerance};
use tools_common::compile::CompileArgs;
use tools_common::data::{DataArgs, Tensors};
use tools_common::model::{Kind, Model, ModelArgs};

/// Compare a model's results with the reference
#[derive(Parser)]
#[command(name = "verify")]
struct Cli {
    #[command(flatten)]
    model: ModelArgs,
    #[command(flatten)]
    compile: CompileArgs,
    #[command(flatten)]
    data: DataArgs,
    /// Compare this compiled program, and not a fresh one, with the reference
    #[arg(short, long, value_name = "FILE")]
    compiled_model: Option<PathBuf>,
    /// Largest RMS error [default: 0.001, with smaller types 0.08]
    #[arg(long)]
    rms_tol: Option<f64>,
    /// Largest absolute error of an element [default: 0.001, with smaller types 0.04]
    #[arg(long)]
    atol: Option<f64>,
    /// Largest error of an element, as a part of its value; both are added [default: as --atol]
    #[arg(long)]
    rtol: Option<f64>,
    /// Let the RMS error decide alone, as migraphx-driver does
    #[arg(long, conflicts_with_all = ["atol", "rtol"])]
    rms_only: bool,
    /// Find the first node of an ONNX model whose results differ
    #[arg(short, long, conflicts_with = "compiled_model")]
    bisect: bool,
    /// Nodes whose results are looked at together by --bisect
    #[arg(long, value_name = "N", default_value = "1000", value_parser = clap::value_parser!(u32).range(1..))]
    bisect_nodes: u32,
}

fn main() -> ExitCode {
    tools_common::main(|out| run(&Cli::parse(), out))
}

/// Whether all agree.
fn run(cli: &Cli, out: &mut dyn Write) -> Result<bool> {
    if cli.bisect && cli.model.kind()? != Kind::Onnx {
        bail!("--bisect takes an ONNX model: it gives the results in between as outputs");
    }
    let tolerance = cli.tolerance(&cli.program()?)?;
    let tensors = cli
        .data
        .tensors(cli.program()?.parameters(), &cli.model.input_dim)?;
    writeln!(
        out,
        "{}: {} ({}) against ref\n  tolerance  rms {:e}, elements {:e} + {:e} x value",
        cli.model.file.display(),
        cli.candidate_name(),
        cli.compile.precision(),
        tolerance.rms,
        tolerance.atol,
        tolerance.rtol
    )?;
    if cli.bisect {
        return bisect::run(cli, &tensors, &tolerance, out);
    }
    let expected = outputs(&mut cli.reference(cli.program()?)?, &tensors)?;
    let mut candidate = match &cli.compiled_model {
        None => cli.compile.compile(cli.program()?)?,
        Some(path) => CompiledProgram::load(path)?,
    };
    let found = outputs(&mut candidate, &tensors)?;
    if found.len() != expected.len() {
        bail!(
            "{} outputs, and {} of the reference",
            found.len(),
            expected.len()
        );
    }
    let mut all_agree = true;
    for index in 0..expected.len() {
        let errors = Errors::of(&found.get(index)?, &expected.get(index)?, &tolerance)?;
        writeln!(out, "  output {index:<3} {errors}")?;
        all_agree &= errors.agree();
    }
    writeln!(
        out,
        "{}",
        if all_agree {
            "they agree"
        } else {
            "they differ"
        }
    )?;
    Ok(all_agree)
}

impl Cli {
    /// The model, anew: a program is used up when it is compiled.
    fn program(&self) -> Result<Program> {
        match self.model.load()? {
            Model::Program(program) => Ok(program),
            Model::Compiled(_) => bail!(
                "{} is compiled; give the model, and this file as --compiled-model",
                self.model.file.display()
            ),
        }
    }

    fn reference(&self, program: Program) -> Result<CompiledProgram> {
        self.compile
            .compile_as_it_is(program, &Target::reference()?)
    }

    fn candidate_name(&self) -> String {
        match &self.compiled_model {
            Some(path) => path.display().to_string(),
            None => self.compile.target_name().to_owned(),
        }
    }

    fn tolerance(&self, program: &Program) -> Result<Tolerance> {
        let mut small = self.compile.quantizes() || has_16_bit(program)?;
        if let Some(path) = &self.compiled_model {
            let instructions = migraphx::Listing::read(path)?;
            small |= instructions.iter().any(|i| is_16_bit(i.shape().dtype()));
            if !mxr::inspect(path)?.is_compiled() {
                bail!("{} is not compiled", path.display());
            }
        }
        let default = if small {
            Tolerance::HALF
        } else {
            Tolerance::SINGLE
        };
        if self.rms_only {
            return Ok(Tolerance {
                rms: self.rms_tol.unwrap_or(default.rms),
                atol: f64::INFINITY,
                rtol: 0.0,
            });
        }
        Ok(Tolerance {
            rms: self.rms_tol.unwrap_or(default.rms),
            atol: self.atol.unwrap_or(default.atol),
            rtol: self.rtol.or(self.atol).unwrap_or(default.rtol),
        })
    }
}

fn has_16_bit(program: &Program) -> Result<bool> {
    let instructions = program.instructions()?;
    Ok(instructions.iter().any(|i| is_16_bit(i.shape().dtype())))
}

fn is_16_bit(dtype: DataType) -> bool {
    matches!(dtype, DataType::Half | DataType::Bf16)
}

/// One run.
fn outputs(program: &mut CompiledProgram, tensors: &Tensors) -> Result<OwnedOutputs> {
    let mut inputs = program.inputs()?;
    for (name, tensor) in tensors {
        let tensor: &Argument = tensor;
        inputs.set(inputs.id(name)?, tensor)?;
    }
    Ok(program.run(&mut inputs)?.into_owned()?)
}
