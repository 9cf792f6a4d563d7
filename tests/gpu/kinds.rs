//! Results of every kind of program for device buffers, with runs in flight in
//! two streams, against MIGraphX's CPU target.

use crate::attack::{compile, on, parse, write};
use crate::harness::Test;
use crate::marks::unmarked;
use crate::sim;
use migraphx::hip::Stream;
use migraphx::{
    Argument, CompileOptions, CompiledProgram, DataType, DeviceProgram, Error, OutputRef,
    Parameter, Shape, Target,
};
use testkit::models;
use testkit::onnx::{Attr, Elem, Graph, fixed};

pub const TESTS: &[Test] = &[
    Test::new("outputs_of_every_kind", every_kind).seconds(400),
    Test::new("equal_parameters_and_other_outputs", other_outputs),
    Test::new("indices_on_the_device_are_listed", index_inputs),
    Test::new("a_branch_that_the_host_chooses", branch),
    Test::new("several_streams_inside_a_program", several_streams).env("MIGRAPHX_NSTREAMS", "2"),
];

/// Numbers of an output of any type and layout, row-major.
fn numbers(output: &OutputRef<'_>) -> Vec<f64> {
    macro_rules! of {
        ($type:ty) => {{
            let values = output.to_vec::<$type>().unwrap();
            values.into_iter().map(|value| value as f64).collect()
        }};
    }
    match output.shape().dtype() {
        DataType::Float => of!(f32),
        DataType::Int64 => of!(i64),
        DataType::Int32 => of!(i32),
        DataType::Uint8 => of!(u8),
        DataType::Half => {
            let values = output.to_vec::<half::f16>().unwrap();
            values.into_iter().map(f64::from).collect()
        }
        DataType::Bool => {
            let values = output.to_bools().unwrap();
            values
                .into_iter()
                .map(|value| f64::from(u8::from(value)))
                .collect()
        }
        other => panic!("{other}"),
    }
}

/// Bytes of small numbers, another for each round.
fn bytes(dtype: DataType, elements: usize, round: usize) -> Vec<u8> {
    let value = |i: usize| (i * 3 + round * 5) % 7;
    (0..elements)
        .flat_map(|i| match dtype {
            DataType::Float => (value(i) as f32 - 2.0).to_le_bytes().to_vec(),
            DataType::Half => half::f16::from_f32(value(i) as f32).to_le_bytes().to_vec(),
            DataType::Int64 => (value(i) as i64 % 2).to_le_bytes().to_vec(),
            DataType::Int32 => (value(i) as i32).to_le_bytes().to_vec(),
            DataType::Uint8 => vec![value(i) as u8],
            DataType::Bool => vec![(value(i) % 2) as u8],
            other => panic!("{other}"),
        })
        .collect()
}

fn one_node(op: &str, elem: Elem, dims: &[usize], out: (Elem, &[usize])) -> Vec<u8> {
    let mut g = Graph::new(op);
    g.input("x", elem, &fixed(dims));
    g.node(op, &["x"], &["y"], vec![]);
    g.output("y", out.0, &fixed(out.1));
    g.into_bytes()
}

/// `relu(x)`, a constant, and the same constant again.
fn with_constant(dims: &[usize], constant: &[f32]) -> Vec<u8> {
    let mut g = Graph::new("with_constant");
    g.input("x", Elem::F32, &fixed(dims));
    g.constant_f32("c", &[constant.len()], constant);
    g.node("Relu", &["x"], &["y"], vec![]);
    g.node("Identity", &["c"], &["same"], vec![]);
    g.output("y", Elem::F32, &fixed(dims));
    g.output("c", Elem::F32, &fixed(&[constant.len()]));
    g.output("same", Elem::F32, &fixed(&[constant.len()]));
    g.into_bytes()
}

/// The same result twice, and a transposed view of it.
fn one_result_in_three(rows: usize) -> Vec<u8> {
    let mut g = Graph::new("one_result_in_three");
    g.input("x", Elem::F32, &fixed(&[rows, 3]));
    g.node("Relu", &["x"], &["y"], vec![]);
    g.node("Identity", &["y"], &["again"], vec![]);
    let perm = vec![("perm", Attr::Ints(vec![1, 0]))];
    g.node("Transpose", &["y"], &["turned"], perm);
    g.output("y", Elem::F32, &fixed(&[rows, 3]));
    g.output("again", Elem::F32, &fixed(&[rows, 3]));
    g.output("turned", Elem::F32, &fixed(&[3, rows]));
    g.into_bytes()
}

/// `x > 1`, and all of `x` that is.
fn comparison() -> Vec<u8> {
    let mut g = Graph::new("comparison");
    g.input("x", Elem::F32, &fixed(&[5]));
    g.constant_f32("one", &[1], &[1.0]);
    g.node("Greater", &["x", "one"], &["more"], vec![]);
    g.node("Where", &["more", "x", "one"], &["y"], vec![]);
    g.output("more", Elem::Bool, &fixed(&[5]));
    g.output("y", Elem::F32, &fixed(&[5]));
    g.into_bytes()
}

fn shape_of(parameters: &[Parameter], name: &str) -> Shape {
    let parameter = parameters.iter().find(|p| p.name() == name);
    parameter.unwrap().shape().clone()
}

fn every_kind() {
    let models: Vec<(&str, Vec<u8>)> = vec![
        ("identity", models::identity(Elem::F32, &[2, 3])),
        ("bools", models::identity(Elem::Bool, &[5])),
        ("not", one_node("Not", Elem::Bool, &[5], (Elem::Bool, &[5]))),
        (
            "halves",
            one_node("Relu", Elem::F16, &[7], (Elem::F16, &[7])),
        ),
        ("int64", models::identity(Elem::I64, &[3])),
        ("view", models::relu_and_passthrough(&[4])),
        ("slice", models::slice(3)),
        ("transpose", models::transpose(2, 3)),
        ("constant", models::constant_only(&[1.0, 2.0, 3.0])),
        ("constants", with_constant(&[2], &[5.0, 6.0, 7.0])),
        ("duplicates", one_result_in_three(2)),
        ("comparison", comparison()),
        ("scalar", one_node("Relu", Elem::F32, &[], (Elem::F32, &[]))),
        ("scalar view", models::identity(Elem::F32, &[])),
        ("gather", models::gather(2, 3, 4)),
    ];
    let (device, first) = on(3);
    let second = Stream::new(device).unwrap();
    for (name, model) in models {
        let mut program = compile(&model, device);
        let target = Target::reference().unwrap();
        let mut expected = parse(&model)
            .compile(&target, &CompileOptions::new())
            .unwrap();
        let names: Vec<String> = program
            .parameters()
            .iter()
            .map(|p| p.name().into())
            .collect();
        let ours: Vec<&str> = expected.parameters().iter().map(|p| p.name()).collect();
        assert_eq!(names, ours, "{name}: parameters");
        let mut inputs = expected.inputs().unwrap();
        let mut sets = vec![program.bindings().unwrap(), program.bindings().unwrap()];
        for round in 0..3 {
            let mut runs = Vec::new();
            for (part, mut set) in sets.drain(..).enumerate() {
                for parameter in &names {
                    let id = set.id(parameter).unwrap();
                    let shape = shape_of(set.parameters(), parameter);
                    let data = bytes(shape.dtype(), shape.elements(), 2 * round + part);
                    let value = Argument::from_bytes(shape.dtype(), shape.dims(), &data);
                    set.set(id, &value.unwrap()).unwrap();
                }
                let stream = if part == 0 { &first } else { &second };
                runs.push(program.enqueue(set, stream).unwrap());
            }
            // The later one first.
            for (part, run) in runs.into_iter().enumerate().rev() {
                let set = run.wait().unwrap();
                for parameter in &names {
                    let id = inputs.id(parameter).unwrap();
                    let shape = shape_of(expected.parameters(), parameter);
                    let data = bytes(shape.dtype(), shape.elements(), 2 * round + part);
                    let value = Argument::from_bytes(shape.dtype(), shape.dims(), &data);
                    inputs.set(id, &value.unwrap()).unwrap();
                }
                let outputs = expected.run(&mut inputs).unwrap();
                assert_eq!(set.outputs(), outputs.len(), "{name}");
                for index in 0..outputs.len() {
                    let (found, right) =
                        (set.output_ref(index).unwrap(), outputs.get(index).unwrap());
                    assert_eq!(found.shape().dims(), right.shape().dims(), "{name} {index}");
                    assert_eq!(numbers(&found), numbers(&right), "{name} {index}");
                    // A buffer of its own, or a reason.
                    match set.output_buffer(index) {
                        Ok(buffer) => assert_eq!(buffer.len(), found.shape().bytes(), "{name}"),
                        Err(error) => assert!(matches!(error, Error::Output { .. }), "{error}"),
                    }
                }
                sets.insert(0, set);
            }
        }
    }
}

/// Two outputs of `x`: `relu(x)` and `x`, in this order or the other, or `relu(x)` twice.
fn two_of(first: &str, second: &str) -> Vec<u8> {
    let mut g = Graph::new("two_of");
    g.input("x", Elem::F32, &fixed(&[4]));
    g.node("Relu", &["x"], &["r"], vec![]);
    for (from, name) in [(first, "y"), (second, "z")] {
        g.node("Identity", &[from], &[name], vec![]);
        g.output(name, Elem::F32, &fixed(&[4]));
    }
    g.into_bytes()
}

fn other_outputs() {
    let (device, stream) = on(0);
    let x = [-1.0f32, 2.0, -3.0, 4.0];
    let relu = [0.0f32, 2.0, 0.0, 4.0];
    let mut programs = [("r", "x"), ("x", "r"), ("r", "r")]
        .map(|(first, second)| (compile(&two_of(first, second), device), first, second));
    let mut ran = 0;
    for maker in 0..3 {
        let mut set = programs[maker].0.bindings().unwrap();
        for user in [0, 1, 2, 1, 0, 2] {
            let id = set.id("x").unwrap();
            set.input_mut::<f32>(id).unwrap().copy_from_slice(&x);
            let results = [programs[user].1, programs[user].2];
            set = match programs[user].0.run(set, &stream) {
                Ok(set) => set,
                // Names of output buffers differ; then it is refused, and said.
                Err(error) => {
                    assert!(matches!(error, Error::ForeignInputs(_)), "{error}");
                    programs[maker].0.bindings().unwrap()
                }
            };
            if set.output_ref(0).is_err() {
                continue;
            }
            ran += 1;
            for (index, of) in results.into_iter().enumerate() {
                let expected = if of == "r" { relu } else { x };
                assert_eq!(
                    set.output::<f32>(index).unwrap(),
                    expected,
                    "{maker} {user} {index}"
                );
            }
        }
    }
    assert!(ran >= 6, "{ran}");
}

/// MIGraphX reads the condition of an `if` on the host, in the middle of a run.
fn branch() {
    let (device, first) = on(6);
    let second = Stream::new(device).unwrap();
    let mut graph = migraphx::Graph::new().unwrap();
    let positive = Shape::new(DataType::Bool, &[1]).unwrap();
    let positive = graph.parameter("positive", &positive).unwrap();
    let shape = Shape::new(DataType::Float, &[100]).unwrap();
    let x = graph.parameter("x", &shape).unwrap();
    let then = graph.submodule("then", |g| Ok(vec![g.add("relu", &[x])?]));
    let otherwise = graph.submodule("else", |g| Ok(vec![g.add("neg", &[x])?]));
    let modules = [then.unwrap(), otherwise.unwrap()];
    let both = graph.add_with_modules("if", &[positive], &modules).unwrap();
    let part = migraphx::Op::new("get_tuple_elem").attr("index", 0);
    let y = graph.add(part, &[both]).unwrap();
    let program = graph.finish(&[y]).unwrap();
    let program = program.compile_for_device(device, &CompileOptions::new());
    let bytes = unmarked(&program.unwrap().to_bytes().unwrap());
    // It copies from the GPU, and is for buffers on the device all the same.
    let mut program = DeviceProgram::load_bytes(&bytes, device).unwrap();
    let mut sets: Vec<_> = (0..2).map(|_| program.bindings().unwrap()).collect();
    for round in 0..3 {
        let mut runs = Vec::new();
        for (part, mut set) in sets.drain(..).enumerate() {
            let yes = (round + part) % 2 == 0;
            let id = set.id("positive").unwrap();
            let value = Argument::from_bools(&[yes], &[1]).unwrap();
            set.set(id, &value).unwrap();
            write(&mut set, "x", 3.0);
            let stream = if part == 0 { &first } else { &second };
            runs.push((program.enqueue(set, stream).unwrap(), yes));
        }
        for (run, yes) in runs.into_iter().rev() {
            let set = run.wait().unwrap();
            let expected = if yes { 3.0 } else { -3.0 };
            assert_eq!(set.output::<f32>(0).unwrap(), [expected; 100]);
            sets.push(set);
        }
    }
}

/// Two branches, which MIGraphX puts on two streams of its own.
fn several_streams() {
    let mut g = Graph::new("branches");
    let n = 64;
    g.input("x", Elem::F32, &fixed(&[n, n]));
    let eye: Vec<f32> = (0..n * n).map(|i| f32::from(i % (n + 1) == 0)).collect();
    g.constant_f32("w", &[n, n], &eye);
    for (a, b, c) in [("a", "b", "c"), ("d", "e", "f")] {
        g.node("MatMul", &["x", "w"], &[a], vec![]);
        g.node(
            if a == "a" { "Sigmoid" } else { "Relu" },
            &[a],
            &[b],
            vec![],
        );
        g.node("MatMul", &[b, "w"], &[c], vec![]);
        g.output(c, Elem::F32, &fixed(&[n, n]));
    }
    let (device, stream) = on(2);
    let mut program = compile(&g.into_bytes(), device);
    let mut set = program.bindings().unwrap();
    let x = set.id("x").unwrap();
    for round in 1..4 {
        set.input_mut::<f32>(x).unwrap().fill(round as f32);
        set = program.run(set, &stream).unwrap();
        assert_eq!(set.output::<f32>(1).unwrap()[5], round as f32);
    }
    // Ours, and those of MIGraphX.
    assert!(sim::counters(2).streams_live >= 3, "{:?}", sim::counters(2));
}

/// Nothing checks what lies in the device's memory, and a program for host
/// buffers is checked as on the CPU; both say so, also when loaded.
fn index_inputs() {
    let model = models::gather(3, 4, 2);
    let (device, _) = on(0);
    let on_device = compile(&model, device);
    let loaded = DeviceProgram::load_bytes(&on_device.to_bytes().unwrap(), device).unwrap();
    for program in [&on_device, &loaded] {
        let [indices] = program.index_inputs() else {
            panic!("{:?}", program.index_inputs());
        };
        let text = "parameter `indices`: gather takes -3 to 2 (not checked)";
        assert_eq!(indices.to_string(), text);
    }
    let target = Target::gpu_on(device).unwrap();
    let on_host = parse(&model)
        .compile(&target, &CompileOptions::new())
        .unwrap();
    let loaded = CompiledProgram::load_bytes_on(&on_host.to_bytes().unwrap(), device).unwrap();
    for mut program in [on_host, loaded] {
        let mut run = |rows: [i64; 2]| {
            let data: Vec<f32> = (0..12).map(|value| value as f32).collect();
            let outputs = program.run_once(&[
                ("data", Argument::from_vec(data, &[3, 4]).unwrap()),
                ("indices", Argument::from_vec(rows.to_vec(), &[2]).unwrap()),
            ])?;
            outputs.slice::<f32>(0).map(<[f32]>::to_vec)
        };
        assert_eq!(run([2, -3]).unwrap()[..5], [8.0, 9.0, 10.0, 11.0, 0.0]);
        let error = run([0, 3]).unwrap_err();
        assert!(
            matches!(error, Error::IndexOutOfRange { value: 3, .. }),
            "{error}"
        );
    }
}
