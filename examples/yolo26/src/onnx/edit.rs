//! The graph changed at its ends: images go in in another type, results come out
//! as f32. What lies between stays byte for byte.
//!
//! The graph's input gets a new name, and nodes before the first one make the old
//! value of it: whatever reads the images, in subgraphs too, finds what it found.

use anyhow::{Context, Result, bail};

use super::info::{FLOAT, FLOAT16, Info, UINT8, number, of, text};
use super::node::{cast, constant, node, scalar, transpose};
use super::wire::{Field, Message, fields};
use crate::pixels::Element;

/// From this version of the operators on the nodes that are put in are what they
/// are today.
const OLDEST_OPSET: u64 = 7;

/// The model with images of `element`, and f32 instead of f16 results; `None`
/// where it has both already.
pub fn ends(model: &[u8], info: &Info, element: Element) -> Result<Option<Vec<u8>>> {
    let has = info.element()?;
    let halves = info.outputs.iter().any(|(_, kind)| *kind == FLOAT16);
    if has == element && !halves {
        return Ok(None);
    }
    if info.opset < OLDEST_OPSET {
        bail!(
            "it is made for the operators of opset {}; export with opset {OLDEST_OPSET} or newer",
            info.opset
        );
    }
    let mut whole = Message::new();
    for field in fields(model)? {
        match field.number {
            number::model::GRAPH => {
                let graph = Graph::of(field.bytes()?)?;
                whole.message(field.number, &graph.with(info, has, element)?);
            }
            _ => whole.raw(&field),
        }
    }
    Ok(Some(whole.into_bytes()))
}

struct Graph<'a> {
    fields: Vec<Field<'a>>,
}

impl<'a> Graph<'a> {
    fn of(graph: &'a [u8]) -> Result<Self> {
        Ok(Graph {
            fields: fields(graph)?,
        })
    }

    fn with(&self, info: &Info, has: Element, element: Element) -> Result<Message> {
        let node = |field: &Field<'_>| field.number == number::graph::NODE;
        let first = self.fields.iter().position(node);
        let last = self.fields.iter().rposition(node);
        let (first, last) = first.zip(last).context("its graph has no nodes")?;
        let input = match has == element {
            true => None,
            false => Some(self.input(info, has, element)?),
        };
        let outputs = self.outputs(info)?;
        let mut graph = Message::new();
        for (at, field) in self.fields.iter().enumerate() {
            if let Some(input) = input.as_ref().filter(|_| at == first) {
                for node in &input.nodes {
                    graph.message(number::graph::NODE, node);
                }
            }
            match field.number {
                number::graph::INPUT | number::graph::OUTPUT => {
                    let name = name_of(field)?;
                    let mut ends = input.iter().chain(&outputs);
                    let which = |end: &&End| end.graph == field.number && end.replaces == name;
                    match ends.find(which) {
                        Some(end) => graph.message(field.number, &end.value),
                        None => graph.raw(field),
                    }
                }
                _ => graph.raw(field),
            }
            if at == last {
                for node in outputs.iter().flat_map(|output| &output.nodes) {
                    graph.message(number::graph::NODE, node);
                }
            }
        }
        Ok(graph)
    }

    /// New f32 outputs for those of f16, and the nodes that make them of those.
    fn outputs(&self, info: &Info) -> Result<Vec<End>> {
        let halves = info.outputs.iter().filter(|(_, kind)| *kind == FLOAT16);
        halves
            .map(|(old, _)| {
                let name = self.free(&format!("{old}_f32"))?;
                let nodes = vec![cast(old, &name, FLOAT)];
                self.end(number::graph::OUTPUT, old, nodes, |field| {
                    value(field, &name, FLOAT, None)
                })
            })
            .collect()
    }

    /// The new input, and the nodes that make the old one of it.
    fn input(&self, info: &Info, has: Element, element: Element) -> Result<End> {
        let (old, kind) = (&info.input, info.kind);
        let (suffix, new_kind, order) = match element {
            Element::F32 => ("f32", FLOAT, None),
            Element::F16 => ("f16", FLOAT16, None),
            Element::U8 => ("u8", UINT8, Some([0, 2, 3, 1])),
        };
        let name = self.free(&format!("{old}_{suffix}"))?;
        let nodes = match (has, element, &info.dims[..]) {
            (Element::U8, ..) => bail!(
                "its input `{old}` takes u8 images as it is; leave --input out, or export anew \
                 with float images"
            ),
            (_, Element::F32 | Element::F16, _) => vec![cast(&name, old, kind)],
            (_, Element::U8, &[_, None | Some(3), _, _]) => {
                let part = |part: &str| format!("{name}_{part}");
                let (turned, floats, white) = (part("nchw"), part("float"), part("255"));
                // Turned while it is small.
                vec![
                    transpose(&name, &turned, [0, 3, 1, 2]),
                    cast(&turned, &floats, kind),
                    constant(&white, kind, &scalar(255, has)),
                    node("Div", &[&floats, &white], old, &[]),
                ]
            }
            (_, Element::U8, dims) => bail!(
                "--input u8 turns images (N, S, S, 3) to (N, 3, S, S), and its input `{old}` has \
                 the dimensions {}",
                shown(dims)
            ),
        };
        self.end(number::graph::INPUT, old, nodes, |field| {
            value(field, &name, new_kind, order)
        })
    }

    fn end(
        &self,
        graph: u32,
        replaces: &str,
        nodes: Vec<Message>,
        with: impl Fn(&[u8]) -> Result<Message>,
    ) -> Result<End> {
        for field in of(&self.fields, graph) {
            if name_of(field)? == replaces {
                return Ok(End {
                    graph,
                    replaces: replaces.into(),
                    value: with(field.bytes()?)?,
                    nodes,
                });
            }
        }
        bail!("its graph has no input or output `{replaces}`")
    }

    /// A name that nothing in the graph has, and nothing that begins with it.
    fn free(&self, wanted: &str) -> Result<String> {
        let mut name = wanted.to_owned();
        for number in 1.. {
            if !self.mentions(&name)? {
                break;
            }
            name = format!("{wanted}_{number}");
        }
        Ok(name)
    }

    fn mentions(&self, name: &str) -> Result<bool> {
        for field in &self.fields {
            let known = match field.number {
                // With all that is in it, subgraphs too.
                number::graph::NODE => contains(field.raw, name),
                number::graph::INPUT | number::graph::OUTPUT => name_of(field)?.contains(name),
                number::graph::INITIALIZER => {
                    text(&fields(field.bytes()?)?, number::tensor::NAME)?.contains(name)
                }
                _ => false,
            };
            if known {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// An input or output in place of another.
struct End {
    /// Which of the two, as the graph numbers them.
    graph: u32,
    replaces: String,
    value: Message,
    nodes: Vec<Message>,
}

fn contains(bytes: &[u8], text: &str) -> bool {
    let text = text.as_bytes();
    bytes.windows(text.len()).any(|window| window == text)
}

/// The name of an input or output.
fn name_of<'a>(value: &Field<'a>) -> Result<&'a str> {
    text(&fields(value.bytes()?)?, number::value::NAME)
}

/// `(?, 3, 640, 640)`, with a question mark for what is open.
fn shown(dims: &[Option<usize>]) -> String {
    let dims = dims.iter().map(|d| d.map_or("?".into(), |n| n.to_string()));
    format!("({})", dims.collect::<Vec<_>>().join(", "))
}

/// An input or output with another name and type, and its dimensions in another
/// order; all else of it stays.
fn value(old: &[u8], name: &str, kind: u64, order: Option<[usize; 4]>) -> Result<Message> {
    let mut value = Message::new();
    for field in fields(old)? {
        match field.number {
            number::value::NAME => value.text(field.number, name),
            number::value::TYPE => value.message(field.number, &typed(&field, kind, order)?),
            _ => value.raw(&field),
        }
    }
    Ok(value)
}

fn typed(old: &Field<'_>, kind: u64, order: Option<[usize; 4]>) -> Result<Message> {
    let mut typed = Message::new();
    for field in fields(old.bytes()?)? {
        if field.number != number::kind::TENSOR {
            typed.raw(&field);
            continue;
        }
        let mut tensor = Message::new();
        for field in fields(field.bytes()?)? {
            match (field.number, order) {
                (number::kind::ELEMENT, _) => tensor.number(field.number, kind),
                (number::kind::SHAPE, Some(order)) => {
                    let dims = fields(field.bytes()?)?;
                    let mut shape = Message::new();
                    for at in order {
                        shape.raw(dims.get(at).context("its input has no 4 dimensions")?);
                    }
                    tensor.message(field.number, &shape);
                }
                _ => tensor.raw(&field),
            }
        }
        typed.message(field.number, &tensor);
    }
    Ok(typed)
}

#[cfg(test)]
mod tests {
    use testkit::net::{self, Batch};
    use testkit::onnx::{Dim, Elem, Graph as Builder, fixed};

    use super::*;

    fn edited(model: &[u8], element: Element) -> Result<Option<Vec<u8>>> {
        ends(model, &Info::of(model)?, element)
    }

    fn graph(model: &[u8]) -> Vec<Field<'_>> {
        let model = fields(model).unwrap();
        let graph = of(&model, number::model::GRAPH).next().unwrap();
        fields(graph.bytes().unwrap()).unwrap()
    }

    #[test]
    fn all_but_the_input_stays_byte_for_byte() {
        let model = net::build(Batch::Symbolic, 160);
        assert_eq!(edited(&model, Element::F32).unwrap(), None);
        for (element, name, dims, more) in [
            (
                Element::U8,
                "images_u8",
                [None, Some(160), Some(160), Some(3)],
                4,
            ),
            (
                Element::F16,
                "images_f16",
                [None, Some(3), Some(160), Some(160)],
                1,
            ),
        ] {
            let new = edited(&model, element).unwrap().unwrap();
            let info = Info::of(&new).unwrap();
            assert_eq!((&*info.input, &info.dims[..]), (name, &dims[..]));
            assert_eq!(info.element().unwrap(), element);
            assert_eq!(info.metadata, Info::of(&model).unwrap().metadata);
            let raw = |model| {
                graph(model)
                    .iter()
                    .map(|f| f.raw.to_vec())
                    .collect::<Vec<_>>()
            };
            let (old, mut new_fields) = (raw(&model), raw(&new));
            new_fields.drain(..more);
            assert_eq!(old.len(), new_fields.len());
            let differ = old.iter().zip(&new_fields).filter(|(a, b)| a != b);
            assert_eq!(differ.count(), 1, "the input alone");
            // The symbol of the batch goes along.
            assert!(contains(&new, "batch"));
            assert_eq!(edited(&new, element).unwrap(), None);
        }
    }

    fn relu(input: Elem, channels: usize, names: [&str; 2], opset: i64) -> Vec<u8> {
        let mut g = Builder::new("g");
        g.opset(opset);
        g.input(names[0], input, &fixed(&[1, channels, 32, 32]));
        g.node("Relu", &[names[0]], &[names[1]], vec![]);
        g.output(names[1], input, &[Dim::Symbol("n")]);
        g.into_bytes()
    }

    #[test]
    fn f16_results_become_f32() {
        let model = relu(Elem::F16, 3, ["x", "y"], 11);
        let new = edited(&model, Element::F16).unwrap().unwrap();
        let info = Info::of(&new).unwrap();
        assert_eq!(info.outputs, [("y_f32".to_owned(), FLOAT)]);
        assert_eq!((&*info.input, info.kind), ("x", FLOAT16));
        let new = edited(&model, Element::F32).unwrap().unwrap();
        let info = Info::of(&new).unwrap();
        assert_eq!((&*info.input, info.kind), ("x_f32", FLOAT));
        // The last node makes the output.
        let graph = graph(&new);
        let last = of(&graph, number::graph::NODE).last().unwrap();
        let node = fields(last.bytes().unwrap()).unwrap();
        assert_eq!(text(&node, number::node::OPERATOR).unwrap(), "Cast");
        assert_eq!(text(&node, number::node::OUTPUT).unwrap(), "y_f32");
    }

    #[test]
    fn a_name_that_is_taken_is_not_given_again() {
        let model = relu(Elem::F32, 3, ["x", "x_u8_nchw"], 20);
        let info = Info::of(&edited(&model, Element::U8).unwrap().unwrap()).unwrap();
        assert_eq!(info.input, "x_u8_1");
    }

    #[test]
    fn an_input_of_another_kind_is_refused() {
        let mut whole = Builder::new("g");
        whole.input("x", Elem::F32, &fixed(&[1, 3, 32, 32]));
        whole.output("x", Elem::F32, &fixed(&[1, 3, 32, 32]));
        for (model, element, expected) in [
            (
                relu(Elem::U8, 3, ["x", "y"], 17),
                Element::F32,
                "takes u8 images as it is",
            ),
            (
                relu(Elem::F32, 1, ["x", "y"], 17),
                Element::U8,
                "(1, 1, 32, 32)",
            ),
            (relu(Elem::F32, 3, ["x", "y"], 6), Element::F16, "opset 6"),
            (relu(Elem::F64, 3, ["x", "y"], 17), Element::U8, "type 11"),
            (whole.into_bytes(), Element::U8, "no nodes"),
        ] {
            let error = format!("{:#}", edited(&model, element).unwrap_err());
            assert!(error.contains(expected), "{error}");
        }
    }
}
