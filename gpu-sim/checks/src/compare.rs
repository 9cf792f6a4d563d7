//! A network on `ref` and on `gpu`, fresh and from a saved program.

use crate::families::Family;
use crate::network::numbers;
use migraphx::{
    Argument, CompileOptions, CompiledProgram, DataType, OnnxOptions, OutputRef, OwnedOutputs,
    Target,
};

/// The precision of the `gpu` side; `ref` always computes in f32, which is the truth for both: it sums
/// halves in half precision itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precision {
    Fp32,
    Fp16,
    Bf16,
}

impl Precision {
    /// Largest difference, of values about 1 and relative above.
    fn tolerance(self) -> f64 {
        match self {
            Self::Fp32 => 1e-5,
            // Weights, inputs and every result between two kernels are rounded to 11 bits.
            Self::Fp16 => 1e-2,
            // The same with 8 bits.
            Self::Bf16 => 8e-2,
        }
    }
}

/// What MIGraphX 7.1 without MLIR says to most convolutions under MIGRAPHX_ENABLE_NHWC, on any device:
/// after it has chosen NHWC for them, its pass `auto_contiguous` puts constant weights and the results of
/// other operations back into NCHW, and convolution wants both in one layout.
pub const LAYOUT_PASSES: &str = "Layouts do not match";

type Outcome<T> = Result<T, String>;

fn text(error: migraphx::Error) -> String {
    error.to_string()
}

fn run(program: &mut CompiledProgram, inputs: &[(String, Vec<usize>)]) -> Outcome<OwnedOutputs> {
    let mut tensors = Vec::new();
    for (i, (name, dims)) in inputs.iter().enumerate() {
        let values = numbers(100 + i as u64, dims.iter().product());
        tensors.push((
            name.as_str(),
            Argument::from_vec(values, dims).map_err(text)?,
        ));
    }
    program.run_once(&tensors).map_err(text)
}

/// An output's values in logical order, whatever its layout.
fn values(output: &OutputRef<'_>) -> Outcome<Vec<f64>> {
    match output.shape().dtype() {
        DataType::Float => Ok(output
            .to_vec::<f32>()
            .map_err(text)?
            .into_iter()
            .map(f64::from)
            .collect()),
        DataType::Half => Ok(output
            .to_vec::<half::f16>()
            .map_err(text)?
            .into_iter()
            .map(half::f16::to_f64)
            .collect()),
        DataType::Int64 => Ok(output
            .to_vec::<i64>()
            .map_err(text)?
            .into_iter()
            .map(|v| v as f64)
            .collect()),
        DataType::Int32 => Ok(output
            .to_vec::<i32>()
            .map_err(text)?
            .into_iter()
            .map(f64::from)
            .collect()),
        other => Err(format!("an output of type {other}")),
    }
}

/// The largest difference, or what is wrong.
fn difference(found: &OwnedOutputs, expected: &OwnedOutputs, tolerance: f64) -> Outcome<f64> {
    if found.len() != expected.len() {
        return Err(format!("{} outputs for {}", found.len(), expected.len()));
    }
    let mut largest = 0.0f64;
    for i in 0..found.len() {
        let (found, expected) = (found.get(i).map_err(text)?, expected.get(i).map_err(text)?);
        if found.shape().dims() != expected.shape().dims() {
            return Err(format!(
                "output {i} is {:?} for {:?}",
                found.shape().dims(),
                expected.shape().dims()
            ));
        }
        let (found, expected) = (values(&found)?, values(&expected)?);
        if expected.is_empty() {
            return Err(format!("output {i} is empty"));
        }
        for (at, (f, e)) in found.iter().zip(&expected).enumerate() {
            let off = (f - e).abs() / e.abs().max(1.0);
            if off.is_nan() || off > tolerance {
                return Err(format!("output {i}, element {at}: {f} for {e}"));
            }
            largest = largest.max(off);
        }
    }
    Ok(largest)
}

/// Compiles for both targets and compares; the `gpu` program is also saved, loaded and run again.
pub fn check(family: &Family, precision: Precision) -> Outcome<f64> {
    let (model, inputs) = (family.build)().finish();
    let parse = |model: &[u8]| OnnxOptions::new().parse_bytes(model).map_err(text);
    let options = CompileOptions::new().offload_copy(true);
    let mut reference = parse(&family.reference().finish().0)?
        .compile(&Target::reference().map_err(text)?, &CompileOptions::new())
        .map_err(text)?;
    let expected = run(&mut reference, &inputs)?;

    let mut program = parse(&model)?;
    match precision {
        Precision::Fp32 => {}
        Precision::Fp16 => program.quantize_fp16().map_err(text)?,
        Precision::Bf16 => program.quantize_bf16().map_err(text)?,
    }
    let mut gpu = program
        .compile(&Target::gpu().map_err(text)?, &options)
        .map_err(text)?;
    let tolerance = precision.tolerance();
    let fresh = difference(&run(&mut gpu, &inputs)?, &expected, tolerance)?;
    let saved = gpu.to_bytes().map_err(text)?;
    drop(gpu);
    let mut loaded = CompiledProgram::load_bytes(&saved).map_err(text)?;
    let again = difference(&run(&mut loaded, &inputs)?, &expected, tolerance)
        .map_err(|e| format!("from the saved program: {e}"))?;
    Ok(fresh.max(again))
}
