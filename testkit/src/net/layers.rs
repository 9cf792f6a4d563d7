//! The stages of the network, in the order of [`super`]'s description.

use super::{FINE, GRID, NAMES, REACH, ROWS};
use crate::onnx::{Attr, Elem, Graph};

/// A pixel of less colour is ground.
const GROUND: f32 = 0.16;
/// A pixel of this much colour is wholly the object's; in between it is an
/// edge, which lies as far into the pixel as its share says.
const FULL: f32 = 0.7;
const CLASSES: usize = NAMES.len();
const CELLS: usize = GRID * GRID;

/// `images` → `strength` (N, classes, FINE, FINE) of each colour, and `share`
/// (N, 1, FINE, FINE): how much of a pixel belongs to an object.
pub(super) fn colour(g: &mut Graph, grain: usize) {
    // Opponent colours: r-g, g-r, r-b, b-r, g-b, b-g, each cut off at 0.
    #[rustfmt::skip]
    let differences = [
         1., -1.,  0.,
        -1.,  1.,  0.,
         1.,  0., -1.,
        -1.,  0.,  1.,
         0.,  1., -1.,
         0., -1.,  1.,
    ];
    // red = r - max(g, b), green and blue likewise, yellow = min(r, g) - b,
    // with max and min written through |a - b| = (a - b)+ + (b - a)+.
    #[rustfmt::skip]
    let classes = [
         0.5, -0.5,  0.5, -0.5, -0.5, -0.5,
        -0.5,  0.5, -0.5, -0.5,  0.5, -0.5,
        -0.5, -0.5, -0.5,  0.5, -0.5,  0.5,
        -0.5, -0.5,  0.5, -0.5,  0.5, -0.5,
    ];
    g.constant_f32("differences.weight", &[6, 3, 1, 1], &differences);
    g.constant_f32("classes.weight", &[CLASSES, 6, 1, 1], &classes);
    g.node("AveragePool", &["images"], &["fine"], blocks(grain, grain));
    g.node(
        "Conv",
        &["fine", "differences.weight"],
        &["differences"],
        vec![],
    );
    g.node("Relu", &["differences"], &["opponents"], vec![]);
    g.node(
        "Conv",
        &["opponents", "classes.weight"],
        &["signed_strength"],
        vec![],
    );
    g.node("Relu", &["signed_strength"], &["strength"], vec![]);

    g.constant_f32("ground", &[1], &[GROUND]);
    g.constant_f32("share_scale", &[1], &[1.0 / FULL]);
    g.constant_f32("one", &[1], &[1.0]);
    let over_classes = vec![("axes", Attr::Ints(vec![1])), ("keepdims", Attr::Int(1))];
    g.node("ReduceMax", &["strength"], &["strongest"], over_classes);
    g.node("Greater", &["strongest", "ground"], &["above"], vec![]);
    g.node("Cast", &["above"], &["coloured"], to_f32());
    g.node("Mul", &["strongest", "share_scale"], &["scaled"], vec![]);
    g.node("Min", &["scaled", "one"], &["clipped"], vec![]);
    g.node("Mul", &["clipped", "coloured"], &["share"], vec![]);
}

/// `share`, `strength` → `cells` (N, 9, GRID, GRID): right, bottom, left, top,
/// the strengths, the number; and `gate` (N, 1, GRID, GRID): is it coloured?
/// Left and top count from the far side, so that all four grow outwards.
pub(super) fn cells(g: &mut Graph) {
    let cell = FINE / GRID;
    let up: Vec<f32> = (0..FINE).map(|i| i as f32).collect();
    let down: Vec<f32> = up.iter().rev().copied().collect();
    g.constant_f32("to_right", &[1, 1, 1, FINE], &up);
    g.constant_f32("to_left", &[1, 1, 1, FINE], &down);
    g.constant_f32("to_bottom", &[1, 1, FINE, 1], &up);
    g.constant_f32("to_top", &[1, 1, FINE, 1], &down);
    // One axis is pooled before places along the other are compared: the same
    // result for a fraction of the work.
    g.node("MaxPool", &["share"], &["columns"], blocks(cell, 1));
    g.node("MaxPool", &["share"], &["rows"], blocks(1, cell));
    for axis in ["columns", "rows"] {
        g.node("Ceil", &[axis], &[&format!("{axis}_mask")], vec![]);
    }
    for (axis, place, edge, window) in [
        ("columns", "to_right", "right", blocks(1, cell)),
        ("columns", "to_left", "left", blocks(1, cell)),
        ("rows", "to_bottom", "bottom", blocks(cell, 1)),
        ("rows", "to_top", "top", blocks(cell, 1)),
    ] {
        let (start, end) = (format!("{edge}_start"), format!("{edge}_end"));
        g.node("Mul", &[&format!("{axis}_mask"), place], &[&start], vec![]);
        g.node("Add", &[&start, axis], &[&end], vec![]);
        g.node("MaxPool", &[&end], &[edge], window);
    }
    g.node("MaxPool", &["columns_mask"], &["gate"], blocks(1, cell));
    g.node(
        "AveragePool",
        &["strength"],
        &["cell_strength"],
        blocks(cell, cell),
    );
    let numbers: Vec<f32> = (1..=CELLS).map(|i| i as f32).collect();
    g.constant_f32("numbers", &[1, 1, GRID, GRID], &numbers);
    g.node("Mul", &["gate", "numbers"], &["number"], vec![]);
    let channels = ["right", "bottom", "left", "top", "cell_strength", "number"];
    g.node("Concat", &channels, &["cells"], axis(1));
}

/// `cells`, `gate` → `edges`, `strengths`, `top_number`: the maximum over each
/// object, in every cell of it.
pub(super) fn spread(g: &mut Graph) {
    let mut now = "cells".to_owned();
    for step in 1..=REACH {
        let (grown, next) = (format!("grown_{step}"), format!("spread_{step}"));
        let window = vec![
            ("kernel_shape", Attr::Ints(vec![3, 3])),
            ("pads", Attr::Ints(vec![1, 1, 1, 1])),
            ("strides", Attr::Ints(vec![1, 1])),
        ];
        g.node("MaxPool", &[&now], &[&grown], window);
        g.node("Mul", &[&grown, "gate"], &[&next], vec![]);
        now = next;
    }
    g.constant_i64("parts", &[3], &[4, CLASSES as i64, 1]);
    g.node(
        "Split",
        &[&now, "parts"],
        &["edges", "strengths", "top_number"],
        axis(1),
    );
}

/// → `score` (N, 300, 1) and `place` (N, 300, 1), the number of the cell.
pub(super) fn peaks(g: &mut Graph) {
    let over_classes = vec![("axes", Attr::Ints(vec![1])), ("keepdims", Attr::Int(1))];
    g.node("ReduceMax", &["strengths"], &["top_strength"], over_classes);
    g.node("Equal", &["top_number", "number"], &["own"], vec![]);
    g.node("Cast", &["own"], &["own_f"], to_f32());
    g.node("Mul", &["own_f", "top_strength"], &["peak"], vec![]);
    g.constant_i64("flat", &[2], &[-1, CELLS as i64]);
    g.constant_i64("k", &[1], &[ROWS as i64]);
    g.constant_i64("axis_2", &[1], &[2]);
    g.node("Reshape", &["peak", "flat"], &["peaks"], vec![]);
    g.node("TopK", &["peaks", "k"], &["scores", "places"], axis(-1));
    g.node("Unsqueeze", &["scores", "axis_2"], &["score"], vec![]);
    g.node("Unsqueeze", &["places", "axis_2"], &["place"], vec![]);
}

/// `edges` and `strengths` at `place` → `output0`.
pub(super) fn boxes(g: &mut Graph, size: usize) {
    g.node("Concat", &["place"; 4], &["places_4"], axis(2));
    for (map, channels, picked) in [
        ("edges", 4, "picked_edges"),
        ("strengths", CLASSES, "picked_strengths"),
    ] {
        let [dims, rows, columns] = ["dims", "rows", "columns"].map(|s| format!("{map}_{s}"));
        g.constant_i64(&dims, &[3], &[-1, channels as i64, CELLS as i64]);
        g.node("Reshape", &[map, &dims], &[&rows], vec![]);
        let perm = vec![("perm", Attr::Ints(vec![0, 2, 1]))];
        g.node("Transpose", &[&rows], &[&columns], perm);
        g.node(
            "GatherElements",
            &[&columns, "places_4"],
            &[picked],
            axis(1),
        );
    }

    // From the fine picture's pixels to the input's; left and top turn back.
    // A row of score 0 is no object: it keeps zeros instead of `size - 0`.
    g.constant_f32("grain", &[1], &[(size / FINE) as f32]);
    g.constant_f32("size", &[1], &[size as f32]);
    g.constant_i64("halves", &[2], &[2, 2]);
    g.node("Sign", &["score"], &["real"], vec![]);
    g.node("Mul", &["picked_edges", "grain"], &["pixels"], vec![]);
    g.node(
        "Split",
        &["pixels", "halves"],
        &["to_lower", "from_far"],
        axis(2),
    );
    g.node("Sub", &["size", "from_far"], &["to_upper"], vec![]);
    g.node("Mul", &["to_upper", "real"], &["upper_left"], vec![]);
    g.node("Mul", &["to_lower", "real"], &["lower_right"], vec![]);

    let best = vec![("axis", Attr::Int(2)), ("keepdims", Attr::Int(1))];
    g.node("ArgMax", &["picked_strengths"], &["class_number"], best);
    g.node("Cast", &["class_number"], &["class_f"], to_f32());
    g.node("Mul", &["class_f", "real"], &["class"], vec![]);
    g.node(
        "Concat",
        &["upper_left", "lower_right", "score", "class"],
        &["output0"],
        axis(2),
    );
}

/// A pooling window of `h` × `w` pixels, side by side.
fn blocks(h: usize, w: usize) -> Vec<(&'static str, Attr)> {
    let window = Attr::Ints(vec![h as i64, w as i64]);
    vec![("kernel_shape", window.clone()), ("strides", window)]
}

fn axis(axis: i64) -> Vec<(&'static str, Attr)> {
    vec![("axis", Attr::Int(axis))]
}

fn to_f32() -> Vec<(&'static str, Attr)> {
    vec![("to", Attr::Int(Elem::F32 as i64))]
}
