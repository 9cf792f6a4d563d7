//! A small convolutional classifier with fixed weights, for quantizing.

use crate::onnx::{Attr, Elem, Graph, fixed};
use crate::rng::Rng;

/// Pictures are `[batch, 3, SIZE, SIZE]`.
pub const SIZE: usize = 16;
/// Scores an image.
pub const CLASSES: usize = 10;

/// The model file: `images` f32 `[batch, 3, SIZE, SIZE]` to `scores` f32
/// `[batch, CLASSES]` and `features` f32 `[batch, 16]`: two convolutions with
/// ReLU and a pooling between them, the mean of each map, and a matrix product.
pub fn build(batch: usize) -> Vec<u8> {
    let mut rng = Rng::new(11);
    // As far out as keeps the values of each layer about as large as its inputs.
    let mut weights = |dims: &[usize], fan_in: usize| -> Vec<f32> {
        let limit = (3.0 / fan_in as f32).sqrt();
        (0..dims.iter().product())
            .map(|_| rng.between(-limit, limit))
            .collect()
    };
    let mut g = Graph::new("cnn");
    g.input("images", Elem::F32, &fixed(&[batch, 3, SIZE, SIZE]));
    for (name, dims, fan_in) in [
        ("w1", &[8, 3, 3, 3][..], 27),
        ("b1", &[8], 27),
        ("w2", &[16, 8, 3, 3], 72),
        ("b2", &[16], 72),
        ("w3", &[16, CLASSES], 16),
    ] {
        let values = weights(dims, fan_in);
        g.constant_f32(name, dims, &values);
    }
    let padded = vec![("pads", Attr::Ints(vec![1; 4]))];
    g.node("Conv", &["images", "w1", "b1"], &["c1"], padded.clone());
    g.node("Relu", &["c1"], &["r1"], vec![]);
    let two = || Attr::Ints(vec![2, 2]);
    let halves = vec![("kernel_shape", two()), ("strides", two())];
    g.node("MaxPool", &["r1"], &["p1"], halves);
    g.node("Conv", &["p1", "w2", "b2"], &["c2"], padded);
    g.node("Relu", &["c2"], &["r2"], vec![]);
    g.node("GlobalAveragePool", &["r2"], &["means"], vec![]);
    g.node(
        "Flatten",
        &["means"],
        &["features"],
        vec![("axis", Attr::Int(1))],
    );
    g.node("MatMul", &["features", "w3"], &["scores"], vec![]);
    g.output("scores", Elem::F32, &fixed(&[batch, CLASSES]));
    g.output("features", Elem::F32, &fixed(&[batch, 16]));
    g.into_bytes()
}

/// A picture for the network, other for each `seed`: smooth waves of three
/// colours with a little noise, from -1 to 1.
pub fn image(seed: u64) -> Vec<f32> {
    let mut rng = Rng::new(seed);
    let mut pixels = Vec::with_capacity(3 * SIZE * SIZE);
    for _ in 0..3 {
        let (fx, fy) = (rng.between(0.1, 0.8), rng.between(0.1, 0.8));
        let (phase, level) = (rng.between(0.0, 6.0), rng.between(-0.3, 0.3));
        for at in 0..SIZE * SIZE {
            let (x, y) = ((at % SIZE) as f32, (at / SIZE) as f32);
            let wave = 0.6 * (fx * x + fy * y + phase).sin();
            pixels.push(wave + level + rng.between(-0.1, 0.1));
        }
    }
    pixels
}
