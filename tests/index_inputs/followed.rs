//! From the input to the operator: what is followed, and what is listed only.

use migraphx::{Argument, CompileOptions, CompiledProgram, DynamicDim, Error, OnnxOptions, Target};
use testkit::models;
use testkit::onnx::{Attr, Dim, Elem, Graph, fixed};

use super::support::{compile, compiled, refused};
use super::{picked, tensor, with_indices, wrong, x};

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
        // The check of models would refuse it first.
        // SAFETY: nothing else is wrong with the model, and the index is not used.
        let options = unsafe { OnnxOptions::new().without_check() };
        let program = options.parse_bytes(&graph.into_bytes()).unwrap();
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
