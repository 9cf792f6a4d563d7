//! Tensors whose values do not fit their sizes.

use testkit::onnx::proto::TensorProto;
use testkit::onnx::{Attr, Elem, Graph, fixed};

use super::{Kind, kind};

pub(super) fn tensors() -> Vec<Kind> {
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
