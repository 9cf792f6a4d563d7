//! Operators written in Rust, among others in a graph.

mod support;

use migraphx::custom_op::{self, CustomOp, Input, OpResult, Output};
use migraphx::{Argument, CompiledProgram, DataType, Error, Graph, Op, Shape};
use support::{compile, refused};

/// `y = factor * x`, of any shape.
struct Scale {
    name: &'static str,
    factor: f32,
    in_place: bool,
}

impl CustomOp for Scale {
    fn name(&self) -> &str {
        self.name
    }

    fn shape(&self, inputs: &[Shape]) -> OpResult<Shape> {
        Ok(inputs.last().ok_or("it takes an input")?.clone())
    }

    fn compute(&self, inputs: &[Input<'_>], output: &mut Output<'_>) -> OpResult {
        let y = output.slice_mut::<f32>()?;
        if !self.in_place {
            y.copy_from_slice(inputs[0].slice()?);
        }
        y.iter_mut().for_each(|y| *y *= self.factor);
        Ok(())
    }

    fn in_place(&self) -> bool {
        self.in_place
    }
}

fn register(name: &'static str, factor: f32) {
    let in_place = name.ends_with("in_place");
    custom_op::register(Scale {
        name,
        factor,
        in_place,
    })
    .unwrap();
}

fn floats(dims: &[usize]) -> Shape {
    Shape::new(DataType::Float, dims).unwrap()
}

fn outputs(program: &mut CompiledProgram, inputs: &[(&str, &[f32], &[usize])]) -> Vec<Vec<f32>> {
    let tensors: Vec<(&str, Argument)> = inputs
        .iter()
        .map(|(name, data, dims)| (*name, Argument::from_slice(data, dims).unwrap()))
        .collect();
    let outputs = program.run_once(&tensors).unwrap();
    (0..program.output_shapes().len())
        .map(|index| outputs.slice::<f32>(index).unwrap().to_vec())
        .collect()
}

#[test]
fn between_other_operators() {
    register("u_scale", 3.0);
    let mut graph = Graph::new().unwrap();
    let x = graph.parameter("x", &floats(&[2, 3])).unwrap();
    // A view: it is copied before the operator.
    let turned = Op::new("transpose").attr("permutation", [1, 0]);
    let turned = graph.add(turned, &[x]).unwrap();
    let scaled = graph.add("u_scale", &[turned]).unwrap();
    assert_eq!(graph.shape(scaled).unwrap(), &floats(&[3, 2]));
    let sum = graph.add("add", &[scaled, scaled]).unwrap();
    let twice = graph.add("u_scale", &[sum]).unwrap();
    let mut program = compile(graph.finish(&[twice, scaled]).unwrap());
    let results = outputs(
        &mut program,
        &[("x", &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], &[2, 3])],
    );
    assert_eq!(results[0], [18.0, 72.0, 36.0, 90.0, 54.0, 108.0]);
    assert_eq!(results[1], [3.0, 12.0, 6.0, 15.0, 9.0, 18.0]);
}

#[test]
fn equal_shapes_do_not_share_memory() {
    register("u_equal", 10.0);
    let mut graph = Graph::new().unwrap();
    let x = graph.parameter("x", &floats(&[20])).unwrap();
    let y = graph.parameter("y", &floats(&[20])).unwrap();
    let zeros = graph.constant(&[0.0f32; 20], &[20]).unwrap();
    let (a, b) = (
        graph.add("u_equal", &[x]).unwrap(),
        graph.add("u_equal", &[y]).unwrap(),
    );
    let scalar = graph.constant(&[2.0f32], &[]).unwrap();
    let scalar = graph.add("u_equal", &[scalar]).unwrap();
    assert!(graph.shape(scalar).unwrap().is_scalar());
    let still_zeros = graph.add("add", &[zeros, zeros]).unwrap();
    let difference = graph.add("sub", &[a, b]).unwrap();
    let all = [a, b, difference, still_zeros, scalar];
    let mut program = compile(graph.finish(&all).unwrap());
    for round in 0..3 {
        let (one, two) = ([1.0 + round as f32; 20], [2.0; 20]);
        let results = outputs(&mut program, &[("x", &one, &[20]), ("y", &two, &[20])]);
        assert_eq!(results[0], [10.0 * one[0]; 20]);
        assert_eq!(results[1], [20.0; 20]);
        assert_eq!(results[2], [10.0 * one[0] - 20.0; 20]);
        assert_eq!(results[3], [0.0; 20]);
        assert_eq!(results[4], [20.0]);
    }
}

#[test]
fn in_a_submodule() {
    register("u_inside", 7.0);
    let mut graph = Graph::new().unwrap();
    let positive = Shape::new(DataType::Bool, &[1]).unwrap();
    let positive = graph.parameter("positive", &positive).unwrap();
    let x = graph.parameter("x", &floats(&[3])).unwrap();
    let then = graph.submodule("then", |g| Ok(vec![g.add("u_inside", &[x])?]));
    let otherwise = graph.submodule("else", |g| Ok(vec![g.add("neg", &[x])?]));
    let modules = [then.unwrap(), otherwise.unwrap()];
    let both = graph.add_with_modules("if", &[positive], &modules).unwrap();
    let first = Op::new("get_tuple_elem").attr("index", 0);
    let y = graph.add(first, &[both]).unwrap();
    let mut program = compile(graph.finish(&[y]).unwrap());
    for (yes, expected) in [(true, [7.0, 14.0, 21.0]), (false, [-1.0, -2.0, -3.0])] {
        let tensors = [
            ("positive", Argument::from_bools(&[yes], &[1]).unwrap()),
            ("x", Argument::from_slice(&[1f32, 2.0, 3.0], &[3]).unwrap()),
        ];
        let outputs = program.run_once(&tensors).unwrap();
        assert_eq!(outputs.slice::<f32>(0).unwrap(), expected);
    }
}

#[test]
fn in_place_needs_the_users_word() {
    register("u_in_place", 2.0);
    let mut graph = Graph::new().unwrap();
    let x = graph.parameter("x", &floats(&[2])).unwrap();
    let own = graph.add("neg", &[x]).unwrap();
    refused!(
        graph.add("u_in_place", &[own]),
        Error::Graph { .. },
        "in place",
        "add_unchecked"
    );
    // SAFETY: nothing else reads `own`, which `neg` makes of a parameter.
    let y = unsafe { graph.add_unchecked("u_in_place", &[own], &[]) }.unwrap();
    let mut program = compile(graph.finish(&[y]).unwrap());
    assert_eq!(
        outputs(&mut program, &[("x", &[1.0, 2.0], &[2])]),
        [[-2.0, -4.0]]
    );
}

#[test]
fn what_does_not_fit_is_refused() {
    register("u_fits", 2.0);
    let mut graph = Graph::new().unwrap();
    let x = graph.parameter("x", &floats(&[2])).unwrap();
    let with = Op::new("u_fits").attr("factor", 3);
    refused!(
        graph.add(with, &[x]),
        Error::Graph { .. },
        "u_fits",
        "no attributes"
    );
    refused!(
        graph.add("u_fits", &[]),
        Error::Api { .. },
        "it takes an input"
    );
    let mut other = Graph::new().unwrap();
    let strange = other.parameter("x", &floats(&[2])).unwrap();
    refused!(
        graph.add("u_fits", &[strange]),
        Error::Graph { .. },
        "another graph"
    );
    // The graph is as good as before.
    let y = graph.add("u_fits", &[x]).unwrap();
    let mut program = compile(graph.finish(&[y]).unwrap());
    assert_eq!(
        outputs(&mut program, &[("x", &[1.0, 2.0], &[2])]),
        [[2.0, 4.0]]
    );
}

/// Whole programs in half precision give halves to operators too.
#[test]
fn quantizing_reaches_operators() {
    register("u_half", 2.0);
    let graph = || {
        let mut graph = Graph::new().unwrap();
        let x = graph.parameter("x", &floats(&[2])).unwrap();
        let negative = graph.add("neg", &[x]).unwrap();
        let y = graph.add("u_half", &[negative]).unwrap();
        graph.finish(&[y]).unwrap()
    };
    let mut all = graph();
    all.quantize_fp16().unwrap();
    let x = Argument::from_slice(&[1f32, 2.0], &[2]).unwrap();
    let result = compile(all).run_once(&[("x", x)]);
    refused!(
        result,
        Error::Api { .. },
        "u_half",
        "is half, and was used as float"
    );
    let mut some = graph();
    some.quantize_fp16_ops(&["neg"]).unwrap();
    let results = outputs(&mut compile(some), &[("x", &[1.0, 2.0], &[2])]);
    assert_eq!(results, [[-2.0, -4.0]]);
}
