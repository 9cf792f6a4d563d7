//! Little frozen graphs for tests, each as the bytes of its file.

use super::{Attr, Elem, Graph};

/// `y = relu(x + b)`, f32 with an open batch: `x` is `[-1, 4]`, `b` is
/// `[1, -2, 3, -4]`.
pub fn add_relu() -> Vec<u8> {
    let mut g = Graph::new();
    g.placeholder("x", Elem::F32, &[-1, 4]);
    g.constant_f32("b", &[4], &[1.0, -2.0, 3.0, -4.0]);
    g.node("Add", "sum", &["x", "b"], vec![]);
    g.node("Relu", "y", &["sum"], vec![]);
    g.into_bytes()
}

/// Convolution, bias, ReLU and reshape in TensorFlow's usual layout: `images`
/// is f32 `[batch, size, size, 2]` (NHWC), the weights are `[2, 2, 2, 3]`
/// (height, width, in, out) and count 0, 0.5, 1, …; `features` is
/// `[batch, size - 1, size - 1, 3]`, `flat` all of it as `[1, -1]`.
pub fn conv(batch: i64, size: i64) -> Vec<u8> {
    let mut g = Graph::new();
    let weights: Vec<f32> = (0..24).map(|i| i as f32 * 0.5).collect();
    g.placeholder("images", Elem::F32, &[batch, size, size, 2]);
    g.constant_f32("weights", &[2, 2, 2, 3], &weights);
    g.constant_f32("bias", &[3], &[-30.0, 0.0, 30.0]);
    let attributes = vec![
        ("strides", Attr::Ints(vec![1, 1, 1, 1])),
        ("padding", Attr::Text("VALID")),
        ("data_format", Attr::Text("NHWC")),
    ];
    g.node("Conv2D", "conv", &["images", "weights"], attributes);
    g.node("BiasAdd", "biased", &["conv", "bias"], vec![]);
    g.node("Relu", "features", &["biased"], vec![]);
    g.constant_i32("flat_shape", &[1, -1]);
    g.node("Reshape", "flat", &["features", "flat_shape"], vec![]);
    g.into_bytes()
}
