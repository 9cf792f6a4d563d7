//! Rule 15: values that are indices or divisors are checked before a run.

mod support;

use std::os::unix::process::ExitStatusExt;

use migraphx::{
    Argument, Buckets, Calibration, CompileOptions, CompiledProgram, DynamicDim, Element, Error,
    OnnxOptions, Pool, Target,
};
use support::{compile, compiled, parse, refused};
use testkit::models;
use testkit::onnx::{Attr, Dim, Elem, Graph, fixed};

/// A program of an f32 `x` of `[3, 4]` that holds 0, 1, … and an i64 `i`.
fn with_indices(dims: &[usize], build: impl FnOnce(&mut Graph)) -> CompiledProgram {
    let mut graph = Graph::new("indices");
    graph.input("x", Elem::F32, &fixed(&[3, 4]));
    graph.input("i", Elem::I64, &fixed(dims));
    build(&mut graph);
    graph.output("y", Elem::F32, &[]);
    compiled(&graph.into_bytes())
}

fn x() -> Argument<'static> {
    Argument::from_vec((0..12).map(|v| v as f32).collect(), &[3, 4]).unwrap()
}

fn tensor<T: Element>(values: &[T], dims: &[usize]) -> Argument<'static> {
    Argument::from_vec(values.to_vec(), dims).unwrap()
}

/// The first result with these indices.
fn picked(program: &mut CompiledProgram, indices: &[i64]) -> migraphx::Result<Vec<f32>> {
    let parameters = program.parameters().iter();
    let dims = parameters.clone().find(|p| p.name() == "i").unwrap();
    let dims = dims.shape().dims().to_vec();
    let mut given = vec![("x", x()), ("i", tensor(indices, &dims))];
    if let Some(update) = program.parameters().iter().find(|p| p.name() == "u") {
        let (count, dims) = (update.shape().elements(), update.shape().dims().to_vec());
        given.push(("u", tensor(&vec![-1.0f32; count], &dims)));
    }
    let outputs = program.run_once(&given)?;
    Ok(outputs.slice::<f32>(0)?.to_vec())
}

/// Which element was refused, and its value.
#[track_caller]
fn wrong(program: &mut CompiledProgram, indices: &[i64]) -> (usize, i128) {
    match picked(program, indices) {
        Err(Error::IndexOutOfRange {
            parameter,
            position,
            value,
            ..
        }) => {
            assert_eq!(parameter, "i");
            (position, value)
        }
        other => panic!("{indices:?} gave {other:?}"),
    }
}

fn unary(op: &'static str, axis: i64) -> impl FnOnce(&mut Graph) {
    move |graph| graph.node(op, &["x", "i"], &["y"], vec![("axis", Attr::Int(axis))])
}

#[test]
fn gather_takes_the_positions_on_its_axis() {
    let mut columns = with_indices(&[2], unary("Gather", -1));
    assert_eq!(
        picked(&mut columns, &[3, -4]).unwrap(),
        [3., 0., 7., 4., 11., 8.]
    );
    assert_eq!(wrong(&mut columns, &[3, 4]), (1, 4));
    assert_eq!(wrong(&mut columns, &[-5, 0]), (0, -5));
    let error = picked(&mut columns, &[0, 4]).unwrap_err().to_string();
    for word in ["`i`", "element 1", "4", "`gather`", "-4 to 3"] {
        assert!(error.contains(word), "{word}: {error}");
    }
}

#[test]
fn gather_elements_takes_what_the_library_reads_right() {
    // Along the first axis negative ones come out right, along others they do not.
    let mut rows = with_indices(&[2, 4], unary("GatherElements", 0));
    let found = picked(&mut rows, &[0, 1, 2, -1, -3, 0, 0, 0]).unwrap();
    assert_eq!(found, [0., 5., 10., 11., 0., 1., 2., 3.]);
    assert_eq!(wrong(&mut rows, &[0, 0, 3, 0, 0, 0, 0, 0]), (2, 3));
    let mut columns = with_indices(&[3, 2], unary("GatherElements", 1));
    assert_eq!(
        picked(&mut columns, &[0, 3, 1, 2, 3, 0]).unwrap(),
        [0., 3., 5., 6., 11., 8.]
    );
    assert_eq!(wrong(&mut columns, &[0, 4, 0, 0, 0, 0]), (1, 4));
    assert_eq!(wrong(&mut columns, &[0, 0, 0, 0, 0, -1]), (5, -1));
}

#[test]
fn gather_nd_takes_the_positions_of_each_component() {
    let mut points = with_indices(&[2, 2], |g| g.node("GatherND", &["x", "i"], &["y"], vec![]));
    assert_eq!(picked(&mut points, &[2, 3, -3, -1]).unwrap(), [11., 3.]);
    assert_eq!(wrong(&mut points, &[2, 3, 3, 0]), (2, 3));
    assert_eq!(wrong(&mut points, &[0, -5, 0, 0]), (1, -5));
    // The library throws on a worker thread here, which nobody can catch.
    let mut many = with_indices(&[64, 1], |g| {
        g.node("GatherND", &["x", "i"], &["y"], vec![])
    });
    let mut indices = [0; 64];
    assert!(picked(&mut many, &indices).is_ok());
    indices[63] = 3;
    assert_eq!(wrong(&mut many, &indices), (63, 3));
}

#[test]
fn scatter_takes_the_positions_it_writes() {
    let scatter = |op: &'static str, indices: &[usize], update: &[usize]| {
        with_indices(indices, |graph| {
            graph.input("u", Elem::F32, &fixed(update));
            graph.node(op, &["x", "i", "u"], &["y"], vec![]);
        })
    };
    let mut elements = scatter("ScatterElements", &[1, 2], &[1, 2]);
    let found = picked(&mut elements, &[2, -3]).unwrap();
    assert_eq!(found, [0., -1., 2., 3., 4., 5., 6., 7., -1., 9., 10., 11.]);
    assert_eq!(wrong(&mut elements, &[0, 3]), (1, 3));
    assert_eq!(wrong(&mut elements, &[-4, 0]), (0, -4));
    let mut points = scatter("ScatterND", &[2, 2], &[2]);
    let found = picked(&mut points, &[0, 1, 2, 3]).unwrap();
    assert_eq!(found, [0., -1., 2., 3., 4., 5., 6., 7., 8., 9., 10., -1.]);
    assert_eq!(wrong(&mut points, &[0, 1, 2, 4]), (3, 4));
    // ONNX counts from the end here, and the library writes before the tensor.
    assert_eq!(wrong(&mut points, &[0, -1, 0, 0]), (1, -1));
}

#[test]
fn roi_align_takes_the_images_there_are() {
    let mut graph = Graph::new("rois");
    graph.input("x", Elem::F32, &fixed(&[2, 1, 4, 4]));
    graph.input("r", Elem::F32, &fixed(&[1, 4]));
    graph.input("i", Elem::I64, &fixed(&[1]));
    graph.node("RoiAlign", &["x", "r", "i"], &["y"], vec![]);
    graph.output("y", Elem::F32, &[]);
    let mut program = compiled(&graph.into_bytes());
    let mut run = |image: i64| {
        let images: Vec<f32> = (0..32).map(|at| if at < 16 { 1.0 } else { 2.0 }).collect();
        let outputs = program.run_once(&[
            ("x", tensor(&images, &[2, 1, 4, 4])),
            ("r", tensor(&[0.0f32, 0.0, 2.0, 2.0], &[1, 4])),
            ("i", tensor(&[image], &[1])),
        ])?;
        Ok::<f32, Error>(outputs.slice::<f32>(0)?[0])
    };
    assert_eq!((run(0).unwrap(), run(1).unwrap()), (1.0, 2.0));
    refused!(run(2), Error::IndexOutOfRange { value: 2, .. }, "roialign");
    refused!(run(-1), Error::IndexOutOfRange { value: -1, .. }, "0 to 1");
}

#[test]
fn recurrent_layers_take_lengths_of_sequences() {
    let mut graph = Graph::new("gru");
    graph.input("s", Elem::F32, &fixed(&[3, 2, 1]));
    graph.input("i", Elem::I32, &fixed(&[2]));
    graph.constant_f32("w", &[1, 3, 1], &[0.5; 3]);
    graph.constant_f32("r", &[1, 3, 1], &[0.5; 3]);
    let size = vec![("hidden_size", Attr::Int(1))];
    graph.node("GRU", &["s", "w", "r", "", "i"], &["all", "last"], size);
    graph.output("all", Elem::F32, &[]);
    graph.output("last", Elem::F32, &[]);
    let program = parse(&graph.into_bytes());
    assert_eq!(program.index_inputs().unwrap()[0].operator(), "gru");
    let program = compile(program);
    // Loaded, it has only what compiling made of the layer.
    let loaded = CompiledProgram::load_bytes(&program.to_bytes().unwrap()).unwrap();
    for mut program in [program, loaded] {
        let mut run = |lengths: [i32; 2]| {
            let steps = tensor(&[1.0f32; 6], &[3, 2, 1]);
            let outputs = program.run_once(&[("s", steps), ("i", tensor(&lengths, &[2]))])?;
            let (all, last) = (outputs.slice::<f32>(0)?, outputs.slice::<f32>(1)?);
            Ok::<_, Error>((all.to_vec(), last.to_vec()))
        };
        let (all, last) = run([1, 3]).unwrap();
        assert_eq!(last, [all[0], all[5]]);
        refused!(
            run([0, 3]),
            Error::IndexOutOfRange { position: 0, .. },
            "1 to 3"
        );
        refused!(run([1, 4]), Error::IndexOutOfRange { position: 1, .. });
    }
}

#[test]
fn integers_are_not_divided_by_zero() {
    let mut graph = Graph::new("div");
    graph.input("a", Elem::I64, &fixed(&[3]));
    graph.input("b", Elem::I64, &fixed(&[1]));
    graph.node("Div", &["a", "b"], &["q"], vec![]);
    graph.output("q", Elem::I64, &fixed(&[3]));
    let mut program = compiled(&graph.into_bytes());
    let mut run = |a: [i64; 3], b: i64| {
        let given = [("a", tensor(&a, &[3])), ("b", tensor(&[b], &[1]))];
        program
            .run_once(&given)?
            .slice::<i64>(0)
            .map(<[i64]>::to_vec)
    };
    assert_eq!(run([7, -7, 0], -2).unwrap(), [-3, 3, 0]);
    refused!(
        run([1, 2, 3], 0),
        Error::IndexOutOfRange { value: 0, .. },
        "`b`",
        "all but 0"
    );
    // The least of all by -1 traps as well.
    refused!(
        run([1, i64::MIN, 3], -1),
        Error::IndexOutOfRange { position: 1, .. },
        "`a`"
    );
    // Floats may be divided by zero.
    let mut graph = Graph::new("div");
    graph.input("a", Elem::F32, &fixed(&[1]));
    graph.node("Div", &["a", "a"], &["q"], vec![]);
    graph.output("q", Elem::F32, &fixed(&[1]));
    let mut floats = compiled(&graph.into_bytes());
    assert!(floats.index_inputs().is_empty());
    let nan = floats.run_once(&[("a", tensor(&[0.0f32], &[1]))]).unwrap();
    assert!(nan.slice::<f32>(0).unwrap()[0].is_nan());
}

/// `i[:, 1]` as int32, spread, beside an axis of its own, through everything that
/// keeps values.
#[test]
fn values_are_followed_to_the_operator() {
    let mut program = with_indices(&[2, 2], |g| {
        for (name, value) in [("one", 1), ("two", 2)] {
            g.constant_i64(name, &[1], &[value]);
        }
        g.constant_i64("shape", &[2], &[2, 2]);
        g.node("Slice", &["i", "one", "two", "one"], &["s"], vec![]);
        g.node("Squeeze", &["s", "one"], &["s1"], vec![]);
        g.node(
            "Cast",
            &["s1"],
            &["s2"],
            vec![("to", Attr::Int(Elem::I32 as i64))],
        );
        g.node("Unsqueeze", &["s2", "one"], &["s3"], vec![]);
        g.node("Transpose", &["s3"], &["s4"], vec![]);
        g.node("Expand", &["s4", "shape"], &["s5"], vec![]);
        g.node("Gather", &["x", "s5"], &["y"], vec![("axis", Attr::Int(1))]);
    });
    // What the slice leaves out may be anything.
    let found = picked(&mut program, &[99, 3, -99, 0]).unwrap();
    assert_eq!(&found[..4], [3., 0., 3., 0.]);
    assert_eq!(wrong(&mut program, &[0, 0, 0, 4]), (3, 4));
    assert_eq!(
        wrong(&mut program, &[0, i64::MAX, 0, 0]),
        (1, i64::MAX.into())
    );
}

#[test]
fn components_may_come_from_several_inputs() {
    let mut graph = Graph::new("points");
    graph.input("x", Elem::F32, &fixed(&[3, 4]));
    for name in ["row", "column"] {
        graph.input(name, Elem::I64, &fixed(&[2, 1]));
    }
    graph.node(
        "Concat",
        &["row", "column"],
        &["at"],
        vec![("axis", Attr::Int(1))],
    );
    graph.node("GatherND", &["x", "at"], &["y"], vec![]);
    graph.output("y", Elem::F32, &[]);
    let mut program = compiled(&graph.into_bytes());
    let mut run = |row: [i64; 2], column: [i64; 2]| {
        let (row, column) = (tensor(&row, &[2, 1]), tensor(&column, &[2, 1]));
        let outputs = program.run_once(&[("x", x()), ("row", row), ("column", column)])?;
        outputs.slice::<f32>(0).map(<[f32]>::to_vec)
    };
    assert_eq!(run([1, 2], [3, -4]).unwrap(), [7., 8.]);
    refused!(
        run([1, 3], [3, 3]),
        Error::IndexOutOfRange { .. },
        "`row`",
        "-3 to 2"
    );
    refused!(
        run([1, 2], [4, 3]),
        Error::IndexOutOfRange { .. },
        "`column`",
        "-4 to 3"
    );
}

#[test]
fn indices_that_the_model_counts_from_the_end_are_known() {
    let mut program = with_indices(&[2], |g| {
        g.constant_i64("zero", &[], &[0]);
        g.constant_i64("n", &[], &[3]);
        g.node("Less", &["i", "zero"], &["below"], vec![]);
        g.node("Add", &["i", "n"], &["raised"], vec![]);
        g.node("Where", &["below", "raised", "i"], &["at"], vec![]);
        g.node("Gather", &["x", "at"], &["y"], vec![]);
    });
    assert_eq!(
        picked(&mut program, &[-3, 2]).unwrap()[..4],
        [0., 1., 2., 3.]
    );
    assert_eq!(wrong(&mut program, &[-4, 0]), (0, -4));
    assert_eq!(wrong(&mut program, &[0, 3]), (1, 3));
}

#[test]
fn what_cannot_be_known_is_listed() {
    let listed = |program: &CompiledProgram| -> Vec<String> {
        program
            .index_inputs()
            .iter()
            .map(ToString::to_string)
            .collect()
    };
    let computed = with_indices(&[2], |g| {
        g.constant_i64("n", &[], &[3]);
        g.node("Mul", &["i", "n"], &["at"], vec![]);
        g.node("Gather", &["x", "at"], &["y"], vec![]);
    });
    let unknown = "parameter `i`: gather takes a range that is not known (not checked)";
    assert_eq!(listed(&computed), [unknown]);
    // Clipped, or found by the model itself, they are safe.
    let mut clipped = with_indices(&[2], |g| {
        g.constant_i64("least", &[], &[0]);
        g.constant_i64("most", &[], &[2]);
        g.node("Mul", &["i", "i"], &["square"], vec![]);
        g.node("Clip", &["square", "least", "most"], &["at"], vec![]);
        g.node("Gather", &["x", "at"], &["y"], vec![]);
    });
    assert!(listed(&clipped).is_empty());
    assert_eq!(picked(&mut clipped, &[9, -9]).unwrap()[..1], [8.]);
    let largest = with_indices(&[2], |g| {
        g.node("ArgMax", &["x"], &["at"], vec![("axis", Attr::Int(0))]);
        g.node("Gather", &["x", "at"], &["y"], vec![]);
    });
    assert!(listed(&largest).is_empty());
    assert!(listed(&compiled(&models::add(&[2]))).is_empty());
}

#[test]
fn constants_out_of_range_are_refused_before_they_are_used() {
    let gather = |index: i64| {
        let mut graph = Graph::new("constant");
        graph.input("x", Elem::F32, &fixed(&[3, 4]));
        graph.constant_i64("i", &[1], &[index]);
        graph.node("Gather", &["x", "i"], &["y"], vec![]);
        graph.output("y", Elem::F32, &[]);
        let program = parse(&graph.into_bytes());
        program.compile(&Target::reference().unwrap(), &CompileOptions::new())
    };
    assert!(gather(-3).is_ok());
    refused!(
        gather(3),
        Error::InvalidArgument(_),
        "3",
        "`gather`",
        "-3 to 2"
    );
}

#[test]
fn indices_of_any_number_are_checked() {
    let mut graph = Graph::new("dynamic");
    graph.input("x", Elem::F32, &fixed(&[3, 4]));
    graph.input("i", Elem::I64, &[Dim::Symbol("n"), Dim::Fixed(2)]);
    graph.node("GatherND", &["x", "i"], &["y"], vec![]);
    graph.output("y", Elem::F32, &[]);
    let ranges = [DynamicDim::new(1, 4).unwrap(), DynamicDim::fixed(2)];
    let options = OnnxOptions::new().input_dynamic_dims("i", &ranges);
    let mut program = compile(options.parse_bytes(&graph.into_bytes()).unwrap());
    let mut run = |indices: &[i64]| {
        let indices = tensor(indices, &[indices.len() / 2, 2]);
        let outputs = program.run_once(&[("x", x()), ("i", indices)])?;
        outputs.slice::<f32>(0).map(<[f32]>::to_vec)
    };
    assert_eq!(run(&[2, 3, 0, 1, 1, 1]).unwrap(), [11., 1., 5.]);
    assert_eq!(run(&[2, 3]).unwrap(), [11.]);
    refused!(
        run(&[2, 3, 3, 2]),
        Error::IndexOutOfRange { position: 2, .. }
    );
}

#[test]
fn each_way_to_give_values_is_checked() {
    let program = || with_indices(&[2], unary("Gather", 0));
    // Filled in place, from run to run.
    let mut one = program();
    let mut inputs = one.inputs().unwrap();
    let i = inputs.id("i").unwrap();
    assert!(one.run(&mut inputs).is_ok());
    inputs.slice_mut::<i64>(i).unwrap()[1] = 7;
    refused!(
        one.run(&mut inputs),
        Error::IndexOutOfRange { value: 7, .. }
    );
    inputs.slice_mut::<i64>(i).unwrap()[1] = 2;
    assert!(one.run(&mut inputs).is_ok());
    // Bound, and in the set of another program of equal parameters.
    let bound = [0i64, -4];
    let mut inputs = program().inputs().unwrap();
    inputs.bind(i, &bound).unwrap();
    refused!(
        one.run(&mut inputs),
        Error::IndexOutOfRange { value: -4, .. }
    );
    // Loaded from a file that says no more than its instructions.
    let mut loaded = CompiledProgram::load_bytes(&one.to_bytes().unwrap()).unwrap();
    assert_eq!(loaded.index_inputs(), one.index_inputs());
    assert_eq!(wrong(&mut loaded, &[3, 0]), (0, 3));
    // By a worker of a pool.
    let pool = Pool::from_programs(vec![program()]).unwrap();
    let given = vec![("x", x()), ("i", tensor(&[0i64, 3], &[2]))];
    refused!(
        pool.run_once(given),
        Error::IndexOutOfRange { value: 3, .. }
    );
}

#[test]
fn samples_of_a_calibration_are_checked() {
    let mut graph = Graph::new("embedding");
    graph.input("i", Elem::I64, &fixed(&[2]));
    graph.constant_f32("table", &[3, 4], &[0.5; 12]);
    graph.constant_f32("w", &[4, 1], &[0.25; 4]);
    graph.node("Gather", &["table", "i"], &["rows"], vec![]);
    graph.node("MatMul", &["rows", "w"], &["y"], vec![]);
    graph.output("y", Elem::F32, &[]);
    let mut program = parse(&graph.into_bytes());
    let target = Target::reference().unwrap();
    for (sample, right) in [([0i64, 3], false), ([0, 2], true)] {
        let mut calibration = Calibration::new(&program).unwrap();
        calibration.push(&[("i", tensor(&sample, &[2]))]).unwrap();
        match right {
            true => program.quantize_int8(&target, &calibration).unwrap(),
            false => drop(refused!(
                program.quantize_int8(&target, &calibration),
                Error::IndexOutOfRange { value: 3, .. }
            )),
        }
    }
}

/// Without the check, these end the process in every build of MIGraphX.
#[test]
fn what_is_refused_would_end_the_process() {
    const TEST: &str = "what_is_refused_would_end_the_process";
    let division = |a: i64, b: i64| {
        let mut graph = Graph::new("div");
        graph.input("a", Elem::I64, &fixed(&[1]));
        graph.input("b", Elem::I64, &fixed(&[1]));
        graph.node("Div", &["a", "b"], &["q"], vec![]);
        graph.output("q", Elem::I64, &fixed(&[1]));
        let mut program = compiled(&graph.into_bytes());
        // SAFETY: none; this process is there to end by it.
        unsafe { program.without_index_check() };
        let _ = program.run_once(&[("a", tensor(&[a], &[1])), ("b", tensor(&[b], &[1]))]);
    };
    if support::is_child(TEST) {
        return match std::env::var("MIGRAPHX_TEST_KIND").unwrap().as_str() {
            "zero" => division(1, 0),
            "least" => division(i64::MIN, -1),
            _ => {
                let gather = |g: &mut Graph| g.node("GatherND", &["x", "i"], &["y"], vec![]);
                let mut program = with_indices(&[64, 1], gather);
                // SAFETY: none; as above.
                unsafe { program.without_index_check() };
                let _ = picked(&mut program, &[3; 64]);
            }
        };
    }
    for (kind, signal) in [
        ("zero", libc::SIGFPE),
        ("least", libc::SIGFPE),
        ("thread", libc::SIGABRT),
    ] {
        let output = support::child(TEST)
            .env("MIGRAPHX_TEST_KIND", kind)
            .output()
            .unwrap();
        assert_eq!(output.status.signal(), Some(signal), "{kind}: {output:?}");
    }
}

/// A branch of an `if` takes values of the module around it.
#[test]
fn branches_are_looked_into() {
    use migraphx::{DataType, Op, Shape};
    let mut graph = migraphx::Graph::new().unwrap();
    let on = Shape::new(DataType::Bool, &[1]).unwrap();
    let on = graph.parameter("on", &on).unwrap();
    let data = Shape::new(DataType::Float, &[3]).unwrap();
    let data = graph.parameter("data", &data).unwrap();
    let at = Shape::new(DataType::Int64, &[2]).unwrap();
    let at = graph.parameter("at", &at).unwrap();
    let gather = |g: &mut migraphx::Graph| {
        // SAFETY: runs check the indices.
        Ok(vec![unsafe {
            g.add_unchecked("gather", &[data, at], &[])
        }?])
    };
    let then = graph.submodule("then", gather).unwrap();
    let rest = |g: &mut migraphx::Graph| Ok(vec![g.constant(&[0.5f32; 2], &[2])?]);
    let rest = graph.submodule("else", rest).unwrap();
    let both = graph.add_with_modules("if", &[on], &[then, rest]).unwrap();
    let part = Op::new("get_tuple_elem").attr("index", 0);
    let result = graph.add(part, &[both]).unwrap();
    let mut program = compile(graph.finish(&[result]).unwrap());
    let mut run = |at: [i64; 2]| {
        let outputs = program.run_once(&[
            ("on", Argument::from_bools(&[true], &[1]).unwrap()),
            ("data", tensor(&[1.0f32, 2.0, 3.0], &[3])),
            ("at", tensor(&at, &[2])),
        ])?;
        outputs.slice::<f32>(0).map(<[f32]>::to_vec)
    };
    assert_eq!(run([2, -3]).unwrap(), [3.0, 1.0]);
    refused!(
        run([0, 3]),
        Error::IndexOutOfRange { value: 3, .. },
        "`at`",
        "-3 to 2"
    );
}

/// With `Buckets`, each batch size is a program of its own.
#[test]
fn batches_of_any_size_are_checked() {
    let mut graph = Graph::new("rows");
    graph.constant_f32("table", &[3, 2], &[0., 1., 10., 11., 20., 21.]);
    graph.input("i", Elem::I64, &[Dim::Symbol("batch"), Dim::Fixed(1)]);
    graph.node("Gather", &["table", "i"], &["y"], vec![]);
    graph.output("y", Elem::F32, &[]);
    let model = graph.into_bytes();
    let (target, options) = (Target::reference().unwrap(), CompileOptions::new());
    let mut buckets = Buckets::compile(&[1, 2], &target, &options, |batch| {
        OnnxOptions::new()
            .input_dims("i", &[batch, 1])
            .parse_bytes(&model)
    })
    .unwrap();
    let mut run = |rows: &[i64]| {
        let outputs = buckets.run(&[("i", tensor(rows, &[rows.len(), 1]))])?;
        outputs.slice::<f32>(0).map(<[f32]>::to_vec)
    };
    assert_eq!(run(&[2, 0, -2]).unwrap(), [20., 21., 0., 1., 10., 11.]);
    refused!(run(&[0, 1, 3]), Error::IndexOutOfRange { value: 3, .. });
}

#[test]
fn the_check_can_be_left_out() {
    let mut program = with_indices(&[2], unary("Gather", 0));
    assert!(program.index_inputs()[0].is_checked());
    // SAFETY: the indices below are in range.
    unsafe { program.without_index_check() };
    assert!(!program.index_inputs()[0].is_checked());
    assert_eq!(picked(&mut program, &[0, 1]).unwrap()[..2], [0., 1.]);
}
