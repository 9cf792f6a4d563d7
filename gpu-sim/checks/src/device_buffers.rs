//! A network compiled with `offload_copy=false`: device memory for every parameter, a stream of ours,
//! fresh and from a saved program, against `ref`.

use crate::compare::Precision;
use crate::families::Family;
use crate::hip::{Hip, Outcome, Stream};
use crate::network::numbers;
use crate::raw::{Program, Tensor};
use migraphx::{Argument, CompileOptions, CompiledProgram, OnnxOptions, OwnedOutputs, Target};
use migraphx_sys::migraphx_shape_datatype_t as dtype;
use std::path::PathBuf;

/// What was found to be right.
pub struct Report {
    /// The largest difference to `ref`.
    pub largest: f64,
    /// How many outputs were parameters of the program.
    pub outputs: usize,
}

pub fn text(error: migraphx::Error) -> String {
    error.to_string()
}

/// The network on `ref`, in f32.
pub struct Reference(CompiledProgram);

impl Reference {
    pub fn new(family: &Family) -> Outcome<Self> {
        OnnxOptions::new()
            .parse_bytes(&family.reference().finish().0)
            .and_then(|p| p.compile(&Target::reference()?, &CompileOptions::new()))
            .map(Self)
            .map_err(text)
    }

    pub fn run(&mut self, inputs: &[Input]) -> Outcome<OwnedOutputs> {
        run(&mut self.0, inputs).map_err(text)
    }
}

/// A f32 input: its name, dimensions and values.
pub struct Input(String, Vec<usize>, Vec<f32>);

/// Numbers for the inputs of a network.
pub fn inputs(shapes: &[(String, Vec<usize>)], seed: u64) -> Vec<Input> {
    let of = |(i, (name, dims)): (usize, &(String, Vec<usize>))| {
        let values = numbers(seed + i as u64, dims.iter().product());
        Input(name.clone(), dims.clone(), values)
    };
    shapes.iter().enumerate().map(of).collect()
}

/// The bytes of an input, for `Program::run`.
pub fn bytes_of(inputs: &[Input]) -> impl Fn(&str) -> Option<Vec<u8>> {
    |name| {
        let Input(_, _, values) = inputs.iter().find(|i| i.0 == name)?;
        Some(values.iter().flat_map(|v| v.to_ne_bytes()).collect())
    }
}

/// Runs a program of the safe crate.
pub fn run(program: &mut CompiledProgram, inputs: &[Input]) -> migraphx::Result<OwnedOutputs> {
    let mut tensors = Vec::new();
    for Input(name, dims, values) in inputs {
        tensors.push((name.as_str(), Argument::from_vec(values.clone(), dims)?));
    }
    program.run_once(&tensors)
}

fn all(outputs: &OwnedOutputs) -> Outcome<Vec<Values>> {
    (0..outputs.len()).map(|i| values_of(outputs, i)).collect()
}

/// The values of an output of the safe crate.
fn values_of(outputs: &OwnedOutputs, i: usize) -> Outcome<Values> {
    let output = outputs.get(i).map_err(text)?;
    let values = match output.shape().dtype() {
        migraphx::DataType::Float => output
            .to_vec::<f32>()
            .map(|v| v.into_iter().map(f64::from).collect()),
        migraphx::DataType::Int32 => output
            .to_vec::<i32>()
            .map(|v| v.into_iter().map(f64::from).collect()),
        migraphx::DataType::Int64 => output
            .to_vec::<i64>()
            .map(|v| v.into_iter().map(|v| v as f64).collect()),
        other => return Err(format!("an output of type {other}")),
    };
    Ok((output.shape().dims().to_vec(), values.map_err(text)?))
}

/// The values of an output of `gpu`.
fn found(tensor: &Tensor) -> Outcome<Vec<f64>> {
    fn each<const N: usize>(bytes: &[u8], value: fn([u8; N]) -> f64) -> Vec<f64> {
        bytes.as_chunks::<N>().0.iter().map(|c| value(*c)).collect()
    }
    let bytes = &tensor.bytes;
    match tensor.dtype {
        dtype::migraphx_shape_float_type => Ok(each(bytes, |b| f32::from_ne_bytes(b).into())),
        dtype::migraphx_shape_half_type => {
            Ok(each(bytes, |b| half::f16::from_ne_bytes(b).to_f64()))
        }
        dtype::migraphx_shape_int32_type => Ok(each(bytes, |b| i32::from_ne_bytes(b).into())),
        dtype::migraphx_shape_int64_type => Ok(each(bytes, |b| i64::from_ne_bytes(b) as f64)),
        other => Err(format!("an output of raw type {}", other.0)),
    }
}

/// The largest difference, or what is wrong.
pub fn difference(gpu: &[Tensor], expected: &OwnedOutputs, tolerance: f64) -> Outcome<f64> {
    let gpu: Outcome<Vec<_>> = gpu
        .iter()
        .map(|t| Ok((t.dims.clone(), found(t)?)))
        .collect();
    compare(&gpu?, &all(expected)?, tolerance)
}

/// The same for a program of the safe crate in FP32.
pub fn host_difference(
    gpu: &OwnedOutputs,
    expected: &OwnedOutputs,
    tolerance: f64,
) -> Outcome<f64> {
    compare(&all(gpu)?, &all(expected)?, tolerance)
}

/// Dimensions and values.
type Values = (Vec<usize>, Vec<f64>);

fn compare(gpu: &[Values], expected: &[Values], tolerance: f64) -> Outcome<f64> {
    if gpu.len() != expected.len() {
        return Err(format!("{} outputs for {}", gpu.len(), expected.len()));
    }
    let mut largest = 0.0f64;
    for (i, ((found_dims, found), (dims, expected))) in gpu.iter().zip(expected).enumerate() {
        if found_dims != dims || found.len() != expected.len() || found.is_empty() {
            return Err(format!("output {i} is {found_dims:?} for {dims:?}"));
        }
        for (at, (f, e)) in found.iter().zip(expected).enumerate() {
            let off = (f - e).abs() / e.abs().max(1.0);
            if off.is_nan() || off > tolerance {
                return Err(format!("output {i}, element {at}: {f} for {e}"));
            }
            largest = largest.max(off);
        }
    }
    Ok(largest)
}

/// Compiles, runs, saves, loads and runs again.
pub fn check(family: &Family, precision: Precision) -> Outcome<Report> {
    // As in compare.rs: halves are rounded after each kernel.
    let (half, tolerance) = match precision {
        Precision::Fp32 => (false, 1e-5),
        Precision::Fp16 => (true, 1e-2),
        Precision::Bf16 => return Err("device buffers are checked in FP32 and FP16".into()),
    };
    let (model, shapes) = (family.build)().finish();
    let inputs = inputs(&shapes, 100);
    let expected = Reference::new(family)?.run(&inputs)?;
    let input = bytes_of(&inputs);

    let _target = Target::gpu().map_err(text)?;
    let hip = Hip::loaded()?;
    let before = hip.violations().len();
    let stream = Stream::new(&hip)?;
    let mut program = Program::compile(&model, half)?;
    let (fresh, outputs) = program.run(&stream, &input)?;
    let largest = difference(&fresh, &expected, tolerance)?;
    let file = file();
    let saved = program.save(&file);
    drop(program);
    let loaded = saved.and_then(|()| Program::load(&file));
    // A file that could not be saved is not there.
    let _ = std::fs::remove_file(&file);
    let mut loaded = loaded?;
    let (again, _) = loaded.run(&stream, &input)?;
    if again != fresh {
        return Err("the saved program gives other bits".into());
    }
    match hip.violations().get(before) {
        None => Ok(Report { largest, outputs }),
        Some(first) => Err(first.clone()),
    }
}

/// Of this process alone: the checks of a process run one after the other.
pub fn file() -> PathBuf {
    std::env::temp_dir().join(format!("gpu-sim-checks-{}.mxr", std::process::id()))
}
