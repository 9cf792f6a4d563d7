use prost::Message;

use super::proto::{
    AttrValue, Dim, GraphDef, ListValue, NodeDef, TensorProto, TensorShapeProto, Value,
};

/// Element types, numbered as TensorFlow's `DataType`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Elem {
    F32 = 1,
    I32 = 3,
    U8 = 4,
    Text = 7,
}

/// An attribute value of a node.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum Attr {
    Int(i64),
    Float(f32),
    Bool(bool),
    Ints(Vec<i64>),
    Text(&'static str),
    Type(Elem),
}

/// A graph under construction. Values are named by the node that makes them.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    graph: GraphDef,
}

impl Graph {
    /// An empty graph.
    pub fn new() -> Self {
        Graph::default()
    }

    /// Declares a graph input; -1 is a size left open.
    pub fn placeholder(&mut self, name: &str, elem: Elem, dims: &[i64]) {
        let shape = Value::Shape(shape(dims));
        self.push("Placeholder", name, &[], [("shape", shape)], Some(elem));
    }

    /// Adds a node. An input `^a` only orders it after `a`.
    pub fn node(&mut self, op: &str, name: &str, inputs: &[&str], attributes: Vec<(&str, Attr)>) {
        let attributes = attributes
            .into_iter()
            .map(|(name, attr)| (name, value(attr)));
        self.push(op, name, inputs, attributes, None);
    }

    /// Adds a constant of `f32`, its values as raw bytes.
    pub fn constant_f32(&mut self, name: &str, dims: &[usize], values: &[f32]) {
        let expected: usize = dims.iter().product();
        assert_eq!(
            values.len(),
            expected,
            "constant {name}: {} values for dims {dims:?}",
            values.len()
        );
        let bytes = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        self.constant_raw(name, Elem::F32, dims, bytes);
    }

    /// Adds a constant vector of `i32`, its values as raw bytes.
    pub fn constant_i32(&mut self, name: &str, values: &[i32]) {
        let bytes = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        self.constant_raw(name, Elem::I32, &[values.len()], bytes);
    }

    /// Adds a constant of any type from little-endian bytes, unchecked: a test
    /// may want a tensor whose bytes do not fit its dims.
    pub fn constant_raw(&mut self, name: &str, elem: Elem, dims: &[usize], bytes: Vec<u8>) {
        let tensor = TensorProto {
            tensor_content: bytes,
            ..Default::default()
        };
        self.constant(name, elem, dims, tensor);
    }

    /// Adds a constant of `f32` whose values stand one by one; a single one
    /// counts for all elements. Unchecked.
    pub fn constant_listed(&mut self, name: &str, dims: &[usize], values: &[f32]) {
        let tensor = TensorProto {
            float_val: values.to_vec(),
            ..Default::default()
        };
        self.constant(name, Elem::F32, dims, tensor);
    }

    fn constant(&mut self, name: &str, elem: Elem, dims: &[usize], tensor: TensorProto) {
        let dims: Vec<i64> = dims.iter().map(|&dim| dim as i64).collect();
        let tensor = Value::Tensor(TensorProto {
            dtype: elem as i32,
            tensor_shape: Some(shape(&dims)),
            ..tensor
        });
        self.push("Const", name, &[], [("value", tensor)], Some(elem));
    }

    fn push<'a>(
        &mut self,
        op: &str,
        name: &str,
        inputs: &[&str],
        attributes: impl IntoIterator<Item = (&'a str, Value)>,
        elem: Option<Elem>,
    ) {
        let dtype = elem.map(|elem| ("dtype", Value::Type(elem as i32)));
        let attr = attributes.into_iter().chain(dtype);
        self.graph.node.push(NodeDef {
            name: name.into(),
            op: op.into(),
            input: inputs.iter().map(|&input| input.into()).collect(),
            attr: attr
                .map(|(name, value)| (name.to_owned(), AttrValue { value: Some(value) }))
                .collect(),
        });
    }

    /// The graph file.
    pub fn into_bytes(self) -> Vec<u8> {
        self.graph.encode_to_vec()
    }
}

fn shape(dims: &[i64]) -> TensorShapeProto {
    TensorShapeProto {
        dim: dims.iter().map(|&size| Dim { size }).collect(),
    }
}

fn value(attr: Attr) -> Value {
    match attr {
        Attr::Int(i) => Value::I(i),
        Attr::Float(f) => Value::F(f),
        Attr::Bool(b) => Value::B(b),
        Attr::Ints(i) => Value::List(ListValue { i }),
        Attr::Text(s) => Value::S(s.into()),
        Attr::Type(elem) => Value::Type(elem as i32),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_graph_reads_back_as_written() {
        let mut g = Graph::new();
        g.placeholder("x", Elem::F32, &[-1, 2]);
        g.constant_i32("shape", &[2, -1]);
        g.node("Reshape", "y", &["x", "shape"], vec![("k", Attr::Int(-3))]);
        let graph = GraphDef::decode(&*g.into_bytes()).unwrap();
        let [x, constant, y] = &graph.node[..] else {
            panic!("{} nodes", graph.node.len());
        };
        assert_eq!(x.attr["dtype"].value, Some(Value::Type(1)));
        assert_eq!(x.attr["shape"].value, Some(Value::Shape(shape(&[-1, 2]))));
        let Some(Value::Tensor(tensor)) = &constant.attr["value"].value else {
            panic!("no tensor");
        };
        assert_eq!(tensor.tensor_content, [2, 0, 0, 0, 255, 255, 255, 255]);
        assert_eq!((&*y.op, &*y.input[1]), ("Reshape", "shape"));
        assert_eq!(y.attr["k"].value, Some(Value::I(-3)));
    }
}
