//! Operators written in Rust, on the real `ref` target.

mod life;
#[path = "../support/mod.rs"]
mod support;

use migraphx::custom_op::{self, CustomOp, Input, OpResult, Output};
use migraphx::{Argument, CompiledProgram, DataType, Error, Program, Shape, Target};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use support::{child, compile, compiled, is_child, refused, succeeds};

type ShapeOf = dyn Fn(&[Shape]) -> OpResult<Shape> + Send + Sync;
type Compute = dyn Fn(&[Input<'_>], &mut Output<'_>) -> OpResult + Send + Sync;

/// An operator made of closures.
struct Op {
    name: &'static str,
    shape: Box<ShapeOf>,
    compute: Box<Compute>,
    in_place: bool,
}

impl CustomOp for Op {
    fn name(&self) -> &str {
        self.name
    }

    fn shape(&self, inputs: &[Shape]) -> OpResult<Shape> {
        (self.shape)(inputs)
    }

    fn compute(&self, inputs: &[Input<'_>], output: &mut Output<'_>) -> OpResult {
        (self.compute)(inputs, output)
    }

    fn in_place(&self) -> bool {
        self.in_place
    }
}

/// An operator whose output is shaped as its first input, and what it computes.
fn op(
    name: &'static str,
    compute: impl Fn(&[Input<'_>], &mut Output<'_>) -> OpResult + Send + Sync + 'static,
) -> Op {
    Op {
        name,
        shape: Box::new(|inputs| Ok(inputs.first().ok_or("it takes an input")?.clone())),
        compute: Box::new(compute),
        in_place: false,
    }
}

fn doubling(name: &'static str) -> Op {
    op(name, |inputs, output| {
        let x = inputs[0].slice::<f32>()?;
        for (y, x) in output.slice_mut::<f32>()?.iter_mut().zip(x) {
            *y = 2.0 * x;
        }
        Ok(())
    })
}

fn shape(dtype: DataType, dims: &[usize]) -> Shape {
    Shape::new(dtype, dims).unwrap()
}

fn floats(dims: &[usize]) -> Shape {
    shape(DataType::Float, dims)
}

/// A compiled program of one operator with a float input `x`.
fn alone(name: &str, dims: &[usize]) -> CompiledProgram {
    compile(custom_op::program(name, &[("x", floats(dims))]).unwrap())
}

fn run(program: &mut CompiledProgram, x: &[f32], dims: &[usize]) -> Result<Vec<f32>, Error> {
    let x = Argument::from_slice(x, dims)?;
    Ok(program.run_once(&[("x", x)])?.slice::<f32>(0)?.to_vec())
}

#[test]
fn shapes_and_types_are_the_operators_own() {
    // How many elements of each row of `x` are above the scalar `limit`.
    let mut counting = op("t_count", |inputs, output| {
        assert_eq!(inputs[0].shape().dims(), [2, 3]);
        assert!(inputs[1].shape().is_scalar());
        let limit = inputs[1].slice::<f64>()?[0];
        let counts = output.slice_mut::<i64>()?;
        assert_eq!(counts, [0, 0], "zeros at first");
        for (count, row) in counts.iter_mut().zip(inputs[0].view::<f32>()?.outer_iter()) {
            *count = row.iter().filter(|x| f64::from(**x) > limit).count() as i64;
        }
        Ok(())
    });
    counting.shape = Box::new(|inputs| Ok(Shape::new(DataType::Int64, &inputs[0].dims()[..1])?));
    custom_op::register(counting).unwrap();
    let parameters = [
        ("x", floats(&[2, 3])),
        ("limit", Shape::scalar(DataType::Double).unwrap()),
    ];
    let mut program = compile(custom_op::program("t_count", &parameters).unwrap());
    assert_eq!(program.output_shapes(), [shape(DataType::Int64, &[2])]);
    let x = [1f32, 5.0, 7.0, -1.0, 4.0, 4.5];
    for (limit, counts) in [(4.0, [2, 1]), (-2.0, [3, 3]), (9.0, [0, 0])] {
        let tensors = [
            ("x", Argument::from_slice(&x, &[2, 3]).unwrap()),
            ("limit", Argument::scalar(limit).unwrap()),
        ];
        let outputs = program.run_once(&tensors).unwrap();
        assert_eq!(outputs.slice::<i64>(0).unwrap(), counts);
    }
}

#[test]
fn scalars_bools_and_empty_tensors_come_out() {
    let mut any = op("t_any", |inputs, output| {
        let any = inputs[0].to_bools()?.contains(&true);
        output.set_bools(&[any])?;
        Ok(())
    });
    any.shape = Box::new(|_| Ok(Shape::scalar(DataType::Bool)?));
    custom_op::register(any).unwrap();
    let program = custom_op::program("t_any", &[("x", shape(DataType::Bool, &[3]))]).unwrap();
    let mut program = compile(program);
    assert_eq!(
        program.output_shapes(),
        [Shape::scalar(DataType::Bool).unwrap()]
    );
    for bools in [[false, true, false], [false; 3]] {
        let x = Argument::from_bools(&bools, &[3]).unwrap();
        let outputs = program.run_once(&[("x", x)]).unwrap();
        let output = outputs.get(0).unwrap();
        assert_eq!(output.to_bools().unwrap(), [bools.contains(&true)]);
    }

    let mut nothing = op("t_nothing", |inputs, output| {
        assert_eq!(inputs[0].slice::<f32>()?.len(), 4);
        assert!(output.slice_mut::<f64>()?.is_empty());
        Ok(())
    });
    nothing.shape = Box::new(|_| Ok(Shape::new(DataType::Double, &[0, 3])?));
    custom_op::register(nothing).unwrap();
    let mut program = alone("t_nothing", &[4]);
    let x = Argument::from_slice(&[1f32; 4], &[4]).unwrap();
    let outputs = program.run_once(&[("x", x)]).unwrap();
    assert_eq!(outputs.get(0).unwrap().shape().dims(), [0, 3]);
}

#[test]
fn errors_come_back_with_their_whole_text() {
    let mut picky = op("t_picky", |inputs, _| match inputs[0].slice::<f32>()?[0] {
        1.0 => Err("one is too small".into()),
        2.0 => panic!("two of {}", 3),
        3.0 => Err(inputs[0].slice::<u8>().unwrap_err().into()),
        4.0 => Err(format!("{}end", "ä".repeat(2_000)).into()),
        _ => Ok(()),
    });
    picky.shape = Box::new(|inputs| match inputs[0].dims() {
        [1] => Ok(inputs[0].clone()),
        [2] => panic!("a shape of two"),
        dims => Err(format!("{dims:?} is {}", "very ".repeat(100) + "wrong").into()),
    });
    custom_op::register(picky).unwrap();
    let build = |dims: &[usize]| custom_op::program("t_picky", &[("x", floats(dims))]);
    refused!(
        build(&[2]),
        Error::Api { .. },
        "`t_picky`",
        "panicked: a shape of two"
    );
    refused!(
        build(&[3]),
        Error::Api { .. },
        "t_picky",
        "[3] is very",
        "very wrong"
    );

    let mut program = compile(build(&[1]).unwrap());
    let mut result = |x: f32| run(&mut program, &[x], &[1]);
    refused!(
        result(1.0),
        Error::Api { .. },
        "migraphx_program_run",
        "t_picky: one is too small"
    );
    refused!(result(2.0), Error::Api { .. }, "panicked: two of 3");
    refused!(
        result(3.0),
        Error::Api { .. },
        "is float, and was used as uint8"
    );
    let error = refused!(result(4.0), Error::Api { .. }, "ääend");
    assert!(error.to_string().matches('ä').count() == 2_000);
    // The program is as good as before.
    assert_eq!(result(5.0).unwrap(), [0.0]);
}

#[test]
fn impossible_outputs_are_refused() {
    let shapes: [fn() -> Shape; 3] = [
        || Shape::with_strides(DataType::Float, &[2, 2], &[1, 2]).unwrap(),
        || Shape::dynamic(DataType::Float, &[migraphx::DynamicDim::new(1, 4).unwrap()]).unwrap(),
        || Shape::with_strides(DataType::Float, &[3], &[0]).unwrap(),
    ];
    for (name, made) in ["t_turned", "t_dynamic", "t_broadcast"]
        .into_iter()
        .zip(shapes)
    {
        let mut wrong = doubling(name);
        wrong.shape = Box::new(move |_| Ok(made()));
        custom_op::register(wrong).unwrap();
        let program = custom_op::program(name, &[("x", floats(&[4]))]);
        refused!(program, Error::Api { .. }, name, "row-major");
    }
    let dynamic = Shape::dynamic(DataType::Float, &[migraphx::DynamicDim::new(1, 4).unwrap()]);
    custom_op::register(doubling("t_fixed")).unwrap();
    let program = custom_op::program("t_fixed", &[("x", dynamic.unwrap())]);
    refused!(program, Error::Api { .. }, "fixed sizes", "1..=4");

    let mut in_place = doubling("t_not_the_last");
    in_place.in_place = true;
    in_place.shape = Box::new(|_| Ok(Shape::new(DataType::Float, &[7])?));
    custom_op::register(in_place).unwrap();
    let program = custom_op::program("t_not_the_last", &[("x", floats(&[4]))]);
    refused!(
        program,
        Error::Api { .. },
        "works in place",
        "float [4]",
        "float [7]"
    );
}

#[test]
fn a_shape_that_changes_its_mind_is_an_error_at_run() {
    let lies = Arc::new(AtomicBool::new(false));
    let mut liar = doubling("t_liar");
    let told = lies.clone();
    liar.shape = Box::new(move |inputs| match told.load(Ordering::Relaxed) {
        true => Ok(Shape::new(DataType::Float, &[1_000_000])?),
        false => Ok(inputs[0].clone()),
    });
    custom_op::register(liar).unwrap();
    let mut program = alone("t_liar", &[2]);
    assert_eq!(run(&mut program, &[1.0, 2.0], &[2]).unwrap(), [2.0, 4.0]);
    lies.store(true, Ordering::Relaxed);
    let result = run(&mut program, &[1.0, 2.0], &[2]);
    refused!(result, Error::Api { .. }, "float [1000000]", "float [2]");
}

#[test]
fn bools_that_are_none_are_an_error() {
    let mut broken = op("t_broken_bool", |_, output| {
        output.bytes_mut()[1] = 2;
        Ok(())
    });
    broken.shape = Box::new(|_| Ok(Shape::new(DataType::Bool, &[2])?));
    custom_op::register(broken).unwrap();
    let result = run(&mut alone("t_broken_bool", &[1]), &[0.0], &[1]);
    refused!(result, Error::Api { .. }, "0 or 1");
}

#[test]
fn names_are_unique_and_plain() {
    let register = |name| custom_op::register(doubling(name));
    refused!(
        register("add"),
        Error::InvalidArgument(_),
        "MIGraphX itself",
        "`add`"
    );
    refused!(
        register("nonmaxsuppression"),
        Error::InvalidArgument(_),
        "MIGraphX itself"
    );
    refused!(
        register("rust_op_sizes"),
        Error::InvalidArgument(_),
        "registered already"
    );
    register("t_twice").unwrap();
    refused!(
        register("t_twice"),
        Error::InvalidArgument(_),
        "`t_twice`",
        "once"
    );
    for name in [
        "",
        "nul\0byte",
        "@param",
        "gpu::gemm",
        "%s%n",
        "two words",
        "schön",
    ] {
        refused!(register(name), Error::InvalidArgument(_), "operator name");
    }
    assert!(custom_op::names().contains(&"t_twice".to_owned()));
    assert!(!custom_op::names().contains(&"rust_op_sizes".to_owned()));
    let x = || floats(&[1]);
    let program = |name, parameters: &[_]| custom_op::program(name, parameters);
    refused!(
        program("t_no_such", &[("x", x())]),
        Error::InvalidArgument(_),
        "t_no_such"
    );
    refused!(
        program("rust_op_sizes", &[("x", x())]),
        Error::InvalidArgument(_)
    );
    refused!(
        program("t_twice", &[("x", x()), ("x", x())]),
        Error::InvalidArgument(_),
        "\"x\""
    );
    refused!(
        program("t_twice", &[("", x())]),
        Error::InvalidArgument(_),
        "name of its own"
    );
    refused!(
        program("t_twice", &[("a\0b", x())]),
        Error::InvalidArgument(_),
        "NUL"
    );
    refused!(
        program("t_twice", &[]),
        Error::Api { .. },
        "it takes an input"
    );
}

#[test]
fn an_operator_works_in_place_where_it_says_so() {
    let mut adding = op("t_add_to", |inputs, output| {
        // The last input is the output.
        assert_eq!(inputs.len(), 1);
        for (sum, x) in output
            .slice_mut::<f32>()?
            .iter_mut()
            .zip(inputs[0].slice::<f32>()?)
        {
            *sum += x;
        }
        Ok(())
    });
    adding.in_place = true;
    custom_op::register(adding).unwrap();
    let parameters = [("x", floats(&[2])), ("sum", floats(&[2]))];
    let mut program = compile(custom_op::program("t_add_to", &parameters).unwrap());
    let (x, sum) = ([1f32, 2.0], [10f32, 20.0]);
    {
        let mut inputs = program.inputs().unwrap();
        let (x_id, sum_id) = (inputs.id("x").unwrap(), inputs.id("sum").unwrap());
        // It would be written to.
        refused!(
            inputs.bind(sum_id, &sum),
            Error::InvalidArgument(_),
            "`sum`"
        );
        inputs.slice_mut::<f32>(x_id).unwrap().copy_from_slice(&x);
        inputs
            .slice_mut::<f32>(sum_id)
            .unwrap()
            .copy_from_slice(&sum);
        for expected in [[11.0, 22.0], [12.0, 24.0]] {
            let outputs = program.run(&mut inputs).unwrap();
            assert_eq!(outputs.slice::<f32>(0).unwrap(), expected);
        }
    }
    // One that makes its own output reads bound slices where they lie.
    let seen = Arc::new(AtomicUsize::new(0));
    let address = seen.clone();
    let reading = op("t_reads", move |inputs, output| {
        address.store(inputs[0].bytes().as_ptr() as usize, Ordering::Relaxed);
        output
            .slice_mut::<f32>()?
            .copy_from_slice(inputs[0].slice()?);
        Ok(())
    });
    custom_op::register(reading).unwrap();
    let mut program = alone("t_reads", &[2]);
    let mut inputs = program.inputs().unwrap();
    inputs.bind(inputs.id("x").unwrap(), &x).unwrap();
    assert_eq!(
        program.run(&mut inputs).unwrap().slice::<f32>(0).unwrap(),
        x
    );
    assert_eq!(seen.load(Ordering::Relaxed), x.as_ptr() as usize);
}
