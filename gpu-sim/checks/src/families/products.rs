//! Matrix products, attention, reductions, pointwise chains, bytes, recurrent networks.

use super::ints;
use crate::network::{Network, numbers};
use testkit::onnx::{Attr, Elem};

pub fn gemm() -> Network {
    let mut n = Network::new(&[7, 33]);
    let (w, b) = (n.weights(&[33, 50]), n.weights(&[50]));
    let a = n.op("Gemm", &["x", &w, &b], &[]);
    let a = n.op("Tanh", &[&a], &[]);
    let (w, b) = (n.weights(&[20, 50]), n.weights(&[20]));
    let a = n.op(
        "Gemm",
        &[&a, &w, &b],
        &[
            ("transB", Attr::Int(1)),
            ("alpha", Attr::Float(0.5)),
            ("beta", Attr::Float(2.0)),
        ],
    );
    let t = n.op("Transpose", &[&a], &[("perm", ints(&[1, 0]))]);
    let a = n.op("MatMul", &[&t, &a], &[]);
    n.result(&a, Elem::F32);
    n
}

pub fn batched() -> Network {
    let mut n = Network::new(&[2, 3, 10, 12]);
    n.input("y", &[2, 3, 12, 9]);
    let a = n.op("MatMul", &["x", "y"], &[]);
    let w = n.weights(&[9, 11]);
    let a = n.op("MatMul", &[&a, &w], &[]);
    n.result(&a, Elem::F32);
    n
}

pub fn attention() -> Network {
    let mut n = Network::new(&[2, 24, 32]);
    let mut heads = Vec::new();
    for _ in 0..3 {
        let w = n.weights(&[32, 32]);
        let a = n.op("MatMul", &["x", &w], &[]);
        let shape = n.integers(&[4], &[2, 24, 4, 8]);
        let a = n.op("Reshape", &[&a, &shape], &[]);
        heads.push(n.op("Transpose", &[&a], &[("perm", ints(&[0, 2, 1, 3]))]));
    }
    let k = n.op("Transpose", &[&heads[1]], &[("perm", ints(&[0, 1, 3, 2]))]);
    let a = n.op("MatMul", &[&heads[0], &k], &[]);
    let scale = n.floats(&[1], &[0.353_553_4]);
    let a = n.op("Mul", &[&a, &scale], &[]);
    let a = n.op("Softmax", &[&a], &[("axis", Attr::Int(-1))]);
    let a = n.op("MatMul", &[&a, &heads[2]], &[]);
    let a = n.op("Transpose", &[&a], &[("perm", ints(&[0, 2, 1, 3]))]);
    let shape = n.integers(&[3], &[2, 24, 32]);
    let a = n.op("Reshape", &[&a, &shape], &[]);
    let a = n.op("Add", &[&a, "x"], &[]);
    n.result(&a, Elem::F32);
    n
}

pub fn reductions() -> Network {
    let mut n = Network::new(&[3, 5, 300]);
    let (scale, bias) = (n.weights(&[300]), n.weights(&[300]));
    let a = n.op(
        "LayerNormalization",
        &["x", &scale, &bias],
        &[("axis", Attr::Int(-1))],
    );
    let s = n.op("Softmax", &["x"], &[("axis", Attr::Int(2))]);
    let t = n.op("Softmax", &["x"], &[("axis", Attr::Int(1))]);
    let m = n.op("ReduceMean", &["x"], &[("axes", ints(&[0, 2]))]);
    let g = n.op("ReduceMax", &["x"], &[("axes", ints(&[1]))]);
    let l = n.op("ReduceMin", &["x"], &[("axes", ints(&[2]))]);
    for name in [&a, &s, &t, &m, &g, &l] {
        n.result(name, Elem::F32);
    }
    n
}

pub fn pointwise() -> Network {
    let mut n = Network::new(&[4, 500]);
    let mut all = Vec::new();
    for op in [
        "Erf",
        "Tanh",
        "Sigmoid",
        "Exp",
        "Abs",
        "Sin",
        "Floor",
        "Softplus",
        "Elu",
        "HardSwish",
    ] {
        all.push(n.op(op, &["x"], &[]));
    }
    let mut sum = all[0].clone();
    for (i, other) in all[1..].iter().enumerate() {
        sum = n.op(if i % 2 == 0 { "Add" } else { "Max" }, &[&sum, other], &[]);
    }
    let root = n.op("Abs", &["x"], &[]);
    let root = n.op("Sqrt", &[&root], &[]);
    n.result(&sum, Elem::F32);
    n.result(&root, Elem::F32);
    n
}

pub fn bytes() -> Network {
    let mut n = Network::new(&[1, 3, 12, 12]);
    let scale = n.floats(&[], &[1.0 / 64.0]);
    let zero = n.bytes(&[], &[0]);
    let q = n.op("QuantizeLinear", &["x", &scale, &zero], &[]);
    let x = n.op("DequantizeLinear", &[&q, &scale, &zero], &[]);
    let small: Vec<i8> = numbers(9, 8 * 27)
        .iter()
        .map(|v| (v * 127.0) as i8)
        .collect();
    let w = n.bytes(&[8, 3, 3, 3], &small);
    let w = n.op("DequantizeLinear", &[&w, &scale, &zero], &[]);
    let a = n.op("Conv", &[&x, &w], &[("pads", ints(&[1; 4]))]);
    n.result(&a, Elem::F32);
    n.input("y", &[16, 40]);
    let q = n.op("QuantizeLinear", &["y", &scale, &zero], &[]);
    let y = n.op("DequantizeLinear", &[&q, &scale, &zero], &[]);
    let small: Vec<i8> = numbers(10, 40 * 24)
        .iter()
        .map(|v| (v * 127.0) as i8)
        .collect();
    let w = n.bytes(&[40, 24], &small);
    let w = n.op("DequantizeLinear", &[&w, &scale, &zero], &[]);
    let b = n.op("MatMul", &[&y, &w], &[]);
    n.result(&b, Elem::F32);
    n
}

pub fn recurrent() -> Network {
    let mut n = Network::new(&[2, 2, 6]);
    let (w, r, b) = (
        n.weights(&[2, 32, 6]),
        n.weights(&[2, 32, 8]),
        n.weights(&[2, 64]),
    );
    let lengths: Vec<u8> = [2i32, 1].iter().flat_map(|v| v.to_le_bytes()).collect();
    let lengths = n.raw(Elem::I32, &[2], lengths);
    let attributes = [
        ("hidden_size", Attr::Int(8)),
        ("direction", Attr::Text("bidirectional")),
    ];
    for name in n.ops("LSTM", &["x", &w, &r, &b, &lengths], &attributes, 3) {
        n.result(&name, Elem::F32);
    }
    n
}
