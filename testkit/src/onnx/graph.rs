use half::f16;
use prost::Message;

use super::proto::{
    AttributeProto, DimensionProto, DimensionValue, GraphProto, ModelProto, NodeProto,
    OperatorSetIdProto, StringStringEntryProto, TensorProto, TensorShapeProto, TensorTypeProto,
    TypeProto, ValueInfoProto,
};

/// The opset of our models unless [`Graph::opset`] says otherwise.
const OPSET: i64 = 17;

/// Element types, numbered as ONNX's `TensorProto.DataType`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Elem {
    F32 = 1,
    U8 = 2,
    I8 = 3,
    U16 = 4,
    I16 = 5,
    I32 = 6,
    I64 = 7,
    Bool = 9,
    F16 = 10,
    F64 = 11,
    U32 = 12,
    U64 = 13,
    Bf16 = 16,
}

/// One dimension of an input or an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dim {
    /// A known length.
    Fixed(usize),
    /// A length that the user of the model chooses, by name.
    Symbol(&'static str),
}

/// `[1, 3]` as fixed dimensions.
pub fn fixed(dims: &[usize]) -> Vec<Dim> {
    dims.iter().map(|&d| Dim::Fixed(d)).collect()
}

/// An attribute value of a node.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum Attr {
    Int(i64),
    Float(f32),
    Ints(Vec<i64>),
    Text(&'static str),
    Tensor(TensorProto),
    Graph(Graph),
}

/// A graph under construction. Values are named by plain strings.
#[derive(Clone, Debug, PartialEq)]
pub struct Graph {
    graph: GraphProto,
    opset: i64,
    metadata: Vec<StringStringEntryProto>,
}

impl Graph {
    /// An empty graph.
    pub fn new(name: &str) -> Self {
        let graph = GraphProto {
            name: name.into(),
            ..Default::default()
        };
        Graph {
            graph,
            opset: OPSET,
            metadata: Vec::new(),
        }
    }

    /// Asks for another operator set.
    pub fn opset(&mut self, version: i64) {
        self.opset = version;
    }

    /// Adds a `metadata_props` entry.
    pub fn metadata(&mut self, key: &str, value: &str) {
        self.metadata.push(StringStringEntryProto {
            key: key.into(),
            value: value.into(),
        });
    }

    /// Declares a graph input.
    pub fn input(&mut self, name: &str, elem: Elem, dims: &[Dim]) {
        self.graph.input.push(value_info(name, elem, dims));
    }

    /// Declares the value `name` as a graph output.
    pub fn output(&mut self, name: &str, elem: Elem, dims: &[Dim]) {
        self.graph.output.push(value_info(name, elem, dims));
    }

    /// Adds a node; an empty input name leaves out an optional input.
    pub fn node(
        &mut self,
        op: &str,
        inputs: &[&str],
        outputs: &[&str],
        attributes: Vec<(&str, Attr)>,
    ) {
        self.graph.node.push(NodeProto {
            input: inputs.iter().map(|&s| s.into()).collect(),
            output: outputs.iter().map(|&s| s.into()).collect(),
            name: format!("{op}_{}", self.graph.node.len()),
            op_type: op.into(),
            attribute: attributes
                .into_iter()
                .map(|(name, value)| attribute(name, value))
                .collect(),
        });
    }

    /// Adds an initializer of `f32`.
    pub fn constant_f32(&mut self, name: &str, dims: &[usize], values: &[f32]) {
        let raw = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        self.constant_checked(name, Elem::F32, dims, values.len(), raw);
    }

    /// Adds an initializer of `f16`.
    pub fn constant_f16(&mut self, name: &str, dims: &[usize], values: &[f16]) {
        let raw = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        self.constant_checked(name, Elem::F16, dims, values.len(), raw);
    }

    /// Adds an initializer of `i64`.
    pub fn constant_i64(&mut self, name: &str, dims: &[usize], values: &[i64]) {
        let raw = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        self.constant_checked(name, Elem::I64, dims, values.len(), raw);
    }

    /// Adds an initializer of any type from little-endian bytes, unchecked: a
    /// test may want a tensor whose bytes do not fit its dims.
    pub fn constant_raw(&mut self, name: &str, elem: Elem, dims: &[usize], raw: Vec<u8>) {
        self.constant(TensorProto {
            dims: dims.iter().map(|&d| d as i64).collect(),
            data_type: elem as i32,
            name: name.into(),
            raw_data: Some(raw),
            ..Default::default()
        });
    }

    /// Adds an initializer as it is.
    pub fn constant(&mut self, tensor: TensorProto) {
        self.graph.initializer.push(tensor);
    }

    fn constant_checked(
        &mut self,
        name: &str,
        elem: Elem,
        dims: &[usize],
        len: usize,
        raw: Vec<u8>,
    ) {
        let expected: usize = dims.iter().product();
        assert_eq!(
            len, expected,
            "constant {name}: {len} values for dims {dims:?}"
        );
        self.constant_raw(name, elem, dims, raw);
    }

    /// The model file.
    pub fn into_bytes(self) -> Vec<u8> {
        ModelProto {
            ir_version: 8,
            opset_import: vec![OperatorSetIdProto {
                domain: String::new(),
                version: self.opset,
            }],
            producer_name: "migraphx-testkit".into(),
            graph: Some(self.graph),
            metadata_props: self.metadata,
        }
        .encode_to_vec()
    }
}

fn value_info(name: &str, elem: Elem, dims: &[Dim]) -> ValueInfoProto {
    let dim = dims
        .iter()
        .map(|dim| match *dim {
            Dim::Fixed(n) => DimensionValue::DimValue(n as i64),
            Dim::Symbol(s) => DimensionValue::DimParam(s.into()),
        })
        .map(|value| DimensionProto { value: Some(value) })
        .collect();
    let tensor_type = TensorTypeProto {
        elem_type: elem as i32,
        shape: Some(TensorShapeProto { dim }),
    };
    ValueInfoProto {
        name: name.into(),
        r#type: Some(TypeProto {
            tensor_type: Some(tensor_type),
        }),
    }
}

fn attribute(name: &str, value: Attr) -> AttributeProto {
    // AttributeProto.AttributeType
    const FLOAT: i32 = 1;
    const INT: i32 = 2;
    const STRING: i32 = 3;
    const TENSOR: i32 = 4;
    const GRAPH: i32 = 5;
    const INTS: i32 = 7;
    let mut a = AttributeProto {
        name: name.into(),
        ..Default::default()
    };
    match value {
        Attr::Float(f) => (a.f, a.r#type) = (f, FLOAT),
        Attr::Int(i) => (a.i, a.r#type) = (i, INT),
        Attr::Text(s) => (a.s, a.r#type) = (s.into(), STRING),
        Attr::Ints(ints) => (a.ints, a.r#type) = (ints, INTS),
        Attr::Tensor(t) => (a.t, a.r#type) = (Some(t), TENSOR),
        Attr::Graph(g) => (a.g, a.r#type) = (Some(g.graph), GRAPH),
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_reads_back_as_written() {
        let mut g = Graph::new("g");
        g.opset(13);
        g.metadata("task", "detect");
        g.input("x", Elem::F32, &[Dim::Symbol("batch"), Dim::Fixed(3)]);
        g.constant_i64("k", &[1], &[7]);
        g.node(
            "TopK",
            &["x", "k"],
            &["v", "i"],
            vec![("axis", Attr::Int(-1))],
        );
        g.output("v", Elem::F32, &fixed(&[1, 7]));
        let model = ModelProto::decode(&*g.into_bytes()).unwrap();
        assert_eq!(model.opset_import[0].version, 13);
        assert_eq!(model.metadata_props[0].value, "detect");
        let graph = model.graph.unwrap();
        let raw = graph.initializer[0].raw_data.as_deref().unwrap();
        assert_eq!(raw, 7i64.to_le_bytes());
        assert_eq!(graph.node[0].attribute[0].i, -1);
        let shape = graph.input[0]
            .r#type
            .clone()
            .unwrap()
            .tensor_type
            .unwrap()
            .shape
            .unwrap();
        assert_eq!(
            shape.dim[0].value,
            Some(DimensionValue::DimParam("batch".into()))
        );
        assert_eq!(shape.dim[1].value, Some(DimensionValue::DimValue(3)));
    }

    #[test]
    #[should_panic(expected = "constant w: 2 values for dims [3]")]
    fn a_constant_of_another_length_is_refused() {
        Graph::new("g").constant_f32("w", &[3], &[1.0, 2.0]);
    }
}
