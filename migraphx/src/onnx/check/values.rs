//! What a model itself says about the values in it: the sizes of inputs, and
//! constants.

use std::collections::HashMap;

use super::super::OnnxOptions;
use super::super::model::{Graph, Input, Node, Tensor};

/// A size, where it is known.
pub(super) type Size = Option<usize>;

#[derive(Debug, Default)]
pub(super) struct Known<'g> {
    /// `None` where not even their number is known.
    pub(super) dims: Option<Vec<Size>>,
    pub(super) constant: Option<&'g Tensor<'g>>,
}

/// The values that are known in a graph and in those around it.
#[derive(Debug, Default)]
pub(super) struct Values<'g> {
    around: Option<&'g Values<'g>>,
    known: HashMap<&'g [u8], Known<'g>>,
}

impl<'g> Values<'g> {
    /// Those of the outermost graph, whose inputs have the sizes of the options.
    pub(super) fn of_model(graph: &'g Graph<'g>, options: &OnnxOptions) -> Self {
        let mut values = Values::default();
        for input in &graph.inputs {
            let dims = options.sizes(input);
            values.insert(
                input.name,
                Known {
                    dims,
                    constant: None,
                },
            );
        }
        values.add_constants(graph);
        values
    }

    /// Those of a graph within this one.
    pub(super) fn inner(&'g self, graph: &'g Graph<'g>) -> Values<'g> {
        let mut values = Values {
            around: Some(self),
            known: HashMap::new(),
        };
        for input in &graph.inputs {
            values.insert(input.name, Known::default());
        }
        values.add_constants(graph);
        values
    }

    /// An initializer may be an input as well, and then is the constant.
    fn add_constants(&mut self, graph: &'g Graph<'g>) {
        for node in &graph.nodes {
            for output in &node.outputs {
                self.insert(output, Known::default());
            }
            if let (b"Constant", [output]) = (node.op, &*node.outputs) {
                let value = node.attribute("value");
                if let Some(tensor) = value.and_then(|value| value.tensor.as_ref()) {
                    self.insert(output, Known::of(tensor));
                }
            }
        }
        for tensor in &graph.initializers {
            self.insert(tensor.name, Known::of(tensor));
        }
    }

    fn insert(&mut self, name: &'g [u8], known: Known<'g>) {
        self.known.insert(name, known);
    }

    /// What is known of an input of a node.
    pub(super) fn input(&self, node: &Node<'_>, at: usize) -> Option<&Known<'g>> {
        let name: &[u8] = node.inputs.get(at)?;
        let mut values = Some(self);
        while let Some(graph) = values {
            if let Some(known) = graph.known.get(name) {
                return Some(known);
            }
            values = graph.around;
        }
        None
    }
}

impl<'g> Known<'g> {
    fn of(tensor: &'g Tensor<'g>) -> Self {
        let sizes = tensor.dims.iter().map(|size| usize::try_from(*size).ok());
        Known {
            dims: Some(sizes.collect()),
            constant: Some(tensor),
        }
    }
}

impl OnnxOptions {
    /// The sizes that the parser gives to an input.
    fn sizes(&self, input: &Input<'_>) -> Option<Vec<Size>> {
        let named = |name: &str| name.as_bytes() == input.name;
        // Of two for one name, the library keeps the last.
        if let Some((_, dims)) = self.dims.iter().rev().find(|(name, _)| named(name)) {
            return Some(dims.iter().copied().map(Some).collect());
        }
        let dims = input.dims.as_ref()?;
        let ranged = self.dynamic_dims.iter().any(|(name, _)| named(name));
        if ranged || self.default_dynamic_dim.is_some() {
            return Some(vec![None; dims.len()]);
        }
        let open = self.default_dim.unwrap_or(1);
        // The parser looks at the lower half of a size to see whether it is open.
        let size = |size: &Option<i64>| match *size {
            Some(size) if size as i32 > 0 => usize::try_from(size).unwrap_or(open),
            _ => open,
        };
        Some(dims.iter().map(|dim| Some(size(dim))).collect())
    }
}
