//! TensorFlow's frozen graphs: read with every option, and refused where the
//! library would die of them or take them for something else.

mod refused;
#[path = "../support/mod.rs"]
mod support;

use migraphx::{Argument, Error, Program, TfOptions, parse_tf};
use support::{compile, refused};
use testkit::tf::{Attr, Elem, Graph, models};

/// `(name, dims)` of the inputs.
fn inputs(program: &Program) -> Vec<(&str, &[usize])> {
    let parameters = program.parameters().iter();
    parameters.map(|p| (p.name(), p.shape().dims())).collect()
}

fn outputs(program: &Program) -> Vec<&[usize]> {
    program.output_shapes().iter().map(|s| s.dims()).collect()
}

fn run(program: Program, input: &str, data: &[f32], dims: &[usize]) -> Vec<Vec<f32>> {
    let outputs = compile(program)
        .run_once(&[(input, Argument::from_slice(data, dims).unwrap())])
        .unwrap();
    (0..outputs.len())
        .map(|index| outputs.slice::<f32>(index).unwrap().to_vec())
        .collect()
}

/// The graph of [`models::conv`] for one image, by its definition: `image` is
/// `[size][size][2]`, the result `[size - 1][size - 1][3]`.
fn conv_by_hand(image: &[f32], size: usize) -> Vec<f32> {
    let mut result = Vec::new();
    for y in 0..size - 1 {
        for x in 0..size - 1 {
            for out in 0..3 {
                let mut sum = [-30.0, 0.0, 30.0][out];
                for (dy, dx, c) in (0..8).map(|i| (i / 4, i / 2 % 2, i % 2)) {
                    let weight = (((dy * 2 + dx) * 2 + c) * 3 + out) as f32 * 0.5;
                    sum += weight * image[((y + dy) * size + x + dx) * 2 + c];
                }
                result.push(f32::max(sum, 0.0));
            }
        }
    }
    result
}

/// `[h][w][c]` as `[c][h][w]`.
fn to_nchw(image: &[f32], channels: usize) -> Vec<f32> {
    let pixels = image.len() / channels;
    let at = |i: usize| image[i % pixels * channels + i / pixels];
    (0..image.len()).map(at).collect()
}

#[test]
fn a_graph_is_read_from_file_memory_and_reader() {
    let graph = models::add_relu();
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("add_relu.pb");
    std::fs::write(&file, &graph).unwrap();
    let options = TfOptions::new();
    for program in [
        parse_tf(&file),
        options.parse(&file),
        options.parse_bytes(&graph),
        options.parse_reader(&graph[..]),
    ] {
        let program = program.unwrap();
        assert_eq!(inputs(&program), [("x", &[1, 4][..])]);
        let y = run(program, "x", &[1.0, 1.0, -4.0, 4.5], &[1, 4]);
        assert_eq!(y, [[2.0, 0.0, 0.0, 0.5]]);
    }
}

#[test]
fn a_graph_in_nhwc_works_in_nchw() {
    let size = 4;
    let image: Vec<f32> = (0..size * size * 2)
        .map(|i| (i as f32 * 0.7).sin())
        .collect();
    let program = TfOptions::new()
        .output_names(&["features", "flat:0"])
        .parse_bytes(&models::conv(-1, size as i64))
        .unwrap();
    assert_eq!(inputs(&program), [("images", &[1, 2, 4, 4][..])]);
    assert_eq!(outputs(&program), [&[1, 3, 3, 3][..], &[1, 27]]);

    let found = run(program, "images", &to_nchw(&image, 2), &[1, 2, 4, 4]);
    // Four dimensions come out as NCHW, what was reshaped inside as the graph has it.
    let expected = conv_by_hand(&image, size);
    let close = |a: &[f32], b: &[f32]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-5);
    assert!(close(&found[0], &to_nchw(&expected, 3)), "{found:?}");
    assert!(close(&found[1], &expected), "{found:?}");
    assert!(expected.iter().any(|v| *v > 0.0) && expected.contains(&0.0));
}

#[test]
fn every_option_counts() {
    let graph = models::add_relu();
    let sizes = |options: &TfOptions| {
        let program = options.parse_bytes(&graph).unwrap();
        inputs(&program)[0].1.to_vec()
    };
    assert_eq!(sizes(&TfOptions::new().default_dim(3)), [3, 4]);
    assert_eq!(sizes(&TfOptions::new().input_dims("x:0", &[5, 4])), [5, 4]);
    let both = TfOptions::new().default_dim(3).input_dims("x", &[2, 4]);
    assert_eq!(sizes(&both), [2, 4]);

    let program = TfOptions::new()
        .output_names(&["sum", "x", "y"])
        .parse_bytes(&graph)
        .unwrap();
    let found = run(program, "x", &[0.0, 5.0, -4.0, 4.0], &[1, 4]);
    assert_eq!(
        found,
        [
            [1.0, 3.0, -1.0, 0.0],
            [0.0, 5.0, -4.0, 4.0],
            [1.0, 3.0, 0.0, 0.0]
        ]
    );

    // Four dimensions, read as they stand.
    let mut g = Graph::new();
    g.placeholder("x", Elem::F32, &[-1, 2, 3, 4]);
    g.node("Relu", "y", &["x"], vec![]);
    let graph = g.into_bytes();
    let dims = |nhwc| {
        let program = TfOptions::new().nhwc(nhwc).parse_bytes(&graph).unwrap();
        inputs(&program)[0].1.to_vec()
    };
    assert_eq!(
        (dims(true), dims(false)),
        (vec![1, 4, 2, 3], vec![1, 2, 3, 4])
    );
}

#[test]
fn outputs_that_are_not_named_are_sorted_by_name() {
    let mut g = Graph::new();
    g.placeholder("x", Elem::F32, &[2]);
    for (op, name) in [("Relu", "z"), ("Tanh", "a"), ("Sigmoid", "m")] {
        g.node(op, name, &["x"], vec![]);
    }
    let program = TfOptions::new().parse_bytes(&g.into_bytes()).unwrap();
    let found = run(program, "x", &[-1.0, 1.0], &[2]);
    assert!((found[0][1] - 1f32.tanh()).abs() < 1e-6);
    assert!((found[1][1] - 1.0 / (1.0 + (-1f32).exp())).abs() < 1e-6);
    assert_eq!(found[2], [0.0, 1.0]);
}

#[test]
fn options_that_cannot_be_right_are_refused() {
    let graph = models::add_relu();
    refused!(
        TfOptions::new()
            .input_dims("images", &[1, 4])
            .parse_bytes(&graph),
        Error::UnknownParameter { .. },
        "`images`",
        "`x`"
    );
    refused!(
        TfOptions::new()
            .output_names(&["scores"])
            .parse_bytes(&graph),
        Error::Api { .. },
        "output name scores not found in graph",
        "the graph in memory"
    );
    refused!(
        TfOptions::new()
            .input_dims("x", &[1, 5])
            .parse_bytes(&graph),
        Error::Api { .. },
        "{4}",
        "{1, 5}"
    );
    refused!(
        TfOptions::new()
            .input_dims("x", &[1 << 40, 1 << 40])
            .parse_bytes(&graph),
        Error::InvalidShape(_),
        "`x`"
    );
    refused!(
        TfOptions::new().default_dim(1 << 32).parse_bytes(&graph),
        Error::InvalidArgument(_),
        "default_dim"
    );
    refused!(
        TfOptions::new().output_names(&["a\0b"]).parse_bytes(&graph),
        Error::InvalidArgument(_),
        "NUL"
    );
}

#[test]
fn what_looks_odd_and_is_right_is_read() {
    // One listed value stands for all; control inputs and NoOps do not count;
    // several results of a node; an unknown operator that no output needs.
    let mut g = Graph::new();
    g.placeholder("x", Elem::F32, &[4]);
    g.constant_listed("c", &[4], &[1.5]);
    g.constant_listed("zeros", &[4], &[]);
    g.node("NoOp", "init", &[], vec![]);
    g.node("Add", "added", &["x:0", "c", "^init"], vec![]);
    g.node("Add", "same", &["added", "zeros"], vec![]);
    g.constant_i32("axis", &[0]);
    g.node(
        "Split",
        "split",
        &["axis", "same"],
        vec![("num_split", Attr::Int(2))],
    );
    g.node("Mul", "y", &["split", "split:1"], vec![]);
    g.node("Mystery", "unused", &["x"], vec![]);
    let program = TfOptions::new()
        .output_names(&["y"])
        .parse_bytes(&g.into_bytes())
        .unwrap();
    let found = run(program, "x", &[0.5, 1.5, 0.0, -1.0], &[4]);
    assert_eq!(found, [[3.0, 1.5]]);

    // A scalar input, once its size is said.
    let mut g = Graph::new();
    g.placeholder("s", Elem::F32, &[]);
    g.node("Relu", "y", &["s"], vec![]);
    let program = TfOptions::new()
        .input_dims("s", &[1])
        .parse_bytes(&g.into_bytes())
        .unwrap();
    assert_eq!(run(program, "s", &[2.5], &[1]), [[2.5]]);
}

/// The parser calls itself along a chain; 20,000 nodes overflow a thread of 2 MiB.
#[test]
fn a_long_chain_fits_the_stack() {
    let length = 20_000;
    let mut g = Graph::new();
    g.placeholder("x", Elem::F32, &[2]);
    let name = |number: usize| match number {
        0 => "x".to_owned(),
        // The last comes first by name, so that the parser starts there.
        _ => format!("n{:05}", length - number),
    };
    for number in 1..=length {
        g.node("Relu", &name(number), &[&name(number - 1)], vec![]);
    }
    let program = TfOptions::new().parse_bytes(&g.into_bytes()).unwrap();
    assert_eq!(program.to_string().matches(" = relu(").count(), length);
}
