//! Operators written in Rust, in a graph.

use super::float;
use super::support::{compile, refused};
use migraphx::custom_op::{self, CustomOp, Input, OpResult, Output};
use migraphx::{Argument, DataType, Error, Graph, Op, Shape};

/// Twice its input, and in place what it is given plus one.
struct Twice;

struct PlusOne;

impl CustomOp for Twice {
    fn name(&self) -> &str {
        "graph_twice"
    }

    fn shape(&self, inputs: &[Shape]) -> OpResult<Shape> {
        match inputs {
            [x] => Ok(Shape::new(x.dtype(), x.dims())?),
            _ => Err("one input, please".into()),
        }
    }

    fn compute(&self, inputs: &[Input], output: &mut Output) -> OpResult {
        let x = inputs[0].slice::<f32>()?;
        for (y, x) in output.slice_mut::<f32>()?.iter_mut().zip(x) {
            *y = 2.0 * x;
        }
        Ok(())
    }
}

impl CustomOp for PlusOne {
    fn name(&self) -> &str {
        "graph_plus_one"
    }

    fn shape(&self, inputs: &[Shape]) -> OpResult<Shape> {
        Ok(inputs[0].clone())
    }

    fn in_place(&self) -> bool {
        true
    }

    fn compute(&self, _: &[Input], output: &mut Output) -> OpResult {
        output
            .slice_mut::<f32>()?
            .iter_mut()
            .for_each(|y| *y += 1.0);
        Ok(())
    }
}

#[test]
fn custom_operators_are_operators() {
    custom_op::register(Twice).unwrap();
    custom_op::register(PlusOne).unwrap();
    let mut graph = Graph::new().unwrap();
    let x = graph.parameter("x", &float(&[2, 2])).unwrap();
    let on = graph
        .parameter("on", &Shape::new(DataType::Bool, &[1]).unwrap())
        .unwrap();
    // A view, which the operator is given row by row all the same.
    let turned = Op::new("transpose").attr("permutation", [1, 0]);
    let turned = graph.add(turned, &[x]).unwrap();
    let twice = graph.add("graph_twice", &[turned]).unwrap();
    assert_eq!(graph.shape(twice).unwrap().dims(), [2, 2]);
    let then = graph
        .submodule("then", |g| {
            let more = g.add("graph_twice", &[twice])?;
            let refused = g.add("graph_plus_one", &[more]).unwrap_err();
            assert!(refused.to_string().contains("in place"), "{refused}");
            // SAFETY: nothing else reads `more`.
            Ok(vec![unsafe {
                g.add_unchecked("graph_plus_one", &[more], &[])
            }?])
        })
        .unwrap();
    let otherwise = graph
        .submodule("else", |g| Ok(vec![g.add("neg", &[twice])?]))
        .unwrap();
    let both = graph
        .add_with_modules("if", &[on], &[then, otherwise])
        .unwrap();
    let y = graph
        .add(Op::new("get_tuple_elem").attr("index", 0), &[both])
        .unwrap();

    refused!(
        graph.add("graph_twice", &[x, x]),
        Error::Api { .. },
        "one input, please"
    );
    let op = Op::new("graph_twice").attr("axis", 1);
    refused!(graph.add(op, &[x]), Error::Graph { .. }, "no attributes");
    let mut program = compile(graph.finish(&[y, twice]).unwrap());
    for (on, expected) in [
        (true, [5.0, 13.0, 9.0, 17.0]),
        (false, [-2.0, -6.0, -4.0, -8.0]),
    ] {
        let on = Argument::from_bools(&[on], &[1]).unwrap();
        let x = Argument::from_slice(&[1.0f32, 2.0, 3.0, 4.0], &[2, 2]).unwrap();
        let outputs = program.run_once(&[("x", x), ("on", on)]).unwrap();
        assert_eq!(outputs.slice::<f32>(0).unwrap(), expected);
        assert_eq!(outputs.slice::<f32>(1).unwrap(), [2.0, 6.0, 4.0, 8.0]);
    }
}
