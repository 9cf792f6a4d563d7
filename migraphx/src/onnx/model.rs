//! ONNX's messages, as far as the check looks into them (field numbers from
//! `onnx.proto`). Nothing is copied: values stay where they lie in the file.

use crate::protobuf::{Fields, Malformed, Value, varints};

type Result<T> = std::result::Result<T, Malformed>;

#[derive(Debug, Default)]
pub(super) struct Graph<'a> {
    pub(super) nodes: Vec<Node<'a>>,
    pub(super) initializers: Vec<Tensor<'a>>,
    pub(super) inputs: Vec<Input<'a>>,
    pub(super) outputs: usize,
}

#[derive(Debug, Default)]
pub(super) struct Input<'a> {
    pub(super) name: &'a [u8],
    /// Those that are known; `None` where there are no dimensions at all.
    pub(super) dims: Option<Vec<Option<i64>>>,
}

#[derive(Debug, Default)]
pub(super) struct Node<'a> {
    pub(super) name: &'a [u8],
    pub(super) op: &'a [u8],
    pub(super) inputs: Vec<&'a [u8]>,
    pub(super) outputs: Vec<&'a [u8]>,
    attributes: Vec<Attribute<'a>>,
}

#[derive(Debug, Default)]
pub(super) struct Attribute<'a> {
    pub(super) name: &'a [u8],
    /// `AttributeProto.AttributeType`; 0 where a file does not say.
    pub(super) kind: u64,
    pub(super) int: i64,
    pub(super) ints: Vec<i64>,
    pub(super) tensor: Option<Tensor<'a>>,
    /// A GraphProto.
    pub(super) graph: Option<&'a [u8]>,
}

#[derive(Debug, Default)]
pub(super) struct Tensor<'a> {
    pub(super) name: &'a [u8],
    pub(super) dims: Vec<i64>,
    /// `TensorProto.DataType`
    pub(super) dtype: i32,
    pub(super) raw: Option<&'a [u8]>,
    /// Key and value of each, in the order of the file.
    pub(super) external: Vec<(&'a [u8], &'a [u8])>,
    /// The fields that hold listed values.
    lists: Vec<(u32, Value<'a>)>,
}

/// The graph of a ModelProto.
pub(super) fn graph_of(model: &[u8]) -> Result<Option<&[u8]>> {
    let mut graph = None;
    for field in Fields(model) {
        if let (7, Value::Bytes(bytes)) = field? {
            once(&mut graph, bytes)?;
        }
    }
    Ok(graph)
}

/// C++ merges a message that stands twice; nothing writes two.
fn once<T>(place: &mut Option<T>, value: T) -> Result<()> {
    match place.replace(value) {
        None => Ok(()),
        Some(_) => Err(Malformed),
    }
}

/// Adds what stands in a list of integers, packed or not.
fn push_integers(list: &mut Vec<i64>, value: Value<'_>) -> Result<()> {
    match value {
        Value::Varint(value) => list.push(value as i64),
        Value::Bytes(packed) => list.extend(varints(packed)?.into_iter().map(|v| v as i64)),
        _ => {}
    }
    Ok(())
}

impl<'a> Graph<'a> {
    pub(super) fn read(bytes: &'a [u8]) -> Result<Self> {
        let mut graph = Graph::default();
        for field in Fields(bytes) {
            match field? {
                (1, Value::Bytes(node)) => graph.nodes.push(Node::read(node)?),
                (5, Value::Bytes(tensor)) => graph.initializers.push(Tensor::read(tensor)?),
                (11, Value::Bytes(input)) => graph.inputs.push(Input::read(input)?),
                (12, Value::Bytes(_)) => graph.outputs += 1,
                _ => {}
            }
        }
        Ok(graph)
    }
}

impl<'a> Input<'a> {
    fn read(bytes: &'a [u8]) -> Result<Self> {
        let (mut input, mut of_type) = (Input::default(), None);
        for field in Fields(bytes) {
            match field? {
                (1, Value::Bytes(name)) => input.name = name,
                (2, Value::Bytes(bytes)) => once(&mut of_type, bytes)?,
                _ => {}
            }
        }
        // TypeProto.tensor_type, its shape, and the dimensions of that.
        let tensor = message(of_type, 1)?;
        if let Some(shape) = message(tensor, 2)? {
            input.dims = Some(dims_of(shape)?);
        }
        Ok(input)
    }
}

/// The message in a field of a message.
fn message(bytes: Option<&[u8]>, number: u32) -> Result<Option<&[u8]>> {
    let mut found = None;
    for field in Fields(bytes.unwrap_or_default()) {
        match field? {
            (at, Value::Bytes(bytes)) if at == number => once(&mut found, bytes)?,
            _ => {}
        }
    }
    Ok(found)
}

fn dims_of(shape: &[u8]) -> Result<Vec<Option<i64>>> {
    let mut dims = Vec::new();
    for field in Fields(shape) {
        if let (1, Value::Bytes(dim)) = field? {
            let mut size = None;
            for field in Fields(dim) {
                match field? {
                    (1, Value::Varint(value)) => size = Some(value as i64),
                    (2, _) => size = None,
                    _ => {}
                }
            }
            dims.push(size);
        }
    }
    Ok(dims)
}

impl<'a> Node<'a> {
    fn read(bytes: &'a [u8]) -> Result<Self> {
        let mut node = Node::default();
        for field in Fields(bytes) {
            match field? {
                (1, Value::Bytes(input)) => node.inputs.push(input),
                (2, Value::Bytes(output)) => node.outputs.push(output),
                (3, Value::Bytes(name)) => node.name = name,
                (4, Value::Bytes(op)) => node.op = op,
                (5, Value::Bytes(attribute)) => node.attributes.push(Attribute::read(attribute)?),
                _ => {}
            }
        }
        Ok(node)
    }

    pub(super) fn attributes(&self) -> &[Attribute<'a>] {
        &self.attributes
    }

    /// Of two with one name, the parser takes the last.
    pub(super) fn attribute(&self, name: &str) -> Option<&Attribute<'a>> {
        let mut attributes = self.attributes.iter().rev();
        attributes.find(|attribute| attribute.name == name.as_bytes())
    }
}

impl<'a> Attribute<'a> {
    fn read(bytes: &'a [u8]) -> Result<Self> {
        let mut attribute = Attribute::default();
        for field in Fields(bytes) {
            match field? {
                (1, Value::Bytes(name)) => attribute.name = name,
                (3, Value::Varint(value)) => attribute.int = value as i64,
                (5, Value::Bytes(tensor)) => once(&mut attribute.tensor, Tensor::read(tensor)?)?,
                (6, Value::Bytes(graph)) => once(&mut attribute.graph, graph)?,
                (8, value) => push_integers(&mut attribute.ints, value)?,
                (20, Value::Varint(kind)) => attribute.kind = kind,
                _ => {}
            }
        }
        Ok(attribute)
    }
}

impl<'a> Tensor<'a> {
    fn read(bytes: &'a [u8]) -> Result<Self> {
        let mut tensor = Tensor::default();
        for field in Fields(bytes) {
            match field? {
                (1, value) => push_integers(&mut tensor.dims, value)?,
                (2, Value::Varint(dtype)) => tensor.dtype = dtype as i32,
                (8, Value::Bytes(name)) => tensor.name = name,
                (9, Value::Bytes(raw)) => tensor.raw = Some(raw),
                (13, Value::Bytes(entry)) => tensor.external.push(entry_of(entry)?),
                (number @ (4 | 5 | 7 | 10 | 11), value) => tensor.lists.push((number, value)),
                _ => {}
            }
        }
        Ok(tensor)
    }

    /// How many values stand in the list field of this number.
    pub(super) fn listed(&self, number: u32) -> usize {
        let fields = self.lists.iter().filter(|(found, _)| *found == number);
        fields.map(|(_, value)| count(number, *value)).sum()
    }
}

impl Tensor<'_> {
    /// The values of one that holds integers in the model itself.
    pub(super) fn integers(&self) -> Option<Vec<i64>> {
        let (size, list) = match self.dtype {
            2 | 3 => (1, 5),
            4 | 5 => (2, 5),
            6 => (4, 5),
            7 => (8, 7),
            12 => (4, 11),
            13 => (8, 11),
            _ => return None,
        };
        if !self.external.is_empty() {
            return None;
        }
        let Some(raw) = self.raw else {
            let mut values = Vec::new();
            for (_, value) in self.lists.iter().filter(|(found, _)| *found == list) {
                push_integers(&mut values, *value).ok()?;
            }
            return Some(values);
        };
        let signed = matches!(self.dtype, 3 | 5 | 6);
        let value = |bytes: &[u8]| {
            let negative = signed && bytes.last().is_some_and(|byte| byte & 0x80 != 0);
            let mut wide = [if negative { 0xff } else { 0 }; 8];
            wide[..bytes.len()].copy_from_slice(bytes);
            i64::from_le_bytes(wide)
        };
        Some(raw.chunks_exact(size).map(value).collect())
    }
}

fn count(list: u32, value: Value<'_>) -> usize {
    match (value, list) {
        (Value::Bytes(packed), 4) => packed.len() / 4,
        (Value::Bytes(packed), 10) => packed.len() / 8,
        (Value::Bytes(packed), _) => crate::protobuf::count_varints(packed),
        _ => 1,
    }
}

fn entry_of(bytes: &[u8]) -> Result<(&[u8], &[u8])> {
    let (mut key, mut value) = (&[][..], &[][..]);
    for field in Fields(bytes) {
        match field? {
            (1, Value::Bytes(bytes)) => key = bytes,
            (2, Value::Bytes(bytes)) => value = bytes,
            _ => {}
        }
    }
    Ok((key, value))
}
