//! Operations that move, pick and order elements, and the precompiled kernels.

use super::ints;
use crate::network::Network;
use testkit::onnx::{Attr, Elem};

pub fn moves() -> Network {
    let mut n = Network::new(&[2, 6, 8, 10]);
    let parts = n.ops("Split", &["x"], &[("axis", Attr::Int(1))], 2);
    let a = n.op(
        "Concat",
        &[&parts[1], "x", &parts[0]],
        &[("axis", Attr::Int(1))],
    );
    let t = n.op("Transpose", &[&a], &[("perm", ints(&[0, 2, 3, 1]))]);
    let (starts, ends, axes, steps) = (
        n.integers(&[2], &[1, 9]),
        n.integers(&[2], &[7, 0]),
        n.integers(&[2], &[1, 2]),
        n.integers(&[2], &[2, -3]),
    );
    let s = n.op("Slice", &[&t, &starts, &ends, &axes, &steps], &[]);
    let pads = n.integers(&[8], &[0, 1, 0, 2, 0, 0, 1, 3]);
    let p = n.op("Pad", &[&s, &pads], &[]);
    let e = n.op("Exp", &[&p], &[]);
    n.result(&e, Elem::F32);
    n.result(&t, Elem::F32);
    n
}

pub fn concat_many() -> Network {
    let mut n = Network::new(&[1, 24, 4]);
    let parts = n.ops("Split", &["x"], &[("axis", Attr::Int(1))], 24);
    let turned: Vec<String> = parts
        .iter()
        .rev()
        .enumerate()
        .map(|(i, p)| n.op(if i % 2 == 0 { "Relu" } else { "Exp" }, &[p], &[]))
        .collect();
    let refs: Vec<&str> = turned.iter().map(String::as_str).collect();
    let a = n.op("Concat", &refs, &[("axis", Attr::Int(1))]);
    n.result(&a, Elem::F32);
    n
}

pub fn resize() -> Network {
    let mut n = Network::new(&[1, 4, 6, 7]);
    let scales = n.floats(&[4], &[1.0, 1.0, 2.0, 2.0]);
    let near = n.op(
        "Resize",
        &["x", "", &scales],
        &[
            ("mode", Attr::Text("nearest")),
            ("coordinate_transformation_mode", Attr::Text("asymmetric")),
            ("nearest_mode", Attr::Text("floor")),
        ],
    );
    let smooth = n.op(
        "Resize",
        &["x", "", &scales],
        &[("mode", Attr::Text("linear"))],
    );
    n.result(&near, Elem::F32);
    n.result(&smooth, Elem::F32);
    n
}

pub fn order() -> Network {
    let mut n = Network::new(&[3, 400]);
    let k = n.integers(&[1], &[50]);
    let top = n.ops("TopK", &["x", &k], &[("axis", Attr::Int(1))], 2);
    let least = n.ops(
        "TopK",
        &["x", &k],
        &[("axis", Attr::Int(1)), ("largest", Attr::Int(0))],
        2,
    );
    // As a detector's head has it.
    n.input("y", &[1, 8400]);
    let many = n.integers(&[1], &[300]);
    let best = n.ops("TopK", &["y", &many], &[("axis", Attr::Int(1))], 2);
    let greatest = n.op("ArgMax", &["x"], &[("axis", Attr::Int(1))]);
    let smallest = n.op("ArgMin", &["x"], &[("axis", Attr::Int(0))]);
    for (value, index) in [
        (&top[0], &top[1]),
        (&least[0], &least[1]),
        (&best[0], &best[1]),
    ] {
        n.result(value, Elem::F32);
        n.result(index, Elem::I64);
    }
    n.result(&greatest, Elem::I64);
    n.result(&smallest, Elem::I64);
    n
}

pub fn indices() -> Network {
    let mut n = Network::new(&[10, 6]);
    let picks = n.integers(&[2, 3], &[9, 0, 4, 4, 1, 7]);
    let g = n.op("Gather", &["x", &picks], &[("axis", Attr::Int(0))]);
    let places = n.integers(&[3, 1], &[8, 2, 5]);
    let updates = n.weights(&[3, 6]);
    let s = n.op("ScatterND", &["x", &places, &updates], &[]);
    let columns = n.integers(&[2, 6], &[1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1, 2]);
    let e = n.op(
        "GatherElements",
        &["x", &columns],
        &[("axis", Attr::Int(0))],
    );
    let zero = n.floats(&[1], &[0.1]);
    let positive = n.op("Greater", &["x", &zero], &[]);
    let w = n.op("Where", &[&positive, "x", &zero], &[]);
    for name in [&g, &s, &e, &w] {
        n.result(name, Elem::F32);
    }
    n
}

pub fn precompiled() -> Network {
    let mut n = Network::new(&[4, 30]);
    let axis = n.integers(&[1], &[1]);
    let sums = n.op("CumSum", &["x", &axis], &[]);
    let back = n.op(
        "CumSum",
        &["x", &axis],
        &[("reverse", Attr::Int(1)), ("exclusive", Attr::Int(1))],
    );
    let log = n.op("LogSoftmax", &["x"], &[("axis", Attr::Int(1))]);
    let lengths = n.integers(&[4], &[30, 30, 30, 30]);
    let turned = n.op(
        "ReverseSequence",
        &["x", &lengths],
        &[("batch_axis", Attr::Int(0)), ("time_axis", Attr::Int(1))],
    );
    let floor = n.op("Floor", &["x"], &[]);
    let there = n.op("NonZero", &[&floor], &[]);
    for name in [&sums, &back, &log, &turned] {
        n.result(name, Elem::F32);
    }
    n.result(&there, Elem::I64);
    n
}
