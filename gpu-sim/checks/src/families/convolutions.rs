//! Convolutions and what comes with them: pooling, normalisation across channels.

use super::ints;
use crate::network::Network;
use testkit::onnx::{Attr, Elem};

pub fn conv_relu_pool() -> Network {
    let mut n = Network::new(&[2, 3, 32, 30]);
    let a = n.conv("x", [16, 3, 3, 3], 1, 1, 1, 1);
    let a = n.op("Relu", &[&a], &[]);
    let a = n.op(
        "MaxPool",
        &[&a],
        &[
            ("kernel_shape", ints(&[3, 3])),
            ("strides", ints(&[2, 2])),
            ("pads", ints(&[1; 4])),
        ],
    );
    let a = n.conv(&a, [24, 16, 3, 3], 1, 1, 1, 1);
    let s = n.op("Sigmoid", &[&a], &[]);
    let a = n.op("Mul", &[&a, &s], &[]);
    n.result(&a, Elem::F32);
    n
}

/// NHWC reaches MIOpen only where input and weights both come in at run time and nothing lies between: see
/// `LAYOUT_PASSES` in `compare.rs`.
pub fn conv_weights() -> Network {
    let mut n = Network::new(&[2, 10, 14, 15]);
    n.input("w", &[12, 10, 3, 3]);
    n.input("y", &[1, 12, 8, 9]);
    n.input("v", &[7, 12, 1, 1]);
    let a = n.op(
        "Conv",
        &["x", "w"],
        &[("pads", ints(&[1; 4])), ("strides", ints(&[2, 1]))],
    );
    let a = n.op("Relu", &[&a], &[]);
    let b = n.op("Conv", &["y", "v"], &[]);
    n.result(&a, Elem::F32);
    n.result(&b, Elem::F32);
    n
}

pub fn conv_kinds() -> Network {
    let mut n = Network::new(&[1, 8, 21, 24]);
    let a = n.conv("x", [16, 8, 3, 3], 1, 2, 1, 1);
    let b = n.conv(&a, [16, 16, 1, 1], 0, 1, 1, 1);
    let a = n.op("Add", &[&a, &b], &[]);
    let a = n.conv(&a, [8, 16, 3, 3], 2, 1, 2, 1);
    let a = n.conv(&a, [4, 8, 5, 3], 2, 1, 1, 1);
    n.result(&a, Elem::F32);
    n
}

pub fn conv_groups() -> Network {
    let mut n = Network::new(&[1, 16, 20, 20]);
    let a = n.conv("x", [32, 4, 3, 3], 1, 1, 1, 4);
    let a = n.op("Relu", &[&a], &[]);
    let a = n.conv(&a, [32, 1, 3, 3], 1, 2, 1, 32);
    let a = n.conv(&a, [64, 1, 5, 5], 2, 1, 1, 32);
    n.result(&a, Elem::F32);
    n
}

pub fn conv_ranks() -> Network {
    let mut n = Network::new(&[1, 4, 40]);
    let w = n.weights(&[8, 4, 3]);
    let a = n.op("Conv", &["x", &w], &[("pads", ints(&[1, 1]))]);
    n.result(&a, Elem::F32);
    n.input("y", &[1, 2, 6, 7, 8]);
    let w = n.weights(&[4, 2, 3, 3, 3]);
    let b = n.op("Conv", &["y", &w], &[("pads", ints(&[1; 6]))]);
    n.result(&b, Elem::F32);
    n
}

pub fn conv_transposed() -> Network {
    let mut n = Network::new(&[1, 8, 9, 10]);
    let w = n.weights(&[8, 6, 2, 2]);
    let a = n.op("ConvTranspose", &["x", &w], &[("strides", ints(&[2, 2]))]);
    let a = n.op("Relu", &[&a], &[]);
    n.result(&a, Elem::F32);
    n
}

pub fn pooling() -> Network {
    let mut n = Network::new(&[1, 6, 16, 17]);
    let a = n.op(
        "AveragePool",
        &["x"],
        &[("kernel_shape", ints(&[3, 3])), ("pads", ints(&[1; 4]))],
    );
    let b = n.op(
        "MaxPool",
        &[&a],
        &[("kernel_shape", ints(&[5, 5])), ("pads", ints(&[2; 4]))],
    );
    let c = n.op(
        "AveragePool",
        &[&b],
        &[
            ("kernel_shape", ints(&[2, 2])),
            ("strides", ints(&[2, 2])),
            ("count_include_pad", Attr::Int(1)),
        ],
    );
    let d = n.op("GlobalAveragePool", &[&c], &[]);
    n.result(&c, Elem::F32);
    n.result(&d, Elem::F32);
    n
}

pub fn lrn() -> Network {
    let mut n = Network::new(&[1, 9, 5, 6]);
    let a = n.op(
        "LRN",
        &["x"],
        &[
            ("size", Attr::Int(5)),
            ("alpha", Attr::Float(0.3)),
            ("beta", Attr::Float(0.75)),
            ("bias", Attr::Float(2.0)),
        ],
    );
    n.result(&a, Elem::F32);
    n
}

/// `ref` of 7.1 does not start its sum anew for each channel; this says the same in other operators: the
/// mean of squares over a window of channels, zeros at the ends included.
pub fn lrn_in_single_steps() -> Network {
    let mut n = Network::new(&[1, 9, 5, 6]);
    let squares = n.op("Mul", &["x", "x"], &[]);
    let flat = n.integers(&[4], &[1, 1, 9, 30]);
    let squares = n.op("Reshape", &[&squares, &flat], &[]);
    let window = [
        ("kernel_shape", ints(&[5, 1])),
        ("pads", ints(&[2, 0, 2, 0])),
        ("count_include_pad", Attr::Int(1)),
    ];
    let means = n.op("AveragePool", &[&squares], &window);
    let shape = n.integers(&[4], &[1, 9, 5, 6]);
    let means = n.op("Reshape", &[&means, &shape], &[]);
    let (alpha, k, beta) = (
        n.floats(&[1], &[0.3]),
        n.floats(&[1], &[2.0]),
        n.floats(&[1], &[0.75]),
    );
    let a = n.op("Mul", &[&means, &alpha], &[]);
    let a = n.op("Add", &[&a, &k], &[]);
    let a = n.op("Pow", &[&a, &beta], &[]);
    let a = n.op("Div", &["x", &a], &[]);
    n.result(&a, Elem::F32);
    n
}
