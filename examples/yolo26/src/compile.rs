//! `compile`: an ONNX export becomes a compiled `.mxr`.

use std::io::Write;
use std::time::Instant;

use anyhow::{Context, Result, bail};

use crate::calibration::Pictures;
use crate::cli::CompileArgs;
use crate::files;
use crate::weights::{Model, Quantize};

pub fn run(args: &CompileArgs, out: &mut dyn Write) -> Result<()> {
    let CompileArgs {
        model,
        output,
        fp16,
        device,
        int8,
        calibration,
        calibration_images,
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
    let int8 = match (int8, calibration) {
        (true, Some(data)) => Some(Pictures::of(data, *calibration_images)?),
        (false, None) => None,
        (true, None) => bail!(
            "--int8 needs to know how large values get: give images like those of later runs with \
             --calibration, a folder or a data set file"
        ),
        (false, Some(_)) => bail!("--calibration is for --int8; give both or neither"),
    };
    let start = Instant::now();
    if let Some(pictures) = &int8 {
        writeln!(out, "calibrating with {} images", pictures.count())?;
    }
    let quantize = Quantize { fp16: *fp16, int8 };
    let model = Model::compile(model, &quantize, *device)?;
    model.detector.save(output)?;
    model.about.write(output)?;

    let size = std::fs::metadata(output)
        .with_context(|| format!("cannot read {}", output.display()))?
        .len();
    let c = &model.contract;
    writeln!(
        out,
        "{}: {} -> {}",
        c.input,
        tuple(&c.input_dims()),
        tuple(&c.output_dims()),
    )?;
    writeln!(
        out,
        "wrote {} ({}, target {}, {}, {} kB) in {:.1} s",
        output.display(),
        model
            .about
            .precision
            .map_or("unknown".into(), |p| p.to_string()),
        model.target,
        model.detector.buffers(),
        size.div_ceil(1000),
        start.elapsed().as_secs_f64()
    )?;
    Ok(())
}

/// As ONNX and NumPy show dimensions: `(2, 3, 80, 80)`.
fn tuple(dims: &[usize]) -> String {
    let dims: Vec<String> = dims.iter().map(usize::to_string).collect();
    format!("({})", dims.join(", "))
}
