//! Attributes of operators: their text is read back to what was meant, and holds no
//! format but `%%`. What the text cannot say is refused, and nothing else.

#![no_main]

use libfuzzer_sys::arbitrary::{Arbitrary, Result, Unstructured};
use libfuzzer_sys::fuzz_target;
use migraphx::{Attribute, DataType};
use serde_json::{Map, Value};

/// The crate refuses deeper ones.
const DEPTH: usize = 32;

#[derive(Debug)]
struct Attributes(Vec<(String, Attribute)>);

impl<'a> Arbitrary<'a> for Attributes {
    fn arbitrary(from: &mut Unstructured<'a>) -> Result<Self> {
        named(from, 0).map(Attributes)
    }
}

fn named(from: &mut Unstructured, depth: usize) -> Result<Vec<(String, Attribute)>> {
    let count = from.int_in_range(0..=4)?;
    let mut entry = || {
        let key = match from.ratio(1, 16)? {
            true => "bytes".to_owned(),
            false => String::arbitrary(from)?,
        };
        Ok((key, attribute(from, depth + 1)?))
    };
    (0..count).map(|_| entry()).collect()
}

fn attribute(from: &mut Unstructured, depth: usize) -> Result<Attribute> {
    // A little past the limit, which has to hold.
    let kinds = if depth > DEPTH + 2 { 5 } else { 8 };
    Ok(match from.int_in_range(0..=kinds)? {
        0 => Attribute::Bool(bool::arbitrary(from)?),
        1 => Attribute::Int(i64::arbitrary(from)?),
        2 => Attribute::Unsigned(u64::arbitrary(from)?),
        3 => Attribute::Float(f64::arbitrary(from)?),
        4 => Attribute::Text(String::arbitrary(from)?),
        5 => Attribute::DataType(*from.choose(DataType::ALL)?),
        6 => {
            let count = from.int_in_range(0..=4)?;
            let list = (0..count).map(|_| attribute(from, depth + 1));
            Attribute::List(list.collect::<Result<_>>()?)
        }
        7 => Attribute::Object(named(from, depth)?),
        _ => {
            // Depth costs one byte a level.
            let inner = attribute(from, depth + 1)?;
            Attribute::List(vec![inner])
        }
    })
}

/// What a reader of the text has to find; `None` where the text cannot say it.
fn meant(attribute: &Attribute, depth: usize) -> Option<Value> {
    if depth > DEPTH {
        return None;
    }
    Some(match attribute {
        Attribute::Bool(value) => Value::from(*value),
        Attribute::Int(value) => Value::from(*value),
        Attribute::Unsigned(value) => Value::from(*value),
        Attribute::Float(value) if value.is_nan() => return None,
        Attribute::Float(value) => Value::from(value.clamp(f64::MIN, f64::MAX)),
        Attribute::Text(value) => Value::from(value.as_str()),
        // The library's own list begins with bool; its order is that of its C API from 7.1 on.
        Attribute::DataType(DataType::Tuple | DataType::Fp4x2) => return None,
        Attribute::DataType(value) => {
            let known = DataType::ALL.iter();
            let mut known = known.filter(|one| !matches!(one, DataType::Tuple | DataType::Fp4x2));
            Value::from(known.position(|one| one == value)?)
        }
        Attribute::List(values) => {
            let values = values.iter().map(|value| meant(value, depth + 1));
            Value::Array(values.collect::<Option<_>>()?)
        }
        Attribute::Object(values) => meant_object(values, depth)?,
        _ => unreachable!("a kind of attribute that this target does not know"),
    })
}

fn meant_object(values: &[(String, Attribute)], depth: usize) -> Option<Value> {
    if let [(key, _)] = values
        && key == "bytes"
    {
        return None;
    }
    let mut object = Map::new();
    for (key, value) in values {
        object.insert(key.clone(), meant(value, depth + 1)?);
    }
    Some(Value::Object(object))
}

/// As `printf` does it; a `%` without another one would be a format.
fn printed(format: &str) -> String {
    let mut parts = format.split("%%");
    let mut out = parts.next().unwrap_or_default().to_owned();
    assert!(!out.contains('%'), "a format in {format:?}");
    for part in parts {
        assert!(!part.contains('%'), "a format in {format:?}");
        out.push('%');
        out.push_str(part);
    }
    out
}

fuzz_target!(|attributes: Attributes| {
    let Attributes(attributes) = attributes;
    let text = migraphx::fuzzing::attribute_text(&attributes);
    if attributes.is_empty() {
        assert_eq!(text.unwrap(), None);
        return;
    }
    match (text, meant_object(&attributes, 0)) {
        (Ok(Some(text)), Some(meant)) => {
            let text = printed(text.to_str().expect("JSON is UTF-8"));
            let read: Value = serde_json::from_str(&text).expect("JSON");
            assert_eq!(read, meant, "{text}");
        }
        (Err(_), None) => {}
        (text, meant) => panic!("{attributes:?} gave {text:?}, and {meant:?} was meant"),
    }
});
