//! MessagePack, in the shortest forms, as MIGraphX writes it.

use super::tree::{Body, Format, Node};

pub struct Msgpack;

/// Kinds of values, each by the head of its longest form.
mod kind {
    pub const UNSIGNED: u64 = 0xcf;
    pub const NEGATIVE: u64 = 0xd3;
    pub const TEXT: u64 = 0xdb;
    pub const BYTES: u64 = 0xc6;
    pub const ARRAY: u64 = 0xdd;
    pub const MAP: u64 = 0xdf;
    /// A key and its value; no head of its own.
    pub const ENTRY: u64 = 0;
}

impl Format for Msgpack {
    fn decode(&self, bytes: &[u8]) -> Option<Node> {
        let mut rest = bytes;
        let tree = value(&mut rest)?;
        (rest.is_empty() && self.encode(&tree) == bytes).then_some(tree)
    }

    fn encode(&self, tree: &Node) -> Vec<u8> {
        let mut out = Vec::new();
        put(&mut out, tree);
        out
    }

    fn has_length(&self, node: &Node) -> bool {
        [kind::TEXT, kind::BYTES, kind::ARRAY, kind::MAP].contains(&node.head)
    }

    fn are_alike(&self, one: &Node, other: &Node) -> bool {
        one.head == other.head
    }
}

fn value(rest: &mut &[u8]) -> Option<Node> {
    let [head] = take(rest, 1)?.try_into().ok()?;
    let (head, body) = match head {
        0x00..=0x7f => (kind::UNSIGNED, Body::Number(head.into())),
        0x80..=0x8f => map(rest, (head & 0x0f).into())?,
        0x90..=0x9f => array(rest, (head & 0x0f).into())?,
        0xa0..=0xbf => (kind::TEXT, Body::Bytes(take(rest, (head & 0x1f).into())?)),
        0xc0 | 0xc2 | 0xc3 => (head.into(), Body::Bytes(Vec::new())),
        0xc4..=0xc6 => {
            let length = number(rest, 1 << (head - 0xc4))?;
            (kind::BYTES, Body::Bytes(take(rest, length)?))
        }
        0xca => (head.into(), Body::Bytes(take(rest, 4)?)),
        0xcb => (head.into(), Body::Bytes(take(rest, 8)?)),
        0xcc..=0xcf => (
            kind::UNSIGNED,
            Body::Number(number(rest, 1 << (head - 0xcc))?),
        ),
        0xd0..=0xd3 => {
            let bytes = 1 << (head - 0xd0);
            let unused = 64 - 8 * bytes as u32;
            let number = (number(rest, bytes)? << unused).cast_signed() >> unused;
            (kind::NEGATIVE, Body::Number(number.cast_unsigned()))
        }
        0xd9..=0xdb => {
            let length = number(rest, 1 << (head - 0xd9))?;
            (kind::TEXT, Body::Bytes(take(rest, length)?))
        }
        0xdc | 0xdd => {
            let count = number(rest, 2 << (head - 0xdc))?;
            array(rest, count)?
        }
        0xde | 0xdf => {
            let count = number(rest, 2 << (head - 0xde))?;
            map(rest, count)?
        }
        0xe0..=0xff => {
            let number = i64::from(head.cast_signed());
            (kind::NEGATIVE, Body::Number(number.cast_unsigned()))
        }
        // Not written by MIGraphX.
        0xc1 | 0xc7..=0xc9 | 0xd4..=0xd8 => return None,
    };
    Some(Node::new(head, body))
}

fn array(rest: &mut &[u8], count: u64) -> Option<(u64, Body)> {
    let items: Option<Vec<Node>> = (0..count).map(|_| value(rest)).collect();
    Some((kind::ARRAY, Body::List(items?)))
}

fn map(rest: &mut &[u8], count: u64) -> Option<(u64, Body)> {
    let mut entry = || {
        let pair = vec![value(rest)?, value(rest)?];
        Some(Node::new(kind::ENTRY, Body::List(pair)))
    };
    let entries: Option<Vec<Node>> = (0..count).map(|_| entry()).collect();
    Some((kind::MAP, Body::List(entries?)))
}

fn number(rest: &mut &[u8], bytes: u64) -> Option<u64> {
    let bytes = take(rest, bytes)?;
    Some(
        bytes
            .iter()
            .fold(0, |number, byte| number << 8 | u64::from(*byte)),
    )
}

fn take(rest: &mut &[u8], length: u64) -> Option<Vec<u8>> {
    let (taken, after) = rest.split_at_checked(usize::try_from(length).ok()?)?;
    *rest = after;
    Some(taken.to_vec())
}

fn put(out: &mut Vec<u8>, node: &Node) {
    let length = |own: usize| node.length.unwrap_or(own as u64);
    match (node.head, &node.body) {
        (kind::NEGATIVE, Body::Number(number)) => put_signed(out, number.cast_signed()),
        (_, Body::Number(number)) => put_head(out, *number, Some((0x00, 0x7f)), 0xcc, 0),
        (kind::TEXT, Body::Bytes(bytes)) => {
            put_head(out, length(bytes.len()), Some((0xa0, 0x1f)), 0xd9, 0);
            out.extend(bytes);
        }
        (kind::BYTES, Body::Bytes(bytes)) => {
            put_head(out, length(bytes.len()), None, 0xc4, 0);
            out.extend(bytes);
        }
        (head, Body::Bytes(bytes)) => {
            out.push(head as u8);
            out.extend(bytes);
        }
        (head, Body::List(items)) => {
            let count = length(items.len());
            match head {
                kind::ARRAY => put_head(out, count, Some((0x90, 0x0f)), 0xdc, 1),
                kind::MAP => put_head(out, count, Some((0x80, 0x0f)), 0xde, 1),
                _ => {}
            }
            items.iter().for_each(|item| put(out, item));
        }
    }
}

/// Writes a number in the shortest form: within the head's own bits, where it
/// has such a form, else in the bytes after it, `1 << least` or more; `head` is
/// that of the least.
fn put_head(out: &mut Vec<u8>, number: u64, short: Option<(u8, u64)>, head: u8, least: u32) {
    if let Some((head, most)) = short
        && number <= most
    {
        return out.push(head | number as u8);
    }
    let log = (least..3)
        .find(|log| number >> (8 << log) == 0)
        .unwrap_or(3);
    out.push(head + (log - least) as u8);
    out.extend(&number.to_be_bytes()[8 - (1 << log)..]);
}

fn put_signed(out: &mut Vec<u8>, number: i64) {
    if (-32..0).contains(&number) {
        return out.push(number as u8);
    }
    let log = (0..3)
        .find(|log| {
            let most = i64::MAX >> (64 - (8 << log));
            (-most - 1..=most).contains(&number)
        })
        .unwrap_or(3);
    out.push(0xd0 + log as u8);
    out.extend(&number.to_be_bytes()[8 - (1 << log)..]);
}

/// Without what the crate `migraphx` adds to what MIGraphX writes: the second
/// entry of its top map.
pub fn without_mark(file: &[u8]) -> Option<Vec<u8>> {
    let mut rest = file.get(1..)?;
    value(&mut rest)?;
    value(&mut rest)?;
    let at = file.len() - rest.len();
    let (key, _) = (value(&mut rest)?, value(&mut rest)?);
    let head = *file.first()?;
    (key.body == Body::Bytes(b"migraphx-rs".to_vec()))
        .then(|| [&[head - 1], &file[1..at], rest].concat())
}
