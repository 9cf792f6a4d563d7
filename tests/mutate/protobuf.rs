//! Protocol Buffers without their schema: what reads as a message is one.

use super::tree::{Body, Format, Node};

pub struct Protobuf;

const VARINT: u64 = 0;
const FIXED_64: u64 = 1;
const LENGTH: u64 = 2;
const FIXED_32: u64 = 5;
/// ONNX has none above; text that looks like a message mostly does.
const MAX_FIELD: u64 = 64;

impl Format for Protobuf {
    fn decode(&self, bytes: &[u8]) -> Option<Node> {
        Some(Node::new(LENGTH, Body::List(message(bytes)?)))
    }

    fn encode(&self, tree: &Node) -> Vec<u8> {
        content(&tree.body)
    }

    fn has_length(&self, node: &Node) -> bool {
        node.head & 7 == LENGTH
    }

    fn are_alike(&self, one: &Node, other: &Node) -> bool {
        one.head & 7 == other.head & 7
    }
}

fn message(bytes: &[u8]) -> Option<Vec<Node>> {
    let mut fields = Vec::new();
    let mut rest = bytes;
    while !rest.is_empty() {
        let head = varint(&mut rest)?;
        if !(1..=MAX_FIELD).contains(&(head >> 3)) {
            return None;
        }
        let body = match head & 7 {
            VARINT => Body::Number(varint(&mut rest)?),
            FIXED_64 => Body::Bytes(take(&mut rest, 8)?),
            FIXED_32 => Body::Bytes(take(&mut rest, 4)?),
            LENGTH => {
                let length = varint(&mut rest)?;
                let inner = take(&mut rest, length)?;
                match message(&inner) {
                    Some(fields) if !fields.is_empty() => Body::List(fields),
                    _ => Body::Bytes(inner),
                }
            }
            _ => return None,
        };
        fields.push(Node::new(head, body));
    }
    // What is written at greater length than it needs would come out otherwise.
    let mut again = Vec::new();
    fields.iter().for_each(|field| put(&mut again, field));
    (again == bytes).then_some(fields)
}

fn content(body: &Body) -> Vec<u8> {
    let mut out = Vec::new();
    match body {
        Body::Number(number) => put_varint(&mut out, *number),
        Body::Bytes(bytes) => out.extend(bytes),
        Body::List(fields) => fields.iter().for_each(|field| put(&mut out, field)),
    }
    out
}

fn put(out: &mut Vec<u8>, field: &Node) {
    let content = content(&field.body);
    put_varint(out, field.head);
    if field.head & 7 == LENGTH {
        put_varint(out, field.length.unwrap_or(content.len() as u64));
    }
    out.extend(content);
}

fn put_varint(out: &mut Vec<u8>, mut number: u64) {
    while number > 0x7f {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

fn varint(rest: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let (byte, after) = rest.split_first()?;
        *rest = after;
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

fn take(rest: &mut &[u8], length: u64) -> Option<Vec<u8>> {
    let (taken, after) = rest.split_at_checked(usize::try_from(length).ok()?)?;
    *rest = after;
    Some(taken.to_vec())
}
