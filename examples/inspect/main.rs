//! Tells what a model or a saved program consists of.
//!
//! ```text
//! cargo run --release --example inspect -- yolo26n.onnx
//! cargo run --release --example inspect -- model.mxr --listing
//! cargo run --release --example inspect -- model.mxr --json
//! ```
//!
//! A saved program is read without MIGraphX, so one for a GPU can be looked at
//! anywhere. Shortened:
//! ```text
//! attention.mxr
//!   saved program, compiled for gpu (gfx90a:sramecc+:xnack-), buffers on the device; by MIGraphX 2.14.0, file format 7
//!   input   x: float [1, 3, 4]
//!   buffer  main:#output_0: float [1, 3, 4]
//!   output  0: float [1, 3, 4]
//!   weights       96 bytes
//!   parameters    132 bytes
//!   scratch       120 bytes
//!   machine code  49.1 KiB
//!   22 instructions of 10 operators
//!        5  load
//!        3  gpu::code_object
//!
//! @1 = hip::hip_allocate_memory[shape=int8 [288],id="main:scratch"] -> int8 [288]
//! @7 = gpu::gemm[alpha=1.0,beta=0.0,compute_fp32=1](@4,@5,@6) -> float [1, 3, 12]
//! @9 = slice[axes=[2],starts=[4],ends=[8]](@7) -> float [1, 3, 4] with strides [36, 12, 1]
//! ```

#[path = "../tools_common/mod.rs"]
mod tools_common;

mod report;
#[cfg(test)]
mod tests;

use std::io::Write;
use std::process::ExitCode;

use anyhow::Result;
use clap::Parser;
use migraphx::mxr::{self, Buffers};
use migraphx::{Listing, Program};

use report::Report;
use tools_common::model::{Kind, Model, ModelArgs};

/// Inputs, outputs, operators and memory of a model
#[derive(Parser)]
#[command(name = "inspect")]
struct Cli {
    #[command(flatten)]
    model: ModelArgs,
    /// List all instructions too
    #[arg(long)]
    listing: bool,
    /// Answer in JSON
    #[arg(long)]
    json: bool,
}

fn main() -> ExitCode {
    tools_common::main(|out| run(&Cli::parse(), out).map(|()| true))
}

fn run(cli: &Cli, out: &mut dyn Write) -> Result<()> {
    let report = match cli.model.kind()? {
        Kind::Mxr => saved(cli)?,
        kind => match cli.model.load()? {
            Model::Program(program) => parsed(&program, kind)?,
            Model::Compiled(_) => unreachable!("a model is not compiled"),
        },
    };
    let name = cli.model.file.display().to_string();
    match cli.json {
        true => report.json(&name, cli.listing, out),
        false => report.text(&name, cli.listing, out),
    }
}

/// A saved program is read without MIGraphX, so one for a GPU can be looked at
/// anywhere.
fn saved(cli: &Cli) -> Result<Report> {
    let info = mxr::inspect(&cli.model.file)?;
    let mut kind = match info.targets() {
        [] => "saved program, not compiled".to_owned(),
        targets => format!("saved program, compiled for {}", targets.join(", ")),
    };
    if let Some(architecture) = info.architecture() {
        kind += &format!(" ({architecture})");
    }
    if let Some(buffers) = info.buffers() {
        kind += match buffers {
            Buffers::Host => ", buffers on the host",
            Buffers::Device => ", buffers on the device",
        };
    }
    let version = info.migraphx_version().unwrap_or("of unknown version");
    kind += &format!(
        "; by MIGraphX {version}, file format {}",
        info.format_version()
    );
    let listing = Listing::read(&cli.model.file)?;
    Ok(Report::new(kind, listing))
}

fn parsed(program: &Program, kind: Kind) -> Result<Report> {
    let model = match kind {
        Kind::Tf => "TensorFlow graph",
        _ => "ONNX model",
    };
    let version = migraphx::version().map_or("?".into(), |version| version.to_string());
    let kind = format!("{model}, as MIGraphX {version} reads it");
    Ok(Report::new(kind, program.instructions()?))
}
