//! A finished graph is a program like any other.

use super::support::{compile, refused};
use super::{float, run};
use migraphx::{Argument, DataType, DynamicDim, Error, Graph, Op, Program, Shape};

#[test]
fn a_graph_is_a_program_like_any_other() {
    let build = || {
        let mut graph = Graph::new().unwrap();
        let x = graph.parameter("x", &float(&[2, 4])).unwrap();
        let w: Vec<f32> = (0..12).map(|i| i as f32 / 8.0).collect();
        let w = graph.constant(&w, &[4, 3]).unwrap();
        let y = graph.add("dot", &[x, w]).unwrap();
        assert!(graph.to_string().contains("dot("), "{graph}");
        assert!(format!("{graph:#}").contains("main"), "{graph:#}");
        graph.finish(&[y]).unwrap()
    };
    let x: Vec<f32> = (0..8).map(|i| i as f32).collect();
    let x = || [("x", Argument::from_slice(&x, &[2, 4]).unwrap())];
    let expected = run(build(), &x());

    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("graph.mxr");
    build().save(&file).unwrap();
    let loaded = Program::load(&file).unwrap();
    assert!(loaded.same_text(&build()).unwrap());
    assert_eq!(
        run(loaded, &x()).slice::<f32>(0).unwrap(),
        expected.slice::<f32>(0).unwrap()
    );

    let mut half = build();
    half.quantize_fp16().unwrap();
    assert!(!half.same_text(&build()).unwrap());
    let half = run(half, &x());
    for (a, b) in half
        .slice::<f32>(0)
        .unwrap()
        .iter()
        .zip(expected.slice::<f32>(0).unwrap())
    {
        assert!((a - b).abs() < 0.05, "{a} {b}");
    }
}

#[test]
fn sorted_programs_print_the_same_whatever_the_order() {
    let build = |neg_first: bool| {
        let mut graph = Graph::new().unwrap();
        let x = graph.parameter("x", &float(&[2])).unwrap();
        let mut parts = ["abs", "neg"];
        if neg_first {
            parts.reverse();
        }
        let mut made = parts.map(|name| graph.add(name, &[x]).unwrap());
        if neg_first {
            made.reverse();
        }
        let y = graph.add("add", &made).unwrap();
        graph.finish(&[y]).unwrap()
    };
    let (mut one, mut other) = (build(false), build(true));
    assert!(!one.same_text(&other).unwrap());
    one.sort().unwrap();
    other.sort().unwrap();
    assert!(one.same_text(&other).unwrap(), "{one}\n{other}");
    let x = Argument::from_slice(&[1.0f32, -2.0], &[2]).unwrap();
    assert_eq!(run(other, &[("x", x)]).slice::<f32>(0).unwrap(), [0.0, 4.0]);
}

#[test]
fn a_batch_can_be_a_range() {
    let mut graph = Graph::new().unwrap();
    let batch = DynamicDim::new(1, 4).unwrap();
    let dims: Vec<DynamicDim> = [batch]
        .into_iter()
        .chain([1, 4, 4].map(DynamicDim::fixed))
        .collect();
    let shape = Shape::dynamic(DataType::Float, &dims).unwrap();
    let x = graph.parameter("x", &shape).unwrap();
    let kernel = graph.constant(&[1.0f32; 9], &[1, 1, 3, 3]).unwrap();
    let y = graph.add("convolution", &[x, kernel]).unwrap();
    let y = graph.add("relu", &[y]).unwrap();
    let y = graph
        .add(Op::new("pooling").attr("lengths", [2, 2]), &[y])
        .unwrap();
    let y = graph.add("flatten", &[y]).unwrap();
    refused!(graph.add("nonzero", &[y]), Error::Graph { .. }, "ranges");
    let mut program = compile(graph.finish(&[y]).unwrap());
    for batch in [1, 3] {
        let x = Argument::from_vec(vec![1.0f32; 16 * batch], &[batch, 1, 4, 4]).unwrap();
        let outputs = program.run_once(&[("x", x)]).unwrap();
        assert_eq!(outputs.get(0).unwrap().shape().dims(), [batch, 1]);
        assert!(outputs.slice::<f32>(0).unwrap().iter().all(|y| *y == 9.0));
    }
}

#[test]
fn known_operators_are_those_of_the_library() {
    for (name, _) in Op::known() {
        Op::new(name).check().unwrap();
    }
    assert!(Op::known().count() > 80);
}

#[test]
fn a_graph_moves_to_another_thread() {
    let mut graph = Graph::new().unwrap();
    let x = graph.parameter("x", &float(&[2])).unwrap();
    let program = std::thread::spawn(move || {
        let y = graph.add("neg", &[x]).unwrap();
        graph.finish(&[y]).unwrap()
    });
    let x = Argument::from_slice(&[1.0f32, -1.0], &[2]).unwrap();
    let outputs = run(program.join().unwrap(), &[("x", x)]);
    assert_eq!(outputs.slice::<f32>(0).unwrap(), [-1.0, 1.0]);
}
