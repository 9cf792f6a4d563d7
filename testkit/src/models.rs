//! Little ONNX models for tests and benches, each as the bytes of its file.

use crate::onnx::{Attr, Dim, Elem, Graph, fixed};

/// `z = x + y`, all f32 of `dims`.
pub fn add(dims: &[usize]) -> Vec<u8> {
    let mut g = Graph::new("add");
    let dims = fixed(dims);
    g.input("x", Elem::F32, &dims);
    g.input("y", Elem::F32, &dims);
    g.node("Add", &["x", "y"], &["z"], vec![]);
    g.output("z", Elem::F32, &dims);
    g.into_bytes()
}

/// `z = x + y` with an f32 `x` of `[1]` and a `y` of `[n]`.
pub fn add_broadcast(n: usize) -> Vec<u8> {
    let mut g = Graph::new("add_broadcast");
    g.input("x", Elem::F32, &fixed(&[1]));
    g.input("y", Elem::F32, &fixed(&[n]));
    g.node("Add", &["x", "y"], &["z"], vec![]);
    g.output("z", Elem::F32, &fixed(&[n]));
    g.into_bytes()
}

/// `y = x`, of any element type.
pub fn identity(elem: Elem, dims: &[usize]) -> Vec<u8> {
    let mut g = Graph::new("identity");
    let dims = fixed(dims);
    g.input("x", elem, &dims);
    g.node("Identity", &["x"], &["y"], vec![]);
    g.output("y", elem, &dims);
    g.into_bytes()
}

/// `y = relu(x)`, f32.
pub fn relu(dims: &[usize]) -> Vec<u8> {
    let mut g = Graph::new("relu");
    let dims = fixed(dims);
    g.input("x", Elem::F32, &dims);
    g.node("Relu", &["x"], &["y"], vec![]);
    g.output("y", Elem::F32, &dims);
    g.into_bytes()
}

/// `y = x[:, 1:3]` of an f32 `[rows, 4]`: an output that may be a strided view
/// of the input.
pub fn slice(rows: usize) -> Vec<u8> {
    let mut g = Graph::new("slice");
    g.input("x", Elem::F32, &fixed(&[rows, 4]));
    for (name, value) in [("starts", 1), ("ends", 3), ("axes", 1)] {
        g.constant_i64(name, &[1], &[value]);
    }
    g.node("Slice", &["x", "starts", "ends", "axes"], &["y"], vec![]);
    g.output("y", Elem::F32, &fixed(&[rows, 2]));
    g.into_bytes()
}

/// `y = transpose(x)` of an f32 `[rows, columns]`.
pub fn transpose(rows: usize, columns: usize) -> Vec<u8> {
    let mut g = Graph::new("transpose");
    g.input("x", Elem::F32, &fixed(&[rows, columns]));
    g.node(
        "Transpose",
        &["x"],
        &["y"],
        vec![("perm", Attr::Ints(vec![1, 0]))],
    );
    g.output("y", Elem::F32, &fixed(&[columns, rows]));
    g.into_bytes()
}

/// Two outputs of one f32 input: `sum = x + x` and `product = x * x`.
pub fn two_outputs(dims: &[usize]) -> Vec<u8> {
    let mut g = Graph::new("two_outputs");
    let dims = fixed(dims);
    g.input("x", Elem::F32, &dims);
    g.node("Add", &["x", "x"], &["sum"], vec![]);
    g.node("Mul", &["x", "x"], &["product"], vec![]);
    g.output("sum", Elem::F32, &dims);
    g.output("product", Elem::F32, &dims);
    g.into_bytes()
}

/// `y = relu(x)`, and `x` itself as the second output, which may be the
/// input's own memory.
pub fn relu_and_passthrough(dims: &[usize]) -> Vec<u8> {
    let mut g = Graph::new("relu_and_passthrough");
    let dims = fixed(dims);
    g.input("x", Elem::F32, &dims);
    g.node("Relu", &["x"], &["y"], vec![]);
    g.node("Identity", &["x"], &["same"], vec![]);
    g.output("y", Elem::F32, &dims);
    g.output("same", Elem::F32, &dims);
    g.into_bytes()
}

/// No input; the output is the f32 vector `values`.
pub fn constant_only(values: &[f32]) -> Vec<u8> {
    let mut g = Graph::new("constant_only");
    g.constant_f32("c", &[values.len()], values);
    g.node("Identity", &["c"], &["y"], vec![]);
    g.output("y", Elem::F32, &fixed(&[values.len()]));
    g.into_bytes()
}

/// `y = x + w` with the f32 vector `w` stored in the model.
pub fn add_weights(weights: &[f32]) -> Vec<u8> {
    let mut g = Graph::new("add_weights");
    let dims = fixed(&[weights.len()]);
    g.input("x", Elem::F32, &dims);
    g.constant_f32("w", &[weights.len()], weights);
    g.node("Add", &["x", "w"], &["y"], vec![]);
    g.output("y", Elem::F32, &dims);
    g.into_bytes()
}

/// `y = data[indices]` along axis 0: f32 `data` of `[rows, columns]`, i64
/// `indices` of `[picks]`. The indices are input values.
pub fn gather(rows: usize, columns: usize, picks: usize) -> Vec<u8> {
    let mut g = Graph::new("gather");
    g.input("data", Elem::F32, &fixed(&[rows, columns]));
    g.input("indices", Elem::I64, &fixed(&[picks]));
    g.node(
        "Gather",
        &["data", "indices"],
        &["y"],
        vec![("axis", Attr::Int(0))],
    );
    g.output("y", Elem::F32, &fixed(&[picks, columns]));
    g.into_bytes()
}

/// `y = x · w + b` with a symbolic batch: `x` is f32 `[batch, 4]`, `y` is
/// `[batch, 2]`, `w` counts 0, 1, … 7 row by row and `b` is `[0.5, -0.5]`.
pub fn dynamic_linear() -> Vec<u8> {
    let mut g = Graph::new("dynamic_linear");
    let weights: Vec<f32> = (0..8).map(|i| i as f32).collect();
    g.input("x", Elem::F32, &[Dim::Symbol("batch"), Dim::Fixed(4)]);
    g.constant_f32("w", &[4, 2], &weights);
    g.constant_f32("b", &[2], &[0.5, -0.5]);
    g.node("MatMul", &["x", "w"], &["xw"], vec![]);
    g.node("Add", &["xw", "b"], &["y"], vec![]);
    g.output("y", Elem::F32, &[Dim::Symbol("batch"), Dim::Fixed(2)]);
    g.into_bytes()
}

/// The sum of the eight f32 inputs `x0` … `x7`, as `y`.
pub fn sum8(dims: &[usize]) -> Vec<u8> {
    let mut g = Graph::new("sum8");
    let dims = fixed(dims);
    let names: Vec<String> = (0..8).map(|i| format!("x{i}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    for name in &names {
        g.input(name, Elem::F32, &dims);
    }
    g.node("Sum", &names, &["y"], vec![]);
    g.output("y", Elem::F32, &dims);
    g.into_bytes()
}

/// `y = x · w` of f32 matrices, `w` (`[k, n]`, row by row) stored in the
/// model: something for `quantize_fp16` to bite on.
pub fn matmul(m: usize, k: usize, n: usize, weights: &[f32]) -> Vec<u8> {
    let mut g = Graph::new("matmul");
    g.input("x", Elem::F32, &fixed(&[m, k]));
    g.constant_f32("w", &[k, n], weights);
    g.node("MatMul", &["x", "w"], &["y"], vec![]);
    g.output("y", Elem::F32, &fixed(&[m, n]));
    g.into_bytes()
}

/// A node whose operator no runtime knows.
pub fn unknown_operator() -> Vec<u8> {
    let mut g = Graph::new("unknown_operator");
    g.input("x", Elem::F32, &fixed(&[2]));
    g.node("NoSuchOperator", &["x"], &["y"], vec![]);
    g.output("y", Elem::F32, &fixed(&[2]));
    g.into_bytes()
}

/// A graph without nodes or outputs.
pub fn empty() -> Vec<u8> {
    Graph::new("empty").into_bytes()
}
