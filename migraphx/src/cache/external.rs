//! The files that an ONNX model keeps its weights in.
//!
//! Field numbers are those of `onnx.proto3` of ONNX.

use std::collections::BTreeSet;

use crate::protobuf::{Fields, Malformed, Value, text};

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

#[cfg(test)]
mod tests {
    use super::*;

    /// A field that holds bytes.
    fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
        let tag = u16::from(number) << 3 | 2;
        let tag = match tag {
            0..128 => vec![tag as u8],
            _ => vec![tag as u8 | 0x80, (tag >> 7) as u8],
        };
        assert!(bytes.len() < 128);
        [&tag[..], &[bytes.len() as u8], bytes].concat()
    }

    fn tensor(file: &str) -> Vec<u8> {
        let entry = |key: &str, value: &str| {
            let entry = [field(1, key.as_bytes()), field(2, value.as_bytes())].concat();
            field(13, &entry)
        };
        [entry("offset", "none"), entry("location", file)].concat()
    }

    #[test]
    fn tensors_are_found_wherever_they_are() {
        let in_node = |attribute: &[u8]| field(1, &field(5, attribute));
        let branch = field(6, &field(5, &tensor("branch")));
        let graph = [
            field(5, &tensor("weights")),
            field(5, &tensor("weights")),
            field(15, &field(1, &tensor("sparse"))),
            in_node(&field(5, &tensor("constant"))),
            in_node(&branch),
        ];
        let function = field(7, &field(5, &field(5, &tensor("function"))));
        // A name that is no external data.
        let metadata = field(14, &[field(1, b"location"), field(2, b"here")].concat());
        let graph: Vec<u8> = graph.iter().flat_map(|part| field(7, part)).collect();
        let model = [graph, field(25, &function), metadata].concat();
        let files: Vec<_> = files_of(&model).unwrap().into_iter().collect();
        assert_eq!(
            files,
            ["branch", "constant", "function", "sparse", "weights"]
        );
        assert_eq!(files_of(&model[..model.len() - 1]), Err(Malformed));
    }

    #[test]
    fn deep_nesting_is_no_overflow() {
        let mut graph = Vec::new();
        while graph.len() < 120 {
            graph = field(1, &field(5, &field(6, &graph)));
        }
        assert!(files_of(&field(7, &graph)).is_ok_and(|files| files.is_empty()));
        // Longer than one byte says.
        for _ in 0..1000 {
            for number in [6u8, 5, 1] {
                let (length, bytes) = (graph.len(), graph);
                let length = [
                    length as u8 | 0x80,
                    (length >> 7) as u8 | 0x80,
                    (length >> 14) as u8,
                ];
                graph = [&[number << 3 | 2], &length[..], &bytes].concat();
            }
        }
        let length = [
            graph.len() as u8 | 0x80,
            (graph.len() >> 7) as u8 | 0x80,
            (graph.len() >> 14) as u8,
        ];
        let model = [&[7 << 3 | 2], &length[..], &graph].concat();
        assert_eq!(files_of(&model), Err(Malformed));
    }
}
