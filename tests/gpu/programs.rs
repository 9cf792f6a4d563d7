//! Programs that the tests run, each compiled once.

// Each subject uses a part of it.
#![allow(dead_code)]

use crate::harness;
use migraphx::hip::{Device, Stream};
use migraphx::{
    Argument, CompileOptions, CompiledProgram, DeviceBindings, DeviceProgram, OnnxOptions, Program,
    Result, Target,
};
use std::path::PathBuf;
use testkit::onnx::{Elem, Graph, fixed};

pub const LINEAR_ROWS: usize = 2;

/// `y = relu(x · w + b)` of 2 rows of 4: a product by rocBLAS, weights on the
/// device, and a kernel that MIGraphX generates.
pub fn linear() -> Program {
    OnnxOptions::new().parse_bytes(&linear_bytes()).unwrap()
}

/// Its model.
pub fn linear_bytes() -> Vec<u8> {
    let mut g = Graph::new("linear");
    let weights: Vec<f32> = (0..8).map(weight).collect();
    g.input("x", Elem::F32, &fixed(&[LINEAR_ROWS, 4]));
    g.constant_f32("w", &[4, 2], &weights);
    g.constant_f32("b", &[2], &[0.5, -0.5]);
    g.node("MatMul", &["x", "w"], &["xw"], vec![]);
    g.node("Add", &["xw", "b"], &["sum"], vec![]);
    g.node("Relu", &["sum"], &["y"], vec![]);
    g.output("y", Elem::F32, &fixed(&[LINEAR_ROWS, 2]));
    g.into_bytes()
}

fn weight(i: usize) -> f32 {
    i as f32 - 1.5
}

/// Another input for each `seed`.
pub fn linear_input(seed: usize) -> Vec<f32> {
    let values = 0..4 * LINEAR_ROWS;
    values.map(|i| ((seed * 7 + i * i) % 11) as f32).collect()
}

/// Exact: all are small multiples of a half.
pub fn linear_expected(seed: usize) -> Vec<f32> {
    let x = linear_input(seed);
    let row = |r: usize| {
        let product = |c: usize| -> f32 { (0..4).map(|k| x[4 * r + k] * weight(2 * k + c)).sum() };
        [product(0) + 0.5, product(1) - 0.5].map(|sum| sum.max(0.0))
    };
    (0..LINEAR_ROWS).flat_map(row).collect()
}

/// What MIGraphX's CPU target makes of it.
pub fn linear_on_ref(seed: usize) -> Vec<f32> {
    let target = Target::reference().unwrap();
    let mut program = linear().compile(&target, &CompileOptions::new()).unwrap();
    run_host(&mut program, seed).unwrap()
}

/// Compiled for device buffers.
pub fn device_file() -> PathBuf {
    harness::file("linear-device.mxr", |path| {
        let device = Device::new(0).unwrap();
        let program = linear().compile_for_device(device, &CompileOptions::new());
        program.unwrap().save(path).unwrap();
    })
}

/// Compiled for host buffers.
pub fn host_file() -> PathBuf {
    harness::file("linear-host.mxr", |path| {
        let target = Target::gpu_on(Device::new(0).unwrap()).unwrap();
        let program = linear().compile(&target, &CompileOptions::new());
        program.unwrap().save(path).unwrap();
    })
}

pub fn fill(set: &mut DeviceBindings, seed: usize) -> Result<()> {
    let x = set.id("x")?;
    set.input_mut::<f32>(x)?
        .copy_from_slice(&linear_input(seed));
    Ok(())
}

/// One run, waited for.
pub fn run_device(
    program: &mut DeviceProgram,
    mut set: DeviceBindings,
    stream: &Stream,
    seed: usize,
) -> Result<(DeviceBindings, Vec<f32>)> {
    fill(&mut set, seed)?;
    let set = program.run(set, stream)?;
    let y = set.output::<f32>(0)?.to_vec();
    Ok((set, y))
}

pub fn run_host(program: &mut CompiledProgram, seed: usize) -> Result<Vec<f32>> {
    let x = linear_input(seed);
    let x = Argument::from_slice(&x, &[LINEAR_ROWS, 4])?;
    let outputs = program.run_once(&[("x", x)])?;
    Ok(outputs.slice::<f32>(0)?.to_vec())
}
