//! What a program keeps on its device, weights and scratch, where that is too
//! small for all of it.

use crate::harness::Test;
use crate::sim;
use migraphx::hip::{Device, Stream};
use migraphx::{
    CompileOptions, CompiledProgram, DeviceProgram, Error, OnnxOptions, Program, Target,
};
use std::sync::Mutex;
use testkit::models;
use testkit::onnx::{Elem, Graph, fixed};

pub const TESTS: &[Test] = &[
    Test::new("weights_that_do_not_fit", weights).env("GPU_SIM_MEMORY", "8M"),
    Test::new("weights_beside_scratch_that_do_not_fit", beside_scratch).seconds(240),
    Test::new("scratch_that_does_not_fit_is_a_warning", scratch).seconds(240),
    Test::new("weights_in_half_precision_are_half", halves).env("GPU_SIM_MEMORY", "6M"),
    Test::new("many_threads_load_on_one_device", many_threads).seconds(240),
];

struct Logger(Mutex<Vec<String>>);

static LOGGER: Logger = Logger(Mutex::new(Vec::new()));

impl log::Log for Logger {
    fn enabled(&self, _: &log::Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &log::Record<'_>) {
        if record.level() <= log::Level::Warn {
            self.0.lock().unwrap().push(record.args().to_string());
        }
    }

    fn flush(&self) {}
}

fn listen() {
    log::set_logger(&LOGGER).unwrap();
    log::set_max_level(log::LevelFilter::Warn);
}

/// What was logged since the last time.
fn warnings() -> Vec<String> {
    std::mem::take(&mut *LOGGER.0.lock().unwrap())
}

fn parse(model: &[u8]) -> Program {
    OnnxOptions::new().parse_bytes(model).unwrap()
}

fn device(ordinal: usize) -> Device {
    Device::new(ordinal).unwrap()
}

const ROWS: usize = 4096;
const INNER: usize = 2048;

/// `y = relu(x · v) · w`: 32 MB in between; and beside it a sum with a constant of
/// `more` numbers.
fn wide(more: usize) -> Vec<u8> {
    let mut g = Graph::new("wide");
    g.input("x", Elem::F32, &fixed(&[ROWS, 4]));
    g.constant_f32("v", &[4, INNER], &vec![1.0; 4 * INNER]);
    g.constant_f32("w", &[INNER, 4], &vec![0.5; 4 * INNER]);
    g.node("MatMul", &["x", "v"], &["xv"], vec![]);
    g.node("Relu", &["xv"], &["positive"], vec![]);
    g.node("MatMul", &["positive", "w"], &["y"], vec![]);
    g.output("y", Elem::F32, &fixed(&[ROWS, 4]));
    if more > 0 {
        let values: Vec<f32> = (0..more).map(|i| i as f32).collect();
        g.input("z", Elem::F32, &fixed(&[more]));
        g.constant_f32("c", &[more], &values);
        g.node("Add", &["z", "c"], &["sum"], vec![]);
        g.output("sum", Elem::F32, &fixed(&[more]));
    }
    g.into_bytes()
}

#[track_caller]
fn too_little(error: &Error, words: &[&str]) {
    assert!(matches!(error, Error::DeviceMemory { .. }), "{error}");
    for word in words {
        assert!(error.to_string().contains(word), "`{word}`: {error}");
    }
}

/// 16 MB of weights, 8 MB of memory.
fn weights() {
    listen();
    let values: Vec<f32> = (0..4 << 20).map(|i| i as f32).collect();
    let model = models::add_weights(&values);
    let options = CompileOptions::new();
    let error = parse(&model)
        .compile_for_device(device(2), &options)
        .unwrap_err();
    too_little(&error, &["weights", "16777216 bytes", "GPU 2"]);
    let target = Target::gpu_on(device(2)).unwrap();
    let error = parse(&model).compile(&target, &options).unwrap_err();
    too_little(&error, &["GPU 2"]);
    sim::set_option("memory", "128M");
    let on_device = parse(&model).compile_for_device(device(2), &options);
    let on_host = parse(&model).compile(&target, &options);
    let files = [
        on_device.unwrap().to_bytes().unwrap(),
        on_host.unwrap().to_bytes().unwrap(),
    ];
    sim::set_option("memory", "8M");
    let error = DeviceProgram::load_bytes(&files[0], device(2)).unwrap_err();
    too_little(&error, &["16777216 bytes", "GPU 2"]);
    let error = CompiledProgram::load_bytes_on(&files[1], device(3)).unwrap_err();
    too_little(&error, &["GPU 3"]);
    assert_eq!(warnings(), [""; 0]);
    assert_eq!(sim::live(None), 0);
}

/// MIGraphX takes scratch first, and this one ends the process where it then gets
/// no memory for weights.
fn beside_scratch() {
    let program = parse(&wide(2 << 20)).compile_for_device(device(1), &CompileOptions::new());
    let program = program.unwrap();
    let (bytes, listing) = (program.to_bytes().unwrap(), program.instructions().unwrap());
    drop(program);
    assert!(listing.literal_bytes() > 8 << 20, "{listing}");
    let room = (listing.scratch_bytes() >> 20) + 4;
    sim::set_option("memory", &format!("{room}M"));
    let error = DeviceProgram::load_bytes(&bytes, device(1)).unwrap_err();
    too_little(&error, &["GPU 1"]);
    assert_eq!(sim::live(None), 0);
    sim::set_option("memory", "256M");
    drop(DeviceProgram::load_bytes(&bytes, device(1)).unwrap());
}

fn scratch() {
    listen();
    let model = wide(0);
    let mut program = parse(&model)
        .compile_for_device(device(4), &CompileOptions::new())
        .unwrap();
    let bytes = program.to_bytes().unwrap();
    assert_eq!(warnings(), [""; 0], "all fits");
    let stream = Stream::new(device(4)).unwrap();
    let run = |program: &mut DeviceProgram| {
        let mut set = program.bindings().unwrap();
        let x = set.id("x").unwrap();
        set.input_mut::<f32>(x).unwrap().fill(0.25);
        let set = program.run(set, &stream).unwrap();
        let y = set.output::<f32>(0).unwrap();
        assert_eq!(y, [INNER as f32 / 2.0; ROWS * 4]);
    };
    run(&mut program);
    drop(program);
    sim::set_option("memory", "24M");
    let mut program = DeviceProgram::load_bytes(&bytes, device(4)).unwrap();
    let warned = warnings();
    assert_eq!(warned.len(), 1, "{warned:?}");
    for word in ["GPU 4", "host's memory", "free before"] {
        assert!(warned[0].contains(word), "{warned:?}");
    }
    // Slow, and right.
    run(&mut program);
    drop(program);
    // The same when compiling.
    let mut program = parse(&model)
        .compile_for_device(device(4), &CompileOptions::new())
        .unwrap();
    assert_eq!(warnings().len(), 1);
    run(&mut program);
}

/// 8 MB of weights become 4.
fn halves() {
    let n = 1024;
    let weights: Vec<f32> = (0..2 * n * n).map(|i| (i % 16) as f32).collect();
    let model = models::matmul(1, 2 * n, n, &weights);
    let error = parse(&model)
        .compile_for_device(device(0), &CompileOptions::new())
        .unwrap_err();
    too_little(&error, &["8388608 bytes"]);
    let mut program = parse(&model);
    program.quantize_fp16().unwrap();
    let program = program.compile_for_device(device(0), &CompileOptions::new());
    let bytes = program.unwrap().to_bytes().unwrap();
    DeviceProgram::load_bytes(&bytes, device(1)).unwrap();
}

/// Each allocates while others look at what is free, and frees again.
fn many_threads() {
    listen();
    let values: Vec<f32> = (0..1 << 20).map(|i| i as f32).collect();
    let program = parse(&models::add_weights(&values))
        .compile_for_device(device(6), &CompileOptions::new())
        .unwrap();
    let bytes = program.to_bytes().unwrap();
    drop(program);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..4 {
                    drop(DeviceProgram::load_bytes(&bytes, device(6)).unwrap());
                }
            });
        }
    });
    assert_eq!(warnings(), [""; 0]);
    assert_eq!(sim::live(None), 0);
}
