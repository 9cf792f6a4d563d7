//! `if` and `loop`.

use super::support::{compile, refused};
use super::{float, run};
use migraphx::{Argument, DataType, Error, Graph, Op, Program, Result, Shape, Value};

#[test]
fn if_takes_the_branch_of_its_condition() {
    let mut graph = Graph::new().unwrap();
    let positive = graph
        .parameter("positive", &Shape::new(DataType::Bool, &[1]).unwrap())
        .unwrap();
    let x = graph.parameter("x", &float(&[2])).unwrap();
    let then = graph
        .submodule("then", |g| {
            let ten = g.constant(&[10.0f32, 20.0], &[2])?;
            Ok(vec![g.add("add", &[x, ten])?, g.add("neg", &[x])?])
        })
        .unwrap();
    // Outputs can be values of the module around.
    let otherwise = graph
        .submodule("else", |g| {
            Ok(vec![g.add("mul", &[x, x])?, g.add("identity", &[x])?])
        })
        .unwrap();
    let both = graph
        .add_with_modules("if", &[positive], &[then, otherwise])
        .unwrap();
    let part = |index: usize| Op::new("get_tuple_elem").attr("index", index);
    let outputs = [
        graph.add(part(0), &[both]).unwrap(),
        graph.add(part(1), &[both]).unwrap(),
    ];
    let mut program = compile(graph.finish(&outputs).unwrap());
    for (positive, expected) in [
        (true, [[11.0, 23.0], [-1.0, -3.0]]),
        (false, [[1.0, 9.0], [1.0, 3.0]]),
    ] {
        let positive = Argument::from_bools(&[positive], &[1]).unwrap();
        let x = Argument::from_slice(&[1.0f32, 3.0], &[2]).unwrap();
        let outputs = program
            .run_once(&[("positive", positive), ("x", x)])
            .unwrap();
        for (index, expected) in expected.iter().enumerate() {
            assert_eq!(outputs.slice::<f32>(index).unwrap(), expected);
        }
    }
}

/// Compiling makes the outputs of a submodule row by row, and MIGraphX then finds
/// that its `if` has another shape.
#[test]
fn outputs_of_submodules_lie_row_by_row() {
    let build = |copy: bool| {
        let mut graph = Graph::new()?;
        let on = graph.parameter("on", &Shape::new(DataType::Bool, &[1])?)?;
        let x = graph.parameter("x", &float(&[2, 3]))?;
        let turned = |g: &mut Graph, x: Value| {
            let x = g.add(Op::new("transpose").attr("permutation", [1, 0]), &[x])?;
            Ok::<_, Error>(vec![if copy { g.add("contiguous", &[x])? } else { x }])
        };
        let then = graph.submodule("then", |g| turned(g, x))?;
        let otherwise = graph.submodule("else", |g| {
            let x = g.add("neg", &[x])?;
            turned(g, x)
        })?;
        let both = graph.add_with_modules("if", &[on], &[then, otherwise])?;
        let y = graph.add(Op::new("get_tuple_elem").attr("index", 0), &[both])?;
        let z = graph.add("neg", &[y])?;
        graph.finish(&[y, z])
    };
    refused!(build(false), Error::Graph { .. }, "`then`", "contiguous");
    let mut program = compile(build(true).unwrap());
    for sign in [1.0f32, -1.0] {
        let on = Argument::from_bools(&[sign > 0.0], &[1]).unwrap();
        let x = Argument::from_slice(&[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0], &[2, 3]).unwrap();
        let outputs = program.run_once(&[("on", on), ("x", x)]).unwrap();
        let expected = [1.0, 4.0, 2.0, 5.0, 3.0, 6.0].map(|y| sign * y);
        assert_eq!(outputs.slice::<f32>(0).unwrap(), expected);
        assert_eq!(outputs.slice::<f32>(1).unwrap(), expected.map(|y| -y));
    }
}

/// Doubles `x` until it is above 20, five times at most; collects each.
fn doubling(rounds: impl FnOnce(&mut Graph) -> Result<Value>, most: usize) -> Result<Program> {
    let mut graph = Graph::new()?;
    let x = graph.parameter("x", &float(&[1]))?;
    let rounds = rounds(&mut graph)?;
    let begin = graph.literal(&Argument::from_bools(&[true], &[1])?)?;
    let limit = graph.constant(&[20.0f32], &[1])?;
    let body = graph.submodule("body", |g| {
        g.parameter("round", &Shape::new(DataType::Int64, &[1])?)?;
        g.parameter("on", &Shape::new(DataType::Bool, &[1])?)?;
        // The same name as in the main module: another parameter.
        let x = g.parameter("x", &float(&[1]))?;
        let twice = g.add("add", &[x, x])?;
        let on = g.add("less", &[twice, limit])?;
        let on = g.add(
            Op::new("convert").attr("target_type", DataType::Bool),
            &[on],
        )?;
        Ok(vec![on, twice, twice])
    })?;
    let all = graph.add_with_modules(
        Op::new("loop").attr("max_iterations", most),
        &[rounds, begin, x],
        &[body],
    )?;
    let part = |index: usize| Op::new("get_tuple_elem").attr("index", index);
    let last = graph.add(part(0), &[all])?;
    let each = graph.add(part(1), &[all])?;
    graph.finish(&[last, each])
}

#[test]
fn a_loop_carries_and_collects() {
    let program = doubling(|g| g.constant(&[5i64], &[1]), 6).unwrap();
    let mut program = compile(program);
    for (x, last, each) in [
        (3.0f32, 24.0, [6.0, 12.0, 24.0, 0.0, 0.0, 0.0]),
        (1.0, 32.0, [2.0, 4.0, 8.0, 16.0, 32.0, 0.0]),
    ] {
        let x = Argument::from_vec(vec![x], &[1]).unwrap();
        let outputs = program.run_once(&[("x", x)]).unwrap();
        assert_eq!(outputs.slice::<f32>(0).unwrap(), [last]);
        assert_eq!(outputs.get(1).unwrap().shape().dims(), [6, 1]);
        assert_eq!(outputs.slice::<f32>(1).unwrap(), each);
    }
}

#[test]
fn a_loop_that_could_write_behind_its_outputs_is_refused() {
    refused!(
        doubling(|g| g.constant(&[7i64], &[1]), 6),
        Error::Graph { .. },
        "7 rounds",
        "max_iterations"
    );
    let given = |g: &mut Graph| g.parameter("n", &Shape::new(DataType::Int64, &[1])?);
    refused!(
        doubling(given, 6),
        Error::Graph { .. },
        "literal",
        "add_unchecked"
    );
    refused!(
        doubling(|g| g.constant(&[5i32], &[1]), 6),
        Error::Graph { .. },
        "int64"
    );
}

/// The round and the condition of a loop are variables of the function that runs
/// it: carried as they are, they would be read when that has returned.
#[test]
fn a_loop_does_not_give_its_own_variables_away() {
    let build = |carry: &dyn Fn(&mut Graph, Value) -> Result<Value>| {
        let mut graph = Graph::new()?;
        let int = Shape::new(DataType::Int64, &[1])?;
        let x = graph.parameter("x", &int)?;
        let rounds = graph.parameter("rounds", &int)?;
        let begin = graph.literal(&Argument::from_bools(&[true], &[1])?)?;
        let body = graph.submodule("body", |g| {
            let round = g.parameter("round", &int)?;
            let on = g.parameter("on", &Shape::new(DataType::Bool, &[1])?)?;
            g.parameter("last", &int)?;
            Ok(vec![on, carry(g, round)?])
        })?;
        let op = Op::new("loop").attr("max_iterations", 9);
        let all = graph.add_with_modules(op, &[rounds, begin, x], &[body])?;
        let last = graph.add(Op::new("get_tuple_elem").attr("index", 0), &[all])?;
        graph.finish(&[last])
    };
    let run = |program: Program| {
        let x = Argument::from_slice(&[100i64], &[1]).unwrap();
        let rounds = Argument::from_slice(&[7i64], &[1]).unwrap();
        let outputs = run(program, &[("x", x), ("rounds", rounds)]);
        outputs.slice::<i64>(0).unwrap()[0]
    };
    let refused = |carry: &dyn Fn(&mut Graph, Value) -> Result<Value>| {
        refused!(build(carry), Error::Graph { .. }, "`body`", "contiguous");
    };
    refused(&|_, round| Ok(round));
    refused(&|g, round| g.add("identity", &[round]));
    refused(&|g, round| {
        let wide = g.add(Op::new("unsqueeze").attr("axes", [0]), &[round])?;
        g.add(Op::new("squeeze").attr("axes", [1]), &[wide])
    });
    refused(&|g, round| {
        let on = g.literal(&Argument::from_bools(&[true], &[1])?)?;
        let then = g.submodule("then", |_| Ok(vec![round]))?;
        let otherwise = g.submodule("else", |g| Ok(vec![g.constant(&[1i64], &[1])?]))?;
        let both = g.add_with_modules("if", &[on], &[then, otherwise])?;
        g.add(Op::new("get_tuple_elem").attr("index", 0), &[both])
    });
    assert_eq!(
        run(build(&|g, round| g.add("contiguous", &[round])).unwrap()),
        6
    );
    assert_eq!(
        run(build(&|g, round| g.add("add", &[round, round])).unwrap()),
        12
    );
    assert_eq!(
        run(build(&|g, round| {
            let on = g.literal(&Argument::from_bools(&[false], &[1])?)?;
            let then = g.submodule("then", |g| Ok(vec![g.add("neg", &[round])?]))?;
            let otherwise = g.submodule("else", |g| Ok(vec![g.add("mul", &[round, round])?]))?;
            let both = g.add_with_modules("if", &[on], &[then, otherwise])?;
            g.add(Op::new("get_tuple_elem").attr("index", 0), &[both])
        })
        .unwrap()),
        36
    );
}
