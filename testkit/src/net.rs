//! The demo detector: a network with YOLO26's output contract whose weights
//! are worked out by hand.
//!
//! Input `images`: f32 `(N, 3, S, S)`, RGB, 0 to 1. Output `output0`: f32
//! `(N, 300, 6)` = x1, y1, x2, y2, score, class in pixels of the input, best
//! score first, no NMS. Rows past the last object are all zero.
//!
//! It finds saturated red, green, blue and yellow objects on a dull ground:
//!
//! 1. **Colour**: the picture is averaged down to [`FINE`] × [`FINE`]; two 1×1
//!    convolutions turn RGB into how red, green, blue and yellow a pixel is.
//!    Grey of any brightness gives 0.
//! 2. **Cells**: a [`GRID`] × [`GRID`] grid is laid over it. A cell holds the
//!    farthest coloured place to the right, bottom, left and top, the mean
//!    strength of each colour, and the cell's own number.
//! 3. **Spread**: each cell takes the maximum of its neighbours, [`REACH`]
//!    times over, never leaving the coloured cells. So all cells of an object
//!    come to hold the object's outer edges, its strongest colours and its
//!    highest cell number.
//! 4. **Peaks**: the one cell whose own number is that highest number speaks
//!    for the object. `TopK` lists them, best first.
//!
//! Objects must lie two cells apart or they count as one, and an object may be
//! [`REACH`] cells wide and high.

mod layers;

use crate::onnx::{Dim, Elem, Graph};

/// The class names, in the order of the class numbers.
pub const NAMES: [&str; 4] = ["red disc", "green square", "blue diamond", "yellow bar"];
/// Rows of the output.
pub const ROWS: usize = 300;
/// Cells a side, whatever the size of the picture.
pub const GRID: usize = 20;
/// Pixels a side of the averaged picture that edges are measured in.
pub const FINE: usize = 80;
/// Cells that an object may span.
pub const REACH: usize = 9;

/// The number of images in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Batch {
    /// Known from the start.
    Fixed(usize),
    /// Chosen when the model is parsed: the export has a symbol there.
    Symbolic,
}

/// The model file for square pictures of `size` pixels.
///
/// # Panics
///
/// If `size` is not a multiple of [`FINE`].
pub fn build(batch: Batch, size: usize) -> Vec<u8> {
    assert!(
        size > 0 && size.is_multiple_of(FINE),
        "the demo network takes multiples of {FINE} pixels, not {size}"
    );
    let n = match batch {
        Batch::Fixed(n) => Dim::Fixed(n),
        Batch::Symbolic => Dim::Symbol("batch"),
    };
    let mut g = Graph::new("demo_detector");
    metadata(&mut g, batch, size);
    g.input(
        "images",
        Elem::F32,
        &[n, Dim::Fixed(3), Dim::Fixed(size), Dim::Fixed(size)],
    );
    layers::colour(&mut g, size / FINE);
    layers::cells(&mut g);
    layers::spread(&mut g);
    layers::peaks(&mut g);
    layers::boxes(&mut g, size);
    g.output("output0", Elem::F32, &[n, Dim::Fixed(ROWS), Dim::Fixed(6)]);
    g.into_bytes()
}

/// What Ultralytics' exporter writes beside the graph.
fn metadata(g: &mut Graph, batch: Batch, size: usize) {
    let names: Vec<String> = NAMES
        .iter()
        .enumerate()
        .map(|(i, name)| format!("{i}: '{name}'"))
        .collect();
    g.metadata("description", "hand-made demo detector");
    g.metadata("task", "detect");
    g.metadata("stride", &(size / GRID).to_string());
    g.metadata("imgsz", &format!("[{size}, {size}]"));
    g.metadata("end2end", "True");
    g.metadata("names", &format!("{{{}}}", names.join(", ")));
    if let Batch::Fixed(n) = batch {
        g.metadata("batch", &n.to_string());
    }
}

#[cfg(test)]
mod tests {
    use prost::Message;

    use super::*;
    use crate::onnx::proto::{DimensionValue, ModelProto};

    #[test]
    fn every_value_is_made_before_it_is_used() {
        for batch in [Batch::Fixed(2), Batch::Symbolic] {
            let model = ModelProto::decode(&*build(batch, 160)).unwrap();
            let graph = model.graph.unwrap();
            let mut known: Vec<&str> = graph.initializer.iter().map(|w| &*w.name).collect();
            known.extend(graph.input.iter().map(|v| &*v.name));
            for node in &graph.node {
                for input in &node.input {
                    assert!(
                        known.contains(&&**input),
                        "{}: {input} is unknown",
                        node.name
                    );
                }
                for output in &node.output {
                    assert!(!known.contains(&&**output), "{output} is made twice");
                    known.push(output);
                }
            }
            assert!(known.contains(&"output0"));
            let shape = graph.input[0]
                .r#type
                .clone()
                .unwrap()
                .tensor_type
                .unwrap()
                .shape
                .unwrap();
            let symbolic = matches!(shape.dim[0].value, Some(DimensionValue::DimParam(_)));
            assert_eq!(symbolic, batch == Batch::Symbolic);
        }
    }

    #[test]
    #[should_panic(expected = "multiples of 80 pixels, not 192")]
    fn another_size_is_refused() {
        build(Batch::Fixed(1), 192);
    }
}
