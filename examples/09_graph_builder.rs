//! A small convolutional network built by hand, operator by operator, and the
//! same network from ONNX: the results are equal.
//!
//! `cargo run --example 09_graph_builder`

use migraphx::{
    Argument, CompileOptions, DataType, Graph, OnnxOptions, Op, Program, Result, Shape, Target,
};
use testkit::onnx::{self, Attr, Elem, fixed};

const IMAGE: [usize; 4] = [1, 3, 8, 8];
const CHANNELS: usize = 4;
const CLASSES: usize = 5;
const FEATURES: usize = CHANNELS * 4 * 4;

fn main() -> Result<()> {
    let by_hand = by_hand()?;
    println!("Built by hand:\n{by_hand}\n");
    let from_onnx = OnnxOptions::new().parse_bytes(&as_onnx())?;

    let image = waves(IMAGE.iter().product(), 0.37);
    let (ours, theirs) = (run(by_hand, &image)?, run(from_onnx, &image)?);
    println!("class     by hand       ONNX");
    let mut largest = 0f32;
    for (class, (a, b)) in ours.iter().zip(&theirs).enumerate() {
        println!("{class:>5}  {a:.7}  {b:.7}");
        largest = largest.max((a - b).abs());
    }
    println!("largest difference: {largest:e}");
    assert!(largest <= 1e-6, "the two networks differ");
    Ok(())
}

/// Convolution, bias, ReLU, max pooling, a matrix product, softmax.
fn by_hand() -> Result<Program> {
    let mut g = Graph::new()?;
    let image = g.parameter("image", &Shape::new(DataType::Float, &IMAGE)?)?;
    let kernel = g.constant(&kernel(), &[CHANNELS, 3, 3, 3])?;
    let conv = Op::new("convolution")
        .attr("padding", [1, 1])
        .attr("stride", [1, 1]);
    let conv = g.add(conv, &[image, kernel])?;

    // Nothing is broadcast by itself: the bias of each channel is spread over it.
    let bias = g.constant(&bias(), &[CHANNELS])?;
    let dims = g.shape(conv)?.dims().to_vec();
    let spread = Op::new("broadcast").attr("axis", 1).attr("out_lens", dims);
    let bias = g.add(spread, &[bias])?;
    let biased = g.add("add", &[conv, bias])?;
    let relu = g.add("relu", &[biased])?;

    let pool = Op::new("pooling")
        .attr("mode", "max")
        .attr("lengths", [2, 2])
        .attr("stride", [2, 2]);
    let pooled = g.add(pool, &[relu])?;
    let features = g.add(Op::new("flatten").attr("axis", 1), &[pooled])?;
    let weights = g.constant(&weights(), &[FEATURES, CLASSES])?;
    let scores = g.add("dot", &[features, weights])?;
    let scores = g.add(Op::new("softmax").attr("axis", 1), &[scores])?;
    g.finish(&[scores])
}

fn as_onnx() -> Vec<u8> {
    let mut g = onnx::Graph::new("cnn");
    g.input("image", Elem::F32, &fixed(&IMAGE));
    g.constant_f32("kernel", &[CHANNELS, 3, 3, 3], &kernel());
    g.constant_f32("bias", &[CHANNELS], &bias());
    g.constant_f32("weights", &[FEATURES, CLASSES], &weights());
    let ints = |values: &[i64]| Attr::Ints(values.to_vec());
    let padded = vec![("pads", ints(&[1; 4]))];
    g.node("Conv", &["image", "kernel", "bias"], &["conv"], padded);
    g.node("Relu", &["conv"], &["relu"], vec![]);
    let halves = vec![("kernel_shape", ints(&[2, 2])), ("strides", ints(&[2, 2]))];
    g.node("MaxPool", &["relu"], &["pooled"], halves);
    let axis = || vec![("axis", Attr::Int(1))];
    g.node("Flatten", &["pooled"], &["features"], axis());
    g.node("MatMul", &["features", "weights"], &["scores"], vec![]);
    g.node("Softmax", &["scores"], &["classes"], axis());
    g.output("classes", Elem::F32, &fixed(&[1, CLASSES]));
    g.into_bytes()
}

fn run(program: Program, image: &[f32]) -> Result<Vec<f32>> {
    let mut program = program.compile(&Target::reference()?, &CompileOptions::new())?;
    let image = Argument::from_slice(image, &IMAGE)?;
    let outputs = program.run_once(&[("image", image)])?;
    Ok(outputs.slice::<f32>(0)?.to_vec())
}

/// Numbers from -1 to 1 that repeat late.
fn waves(count: usize, step: f32) -> Vec<f32> {
    (0..count).map(|i| (i as f32 * step).sin()).collect()
}

fn kernel() -> Vec<f32> {
    waves(CHANNELS * 27, 0.71)
}

fn bias() -> Vec<f32> {
    waves(CHANNELS, 1.3)
}

fn weights() -> Vec<f32> {
    waves(FEATURES * CLASSES, 0.53)
}
