//! Refuses what MIGraphX's ONNX parser does not survive, or reads as something
//! else (from its sources, 7.1, and tried on the library).

mod external;
mod inputs;
mod rules;
mod tensor;
mod values;

pub(super) use external::Folders;

use values::Values;

use super::OnnxOptions;
use super::model::{self, Graph, Node};
use crate::error::{Error, Result};
use crate::protobuf::Malformed;

/// Protocol Buffers of C++ take a hundred messages inside one another, and a
/// graph within a graph is three deeper.
const DEEPEST_GRAPH: usize = 33;

/// What is wrong, and with what.
#[derive(Debug, PartialEq, Eq)]
struct Refused {
    place: String,
    problem: String,
}

impl Refused {
    fn new(place: impl Into<String>, problem: impl Into<String>) -> Self {
        Refused {
            place: place.into(),
            problem: problem.into(),
        }
    }
}

impl From<Malformed> for Refused {
    fn from(_: Malformed) -> Self {
        Refused::new(
            "",
            "is no ONNX model, or is damaged: its bytes are no Protocol Buffer of that kind; \
             write or copy it again",
        )
    }
}

/// What the check saw of a model.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Seen {
    /// It keeps tensors in other files.
    pub(super) external: bool,
}

/// Checks a model.
pub(super) fn check(
    bytes: &[u8],
    name: &str,
    options: &OnnxOptions,
    folders: Folders,
) -> Result<Seen> {
    let mut check = Check {
        folders,
        seen: Seen::default(),
    };
    let refuse = |refused: Refused| Error::Model {
        what: match &*refused.place {
            "" => name.into(),
            place => format!("{name}: {place}"),
        },
        problem: refused.problem,
    };
    let empty = || Error::EmptyModel { what: name.into() };
    let graph = model::graph_of(bytes).map_err(|malformed| refuse(malformed.into()))?;
    let graph = Graph::read(graph.ok_or_else(empty)?);
    let graph = graph.map_err(|malformed| refuse(malformed.into()))?;
    if graph.outputs == 0 {
        return Err(empty());
    }
    let values = Values::of_model(&graph, options);
    check.graph(&graph, &values, 1).map_err(refuse)?;
    Ok(check.seen)
}

struct Check {
    folders: Folders,
    seen: Seen,
}

impl Check {
    fn graph(
        &mut self,
        graph: &Graph<'_>,
        values: &Values<'_>,
        depth: usize,
    ) -> Result<(), Refused> {
        for input in &graph.inputs {
            if input.name.contains(&0) {
                return Err(Refused::new(
                    format!("input `{}`", shown(input.name)),
                    "has a NUL in its name, at which C would cut it; rename it",
                ));
            }
        }
        for tensor in &graph.initializers {
            self.tensor(tensor, || format!("tensor `{}`", shown(tensor.name)))?;
        }
        for node in &graph.nodes {
            self.node(node, values, depth)?;
        }
        Ok(())
    }

    fn node(&mut self, node: &Node<'_>, values: &Values<'_>, depth: usize) -> Result<(), Refused> {
        for attribute in node.attributes() {
            let name = shown(attribute.name);
            if let Some(tensor) = &attribute.tensor {
                self.tensor(tensor, || format!("attribute `{name}` of {}", place(node)))?;
            }
        }
        // Only now are the values of constants known to be there.
        if let Some(problem) = rules::problem_of(node, values) {
            return Err(Refused::new(place(node), problem));
        }
        for graph in node
            .attributes()
            .iter()
            .filter_map(|attribute| attribute.graph)
        {
            if depth == DEEPEST_GRAPH {
                return Err(Refused::new(
                    place(node),
                    format!(
                        "holds a graph inside {depth} others; Protocol Buffers end at \
                         {DEEPEST_GRAPH}"
                    ),
                ));
            }
            let graph = Graph::read(graph)?;
            self.graph(&graph, &values.inner(&graph), depth + 1)?;
        }
        Ok(())
    }
}

/// How an error names a node.
fn place(node: &Node<'_>) -> String {
    let name = match (node.name, node.outputs.first()) {
        (b"", Some(output)) => format!("that makes `{}`", shown(output)),
        (name, _) => format!("`{}`", shown(name)),
    };
    format!("node {name} ({})", shown(node.op))
}

/// Names are bytes; an error is text.
fn shown(name: &[u8]) -> String {
    name.utf8_chunks()
        .flat_map(|chunk| {
            chunk
                .valid()
                .escape_debug()
                .chain((!chunk.invalid().is_empty()).then_some('\u{fffd}'))
        })
        .collect()
}
