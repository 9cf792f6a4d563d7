//! `compile`: an ONNX export becomes a compiled `.mxr`.

use std::io::Write;
use std::time::Instant;

use anyhow::{Context, Result, bail};

use crate::cli::CompileArgs;
use crate::files;
use crate::weights::{self, Model};

pub fn run(args: &CompileArgs, out: &mut dyn Write) -> Result<()> {
    let CompileArgs {
        model,
        output,
        fp16,
    } = args;
    if model.weights.extension().is_none_or(|e| e != "onnx") {
        bail!(
            "{}: compile takes an ONNX export (.onnx)",
            model.weights.display()
        );
    }
    if output.extension().is_none_or(|e| e != "mxr") {
        bail!("{}: a compiled program must end in .mxr", output.display());
    }
    files::check_writable(output)?;
    let start = Instant::now();
    let model = Model::open(model, *fp16)?;
    model.program.save(output)?;
    weights::write_names(output, &model.names)?;

    let size = std::fs::metadata(output)
        .with_context(|| format!("cannot read {}", output.display()))?
        .len();
    let c = &model.contract;
    writeln!(
        out,
        "{}: ({}, 3, {s}, {s}) -> ({}, {}, 6)",
        c.input,
        c.batch,
        c.batch,
        c.rows,
        s = c.size
    )?;
    writeln!(
        out,
        "wrote {} ({}, target {}, {} kB) in {:.1} s",
        output.display(),
        if *fp16 { "FP16" } else { "FP32" },
        model.target,
        size.div_ceil(1000),
        start.elapsed().as_secs_f64()
    )?;
    Ok(())
}
