//! Devices that run out of memory.

use crate::device_programs::{compile_add, device, parse, says};
use crate::harness::Test;
use crate::sim;
use migraphx::hip::Stream;
use migraphx::{CompileOptions, DeviceProgram, Error, Target};
use std::sync::Mutex;
use testkit::models;
use testkit::onnx::{Elem, Graph, fixed};

pub const TESTS: &[Test] = &[
    Test::new("one_device_is_full", full_device).env("GPU_SIM_MEMORY", "2M"),
    Test::new("the_weights_do_not_fit", big_weights).env("GPU_SIM_MEMORY", "64K"),
    Test::new("memory_of_the_host_instead_is_told", host_memory),
];

fn full_device() {
    let stream = Stream::new(device(1)).unwrap();
    // 400 KB for each of three buffers.
    let mut program = compile_add(&[100_000], 1);
    let mut sets = Vec::new();
    let error = loop {
        match program.bindings() {
            Ok(set) => sets.push(set),
            Err(error) => break error,
        }
        assert!(sets.len() < 3, "2 MB hold one set");
    };
    assert!(matches!(error, Error::DeviceMemory { .. }), "{error}");
    says(&error, &["GPU 1", "400000 bytes", "free"]);
    assert_eq!(sets.len(), 1);
    // Neither what is on the device nor the other devices are the worse for it.
    let add = |program: &mut DeviceProgram, mut set: migraphx::DeviceBindings, stream: &Stream| {
        for name in ["x", "y"] {
            let id = set.id(name).unwrap();
            set.input_mut::<f32>(id).unwrap().fill(1.5);
        }
        let set = program.run(set, stream).unwrap();
        assert!(set.output::<f32>(0).unwrap().iter().all(|z| *z == 3.0));
    };
    let set = sets.pop().unwrap();
    add(&mut program, set, &stream);
    let mut other = compile_add(&[100_000], 2);
    let (set, stream) = (other.bindings().unwrap(), Stream::new(device(2)).unwrap());
    add(&mut other, set, &stream);
}

fn big_weights() {
    // 64 KB of memory, 80 KB of weights.
    let model = models::add_weights(&vec![1.0; 20_000]);
    let error = parse(&model)
        .compile_for_device(device(3), &CompileOptions::new())
        .unwrap_err();
    assert!(matches!(error, Error::DeviceMemory { .. }), "{error}");
    says(&error, &["weights", "GPU 3", "80000 bytes"]);
    let target = Target::gpu_on(device(3)).unwrap();
    let error = parse(&model).compile(&target, &CompileOptions::new());
    let error = error.unwrap_err();
    assert!(matches!(error, Error::DeviceMemory { .. }), "{error}");
    // With enough memory it compiles; then there is less of it where it is loaded.
    sim::set_option("memory", "2M");
    let program = parse(&model).compile_for_device(device(3), &CompileOptions::new());
    let bytes = program.unwrap().to_bytes().unwrap();
    drop(DeviceProgram::load_bytes(&bytes, device(3)).unwrap());
    sim::set_option("memory", "64K");
    let error = DeviceProgram::load_bytes(&bytes, device(3)).unwrap_err();
    assert!(matches!(error, Error::DeviceMemory { .. }), "{error}");
    says(&error, &["GPU 3"]);
    assert_eq!(sim::live(None), 0);
}

/// What the crate warned of in this process.
static WARNINGS: Mutex<Vec<String>> = Mutex::new(Vec::new());

struct Warnings;

impl log::Log for Warnings {
    fn enabled(&self, metadata: &log::Metadata<'_>) -> bool {
        metadata.level() <= log::Level::Warn
    }

    fn log(&self, record: &log::Record<'_>) {
        if self.enabled(record.metadata()) {
            WARNINGS.lock().unwrap().push(record.args().to_string());
        }
    }

    fn flush(&self) {}
}

/// `y = relu(x · w) · v`: 17.6 MB between the products. Every row of `x` is
/// four times a number, and of `y` 4,200 times that.
fn big_scratch() -> Vec<u8> {
    const N: usize = 2100;
    let mut g = Graph::new("big_scratch");
    g.input("x", Elem::F32, &fixed(&[N, 4]));
    g.constant_f32("w", &[4, N], &[0.5; 4 * N]);
    g.constant_f32("v", &[N, 1], &[1.0; N]);
    g.node("MatMul", &["x", "w"], &["xw"], vec![]);
    g.node("Relu", &["xw"], &["r"], vec![]);
    g.node("MatMul", &["r", "v"], &["y"], vec![]);
    g.output("y", Elem::F32, &fixed(&[N, 1]));
    g.into_bytes()
}

/// Where the device gives no memory, MIGraphX takes the host's without a word.
fn host_memory() {
    let program = parse(&big_scratch()).compile_for_device(device(2), &CompileOptions::new());
    let bytes = program.unwrap().to_bytes().unwrap();
    log::set_logger(&Warnings).unwrap();
    log::set_max_level(log::LevelFilter::Warn);
    drop(DeviceProgram::load_bytes(&bytes, device(2)).unwrap());
    assert_eq!(*WARNINGS.lock().unwrap(), [""; 0]);
    sim::set_option("fail", "hipMalloc:1:2");
    let mut program = DeviceProgram::load_bytes(&bytes, device(2)).unwrap();
    let warnings = std::mem::take(&mut *WARNINGS.lock().unwrap());
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    for word in ["the program in memory", "GPU 2", "the host's memory"] {
        assert!(warnings[0].contains(word), "`{word}`: {warnings:?}");
    }
    // Slow, and right.
    let mut set = program.bindings().unwrap();
    let x = set.id("x").unwrap();
    let rows = set.input_mut::<f32>(x).unwrap();
    for (i, value) in rows.iter_mut().enumerate() {
        *value = (i / 4 % 7) as f32;
    }
    let stream = Stream::new(device(2)).unwrap();
    let set = program.run(set, &stream).unwrap();
    let expected: Vec<f32> = (0..2100).map(|row| (row % 7 * 4200) as f32).collect();
    assert_eq!(set.output::<f32>(0).unwrap(), expected);
}
