//! The kinds of models that are refused, each as small as it can be.

mod indices;
mod sizes;
mod tensors;

use testkit::onnx::{Attr, Elem, Graph, fixed};

pub struct Kind {
    pub name: &'static str,
    pub model: Vec<u8>,
    /// What the error says, among other words.
    pub words: &'static [&'static str],
    /// The model with the one thing put right.
    pub right: Option<Vec<u8>>,
}

type Make<T> = fn(T) -> Vec<u8>;

/// One that is made from a wrong value, and from a right one.
fn kind<T>(
    name: &'static str,
    make: Make<T>,
    wrong: T,
    right: T,
    words: &'static [&'static str],
) -> Kind {
    Kind {
        name,
        model: make(wrong),
        words,
        right: Some(make(right)),
    }
}

pub fn kinds() -> Vec<Kind> {
    let mut kinds = damaged();
    kinds.extend(tensors::tensors());
    kinds.extend(sizes::sizes());
    kinds.extend(indices::indices());
    kinds
}

fn damaged() -> Vec<Kind> {
    let whole = testkit::models::add_weights(&[1.0, 2.0]);
    let refused = |name, model, words| Kind {
        name,
        model,
        words,
        right: None,
    };
    vec![
        refused(
            "text",
            b"<html>not a model</html>".to_vec(),
            &["is no ONNX model"],
        ),
        refused(
            "cut off",
            whole[..whole.len() - 9].to_vec(),
            &["damaged", "copy it again"],
        ),
        kind(
            "graphs inside graphs",
            nested,
            33,
            32,
            &["inside 33 others"],
        ),
        kind(
            "NUL in a name",
            named,
            "a\0b",
            "ab",
            &["input `a\\0b`", "NUL", "rename"],
        ),
    ]
}

/// `If` within `If`, so many deep.
fn nested(depth: usize) -> Vec<u8> {
    let mut inner = Graph::new("innermost");
    inner.constant_f32("c", &[1], &[1.0]);
    inner.output("c", Elem::F32, &fixed(&[1]));
    for _ in 0..depth {
        let mut graph = Graph::new("g");
        graph.input("x", Elem::Bool, &fixed(&[1]));
        let branch = |graph: &Graph| Attr::Graph(graph.clone());
        let branches = vec![("then_branch", branch(&inner))];
        graph.node("If", &["x"], &["y"], branches);
        graph.output("y", Elem::F32, &fixed(&[1]));
        inner = graph;
    }
    inner.into_bytes()
}

fn named(input: &'static str) -> Vec<u8> {
    let mut graph = Graph::new("g");
    graph.input(input, Elem::F32, &fixed(&[1]));
    graph.node("Relu", &[input], &["y"], vec![]);
    graph.output("y", Elem::F32, &fixed(&[1]));
    graph.into_bytes()
}
