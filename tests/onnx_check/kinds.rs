//! The kinds of models that are refused, each as small as it can be.

use testkit::onnx::proto::TensorProto;
use testkit::onnx::{Attr, Dim, Elem, Graph, fixed};

pub struct Kind {
    pub name: &'static str,
    pub model: Vec<u8>,
    /// What the error says, among other words.
    pub words: &'static [&'static str],
    /// The model with the one thing put right.
    pub right: Option<Vec<u8>>,
}

type Make<T> = fn(T) -> Vec<u8>;

/// One that is made from a wrong value, and from a right one.
fn kind<T>(
    name: &'static str,
    make: Make<T>,
    wrong: T,
    right: T,
    words: &'static [&'static str],
) -> Kind {
    Kind {
        name,
        model: make(wrong),
        words,
        right: Some(make(right)),
    }
}

pub fn kinds() -> Vec<Kind> {
    let mut kinds = damaged();
    kinds.extend(tensors());
    kinds.extend(sizes());
    kinds.extend(indices());
    kinds
}

fn damaged() -> Vec<Kind> {
    let whole = testkit::models::add_weights(&[1.0, 2.0]);
    let refused = |name, model, words| Kind {
        name,
        model,
        words,
        right: None,
    };
    vec![
        refused(
            "text",
            b"<html>not a model</html>".to_vec(),
            &["is no ONNX model"],
        ),
        refused(
            "cut off",
            whole[..whole.len() - 9].to_vec(),
            &["damaged", "copy it again"],
        ),
        kind(
            "graphs inside graphs",
            nested,
            33,
            32,
            &["inside 33 others"],
        ),
        kind(
            "NUL in a name",
            named,
            "a\0b",
            "ab",
            &["input `a\\0b`", "NUL", "rename"],
        ),
    ]
}

/// `If` within `If`, so many deep.
fn nested(depth: usize) -> Vec<u8> {
    let mut inner = Graph::new("innermost");
    inner.constant_f32("c", &[1], &[1.0]);
    inner.output("c", Elem::F32, &fixed(&[1]));
    for _ in 0..depth {
        let mut graph = Graph::new("g");
        graph.input("x", Elem::Bool, &fixed(&[1]));
        let branch = |graph: &Graph| Attr::Graph(graph.clone());
        let branches = vec![("then_branch", branch(&inner))];
        graph.node("If", &["x"], &["y"], branches);
        graph.output("y", Elem::F32, &fixed(&[1]));
        inner = graph;
    }
    inner.into_bytes()
}

fn named(input: &'static str) -> Vec<u8> {
    let mut graph = Graph::new("g");
    graph.input(input, Elem::F32, &fixed(&[1]));
    graph.node("Relu", &[input], &["y"], vec![]);
    graph.output("y", Elem::F32, &fixed(&[1]));
    graph.into_bytes()
}

fn tensors() -> Vec<Kind> {
    let raw = |dims: &[i64], dtype, bytes: usize| TensorProto {
        dims: dims.to_vec(),
        data_type: dtype,
        raw_data: Some(vec![1; bytes]),
        ..Default::default()
    };
    let floats = |dims: &[i64], count| TensorProto {
        dims: dims.to_vec(),
        data_type: 1,
        float_data: vec![1.0; count],
        ..Default::default()
    };
    let integers = |dtype, count| TensorProto {
        dims: vec![4],
        data_type: dtype,
        int32_data: vec![1; count],
        ..Default::default()
    };
    let longs = |count| TensorProto {
        dims: vec![4],
        data_type: 7,
        int64_data: vec![1; count],
        ..Default::default()
    };
    let doubles = |count| TensorProto {
        dims: vec![4],
        data_type: 11,
        double_data: vec![1.0; count],
        ..Default::default()
    };
    let unsigned = |count| TensorProto {
        dims: vec![4],
        data_type: 13,
        uint64_data: vec![1; count],
        ..Default::default()
    };
    let (int4, fp4) = (22, 23);
    vec![
        kind(
            "raw too short",
            tensor,
            raw(&[1000, 1000], 1, 8),
            raw(&[2], 1, 8),
            &[
                "tensor `w`",
                "8 bytes",
                "[1000, 1000] of float take 4000000",
                "export",
            ],
        ),
        kind(
            "raw too long",
            tensor,
            raw(&[1], 1, 8),
            raw(&[2], 1, 8),
            &["8 bytes", "take 4"],
        ),
        kind(
            "no values",
            tensor,
            floats(&[4], 0),
            floats(&[4], 4),
            &["lists 0 values"],
        ),
        kind(
            "floats too many",
            tensor,
            floats(&[2], 100_000),
            floats(&[2], 2),
            &["lists 100000 values", "[2] of float take 2"],
        ),
        kind(
            "half, too few",
            tensor,
            integers(10, 3),
            integers(10, 4),
            &["of float16 take 4"],
        ),
        kind(
            "int8, too many",
            tensor,
            integers(3, 9),
            integers(3, 4),
            &["of int8 take 4"],
        ),
        kind(
            "int64, too few",
            tensor,
            longs(1),
            longs(4),
            &["of int64 take 4"],
        ),
        kind(
            "double, too few",
            tensor,
            doubles(1),
            doubles(4),
            &["of double take 4"],
        ),
        kind(
            "uint64, too few",
            tensor,
            unsigned(1),
            unsigned(4),
            &["of uint64 take 4"],
        ),
        kind(
            "bfloat16, raw",
            tensor,
            raw(&[4], 16, 4),
            raw(&[4], 16, 8),
            &["bfloat16 take 8"],
        ),
        kind(
            "fp8, raw",
            tensor,
            raw(&[4], 18, 2),
            raw(&[4], 18, 4),
            &["fnuz take 4"],
        ),
        kind(
            "bool, raw",
            tensor,
            raw(&[4], 9, 2),
            raw(&[4], 9, 4),
            &["bool take 4"],
        ),
        kind(
            "int4, raw",
            tensor,
            raw(&[3, 4], int4, 5),
            raw(&[3, 4], int4, 6),
            &["take 6"],
        ),
        kind(
            "int4, odd",
            tensor,
            raw(&[2, 3], int4, 3),
            raw(&[2, 4], int4, 4),
            &["even"],
        ),
        kind(
            "int4, scalar",
            tensor,
            raw(&[], int4, 1),
            raw(&[2], int4, 1),
            &["even"],
        ),
        kind(
            "fp4",
            tensor,
            raw(&[4], fp4, 2),
            raw(&[0], fp4, 0),
            &["4-bit floats"],
        ),
        kind(
            "negative size",
            tensor,
            raw(&[-2], 1, 8),
            raw(&[2], 1, 8),
            &["[-2]", "negative"],
        ),
        kind(
            "sizes that wrap",
            tensor,
            raw(&[1 << 32, 1 << 32], 1, 8),
            raw(&[2], 1, 8),
            &["larger than memory"],
        ),
        kind(
            "attribute",
            constant,
            raw(&[4], 1, 8),
            raw(&[2], 1, 8),
            &[
                "attribute `value` of node `Constant_0` (Constant)",
                "take 16",
            ],
        ),
        kind(
            "in a branch",
            branch,
            raw(&[400], 1, 8),
            raw(&[2], 1, 8),
            &["take 1600"],
        ),
    ]
}

fn tensor(tensor: TensorProto) -> Vec<u8> {
    let mut graph = Graph::new("g");
    graph.constant(TensorProto {
        name: "w".into(),
        ..tensor
    });
    graph.node("Identity", &["w"], &["y"], vec![]);
    graph.output("y", Elem::F32, &fixed(&[1]));
    graph.into_bytes()
}

fn constant(tensor: TensorProto) -> Vec<u8> {
    let mut graph = Graph::new("g");
    graph.node(
        "Constant",
        &[],
        &["c"],
        vec![("value", Attr::Tensor(tensor))],
    );
    graph.node("Identity", &["c"], &["y"], vec![]);
    graph.output("y", Elem::F32, &fixed(&[1]));
    graph.into_bytes()
}

fn branch(tensor: TensorProto) -> Vec<u8> {
    let mut inner = Graph::new("branch");
    inner.node(
        "Constant",
        &[],
        &["c"],
        vec![("value", Attr::Tensor(tensor))],
    );
    inner.output("c", Elem::F32, &fixed(&[2]));
    let mut graph = Graph::new("g");
    graph.input("x", Elem::Bool, &fixed(&[1]));
    let branches = ["then_branch", "else_branch"].map(|name| (name, Attr::Graph(inner.clone())));
    graph.node("If", &["x"], &["y"], branches.to_vec());
    graph.output("y", Elem::F32, &fixed(&[2]));
    graph.into_bytes()
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

fn sizes() -> Vec<Kind> {
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

/// `x`, f32 of `[rows, 2]`; the indices are a constant of `dims`.
struct Indexed {
    op: &'static str,
    rows: Dim,
    dims: &'static [usize],
    indices: &'static [i64],
}

fn indexed(given: Indexed) -> Vec<u8> {
    let mut graph = Graph::new("g");
    graph.input("x", Elem::F32, &[given.rows, Dim::Fixed(2)]);
    graph.constant_i64("at", given.dims, given.indices);
    let mut inputs = vec!["x", "at"];
    if given.op.starts_with("Scatter") {
        let (dims, count) = match given.op {
            "ScatterND" => (vec![given.dims[0], 2], given.dims[0] * 2),
            _ => (given.dims.to_vec(), given.indices.len()),
        };
        graph.constant_f32("updates", &dims, &vec![1.0; count]);
        inputs.push("updates");
    }
    let axis = match given.op {
        "GatherND" | "ScatterND" => vec![],
        _ => vec![("axis", Attr::Int(0))],
    };
    let outputs = if given.op == "TopK" {
        &["y", "z"][..]
    } else {
        &["y"]
    };
    graph.node(given.op, &inputs, outputs, axis);
    graph.output("y", Elem::F32, &fixed(&[1]));
    graph.into_bytes()
}

fn indices() -> Vec<Kind> {
    let at = |op, dims, indices| Indexed {
        op,
        rows: Dim::Fixed(4),
        dims,
        indices,
    };
    let open = |indices| Indexed {
        rows: Dim::Symbol("n"),
        ..at("TopK", &[1], indices)
    };
    let far = &["index 40000000 of 4 along axis 0", "`input_dims`"];
    let before = &["index -40000000 of 4"];
    vec![
        kind(
            "TopK, k too large",
            indexed,
            at("TopK", &[1], &[500]),
            at("TopK", &[1], &[4]),
            &["takes the 500", "of 4 along axis 0", "smaller k"],
        ),
        kind(
            "TopK, k negative",
            indexed,
            at("TopK", &[1], &[-5]),
            at("TopK", &[1], &[1]),
            &["takes the -5"],
        ),
        kind(
            "TopK of an open size",
            indexed,
            open(&[300]),
            open(&[1]),
            &["of 1", "input_dims"],
        ),
        kind(
            "Gather",
            indexed,
            at("Gather", &[2], &[0, 40_000_000]),
            at("Gather", &[2], &[-4, 3]),
            far,
        ),
        kind(
            "GatherElements",
            indexed,
            at("GatherElements", &[1, 2], &[0, 40_000_000]),
            at("GatherElements", &[1, 2], &[0, 3]),
            far,
        ),
        kind(
            "GatherND",
            indexed,
            at("GatherND", &[2, 1], &[0, 40_000_000]),
            at("GatherND", &[2, 1], &[-4, 3]),
            far,
        ),
        kind(
            "ScatterElements",
            indexed,
            at("ScatterElements", &[1, 2], &[0, 40_000_000]),
            at("ScatterElements", &[1, 2], &[-4, 3]),
            far,
        ),
        kind(
            "ScatterElements, negative",
            indexed,
            at("ScatterElements", &[1, 2], &[0, -40_000_000]),
            at("ScatterElements", &[1, 2], &[-4, 3]),
            before,
        ),
        kind(
            "ScatterND",
            indexed,
            at("ScatterND", &[2, 1], &[0, 40_000_000]),
            at("ScatterND", &[2, 1], &[0, 3]),
            far,
        ),
        kind(
            "ScatterND, negative",
            indexed,
            at("ScatterND", &[2, 1], &[0, -1]),
            at("ScatterND", &[2, 1], &[0, 3]),
            &["index -1 of 4"],
        ),
    ]
}
