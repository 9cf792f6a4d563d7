//! A saved and loaded program gives the same bits as the fresh one (`offload_copy=true`, the safe crate).

use crate::compare::Precision;
use crate::device_buffers::{inputs, run};
use crate::families::Family;
use migraphx::{CompileOptions, CompiledProgram, OnnxOptions, OwnedOutputs, Result, Target};

/// The number of the first output that differs.
fn different(one: &OwnedOutputs, other: &OwnedOutputs) -> Result<Option<usize>> {
    if one.len() != other.len() {
        return Ok(Some(one.len().min(other.len())));
    }
    for i in 0..one.len() {
        let (one, other) = (one.get(i)?, other.get(i)?);
        if one.shape() != other.shape() || one.as_bytes() != other.as_bytes() {
            return Ok(Some(i));
        }
    }
    Ok(None)
}

/// Compiles, saves, loads, and runs both; the size of the saved program.
pub fn check(family: &Family, precision: Precision) -> std::result::Result<usize, String> {
    compare(family, precision).unwrap_or_else(|error| Err(error.to_string()))
}

fn compare(family: &Family, precision: Precision) -> Result<std::result::Result<usize, String>> {
    let (model, shapes) = (family.build)().finish();
    let mut program = OnnxOptions::new().parse_bytes(&model)?;
    match precision {
        Precision::Fp32 => {}
        Precision::Fp16 => program.quantize_fp16()?,
        Precision::Bf16 => program.quantize_bf16()?,
    }
    let options = CompileOptions::new().offload_copy(true);
    let mut fresh = program.compile(&Target::gpu()?, &options)?;
    let saved = fresh.to_bytes()?;
    let mut loaded = CompiledProgram::load_bytes(&saved)?;
    // The second seed shows that the comparison can fail, and that inputs reach the loaded program.
    let (one, two) = (inputs(&shapes, 100), inputs(&shapes, 200));
    let (first, second) = (run(&mut fresh, &one)?, run(&mut fresh, &two)?);
    let (again, other) = (run(&mut loaded, &one)?, run(&mut loaded, &two)?);
    for (fresh, loaded) in [(&first, &again), (&second, &other)] {
        if let Some(i) = different(fresh, loaded)? {
            return Ok(Err(format!(
                "the saved program gives other bits in output {i}"
            )));
        }
    }
    if different(&first, &other)?.is_none() {
        return Ok(Err("other inputs give the same outputs".into()));
    }
    Ok(Ok(saved.len()))
}
