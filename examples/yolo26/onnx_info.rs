//! What the commands read from an ONNX file besides what MIGraphX parses: the
//! input's dimensions as exported, and the exporter's metadata.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use prost::Message;

/// Class numbers to names.
pub type Names = BTreeMap<usize, String>;

/// The export.
#[derive(Debug, PartialEq)]
pub struct OnnxInfo {
    /// Name of the image input.
    pub input: String,
    /// Its dimensions; `None` where the export leaves one open.
    pub dims: Vec<Option<usize>>,
    /// Pixels a side that the exporter was asked for.
    pub imgsz: Option<usize>,
    /// The class names; empty where the file has none.
    pub names: Names,
}

impl OnnxInfo {
    /// Reads the file at `path`.
    pub fn read(path: &Path) -> Result<Self> {
        let bytes = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
        OnnxInfo::from_bytes(&bytes).with_context(|| {
            let path = path.display();
            format!("{path} is not a usable ONNX model (a compiled program must end in .mxr)")
        })
    }

    fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let model = Model::decode(bytes)?;
        let graph = model.graph.context("it has no graph")?;
        // Old exporters list the weights among the inputs too.
        let is_weight = |v: &Value| graph.initializer.iter().any(|w| w.name == v.name);
        let inputs: Vec<&Value> = graph.input.iter().filter(|v| !is_weight(v)).collect();
        let [input] = inputs[..] else {
            bail!(
                "it has {} inputs; a detector has one, the images",
                inputs.len()
            );
        };
        let text = |key: &str| {
            model
                .metadata
                .iter()
                .find(|m| m.key == key)
                .map(|m| m.value.as_str())
                .unwrap_or("")
        };
        Ok(OnnxInfo {
            input: input.name.clone(),
            dims: input.dims(),
            imgsz: numbers(text("imgsz")).first().copied(),
            names: names(text("names")),
        })
    }

    /// Does the export leave a dimension of the images open?
    pub fn is_dynamic(&self) -> bool {
        self.dims.iter().any(Option::is_none)
    }
}

/// `[640, 640]`.
fn numbers(text: &str) -> Vec<usize> {
    let digits = text.split(|c: char| !c.is_ascii_digit());
    digits.filter_map(|n| n.parse().ok()).collect()
}

/// A Python dict of numbers and strings: `{0: 'person', 1: "it's"}`.
fn names(text: &str) -> Names {
    let mut names = Names::new();
    let mut rest = text;
    while let Some((before, quote, after)) = next_quote(rest) {
        let number = before.trim_matches(|c: char| !c.is_ascii_digit()).parse();
        let mut name = String::new();
        let mut chars = after.char_indices();
        rest = "";
        while let Some((at, c)) = chars.next() {
            match c {
                '\\' => name.extend(chars.next().map(|(_, c)| c)),
                c if c == quote => {
                    rest = &after[at + 1..];
                    break;
                }
                c => name.push(c),
            }
        }
        if let Ok(number) = number {
            names.insert(number, name);
        }
    }
    names
}

fn next_quote(text: &str) -> Option<(&str, char, &str)> {
    let at = text.find(['\'', '"'])?;
    Some((&text[..at], text[at..].chars().next()?, &text[at + 1..]))
}

// The part of onnx.proto that this needs; what is not declared is skipped.

#[derive(Clone, PartialEq, Message)]
struct Model {
    #[prost(message, optional, tag = "7")]
    graph: Option<Graph>,
    #[prost(message, repeated, tag = "14")]
    metadata: Vec<Metadata>,
}

#[derive(Clone, PartialEq, Message)]
struct Metadata {
    #[prost(string, tag = "1")]
    key: String,
    #[prost(string, tag = "2")]
    value: String,
}

#[derive(Clone, PartialEq, Message)]
struct Graph {
    #[prost(message, repeated, tag = "5")]
    initializer: Vec<Weight>,
    #[prost(message, repeated, tag = "11")]
    input: Vec<Value>,
}

#[derive(Clone, PartialEq, Message)]
struct Weight {
    #[prost(string, tag = "8")]
    name: String,
}

#[derive(Clone, PartialEq, Message)]
struct Value {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(message, optional, tag = "2")]
    r#type: Option<Type>,
}

impl Value {
    fn dims(&self) -> Vec<Option<usize>> {
        let shape = self
            .r#type
            .iter()
            .flat_map(|t| &t.tensor)
            .flat_map(|t| &t.shape);
        shape
            .flat_map(|s| &s.dims)
            .map(|d| usize::try_from(d.value?).ok())
            .collect()
    }
}

#[derive(Clone, PartialEq, Message)]
struct Type {
    #[prost(message, optional, tag = "1")]
    tensor: Option<Tensor>,
}

#[derive(Clone, PartialEq, Message)]
struct Tensor {
    #[prost(message, optional, tag = "2")]
    shape: Option<Shape>,
}

#[derive(Clone, PartialEq, Message)]
struct Shape {
    #[prost(message, repeated, tag = "1")]
    dims: Vec<Dim>,
}

#[derive(Clone, PartialEq, Message)]
struct Dim {
    #[prost(int64, optional, tag = "1")]
    value: Option<i64>,
}

#[cfg(test)]
mod tests {
    use testkit::net::{self, Batch};

    use super::*;

    #[test]
    fn an_export_tells_its_input_and_names() {
        let info = OnnxInfo::from_bytes(&net::build(Batch::Fixed(4), 160)).unwrap();
        assert_eq!(info.input, "images");
        assert_eq!(info.dims, [Some(4), Some(3), Some(160), Some(160)]);
        assert_eq!(info.imgsz, Some(160));
        assert_eq!(info.names[&3], "yellow bar");
        assert!(!info.is_dynamic());
        let info = OnnxInfo::from_bytes(&net::build(Batch::Symbolic, 160)).unwrap();
        assert_eq!(info.dims, [None, Some(3), Some(160), Some(160)]);
        assert!(info.is_dynamic());
    }

    #[test]
    fn names_may_hold_quotes() {
        let names = names(r#"{0: 'person', 7: "it's", 12: 'a \'b\''}"#);
        let expected = [(0, "person"), (7, "it's"), (12, "a 'b'")];
        assert_eq!(names, expected.map(|(i, s)| (i, s.to_owned())).into());
        assert!(super::names("").is_empty());
    }

    #[test]
    fn what_is_no_model_is_told() {
        let refused = |bytes: &[u8]| format!("{:#}", OnnxInfo::from_bytes(bytes).unwrap_err());
        assert_eq!(refused(b""), "it has no graph");
        assert!(refused(&testkit::models::add(&[2])).contains("2 inputs"));
        assert!(!refused(b"not protobuf at all").is_empty());
    }
}
