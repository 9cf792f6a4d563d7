//! A network compiled with `offload_copy=false`: device memory for every parameter, a stream of ours,
//! fresh and from a saved program, against `ref`.

use crate::compare::Precision;
use crate::families::Family;
use crate::hip::{Hip, Outcome};
use crate::network::numbers;
use migraphx::hip::{Device, Stream};
use migraphx::{
    Argument, CompileOptions, CompiledProgram, DataType, DeviceBindings, DeviceProgram,
    OnnxOptions, OutputRef, OwnedOutputs, Target,
};
use std::path::PathBuf;

/// What was found to be right.
pub struct Report {
    /// The largest difference to `ref`.
    pub largest: f64,
    /// How many outputs have a buffer of their own.
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

/// Runs a program on device buffers.
pub fn run_on_device(
    program: &mut DeviceProgram,
    stream: &Stream,
    inputs: &[Input],
) -> migraphx::Result<DeviceBindings> {
    let mut set = program.bindings()?;
    for Input(name, _, values) in inputs {
        let id = set.id(name)?;
        set.input_mut::<f32>(id)?.copy_from_slice(values);
    }
    program.run(set, stream)
}

/// Runs a program on host buffers.
pub fn run(program: &mut CompiledProgram, inputs: &[Input]) -> migraphx::Result<OwnedOutputs> {
    let mut tensors = Vec::new();
    for Input(name, dims, values) in inputs {
        tensors.push((name.as_str(), Argument::from_vec(values.clone(), dims)?));
    }
    program.run_once(&tensors)
}

/// The results of a run of either kind.
pub trait Results {
    fn count(&self) -> usize;
    fn at(&self, index: usize) -> migraphx::Result<OutputRef<'_>>;

    fn values(&self) -> Outcome<Vec<Values>> {
        let each = |i| values_of(&self.at(i).map_err(text)?);
        (0..self.count()).map(each).collect()
    }
}

impl Results for OwnedOutputs {
    fn count(&self) -> usize {
        self.len()
    }

    fn at(&self, index: usize) -> migraphx::Result<OutputRef<'_>> {
        self.get(index)
    }
}

impl Results for DeviceBindings {
    fn count(&self) -> usize {
        self.outputs()
    }

    fn at(&self, index: usize) -> migraphx::Result<OutputRef<'_>> {
        self.output_ref(index)
    }
}

fn values_of(output: &OutputRef<'_>) -> Outcome<Values> {
    fn wide<T: migraphx::Element>(
        output: &OutputRef<'_>,
        value: fn(T) -> f64,
    ) -> migraphx::Result<Vec<f64>> {
        Ok(output.to_vec::<T>()?.into_iter().map(value).collect())
    }
    let values = match output.shape().dtype() {
        DataType::Float => wide::<f32>(output, f64::from),
        DataType::Half => wide::<half::f16>(output, f64::from),
        DataType::Int32 => wide::<i32>(output, f64::from),
        DataType::Int64 => wide::<i64>(output, |value| value as f64),
        other => return Err(format!("an output of type {other}")),
    };
    Ok((output.shape().dims().to_vec(), values.map_err(text)?))
}

/// The largest difference, or what is wrong.
pub fn difference(gpu: &impl Results, expected: &OwnedOutputs, tolerance: f64) -> Outcome<f64> {
    compare(&gpu.values()?, &expected.values()?, tolerance)
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

    let device = Device::new(0).map_err(text)?;
    let hip = Hip::loaded()?;
    let before = hip.violations().len();
    let found = fresh_and_loaded(&model, half, device, &inputs).map_err(text)?;
    let [fresh, again] = found;
    let largest = difference(&fresh, &expected, tolerance)?;
    for i in 0..fresh.outputs() {
        let bytes = |set: &DeviceBindings| Ok(set.output_ref(i).map_err(text)?.as_bytes().to_vec());
        let same: Outcome<bool> = bytes(&fresh).and_then(|first| Ok(first == bytes(&again)?));
        if !same? {
            return Err("the saved program gives other bits".into());
        }
    }
    let own = |i: &usize| fresh.output_buffer(*i).is_ok();
    let outputs = (0..fresh.outputs()).filter(own).count();
    match hip.violations().get(before) {
        None => Ok(Report { largest, outputs }),
        Some(first) => Err(first.clone()),
    }
}

/// What a program gives, and what it gives once it was saved and loaded.
fn fresh_and_loaded(
    model: &[u8],
    half: bool,
    device: Device,
    inputs: &[Input],
) -> migraphx::Result<[DeviceBindings; 2]> {
    let stream = Stream::new(device)?;
    let mut program = compile(model, half, device)?;
    let fresh = run_on_device(&mut program, &stream, inputs)?;
    let saved = program.to_bytes()?;
    drop(program);
    let mut loaded = DeviceProgram::load_bytes(&saved, device)?;
    let again = run_on_device(&mut loaded, &stream, inputs)?;
    Ok([fresh, again])
}

/// The network, in half precision where asked, for buffers on a device.
pub fn compile(model: &[u8], half: bool, device: Device) -> migraphx::Result<DeviceProgram> {
    let mut program = OnnxOptions::new().parse_bytes(model)?;
    if half {
        program.quantize_fp16()?;
    }
    program.compile_for_device(device, &CompileOptions::new())
}

/// Of this process alone: the checks of a process run one after the other.
pub fn file() -> PathBuf {
    std::env::temp_dir().join(format!("gpu-sim-checks-{}.mxr", std::process::id()))
}
