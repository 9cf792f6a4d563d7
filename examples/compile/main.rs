//! Compiles a model and saves the result, which starts at once wherever the
//! same MIGraphX and the same kind of device are.
//!
//! ```text
//! cargo run --release --example compile -- model.onnx -o model.mxr --fp16
//! cargo run --release --example compile -- model.onnx -o model.mxr --device-buffers --batch 64
//! cargo run --release --example compile -- model.onnx -o model.mxr --int8 --calibrate a.npz --calibrate b.npz
//! cargo run --release --example compile -- graph.pb -o model.mxr --ref --input-dim images=8,3,224,224
//! ```
//! ```text
//! attention.onnx
//!   read      0.19 s
//!   FP16      1.05 s
//!   compiled  7.64 s
//!   saved     7.75 s
//!   input     x: float [1, 3, 4]
//!   output    0: float [1, 3, 4]
//! attention.mxr: 58.7 KiB, for gpu
//! ```

#[path = "../tools_common/mod.rs"]
mod tools_common;

#[cfg(test)]
mod tests;

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Result, bail};
use clap::Parser;

use tools_common::compile::CompileArgs;
use tools_common::model::{Model, ModelArgs};
use tools_common::text::bytes;

/// Compile a model and save the result
#[derive(Parser)]
#[command(name = "compile")]
struct Cli {
    #[command(flatten)]
    model: ModelArgs,
    #[command(flatten)]
    compile: CompileArgs,
    /// The program takes buffers on the GPU, and a run copies nothing
    #[arg(long)]
    device_buffers: bool,
    /// The file to write (.mxr)
    #[arg(short, long)]
    output: PathBuf,
}

fn main() -> ExitCode {
    tools_common::main(|out| run(&Cli::parse(), out).map(|()| true))
}

fn run(cli: &Cli, out: &mut dyn Write) -> Result<()> {
    if cli.device_buffers && cli.compile.target_name() != "gpu" {
        bail!("--device-buffers is for the target gpu");
    }
    // Compiling takes minutes: what cannot be written is told before.
    let folder = cli
        .output
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    if folder.is_some_and(|folder| !folder.is_dir()) || cli.output.is_dir() {
        bail!(
            "{} cannot be written: no such folder, or it is one",
            cli.output.display()
        );
    }
    let start = Instant::now();
    let took = |out: &mut dyn Write, what: &str| {
        writeln!(out, "  {what:<10}{:.2} s", start.elapsed().as_secs_f64())
    };
    writeln!(out, "{}", cli.model.file.display())?;
    let Model::Program(mut program) = cli.model.load()? else {
        bail!("{} is compiled already", cli.model.file.display());
    };
    took(out, "read")?;
    cli.compile.quantize(&mut program)?;
    if cli.compile.quantizes() {
        took(out, &cli.compile.precision())?;
    }
    let (parameters, outputs) = if cli.device_buffers {
        let program = cli.compile.compile_for_device(program)?;
        took(out, "compiled")?;
        program.save(&cli.output)?;
        (
            program.parameters().to_vec(),
            program.output_shapes().to_vec(),
        )
    } else {
        let program = cli
            .compile
            .compile_as_it_is(program, &cli.compile.target()?)?;
        took(out, "compiled")?;
        program.save(&cli.output)?;
        (
            program.parameters().to_vec(),
            program.output_shapes().to_vec(),
        )
    };
    took(out, "saved")?;
    for parameter in &parameters {
        writeln!(
            out,
            "  input     {}: {}",
            parameter.name(),
            parameter.shape()
        )?;
    }
    for (index, shape) in outputs.iter().enumerate() {
        writeln!(out, "  output    {index}: {shape}")?;
    }
    let size = std::fs::metadata(&cli.output)?.len() as usize;
    writeln!(
        out,
        "{}: {}, for {}",
        cli.output.display(),
        bytes(size),
        cli.compile.target_name()
    )?;
    Ok(())
}
