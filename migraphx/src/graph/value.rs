//! Values of a graph, and the checks of who may use them.

use crate::argument::Argument;
use crate::error::{Error, Result};
use crate::ffi::handle::InstructionHandle;
use crate::graph::Graph;
use crate::graph::infer::Known;

/// A value of a [`Graph`]: a parameter, a constant, or what an operator gives.
///
/// It can be copied, and belongs to its graph: no other takes it. Values of a
/// submodule can be used in it and in submodules within it.
#[doc(alias = "migraphx_instruction")]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Value {
    pub(super) graph: u64,
    pub(super) index: usize,
}

/// What is behind a value.
pub(super) struct Node {
    pub(super) instruction: InstructionHandle,
    pub(super) known: Known,
    /// The least and the largest element of an integer literal.
    pub(super) range: Option<(i64, i64)>,
    /// Parameters of submodules in whose memory the value may lie.
    pub(super) views: Vec<usize>,
    pub(super) module: usize,
}

impl Graph {
    /// The position of a value of this graph.
    pub(super) fn own(&self, value: Value) -> Result<usize> {
        match value.graph == self.id {
            true => Ok(value.index),
            false => Err(Error::Graph {
                what: "a value".into(),
                problem: "it belongs to another graph; make it in this one".into(),
            }),
        }
    }

    /// The nodes of values that the module which is being built may use.
    pub(super) fn visible(&self, values: &[Value]) -> Result<Vec<&Node>> {
        let node = |value: &Value| {
            let node = &self.nodes[self.own(*value)?];
            match self.open.contains(&node.module) {
                true => Ok(node),
                false => Err(Error::Graph {
                    what: "a value".into(),
                    problem: format!(
                        "it belongs to the submodule `{}`, and is not to be had outside of it; \
                         make it one of its outputs",
                        self.modules[node.module].name
                    ),
                }),
            }
        };
        values.iter().map(node).collect()
    }
}

/// The least and the largest element, where they are indices.
pub(super) fn integer_range(data: &Argument) -> Option<(i64, i64)> {
    fn range(values: impl Iterator<Item = i64> + Clone) -> Option<(i64, i64)> {
        Some((values.clone().min()?, values.max()?))
    }
    if let Ok(values) = data.as_slice::<i64>() {
        return range(values.iter().copied());
    }
    let values = data.as_slice::<i32>().ok()?;
    range(values.iter().map(|value| i64::from(*value)))
}
