//! Inputs, attributes and sizes that an operator does not survive.

use testkit::onnx::{Attr, Elem, Graph, fixed};

use super::{Kind, kind};

pub(super) fn sizes() -> Vec<Kind> {
    let split = |outputs| Node {
        outputs,
        ..with("Split", vec![("axis", Attr::Int(1))])
    };
    let parts = |parts: &'static [i64]| {
        let parts = Attr::Ints(parts.to_vec());
        Node {
            outputs: 2,
            ..with("Split", vec![("axis", Attr::Int(1)), ("split", parts)])
        }
    };
    let slice = |steps: &[i64]| on_constants("Slice", &[&[0], &[4], &[2], steps]);
    vec![
        kind(
            "too few inputs",
            node,
            with("Gemm", vec![]),
            on_constants("Gemm", &[&[1]]),
            &["node `Gemm_0` (Gemm)", "has 1 inputs, and takes at least 2"],
        ),
        kind(
            "too few dimensions",
            pool_along_one,
            &[4, 4],
            &[1, 4, 4],
            &["is given 2 dimensions, and takes 3"],
        ),
        kind(
            "pool stride 0",
            pool,
            [0, 1],
            [2, 1],
            &["(MaxPool)", "strides [0, 1]"],
        ),
        kind("heads 0", attention, 0, 2, &["num_heads 0", "1 or more"]),
        kind(
            "group 0",
            transposed_conv,
            0,
            1,
            &["(ConvTranspose)", "group 0"],
        ),
        kind(
            "body of a loop",
            looped,
            2,
            3,
            &["2 inputs and 2 outputs", "3 and 2"],
        ),
        kind(
            "conv stride 0",
            conv,
            ("strides", ints(&[0, 0])),
            ("strides", ints(&[1, 1])),
            &["(Conv)", "strides [0, 0]"],
        ),
        kind(
            "step 0",
            node,
            slice(&[0]),
            slice(&[-1]),
            &["steps [0]", "none may be 0"],
        ),
        kind(
            "steps too many",
            node,
            slice(&[-1, -1, -1]),
            slice(&[2]),
            &["as many of each"],
        ),
        kind("no parts", node, split(0), split(2), &["no outputs"]),
        kind(
            "negative parts",
            node,
            parts(&[5, -1]),
            parts(&[3, 1]),
            &["[5, -1]", "negative"],
        ),
        kind(
            "range without end",
            folded,
            ("Range", &[&[0], &[4], &[0]]),
            ("Range", &[&[0], &[4], &[1]]),
            &["from 0 to 4 in steps of 0"],
        ),
        kind(
            "range backwards",
            folded,
            ("Range", &[&[4], &[0], &[1]]),
            ("Range", &[&[4], &[0], &[-1]]),
            &["one value or more"],
        ),
        kind(
            "empty range",
            folded,
            ("Range", &[&[4], &[4], &[1]]),
            ("Range", &[&[4], &[5], &[1]]),
            &["one value or more"],
        ),
        kind("division by 0", divided, 0, 2, &["(Div)", "holds 0"]),
        kind(
            "folded division",
            folded,
            ("Div", &[&[4], &[0]]),
            ("Div", &[&[4], &[1]]),
            &["holds 0"],
        ),
        kind(
            "constant too large",
            folded,
            ("ConstantOfShape", &[&[1 << 32, 1 << 32]]),
            ("ConstantOfShape", &[&[2, 2]]),
            &["larger than memory"],
        ),
        kind(
            "negative constant",
            folded,
            ("ConstantOfShape", &[&[-4]]),
            ("ConstantOfShape", &[&[4]]),
            &["[-4]"],
        ),
        kind(
            "expanded too far",
            folded,
            ("Expand", &[&[1], &[1 << 32, 1 << 32]]),
            ("Expand", &[&[1], &[2, 2]]),
            &["larger than memory"],
        ),
    ]
}

/// A node on `x`, f32 of `[1, 4, 6, 6]`, and on constants of int64.
struct Node {
    op: &'static str,
    constants: Vec<Vec<i64>>,
    attributes: Vec<(&'static str, Attr)>,
    outputs: usize,
}

fn node(node: Node) -> Vec<u8> {
    let mut graph = Graph::new("g");
    graph.input("x", Elem::F32, &fixed(&[1, 4, 6, 6]));
    let names: Vec<String> = (0..node.constants.len())
        .map(|at| format!("c{at}"))
        .collect();
    for (name, values) in names.iter().zip(&node.constants) {
        graph.constant_i64(name, &[values.len()], values);
    }
    let mut inputs = vec!["x"];
    inputs.extend(names.iter().map(String::as_str));
    let outputs = &["y", "z"][..node.outputs];
    graph.node(node.op, &inputs, outputs, node.attributes);
    graph.output("y", Elem::F32, &fixed(&[1]));
    graph.into_bytes()
}

fn on_constants(op: &'static str, constants: &[&[i64]]) -> Node {
    Node {
        op,
        constants: constants.iter().map(|values| values.to_vec()).collect(),
        attributes: vec![],
        outputs: 1,
    }
}

fn with(op: &'static str, attributes: Vec<(&'static str, Attr)>) -> Node {
    Node {
        op,
        constants: vec![],
        attributes,
        outputs: 1,
    }
}

fn ints(values: &[i64]) -> Attr {
    Attr::Ints(values.to_vec())
}

/// A pool with automatic padding and these strides.
fn pool(strides: [i64; 2]) -> Vec<u8> {
    let attributes = [("kernel_shape", ints(&[2, 2])), ("strides", ints(&strides))];
    let auto_pad = ("auto_pad", Attr::Text("SAME_UPPER"));
    node(with("MaxPool", [&attributes[..], &[auto_pad]].concat()))
}

/// A pool along one axis of an input of these dimensions.
fn pool_along_one(dims: &[usize]) -> Vec<u8> {
    let mut graph = Graph::new("g");
    graph.input("x", Elem::F32, &fixed(dims));
    let attributes = vec![("kernel_shape", ints(&[2]))];
    graph.node("MaxPool", &["x"], &["y"], attributes);
    graph.output("y", Elem::F32, &fixed(&[1]));
    graph.into_bytes()
}

/// One value for every head.
fn attention(heads: i64) -> Vec<u8> {
    let mut graph = Graph::new("g");
    for name in ["q", "k", "v"] {
        graph.input(name, Elem::F32, &fixed(&[1, 4, 8]));
    }
    let heads = vec![("num_heads", Attr::Int(heads))];
    graph.node("MultiHeadAttention", &["q", "k", "v"], &["y"], heads);
    graph.output("y", Elem::F32, &fixed(&[1]));
    graph.into_bytes()
}

/// A loop that carries `x`, with a body of so many inputs.
fn looped(inputs: usize) -> Vec<u8> {
    let mut body = Graph::new("body");
    let given = [
        ("i", Elem::I64),
        ("going", Elem::Bool),
        ("carried", Elem::F32),
    ];
    for (name, elem) in &given[..inputs] {
        body.input(name, *elem, &fixed(&[1]));
    }
    body.node("Identity", &["going"], &["go_on"], vec![]);
    body.node("Identity", &["x"], &["next"], vec![]);
    body.output("go_on", Elem::Bool, &fixed(&[1]));
    body.output("next", Elem::F32, &fixed(&[1]));
    let mut graph = Graph::new("g");
    graph.input("x", Elem::F32, &fixed(&[1]));
    graph.constant_i64("rounds", &[1], &[3]);
    graph.constant_raw("start", Elem::Bool, &[1], vec![1]);
    let body = vec![("body", Attr::Graph(body))];
    graph.node("Loop", &["rounds", "start", "x"], &["y"], body);
    graph.output("y", Elem::F32, &fixed(&[1]));
    graph.into_bytes()
}

fn transposed_conv(group: i64) -> Vec<u8> {
    let mut graph = Graph::new("g");
    graph.input("x", Elem::F32, &fixed(&[1, 4, 6, 6]));
    graph.constant_f32("w", &[4, 4, 1, 1], &[1.0; 16]);
    let group = vec![("group", Attr::Int(group))];
    graph.node("ConvTranspose", &["x", "w"], &["y"], group);
    graph.output("y", Elem::F32, &fixed(&[1]));
    graph.into_bytes()
}

/// A convolution with a weight of `[4, 4, 1, 1]`.
fn conv((name, value): (&'static str, Attr)) -> Vec<u8> {
    let mut graph = Graph::new("g");
    graph.input("x", Elem::F32, &fixed(&[1, 4, 6, 6]));
    graph.constant_f32("w", &[4, 4, 1, 1], &[1.0; 16]);
    graph.node("Conv", &["x", "w"], &["y"], vec![(name, value)]);
    graph.output("y", Elem::F32, &fixed(&[1]));
    graph.into_bytes()
}

/// A node on int64 constants alone.
fn folded((op, constants): (&'static str, &'static [&'static [i64]])) -> Vec<u8> {
    let mut graph = Graph::new("g");
    let names: Vec<String> = (0..constants.len()).map(|at| format!("c{at}")).collect();
    for (name, values) in names.iter().zip(constants) {
        // One value is a scalar, where ranges take one.
        let dims = if values.len() == 1 && op == "Range" {
            vec![]
        } else {
            vec![values.len()]
        };
        graph.constant_i64(name, &dims, values);
    }
    let inputs: Vec<&str> = names.iter().map(String::as_str).collect();
    graph.node(op, &inputs, &["y"], vec![]);
    graph.output("y", Elem::I64, &fixed(&[1]));
    graph.into_bytes()
}

/// Integers of an input, divided by a constant.
fn divided(by: i64) -> Vec<u8> {
    let mut graph = Graph::new("g");
    graph.input("x", Elem::I64, &fixed(&[2]));
    graph.constant_i64("by", &[1], &[by]);
    graph.node("Div", &["x", "by"], &["y"], vec![]);
    graph.output("y", Elem::I64, &fixed(&[2]));
    graph.into_bytes()
}
