//! MessagePack values as trees. Bytes (weights, machine code) are counted and
//! passed over. What MIGraphX never writes and its reader takes amiss is refused:
//! keys that are empty or there twice, lists of bytes with something else in
//! them, deep nesting, extensions.

use std::collections::HashSet;
use std::fmt::{self, Write};
use std::io::Read;

use super::msgpack::{self, Reader};

/// A value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    Nil,
    Bool(bool),
    Unsigned(u64),
    /// Below zero.
    Negative(i64),
    Float(f64),
    Text(String),
    /// This many bytes, which were passed over.
    Bytes(u64),
    List(Vec<Value>),
    Map(Vec<(String, Value)>),
}

/// Reads the next value, whole.
pub(crate) fn read(from: &mut Reader<impl Read>) -> Result<Value, String> {
    let head = from.value()?;
    rest(from, head, 0)
}

fn rest(from: &mut Reader<impl Read>, head: msgpack::Value, depth: usize) -> Result<Value, String> {
    msgpack::check_depth(depth)?;
    Ok(match head {
        msgpack::Value::Nil => Value::Nil,
        msgpack::Value::Bool(value) => Value::Bool(value),
        msgpack::Value::Unsigned(value) => Value::Unsigned(value),
        msgpack::Value::Negative(value) => Value::Negative(value),
        msgpack::Value::Float(value) => Value::Float(value),
        msgpack::Value::Text(length) => Value::Text(text(from, length)?),
        msgpack::Value::Bytes(length) => {
            from.pass(length)?;
            Value::Bytes(length)
        }
        msgpack::Value::Extension(_) => {
            return Err("it holds an extension of MessagePack, which MIGraphX never writes".into());
        }
        msgpack::Value::Array(count) => {
            // No room is made beforehand: a damaged count would take all memory.
            let mut list: Vec<Value> = Vec::new();
            for _ in 0..count {
                let head = from.value()?;
                let item = rest(from, head, depth + 1)?;
                // Its reader takes all items for what the first is.
                if let Some(Value::Bytes(_)) = list.first()
                    && !matches!(item, Value::Bytes(_))
                {
                    return Err("a list of bytes in it holds something else as well".into());
                }
                list.push(item);
            }
            Value::List(list)
        }
        msgpack::Value::Map(count) => {
            let mut map = Vec::new();
            let mut keys = Keys::default();
            for _ in 0..count {
                let name = keys.next(from)?;
                let value = match (name.as_str(), from.value()?) {
                    // Machine code is written as a list of numbers.
                    ("code_object", msgpack::Value::Array(count)) => counted(from, count)?,
                    (_, head) => rest(from, head, depth + 1)?,
                };
                map.push((name, value));
            }
            Value::Map(map)
        }
    })
}

/// Passes over a list of bytes.
fn counted(from: &mut Reader<impl Read>, count: u64) -> Result<Value, String> {
    for _ in 0..count {
        let msgpack::Value::Unsigned(0..=255) = from.value()? else {
            return Err("machine code in it is no list of bytes".into());
        };
    }
    Ok(Value::Bytes(count))
}

/// The keys of a map, each of which is there once.
#[derive(Default)]
struct Keys(HashSet<String>);

impl Keys {
    fn next(&mut self, from: &mut Reader<impl Read>) -> Result<String, String> {
        let msgpack::Value::Text(length) = from.value()? else {
            return Err("a key in it is no text".into());
        };
        let key = text(from, length)?;
        if key.is_empty() {
            return Err("a key in it is empty".into());
        }
        match self.0.insert(key.clone()) {
            true => Ok(key),
            false => Err(format!("the key `{key}` is in one map twice")),
        }
    }
}

fn text(from: &mut Reader<impl Read>, length: u64) -> Result<String, String> {
    let mut text = Vec::new();
    from.bytes_into(length, u64::MAX, &mut text)?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// Calls `f` for each entry of the map or list that comes next, with its key
/// (empty in a list); `f` reads the value.
pub(crate) fn each<R: Read>(
    from: &mut Reader<R>,
    what: &str,
    mut f: impl FnMut(&mut Reader<R>, &str) -> Result<(), String>,
) -> Result<(), String> {
    match from.value()? {
        // An empty list or map may be written as nil.
        msgpack::Value::Nil => Ok(()),
        msgpack::Value::Map(count) => {
            let mut keys = Keys::default();
            (0..count).try_for_each(|_| {
                let key = keys.next(from)?;
                f(from, &key)
            })
        }
        msgpack::Value::Array(count) => (0..count).try_for_each(|_| f(from, "")),
        _ => Err(format!("`{what}` holds no list")),
    }
}

impl Value {
    pub(crate) fn field(&self, name: &str) -> Option<&Value> {
        match self {
            Value::Map(entries) => entries
                .iter()
                .find(|(key, _)| key == name)
                .map(|(_, value)| value),
            _ => None,
        }
    }

    pub(crate) fn as_text(&self) -> Option<&str> {
        match self {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    pub(crate) fn as_size(&self) -> Option<usize> {
        match self {
            Value::Unsigned(number) => usize::try_from(*number).ok(),
            _ => None,
        }
    }

    /// The items of a list; none for what is no list, as MIGraphX writes empty
    /// ones in several ways.
    pub(crate) fn items(&self) -> &[Value] {
        match self {
            Value::List(items) => items,
            _ => &[],
        }
    }
}

/// Of JSON, where an object of a list `bytes` alone means bytes.
impl TryFrom<serde_json::Value> for Value {
    type Error = String;

    fn try_from(json: serde_json::Value) -> Result<Self, String> {
        Ok(match json {
            serde_json::Value::Null => Value::Nil,
            serde_json::Value::Bool(value) => Value::Bool(value),
            serde_json::Value::Number(number) => match (number.as_u64(), number.as_i64()) {
                (Some(number), _) => Value::Unsigned(number),
                (None, Some(number)) => Value::Negative(number),
                (None, None) => Value::Float(number.as_f64().unwrap_or(f64::NAN)),
            },
            serde_json::Value::String(text) => Value::Text(text),
            serde_json::Value::Array(items) => {
                let items: Result<_, String> = items.into_iter().map(Value::try_from).collect();
                Value::List(items?)
            }
            serde_json::Value::Object(entries) => match entries.get("bytes") {
                Some(serde_json::Value::Array(bytes)) if entries.len() == 1 => {
                    Value::Bytes(bytes.len() as u64)
                }
                _ if entries.contains_key("") => return Err("a key in it is empty".into()),
                _ => {
                    let entries = entries.into_iter();
                    let entry = |(key, value)| Ok((key, Value::try_from(value)?));
                    Value::Map(entries.map(entry).collect::<Result<_, String>>()?)
                }
            },
        })
    }
}

/// As JSON. What JSON does not have becomes a text: `"inf"`, `"nan"`, and bytes
/// as `"(512 bytes)"`.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Nil => f.write_str("null"),
            Value::Bool(value) => write!(f, "{value}"),
            Value::Unsigned(value) => write!(f, "{value}"),
            Value::Negative(value) => write!(f, "{value}"),
            Value::Float(value) if value.is_finite() => write!(f, "{value:?}"),
            Value::Float(value) => write!(f, "\"{}\"", value.to_string().to_lowercase()),
            Value::Text(text) => quoted(f, text),
            Value::Bytes(count) => write!(f, "\"({count} bytes)\""),
            Value::List(items) => {
                f.write_char('[')?;
                for (index, item) in items.iter().enumerate() {
                    write!(f, "{}{item}", if index > 0 { "," } else { "" })?;
                }
                f.write_char(']')
            }
            Value::Map(entries) => {
                f.write_char('{')?;
                for (index, (key, value)) in entries.iter().enumerate() {
                    f.write_str(if index > 0 { "," } else { "" })?;
                    quoted(f, key)?;
                    write!(f, ":{value}")?;
                }
                f.write_char('}')
            }
        }
    }
}

fn quoted(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    f.write_str(&serde_json::Value::from(text).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json_of(bytes: &[u8]) -> Result<String, String> {
        Ok(read(&mut Reader::new(bytes))?.to_string())
    }

    #[test]
    fn values_of_every_kind_become_json() {
        let bytes = b"\x9f\xc0\xc2\xc3\x07\xff\xcd\x01\x00\xd1\xff\x00\xd3\0\0\0\0\0\0\0\x09\
            \xcb\x3f\xf8\0\0\0\0\0\0\xca\xff\x80\0\0\xc4\x03abc\xc5\0\x02hi\xa3a\"b\
            \xde\0\x01\xa1k\xdc\0\x01\x01\x80";
        let json = json_of(bytes).unwrap();
        assert_eq!(
            json,
            r#"[null,false,true,7,-1,256,-256,9,1.5,"-inf","(3 bytes)","(2 bytes)","a\"b",{"k":[1]},{}]"#
        );
        assert!(serde_json::from_str::<serde_json::Value>(&json).is_ok());
        for length in 0..bytes.len() {
            assert!(json_of(&bytes[..length]).is_err(), "{length} bytes");
        }
    }

    #[test]
    fn machine_code_is_passed_over() {
        let json = json_of(b"\x82\xabcode_object\x93\x01\xcc\xff\x02\xa1k\x92\x01\x02").unwrap();
        assert_eq!(json, r#"{"code_object":"(3 bytes)","k":[1,2]}"#);
        json_of(b"\x81\xabcode_object\x92\x01\xcd\x01\x00").unwrap_err();
    }

    #[test]
    fn damaged_counts_and_endless_nesting_end() {
        for bytes in [
            &b"\xdb\xff\xff\xff\xff"[..],
            b"\xc6\xff\xff\xff\xff",
            b"\xdd\xff\xff\xff\xff",
            b"\xdf\xff\xff\xff\xff",
            b"\xc1",
            b"\x81\x01\x01",
            b"\x81\xa0\x01",           // an empty key
            b"\x82\xa1a\x01\xa1a\x02", // one twice
            b"\x92\xc4\x01x\x01",      // bytes, and a number
            b"\xd4\x01x",              // an extension
        ] {
            json_of(bytes).unwrap_err();
        }
        assert!(json_of(&[0x91; 100_000]).unwrap_err().contains("nested"));
    }
}
