//! Every way to give values to a program.

use migraphx::{
    Buckets, Calibration, CompileOptions, CompiledProgram, Error, OnnxOptions, Pool, Target,
};
use testkit::onnx::{Dim, Elem, Graph, fixed};

use super::support::{parse, refused};
use super::{picked, tensor, unary, with_indices, wrong, x};

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
