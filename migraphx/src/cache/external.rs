//! The files that an ONNX model keeps its weights in.
//!
//! Field numbers are those of `onnx.proto3` of ONNX.

use std::collections::BTreeSet;

use crate::tf::wire::{Fields, Malformed, Value, text};

/// Deeper than graphs are nested in models that anyone made to be used.
const MAX_DEPTH: usize = 64;

/// The names of all external data files of a model.
pub(super) fn files_of(model: &[u8]) -> Result<BTreeSet<String>, Malformed> {
    let mut files = BTreeSet::new();
    message(Kind::Model, model, &mut files, 0)?;
    Ok(files)
}

/// Messages that tensors are found in.
#[derive(Clone, Copy)]
enum Kind {
    Model,
    TrainingInfo,
    Function,
    Graph,
    Node,
    Attribute,
    SparseTensor,
    Tensor,
    /// A key and a value of external data.
    Entry,
}

impl Kind {
    /// What the field with this number holds.
    fn field(self, number: u32) -> Option<Kind> {
        Some(match (self, number) {
            (Kind::Model, 7) | (Kind::TrainingInfo, 1 | 2) => Kind::Graph,
            (Kind::Model, 20) => Kind::TrainingInfo,
            (Kind::Model, 25) => Kind::Function,
            (Kind::Graph, 1) | (Kind::Function, 7) => Kind::Node,
            (Kind::Graph, 5) => Kind::Tensor,
            (Kind::Graph, 15) => Kind::SparseTensor,
            (Kind::Node, 5) | (Kind::Function, 11) => Kind::Attribute,
            (Kind::Attribute, 5 | 10) => Kind::Tensor,
            (Kind::Attribute, 6 | 11) => Kind::Graph,
            (Kind::Attribute, 22 | 23) => Kind::SparseTensor,
            (Kind::SparseTensor, 1 | 2) => Kind::Tensor,
            (Kind::Tensor, 13) => Kind::Entry,
            _ => return None,
        })
    }
}

fn message(
    kind: Kind,
    bytes: &[u8],
    files: &mut BTreeSet<String>,
    depth: usize,
) -> Result<(), Malformed> {
    if depth > MAX_DEPTH {
        return Err(Malformed);
    }
    if let Kind::Entry = kind {
        return entry(bytes, files);
    }
    for field in Fields(bytes) {
        let (number, value) = field?;
        if let (Some(kind), Value::Bytes(bytes)) = (kind.field(number), value) {
            message(kind, bytes, files, depth + 1)?;
        }
    }
    Ok(())
}

fn entry(bytes: &[u8], files: &mut BTreeSet<String>) -> Result<(), Malformed> {
    let (mut key, mut name) = ("", "");
    for field in Fields(bytes) {
        match field? {
            (1, Value::Bytes(bytes)) => key = text(bytes)?,
            (2, Value::Bytes(bytes)) => name = text(bytes)?,
            _ => {}
        }
    }
    if key == "location" {
        files.insert(name.to_owned());
    }
    Ok(())
}
