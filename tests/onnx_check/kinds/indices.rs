//! Constant indices that are out of range.

use testkit::onnx::{Attr, Dim, Elem, Graph, fixed};

use super::{Kind, kind};

pub(super) fn indices() -> Vec<Kind> {
    let at = |op, dims, indices| Indexed {
        op,
        rows: Dim::Fixed(4),
        dims,
        indices,
    };
    let open = |indices| Indexed {
        rows: Dim::Symbol("n"),
        ..at("TopK", &[1], indices)
    };
    let far = &["index 40000000 of 4 along axis 0", "`input_dims`"];
    let before = &["index -40000000 of 4"];
    vec![
        kind(
            "TopK, k too large",
            indexed,
            at("TopK", &[1], &[500]),
            at("TopK", &[1], &[4]),
            &["takes the 500", "of 4 along axis 0", "smaller k"],
        ),
        kind(
            "TopK, k negative",
            indexed,
            at("TopK", &[1], &[-5]),
            at("TopK", &[1], &[1]),
            &["takes the -5"],
        ),
        kind(
            "TopK of an open size",
            indexed,
            open(&[300]),
            open(&[1]),
            &["of 1", "input_dims"],
        ),
        kind(
            "Gather",
            indexed,
            at("Gather", &[2], &[0, 40_000_000]),
            at("Gather", &[2], &[-4, 3]),
            far,
        ),
        kind(
            "GatherElements",
            indexed,
            at("GatherElements", &[1, 2], &[0, 40_000_000]),
            at("GatherElements", &[1, 2], &[0, 3]),
            far,
        ),
        kind(
            "GatherND",
            indexed,
            at("GatherND", &[2, 1], &[0, 40_000_000]),
            at("GatherND", &[2, 1], &[-4, 3]),
            far,
        ),
        kind(
            "ScatterElements",
            indexed,
            at("ScatterElements", &[1, 2], &[0, 40_000_000]),
            at("ScatterElements", &[1, 2], &[-4, 3]),
            far,
        ),
        kind(
            "ScatterElements, negative",
            indexed,
            at("ScatterElements", &[1, 2], &[0, -40_000_000]),
            at("ScatterElements", &[1, 2], &[-4, 3]),
            before,
        ),
        kind(
            "ScatterND",
            indexed,
            at("ScatterND", &[2, 1], &[0, 40_000_000]),
            at("ScatterND", &[2, 1], &[0, 3]),
            far,
        ),
        kind(
            "ScatterND, negative",
            indexed,
            at("ScatterND", &[2, 1], &[0, -1]),
            at("ScatterND", &[2, 1], &[0, 3]),
            &["index -1 of 4"],
        ),
    ]
}

/// `x`, f32 of `[rows, 2]`; the indices are a constant of `dims`.
struct Indexed {
    op: &'static str,
    rows: Dim,
    dims: &'static [usize],
    indices: &'static [i64],
}

fn indexed(given: Indexed) -> Vec<u8> {
    let mut graph = Graph::new("g");
    graph.input("x", Elem::F32, &[given.rows, Dim::Fixed(2)]);
    graph.constant_i64("at", given.dims, given.indices);
    let mut inputs = vec!["x", "at"];
    if given.op.starts_with("Scatter") {
        let (dims, count) = match given.op {
            "ScatterND" => (vec![given.dims[0], 2], given.dims[0] * 2),
            _ => (given.dims.to_vec(), given.indices.len()),
        };
        graph.constant_f32("updates", &dims, &vec![1.0; count]);
        inputs.push("updates");
    }
    let axis = match given.op {
        "GatherND" | "ScatterND" => vec![],
        _ => vec![("axis", Attr::Int(0))],
    };
    let outputs = if given.op == "TopK" {
        &["y", "z"][..]
    } else {
        &["y"]
    };
    graph.node(given.op, &inputs, outputs, axis);
    graph.output("y", Elem::F32, &fixed(&[1]));
    graph.into_bytes()
}
