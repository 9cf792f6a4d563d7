//! Nodes to put into a graph.

use super::info::number;
use super::wire::Message;
use crate::pixels::Element;

/// Numbers of onnx.proto's kinds of attributes.
const INT: u64 = 2;
const TENSOR: u64 = 4;
const INTS: u64 = 7;

/// A number as its type has it in memory.
pub fn scalar(value: u8, element: Element) -> Vec<u8> {
    match element {
        Element::F32 => f32::from(value).to_le_bytes().into(),
        Element::F16 => half::f16::from(value).to_le_bytes().into(),
        Element::U8 => vec![value],
    }
}

/// A node named after what it makes.
pub fn node(operator: &str, inputs: &[&str], output: &str, attributes: &[Message]) -> Message {
    let mut node = Message::new();
    for input in inputs {
        node.text(number::node::INPUT, input);
    }
    node.text(number::node::OUTPUT, output);
    node.text(number::node::NAME, &format!("{operator}_to_{output}"));
    node.text(number::node::OPERATOR, operator);
    for attribute in attributes {
        node.message(number::node::ATTRIBUTE, attribute);
    }
    node
}

fn attribute(name: &str, kind: u64) -> Message {
    let mut attribute = Message::new();
    attribute.text(number::attribute::NAME, name);
    attribute.number(number::attribute::TYPE, kind);
    attribute
}

pub fn cast(from: &str, to: &str, kind: u64) -> Message {
    let mut target = attribute("to", INT);
    target.number(number::attribute::INT, kind);
    node("Cast", &[from], to, &[target])
}

pub fn transpose(from: &str, to: &str, order: [u64; 4]) -> Message {
    let mut perm = attribute("perm", INTS);
    for axis in order {
        perm.number(number::attribute::INTS, axis);
    }
    node("Transpose", &[from], to, &[perm])
}

/// A node, since files of old versions list their initializers as inputs.
pub fn constant(name: &str, kind: u64, bytes: &[u8]) -> Message {
    let mut tensor = Message::new();
    tensor.number(number::tensor::TYPE, kind);
    tensor.bytes(number::tensor::RAW, bytes);
    let mut value = attribute("value", TENSOR);
    value.message(number::attribute::TENSOR, &tensor);
    node("Constant", &[], name, &[value])
}
