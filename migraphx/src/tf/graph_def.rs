//! TensorFlow's GraphDef: nodes with their inputs and attributes, and of those
//! the few that the checks look into.

use std::collections::BTreeMap;

use crate::protobuf::{Fields, Malformed, Value, count_varints, text, varints};

type Result<T> = std::result::Result<T, Malformed>;

#[derive(Debug, Default)]
pub(super) struct Node<'a> {
    pub(super) name: &'a str,
    pub(super) op: &'a str,
    pub(super) inputs: Vec<&'a str>,
    /// By name, each an AttrValue.
    attributes: BTreeMap<&'a str, &'a [u8]>,
}

/// A shape as the file has it; a negative size is left open.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Dims {
    pub(super) sizes: Vec<i64>,
    pub(super) unknown_rank: bool,
}

/// A constant.
#[derive(Debug, Default)]
pub(super) struct Tensor {
    /// TensorFlow's number.
    pub(super) dtype: u64,
    pub(super) dims: Dims,
    /// How many raw bytes there are.
    pub(super) content: usize,
    /// How many values each list field has.
    lists: BTreeMap<u32, usize>,
}

/// The nodes of a graph, and whether it has a field that a SavedModel has its graphs in.
pub(super) fn read(bytes: &[u8]) -> Result<(Vec<Node<'_>>, bool)> {
    let mut nodes = Vec::new();
    let mut others = false;
    for field in Fields(bytes) {
        match field? {
            (1, Value::Bytes(node)) => nodes.push(Node::read(node)?),
            (2, Value::Bytes(_)) => others = true,
            _ => {}
        }
    }
    Ok((nodes, others))
}

impl<'a> Node<'a> {
    fn read(bytes: &'a [u8]) -> Result<Self> {
        let mut node = Node::default();
        for field in Fields(bytes) {
            match field? {
                (1, Value::Bytes(name)) => node.name = text(name)?,
                (2, Value::Bytes(op)) => node.op = text(op)?,
                (3, Value::Bytes(input)) => node.inputs.push(text(input)?),
                (5, Value::Bytes(entry)) => {
                    let (mut key, mut value) = ("", &[][..]);
                    for field in Fields(entry) {
                        match field? {
                            (1, Value::Bytes(bytes)) => key = text(bytes)?,
                            (2, Value::Bytes(bytes)) => value = bytes,
                            _ => {}
                        }
                    }
                    node.attributes.insert(key, value);
                }
                _ => {}
            }
        }
        Ok(node)
    }

    /// The value of an attribute, if it has it in the field of this number.
    fn attribute(&self, name: &str, number: u32) -> Result<Option<Value<'a>>> {
        let Some(bytes) = self.attributes.get(name) else {
            return Ok(None);
        };
        let mut values = Fields(bytes);
        let value = values.next().transpose()?;
        // C++ would merge them; nothing writes two.
        if values.next().is_some() {
            return Err(Malformed);
        }
        Ok(value.and_then(|(found, value)| (found == number).then_some(value)))
    }

    pub(super) fn integer(&self, name: &str) -> Result<Option<i64>> {
        Ok(match self.attribute(name, 3)? {
            Some(Value::Varint(value)) => Some(value as i64),
            _ => None,
        })
    }

    /// A list; empty where there is none.
    pub(super) fn integers(&self, name: &str) -> Result<Vec<i64>> {
        let mut integers = Vec::new();
        if let Some(Value::Bytes(list)) = self.attribute(name, 1)? {
            for field in Fields(list) {
                match field? {
                    (3, Value::Bytes(packed)) => {
                        integers.extend(varints(packed)?.into_iter().map(|value| value as i64));
                    }
                    (3, Value::Varint(value)) => integers.push(value as i64),
                    _ => {}
                }
            }
        }
        Ok(integers)
    }

    /// TensorFlow's number of a type.
    pub(super) fn dtype(&self, name: &str) -> Result<Option<u64>> {
        Ok(match self.attribute(name, 6)? {
            Some(Value::Varint(value)) => Some(value),
            _ => None,
        })
    }

    pub(super) fn shape(&self, name: &str) -> Result<Option<Dims>> {
        match self.attribute(name, 7)? {
            Some(Value::Bytes(bytes)) => {
                let mut dims = Dims::default();
                dims.read(bytes).map(|()| Some(dims))
            }
            _ => Ok(None),
        }
    }

    pub(super) fn tensor(&self, name: &str) -> Result<Option<Tensor>> {
        match self.attribute(name, 8)? {
            Some(Value::Bytes(bytes)) => Tensor::read(bytes).map(Some),
            _ => Ok(None),
        }
    }
}

impl Dims {
    fn read(&mut self, bytes: &[u8]) -> Result<()> {
        for field in Fields(bytes) {
            match field? {
                (2, Value::Bytes(dim)) => {
                    let mut size = 0;
                    for field in Fields(dim) {
                        if let (1, Value::Varint(value)) = field? {
                            size = value as i64;
                        }
                    }
                    self.sizes.push(size);
                }
                (3, Value::Varint(value)) => self.unknown_rank = value != 0,
                _ => {}
            }
        }
        Ok(())
    }
}

impl Tensor {
    fn read(bytes: &[u8]) -> Result<Self> {
        let mut tensor = Tensor::default();
        for field in Fields(bytes) {
            match field? {
                (1, Value::Varint(dtype)) => tensor.dtype = dtype,
                (2, Value::Bytes(dims)) => tensor.dims.read(dims)?,
                (4, Value::Bytes(content)) => tensor.content = content.len(),
                (number @ (5 | 6 | 7 | 10 | 11 | 13), value) => {
                    let count = match (value, number) {
                        (Value::Bytes(packed), 5) => packed.len() / 4,
                        (Value::Bytes(packed), 6) => packed.len() / 8,
                        (Value::Bytes(packed), _) => count_varints(packed),
                        _ => 1,
                    };
                    *tensor.lists.entry(number).or_default() += count;
                }
                _ => {}
            }
        }
        Ok(tensor)
    }

    /// How many values stand in the list field of this number.
    pub(super) fn listed(&self, number: u32) -> usize {
        self.lists.get(&number).copied().unwrap_or(0)
    }
}
