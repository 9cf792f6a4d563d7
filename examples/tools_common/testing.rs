//! What the tests of the tools share.

use std::path::PathBuf;

use tempfile::TempDir;
use testkit::onnx::{Attr, Elem, Graph, fixed};

/// A file of `tests/cases`.
pub fn case(file: &str) -> String {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    folder.join(file).display().to_string()
}

pub fn folder() -> TempDir {
    tempfile::tempdir().unwrap()
}

/// Writes a model into the folder.
pub fn model(folder: &TempDir, name: &str, bytes: &[u8]) -> String {
    let path = folder.path().join(name);
    std::fs::write(&path, bytes).unwrap();
    path.display().to_string()
}

/// The words of a command line.
pub fn words(line: &str) -> Vec<String> {
    line.split_whitespace().map(str::to_owned).collect()
}

/// A little network: convolution, relu, mean over the picture, matrix product.
pub fn network() -> Vec<u8> {
    let mut g = Graph::new("network");
    g.input("images", Elem::F32, &fixed(&[2, 3, 8, 8]));
    let weights: Vec<f32> = (0..4 * 3 * 9).map(|i| (i % 7) as f32 / 7.0 - 0.4).collect();
    g.constant_f32("k", &[4, 3, 3, 3], &weights);
    let matrix: Vec<f32> = (0..4 * 5).map(|i| i as f32 / 10.0 - 1.0).collect();
    g.constant_f32("m", &[4, 5], &matrix);
    g.node(
        "Conv",
        &["images", "k"],
        &["c"],
        vec![("pads", Attr::Ints(vec![1; 4]))],
    );
    g.node("Relu", &["c"], &["r"], vec![]);
    g.node("GlobalAveragePool", &["r"], &["p"], vec![]);
    g.node("Flatten", &["p"], &["f"], vec![]);
    g.node("MatMul", &["f", "m"], &["scores"], vec![]);
    g.output("scores", Elem::F32, &fixed(&[2, 5]));
    g.into_bytes()
}
