//! Operators written in Rust, in programs for a GPU.

use crate::harness::Test;
use migraphx::custom_op::{
    self, CustomOp, DeviceCall, DeviceInput, DeviceOutput, Input, OpResult, Output,
};
use migraphx::hip::{Device, Stream};
use migraphx::{
    Argument, CompileOptions, CompiledProgram, DataType, DeviceProgram, Error, Graph, OnnxOptions,
    Op, Program, Shape, Target,
};

pub const TESTS: &[Test] = &[
    Test::new("on_the_device", on_the_device),
    Test::new("on_the_host", on_the_host),
    Test::new("on_the_host_at_once", on_the_host).env("GPU_SIM_DEFERRED", "0"),
    Test::new("in_place", in_place),
    Test::new("behind_a_model", behind_a_model),
    Test::new("saved_and_loaded", saved_and_loaded),
    Test::new("errors_come_back", errors_come_back),
    Test::new("types_that_the_gpu_lacks", types_that_the_gpu_lacks),
    Test::new("threads_on_devices", threads_on_devices),
    Test::new("equal_shapes_do_not_share_memory", equal_shapes),
    Test::new("in_a_submodule", in_a_submodule),
];

/// `y = factor * x`, on either side.
struct Scale {
    name: &'static str,
    factor: f32,
    side: Side,
    in_place: bool,
}

#[derive(Clone, Copy, PartialEq)]
enum Side {
    Host,
    /// Through the host inside `compute_on_device`.
    Device,
    /// Only a copy, whatever the factor.
    Copy,
}

impl CustomOp for Scale {
    fn name(&self) -> &str {
        self.name
    }

    fn shape(&self, inputs: &[Shape]) -> OpResult<Shape> {
        let [x] = inputs else {
            return Err("it takes one input".into());
        };
        Ok(x.clone())
    }

    fn compute(&self, inputs: &[Input<'_>], output: &mut Output<'_>) -> OpResult {
        let y = output.slice_mut::<f32>()?;
        match inputs {
            [x] => {
                assert!(y.iter().all(|y| *y == 0.0), "zeros at first");
                y.copy_from_slice(x.slice()?);
            }
            _ => assert!(self.in_place),
        }
        match y[0] {
            -1.0 => Err("minus one is too small".into()),
            -2.0 => panic!("minus two"),
            _ => {
                y.iter_mut().for_each(|y| *y *= self.factor);
                Ok(())
            }
        }
    }

    fn in_place(&self) -> bool {
        self.in_place
    }

    fn runs_on_device(&self) -> bool {
        self.side != Side::Host
    }

    fn compute_on_device(
        &self,
        call: &DeviceCall<'_>,
        inputs: &[DeviceInput<'_>],
        output: &mut DeviceOutput<'_>,
    ) -> OpResult {
        assert!(!call.stream().is_null() && !output.as_mut_ptr().is_null());
        if self.side == Side::Copy {
            return Ok(call.copy(&inputs[0], output)?);
        }
        assert!(call.download::<u8>(&inputs[0]).is_err());
        let x = call.download::<f32>(&inputs[0])?;
        if x[0] < 0.0 {
            return Err("negative".into());
        }
        let y: Vec<f32> = x.iter().map(|x| self.factor * x).collect();
        assert!(call.upload(&y[1..], output).is_err());
        Ok(call.upload(&y, output)?)
    }
}

const N: usize = 1000;

fn register(name: &'static str, factor: f32, side: Side) {
    let in_place = name.ends_with("in_place");
    custom_op::register(Scale {
        name,
        factor,
        side,
        in_place,
    })
    .unwrap();
}

fn program(name: &str) -> Program {
    let x = Shape::new(DataType::Float, &[N]).unwrap();
    custom_op::program(name, &[("x", x)]).unwrap()
}

fn compiled(name: &str, target: &Target) -> CompiledProgram {
    program(name)
        .compile(target, &CompileOptions::new())
        .unwrap()
}

fn series(from: f32, factor: f32) -> Vec<f32> {
    (0..N).map(|i| factor * (from + i as f32)).collect()
}

fn run(program: &mut CompiledProgram, from: f32) -> Result<Vec<f32>, Error> {
    let x = Argument::from_vec(series(from, 1.0), &[N])?;
    Ok(program.run_once(&[("x", x)])?.slice::<f32>(0)?.to_vec())
}

fn on_the_device() {
    register("g_copy", 1.0, Side::Copy);
    register("g_scale", 4.0, Side::Device);
    let gpu = Target::gpu_on(Device::new(3).unwrap()).unwrap();
    for (name, factor) in [("g_copy", 1.0), ("g_scale", 4.0)] {
        let mut on_gpu = compiled(name, &gpu);
        for from in [5.0, 6.0, 7.0] {
            assert_eq!(run(&mut on_gpu, from).unwrap(), series(from, factor));
        }
    }
    // On the host the same operator computes there.
    let mut on_host = compiled("g_scale", &Target::reference().unwrap());
    assert_eq!(run(&mut on_host, 5.0).unwrap(), series(5.0, 4.0));
    assert_eq!(custom_op::copies("g_scale"), Some(1));
}

fn on_the_host() {
    register("g_host", 3.0, Side::Host);
    let gpu = Target::gpu_on(Device::new(5).unwrap()).unwrap();
    let mut program = compiled("g_host", &gpu);
    for from in [1.0, 2.0, 3.0] {
        assert_eq!(run(&mut program, from).unwrap(), series(from, 3.0));
    }
    assert_eq!(crate::sim::current_device(), 0);
}

fn in_place() {
    register("g_in_place", 5.0, Side::Host);
    let gpu = Target::gpu_on(Device::new(1).unwrap()).unwrap();
    let mut program = compiled("g_in_place", &gpu);
    for from in [1.0, 2.0] {
        assert_eq!(run(&mut program, from).unwrap(), series(from, 5.0));
    }
}

/// The model's output buffer is the operator's input.
fn behind_a_model() {
    register("g_host", 3.0, Side::Host);
    register("g_copy", 1.0, Side::Copy);
    register("g_in_place", 5.0, Side::Host);
    let device = Device::new(2).unwrap();
    let stream = Stream::new(device).unwrap();
    let options = CompileOptions::new();
    let model = OnnxOptions::new()
        .parse_bytes(&testkit::models::add(&[N]))
        .unwrap();
    let mut model = model.compile_for_device(device, &options).unwrap();
    for (name, factor) in [("g_host", 3.0), ("g_copy", 1.0), ("g_in_place", 5.0)] {
        let mut after = program(name).compile_for_device(device, &options).unwrap();
        for from in [10.0, 20.0] {
            let mut set = model.bindings().unwrap();
            for input in ["x", "y"] {
                let id = set.id(input).unwrap();
                let values = set.input_mut::<f32>(id).unwrap();
                values.copy_from_slice(&series(from, 1.0));
            }
            let second = after.bindings().unwrap();
            let input = second.id("x").unwrap();
            let pending = model.enqueue(set, &stream).unwrap();
            let pending = pending.then(&mut after, second, &[(0, input)], &stream);
            let sets = pending.unwrap().wait_all().unwrap();
            let last = sets.last().unwrap();
            assert_eq!(last.output::<f32>(0).unwrap(), series(from, 2.0 * factor));
        }
    }
}

fn saved_and_loaded() {
    register("g_host", 3.0, Side::Host);
    register("g_copy", 1.0, Side::Copy);
    let device = Device::new(4).unwrap();
    let gpu = Target::gpu_on(device).unwrap();
    for (name, factor) in [("g_host", 3.0), ("g_copy", 1.0)] {
        let bytes = compiled(name, &gpu).to_bytes().unwrap();
        let mut loaded = CompiledProgram::load_bytes_on(&bytes, device).unwrap();
        assert_eq!(run(&mut loaded, 1.0).unwrap(), series(1.0, factor));

        let options = CompileOptions::new();
        let program = program(name).compile_for_device(device, &options).unwrap();
        let mut program = DeviceProgram::load_bytes(&program.to_bytes().unwrap(), device).unwrap();
        let mut set = program.bindings().unwrap();
        let x = set.id("x").unwrap();
        set.input_mut::<f32>(x)
            .unwrap()
            .copy_from_slice(&series(2.0, 1.0));
        let set = program.run(set, &Stream::new(device).unwrap()).unwrap();
        assert_eq!(set.output::<f32>(0).unwrap(), series(2.0, factor));
    }
}

fn errors_come_back() {
    register("g_host", 3.0, Side::Host);
    register("g_scale", 4.0, Side::Device);
    let gpu = Target::gpu_on(Device::new(0).unwrap()).unwrap();
    let mut host = compiled("g_host", &gpu);
    let text = |result: Result<Vec<f32>, Error>| result.unwrap_err().to_string();
    let error = text(run(&mut host, -1.0));
    assert!(error.contains("g_host: minus one is too small"), "{error}");
    let error = text(run(&mut host, -2.0));
    assert!(error.contains("panicked: minus two"), "{error}");
    assert_eq!(run(&mut host, 1.0).unwrap(), series(1.0, 3.0));

    let mut device = compiled("g_scale", &gpu);
    let error = text(run(&mut device, -5.0));
    assert!(error.contains("g_scale: negative"), "{error}");
    assert_eq!(run(&mut device, 1.0).unwrap(), series(1.0, 4.0));

    struct Unfinished;
    impl CustomOp for Unfinished {
        fn name(&self) -> &str {
            "g_unfinished"
        }
        fn shape(&self, inputs: &[Shape]) -> OpResult<Shape> {
            Ok(inputs[0].clone())
        }
        fn compute(&self, _: &[Input<'_>], _: &mut Output<'_>) -> OpResult {
            Ok(())
        }
        fn runs_on_device(&self) -> bool {
            true
        }
    }
    custom_op::register(Unfinished).unwrap();
    let error = text(run(&mut compiled("g_unfinished", &gpu), 1.0));
    assert!(error.contains("no `compute_on_device`"), "{error}");
}

fn types_that_the_gpu_lacks() {
    struct Indices;
    impl CustomOp for Indices {
        fn name(&self) -> &str {
            "g_indices"
        }
        fn shape(&self, inputs: &[Shape]) -> OpResult<Shape> {
            Ok(Shape::new(DataType::Int64, inputs[0].dims())?)
        }
        fn compute(&self, _: &[Input<'_>], _: &mut Output<'_>) -> OpResult {
            Ok(())
        }
    }
    custom_op::register(Indices).unwrap();
    let gpu = Target::gpu_on(Device::new(0).unwrap()).unwrap();
    let result = program("g_indices").compile(&gpu, &CompileOptions::new());
    let error = result.map(|_| ()).unwrap_err().to_string();
    assert!(
        error.contains("g_indices") && error.contains("int64") && error.contains("int32"),
        "{error}"
    );
}

fn threads_on_devices() {
    register("g_host", 3.0, Side::Host);
    register("g_copy", 1.0, Side::Copy);
    std::thread::scope(|scope| {
        for thread in 0..4 {
            scope.spawn(move || {
                let gpu = Target::gpu_on(Device::new(thread).unwrap()).unwrap();
                let mut programs = [("g_host", 3.0), ("g_copy", 1.0)]
                    .map(|(name, factor)| (compiled(name, &gpu), factor));
                for round in 0..5 {
                    let from = (10 * thread + round) as f32;
                    for (program, factor) in &mut programs {
                        assert_eq!(run(program, from).unwrap(), series(from, *factor));
                    }
                }
            });
        }
    });
}

/// MIGraphX makes one of two equal allocations, and constants of what takes
/// constants only; the memory of outputs must be neither.
fn equal_shapes() {
    register("g_host", 3.0, Side::Host);
    register("g_copy", 1.0, Side::Copy);
    let shape = Shape::new(DataType::Float, &[N]).unwrap();
    for (name, factor) in [("g_host", 3.0), ("g_copy", 1.0)] {
        let mut graph = Graph::new().unwrap();
        let x = graph.parameter("x", &shape).unwrap();
        let y = graph.parameter("y", &shape).unwrap();
        let zeros = graph.constant(&[0f32; N], &[N]).unwrap();
        let a = graph.add(name, &[x]).unwrap();
        let b = graph.add(name, &[y]).unwrap();
        let constant = graph.add(name, &[zeros]).unwrap();
        let difference = graph.add("sub", &[a, b]).unwrap();
        let unchanged = graph.add("add", &[y, zeros]).unwrap();
        let all = [a, b, difference, unchanged, constant];
        let program = graph.finish(&all).unwrap();
        let gpu = Target::gpu_on(Device::new(6).unwrap()).unwrap();
        let mut program = program.compile(&gpu, &CompileOptions::new()).unwrap();
        for round in 0..3 {
            let from = round as f32;
            let tensors = [
                ("x", Argument::from_vec(series(from, 2.0), &[N]).unwrap()),
                ("y", Argument::from_vec(series(from, 1.0), &[N]).unwrap()),
            ];
            let outputs = program.run_once(&tensors).unwrap();
            let output = |index| outputs.slice::<f32>(index).unwrap();
            assert_eq!(output(0), series(from, 2.0 * factor));
            assert_eq!(output(1), series(from, factor));
            assert_eq!(output(2), series(from, factor));
            assert_eq!(output(3), series(from, 1.0));
            assert_eq!(output(4), [0.0; N]);
        }
    }
}

fn in_a_submodule() {
    register("g_host", 3.0, Side::Host);
    let mut graph = Graph::new().unwrap();
    let positive = Shape::new(DataType::Bool, &[1]).unwrap();
    let positive = graph.parameter("positive", &positive).unwrap();
    let shape = Shape::new(DataType::Float, &[N]).unwrap();
    let x = graph.parameter("x", &shape).unwrap();
    let then = graph.submodule("then", |g| Ok(vec![g.add("g_host", &[x])?]));
    let otherwise = graph.submodule("else", |g| Ok(vec![g.add("neg", &[x])?]));
    let modules = [then.unwrap(), otherwise.unwrap()];
    let both = graph.add_with_modules("if", &[positive], &modules).unwrap();
    let first = Op::new("get_tuple_elem").attr("index", 0);
    let y = graph.add(first, &[both]).unwrap();
    let gpu = Target::gpu_on(Device::new(6).unwrap()).unwrap();
    let program = graph.finish(&[y]).unwrap();
    let mut program = program.compile(&gpu, &CompileOptions::new()).unwrap();
    for (yes, factor) in [(true, 3.0), (false, -1.0), (true, 3.0)] {
        let tensors = [
            ("positive", Argument::from_bools(&[yes], &[1]).unwrap()),
            ("x", Argument::from_vec(series(1.0, 1.0), &[N]).unwrap()),
        ];
        let outputs = program.run_once(&tensors).unwrap();
        assert_eq!(outputs.slice::<f32>(0).unwrap(), series(1.0, factor));
    }
}
