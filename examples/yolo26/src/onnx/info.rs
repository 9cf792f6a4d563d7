//! What an ONNX file says of its input and outputs.

use anyhow::{Context, Result, bail};

use super::metadata::Metadata;
use super::wire::{Field, fields};
use crate::pixels::Element;

/// Numbers of onnx.proto's fields.
pub mod number {
    pub mod model {
        pub const OPSET: u32 = 8;
        pub const GRAPH: u32 = 7;
        pub const METADATA: u32 = 14;
    }
    pub mod graph {
        pub const NODE: u32 = 1;
        pub const INITIALIZER: u32 = 5;
        pub const INPUT: u32 = 11;
        pub const OUTPUT: u32 = 12;
    }
    pub mod node {
        pub const INPUT: u32 = 1;
        pub const OUTPUT: u32 = 2;
        pub const NAME: u32 = 3;
        pub const OPERATOR: u32 = 4;
        pub const ATTRIBUTE: u32 = 5;
    }
    pub mod attribute {
        pub const NAME: u32 = 1;
        pub const INT: u32 = 3;
        pub const TENSOR: u32 = 5;
        pub const INTS: u32 = 8;
        pub const TYPE: u32 = 20;
    }
    pub mod tensor {
        pub const TYPE: u32 = 2;
        pub const NAME: u32 = 8;
        pub const RAW: u32 = 9;
        pub const LOCATION: u32 = 14;
    }
    pub mod value {
        pub const NAME: u32 = 1;
        pub const TYPE: u32 = 2;
    }
    /// Of TypeProto and of the messages in it.
    pub mod kind {
        pub const TENSOR: u32 = 1;
        pub const ELEMENT: u32 = 1;
        pub const SHAPE: u32 = 2;
        pub const DIM: u32 = 1;
        pub const LENGTH: u32 = 1;
    }
}

/// ONNX's numbers of types.
pub const FLOAT: u64 = 1;
pub const UINT8: u64 = 2;
pub const FLOAT16: u64 = 10;

const NMS: &str = "NonMaxSuppression";
const CAST: &str = "Cast";

/// The model in short.
#[derive(Debug, PartialEq)]
pub struct Info {
    /// Name of the image input.
    pub input: String,
    /// Its type, as ONNX numbers it.
    pub kind: u64,
    /// Its dimensions; `None` where the export leaves one open.
    pub dims: Vec<Option<usize>>,
    /// The version of the operators.
    pub opset: u64,
    /// Names and types of the outputs.
    pub outputs: Vec<(String, u64)>,
    /// Weights lie in a file of their own.
    pub external: bool,
    /// It computes in f16: most weights are, and not for their storage alone.
    pub halves: bool,
    /// It does non-maximum suppression itself.
    pub nms: bool,
    pub metadata: Metadata,
}

impl Info {
    pub fn of(model: &[u8]) -> Result<Self> {
        let mut metadata = Metadata::default();
        let mut opset = 0;
        let mut graph = None;
        for field in fields(model)? {
            match field.number {
                number::model::GRAPH => graph = Some(field.bytes()?),
                number::model::OPSET => opset = standard_opset(&field)?.unwrap_or(opset),
                number::model::METADATA => {
                    let entry = fields(field.bytes()?)?;
                    metadata.add(text(&entry, 1)?, text(&entry, 2)?);
                }
                _ => {}
            }
        }
        let graph = fields(graph.context("it has no graph")?)?;
        let mut weights = Vec::new();
        let mut external = false;
        let mut halves = Vec::new();
        for field in of(&graph, number::graph::INITIALIZER) {
            let tensor = fields(field.bytes()?)?;
            let name = text(&tensor, number::tensor::NAME)?;
            weights.push(name);
            for field in &tensor {
                match field.number {
                    number::tensor::LOCATION => external |= field.number()? != 0,
                    number::tensor::TYPE if field.number()? == FLOAT16 => halves.push(name),
                    _ => {}
                }
            }
        }
        let mut nms = false;
        for field in of(&graph, number::graph::NODE) {
            let node = fields(field.bytes()?)?;
            let operator = text(&node, number::node::OPERATOR)?;
            nms |= operator == NMS;
            if operator == CAST {
                let stored = text(&node, number::node::INPUT)?;
                halves.retain(|name| *name != stored);
            }
        }
        let values = |which| -> Result<Vec<Tensor>> {
            of(&graph, which).map(|f| Tensor::of(f.bytes()?)).collect()
        };
        // Old exporters list the weights among the inputs too.
        let mut inputs = values(number::graph::INPUT)?;
        inputs.retain(|input| !weights.contains(&&*input.name));
        let count = inputs.len();
        let Ok([input]) = <[Tensor; 1]>::try_from(inputs) else {
            bail!("it has {count} inputs; a detector has one, the images");
        };
        Ok(Info {
            input: input.name,
            kind: input.kind,
            dims: input.dims,
            opset,
            outputs: values(number::graph::OUTPUT)?
                .into_iter()
                .map(|output| (output.name, output.kind))
                .collect(),
            external,
            halves: 2 * halves.len() > weights.len(),
            nms,
            metadata,
        })
    }

    /// Does the export leave a dimension of the images open?
    pub fn is_dynamic(&self) -> bool {
        self.dims.iter().any(Option::is_none)
    }

    /// How the images go in.
    pub fn element(&self) -> Result<Element> {
        match self.kind {
            FLOAT => Ok(Element::F32),
            FLOAT16 => Ok(Element::F16),
            UINT8 => Ok(Element::U8),
            kind => bail!(
                "its input `{}` is of ONNX's type {kind}; images are f32 ({FLOAT}), f16 \
                 ({FLOAT16}) or u8 ({UINT8})",
                self.input
            ),
        }
    }
}

/// The fields of this number.
pub fn of<'a, 'f>(
    fields: &'f [Field<'a>],
    number: u32,
) -> impl Iterator<Item = &'f Field<'a>> + use<'a, 'f> {
    fields.iter().filter(move |field| field.number == number)
}

/// The text in the field of this number; none is an empty one, as protobuf has it.
pub fn text<'a>(fields: &[Field<'a>], number: u32) -> Result<&'a str> {
    of(fields, number).last().map_or(Ok(""), Field::text)
}

/// The version, where it is that of ONNX's own operators.
fn standard_opset(field: &Field<'_>) -> Result<Option<u64>> {
    let import = fields(field.bytes()?)?;
    if !matches!(text(&import, 1)?, "" | "ai.onnx") {
        return Ok(None);
    }
    of(&import, 2).last().map(Field::number).transpose()
}

/// A graph's input or output.
struct Tensor {
    name: String,
    kind: u64,
    dims: Vec<Option<usize>>,
}

impl Tensor {
    fn of(value: &[u8]) -> Result<Self> {
        let mut tensor = Tensor {
            name: String::new(),
            kind: 0,
            dims: Vec::new(),
        };
        for field in fields(value)? {
            match field.number {
                number::value::NAME => tensor.name = field.text()?.into(),
                number::value::TYPE => {
                    for kind in of(&fields(field.bytes()?)?, number::kind::TENSOR) {
                        tensor.typed(kind.bytes()?)?;
                    }
                }
                _ => {}
            }
        }
        Ok(tensor)
    }

    fn typed(&mut self, tensor: &[u8]) -> Result<()> {
        for field in fields(tensor)? {
            match field.number {
                number::kind::ELEMENT => self.kind = field.number()?,
                number::kind::SHAPE => {
                    for dim in of(&fields(field.bytes()?)?, number::kind::DIM) {
                        let dim = fields(dim.bytes()?)?;
                        let length = of(&dim, number::kind::LENGTH).last();
                        let length = length.map(Field::number).transpose()?;
                        // A negative one is an open one.
                        let length = length.map(|n| n.cast_signed());
                        self.dims.push(length.and_then(|n| usize::try_from(n).ok()));
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use testkit::net::{self, Batch};

    use super::*;

    #[test]
    fn an_export_tells_its_input_and_names() {
        let info = Info::of(&net::build(Batch::Fixed(4), 160)).unwrap();
        assert_eq!(info.input, "images");
        assert_eq!(info.element().unwrap(), Element::F32);
        assert_eq!(info.dims, [Some(4), Some(3), Some(160), Some(160)]);
        assert_eq!(info.outputs, [("output0".to_owned(), FLOAT)]);
        assert_eq!((info.opset, info.external, info.halves), (17, false, false));
        assert_eq!(info.metadata.imgsz, Some(160));
        assert_eq!(info.metadata.names[&3], "yellow bar");
        assert!(!info.is_dynamic());
        let info = Info::of(&net::build(Batch::Symbolic, 160)).unwrap();
        assert_eq!(info.dims, [None, Some(3), Some(160), Some(160)]);
        assert!(info.is_dynamic());
    }

    /// The model that ships stores halves and casts them: it computes in f32.
    #[test]
    fn halves_that_are_only_stored_are_none() {
        let model = include_bytes!("../../model/shapes.onnx");
        assert!(!Info::of(model).unwrap().halves);
        // The same without the casts' names is a model of halves.
        let mut uncast = model.to_vec();
        let casts = uncast.windows(4).filter(|name| *name == b"Cast").count();
        assert!(casts > 100, "{casts}");
        while let Some(at) = uncast.windows(4).position(|name| name == b"Cast") {
            uncast[at..at + 4].copy_from_slice(b"Relu");
        }
        assert!(Info::of(&uncast).unwrap().halves);
    }

    #[test]
    fn what_is_no_model_is_told() {
        let refused = |bytes: &[u8]| format!("{:#}", Info::of(bytes).unwrap_err());
        assert_eq!(refused(b""), "it has no graph");
        assert!(refused(&testkit::models::add(&[2])).contains("2 inputs"));
        assert!(!refused(b"not protobuf at all").is_empty());
    }
}
