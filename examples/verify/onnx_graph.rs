//! The nodes of an ONNX file, and the file with more outputs.

use anyhow::{Context, Result};
use prost::Message;

/// A node: what it is called, what it computes, and the names of its results.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// Its place in the file.
    pub index: usize,
    pub name: String,
    pub operator: String,
    pub inputs: Vec<String>,
    pub outputs: Vec<String>,
}

/// The nodes of the main graph, in the order of the file, which is one in which
/// they can run. Constants are left out.
pub fn nodes(model: &[u8]) -> Result<Vec<Node>> {
    let graph = Model::decode(model)?
        .graph
        .context("the file has no graph")?;
    let named = |names: Vec<String>| names.into_iter().filter(|name| !name.is_empty()).collect();
    let nodes = graph.nodes.into_iter().enumerate();
    Ok(nodes
        .filter(|(_, node)| node.operator != "Constant")
        .map(|(index, node)| Node {
            index,
            name: node.name,
            operator: node.operator,
            inputs: named(node.inputs),
            outputs: named(node.outputs),
        })
        .collect())
}

/// The model with more outputs, after its own.
///
/// Two protobuf messages written one after the other are one with the lists of
/// both, so nothing of the model is taken apart.
pub fn with_outputs(model: &[u8], names: &[String]) -> Vec<u8> {
    let outputs = names.iter().map(|name| Value { name: name.clone() });
    let graph = Graph {
        nodes: Vec::new(),
        outputs: outputs.collect(),
    };
    let more = Model { graph: Some(graph) };
    [model, &more.encode_to_vec()].concat()
}

// The part of onnx.proto that this needs; what is not declared is skipped.

#[derive(Clone, PartialEq, Message)]
struct Model {
    #[prost(message, optional, tag = "7")]
    graph: Option<Graph>,
}

#[derive(Clone, PartialEq, Message)]
struct Graph {
    #[prost(message, repeated, tag = "1")]
    nodes: Vec<NodeProto>,
    #[prost(message, repeated, tag = "12")]
    outputs: Vec<Value>,
}

#[derive(Clone, PartialEq, Message)]
struct NodeProto {
    #[prost(string, repeated, tag = "1")]
    inputs: Vec<String>,
    #[prost(string, repeated, tag = "2")]
    outputs: Vec<String>,
    #[prost(string, tag = "3")]
    name: String,
    #[prost(string, tag = "4")]
    operator: String,
}

#[derive(Clone, PartialEq, Message)]
struct Value {
    #[prost(string, tag = "1")]
    name: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outputs_are_added_after_the_models_own() {
        let model = testkit::models::dynamic_linear();
        let found = nodes(&model).unwrap();
        let names: Vec<_> = found
            .iter()
            .map(|n| (n.index, n.operator.as_str()))
            .collect();
        assert_eq!(names, [(0, "MatMul"), (1, "Add")]);
        assert_eq!(found[1].inputs, ["xw", "b"]);
        let more = with_outputs(&model, &["xw".into()]);
        let outputs = Model::decode(&*more).unwrap().graph.unwrap().outputs;
        let outputs: Vec<_> = outputs.iter().map(|output| output.name.as_str()).collect();
        assert_eq!(outputs, ["y", "xw"]);
        assert_eq!(nodes(&more).unwrap(), found);
    }
}
