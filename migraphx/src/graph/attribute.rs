//! Attributes of operators, and the text that the library reads them from.

use std::ffi::CString;
use std::fmt;

use migraphx_sys::Numbering;

use crate::dtype::DataType;
use crate::error::{Error, Result};
use crate::shape::Shape;

/// Deeper values would overflow the stack of the library's parser.
const DEPTH: usize = 32;

/// The value of an operator's attribute.
///
/// [`Op::attr`](crate::Op::attr) makes it of what it is given: bools, integers,
/// floats, text, [`DataType`]s, shapes, and lists of them.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Attribute {
    /// True or false.
    Bool(bool),
    /// A signed integer.
    Int(i64),
    /// An unsigned integer.
    Unsigned(u64),
    /// A number; for known operators a finite one of single precision. To others
    /// infinities can be given, which the library makes of the largest double;
    /// not-a-number cannot.
    Float(f64),
    /// Any text, or the name of a choice such as the `max` of a pooling.
    Text(String),
    /// A data type. In attributes the library numbers them otherwise than in
    /// its C API, so an integer is no substitute.
    DataType(DataType),
    /// A list.
    List(Vec<Attribute>),
    /// Named values.
    Object(Vec<(String, Attribute)>),
}

macro_rules! from {
    ($($type:ty => $variant:ident($convert:expr);)*) => {
        $(impl From<$type> for Attribute {
            fn from(value: $type) -> Self {
                Attribute::$variant($convert(value))
            }
        })*
    };
}

from! {
    bool => Bool(bool::from);
    i8 => Int(i64::from);
    i16 => Int(i64::from);
    i32 => Int(i64::from);
    i64 => Int(i64::from);
    isize => Int(|value| value as i64);
    u8 => Unsigned(u64::from);
    u16 => Unsigned(u64::from);
    u32 => Unsigned(u64::from);
    u64 => Unsigned(u64::from);
    usize => Unsigned(|value| value as u64);
    f32 => Float(f64::from);
    f64 => Float(f64::from);
    &str => Text(str::to_owned);
    String => Text(String::from);
    DataType => DataType(DataType::from);
}

impl<T: Into<Attribute>> From<Vec<T>> for Attribute {
    fn from(list: Vec<T>) -> Self {
        Attribute::List(list.into_iter().map(Into::into).collect())
    }
}

impl<T: Into<Attribute> + Clone> From<&[T]> for Attribute {
    fn from(list: &[T]) -> Self {
        list.to_vec().into()
    }
}

impl<T: Into<Attribute>, const N: usize> From<[T; N]> for Attribute {
    fn from(list: [T; N]) -> Self {
        Attribute::List(list.into_iter().map(Into::into).collect())
    }
}

/// As the library writes shapes in attributes.
impl From<&Shape> for Attribute {
    fn from(shape: &Shape) -> Self {
        let ranges = shape.dynamic_dims().iter().map(|dim| {
            Attribute::Object(vec![
                ("min".into(), dim.min().into()),
                ("max".into(), dim.max().into()),
                ("optimals".into(), dim.optimals().into()),
            ])
        });
        // Rank 0 in the library: one element that is repeated.
        let (dims, strides) = match shape.is_scalar() {
            true => (&[1][..], &[0][..]),
            false => (shape.dims(), shape.strides()),
        };
        Attribute::Object(vec![
            ("type".into(), format!("{}_type", shape.dtype()).into()),
            ("lens".into(), dims.into()),
            ("strides".into(), strides.into()),
            (
                "dynamic_dimensions".into(),
                Attribute::List(ranges.collect()),
            ),
            ("sub_shapes".into(), Attribute::List(Vec::new())),
        ])
    }
}

impl Attribute {
    /// The number of a data type inside the library, which is not that of its
    /// C API and never changed.
    fn internal_number(dtype: DataType) -> Result<u32> {
        match dtype {
            DataType::Tuple | DataType::Fp4x2 => Err(Error::InvalidArgument(format!(
                "the data type {dtype} as an attribute: its number differs between releases"
            ))),
            other => Ok(other.to_raw(Numbering::New)?.0 - 2),
        }
    }

    /// Appends the JSON text.
    fn write(&self, out: &mut String, depth: usize) -> Result<()> {
        if depth > DEPTH {
            return Err(Error::InvalidArgument(format!(
                "an attribute nested more than {DEPTH} deep"
            )));
        }
        match self {
            Attribute::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
            Attribute::Int(value) => out.push_str(&value.to_string()),
            Attribute::Unsigned(value) => out.push_str(&value.to_string()),
            Attribute::Float(value) if value.is_nan() => {
                return Err(Error::InvalidArgument(
                    "not-a-number as an attribute: the library's text has no way to write it"
                        .into(),
                ));
            }
            // The text has no infinity either; the largest double becomes one where
            // it is made a single, as in every operator.
            Attribute::Float(value) => {
                out.push_str(&format!("{:?}", value.clamp(f64::MIN, f64::MAX)))
            }
            Attribute::Text(value) => quote(value, out),
            Attribute::DataType(value) => {
                out.push_str(&Attribute::internal_number(*value)?.to_string())
            }
            Attribute::List(values) => {
                out.push('[');
                for (index, value) in values.iter().enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    value.write(out, depth + 1)?;
                }
                out.push(']');
            }
            Attribute::Object(values) => object(values, out, depth)?,
        }
        Ok(())
    }
}

fn object(values: &[(String, Attribute)], out: &mut String, depth: usize) -> Result<()> {
    if let [(key, _)] = values
        && key == "bytes"
    {
        return Err(Error::InvalidArgument(
            "an object with nothing but `bytes`: the library takes it for binary data".into(),
        ));
    }
    out.push('{');
    for (index, (key, value)) in values.iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        quote(key, out);
        out.push(':');
        value.write(out, depth + 1)?;
    }
    out.push('}');
    Ok(())
}

/// A JSON string: quotes, backslashes and control characters escaped.
fn quote(text: &str, out: &mut String) {
    out.push_str(&serde_json::Value::from(text).to_string());
}

/// The text for `migraphx_operation_create`, where a `%` begins a format;
/// `None` for no attributes, which must be a null pointer there.
pub(crate) fn format_text(attributes: &[(String, Attribute)]) -> Result<Option<CString>> {
    if attributes.is_empty() {
        return Ok(None);
    }
    let mut text = String::new();
    object(attributes, &mut text, 0)?;
    crate::ffi::c_string("the attributes", &text.replace('%', "%%")).map(Some)
}

/// As JSON, but for data types, which have names.
impl fmt::Display for Attribute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Attribute::Bool(value) => write!(f, "{value}"),
            Attribute::Int(value) => write!(f, "{value}"),
            Attribute::Unsigned(value) => write!(f, "{value}"),
            Attribute::Float(value) => write!(f, "{value:?}"),
            Attribute::Text(value) => write!(f, "{value:?}"),
            Attribute::DataType(value) => write!(f, "{value}"),
            Attribute::List(values) => {
                f.write_str("[")?;
                for (index, value) in values.iter().enumerate() {
                    write!(f, "{}{value}", if index > 0 { ", " } else { "" })?;
                }
                f.write_str("]")
            }
            Attribute::Object(values) => {
                f.write_str("{")?;
                for (index, (key, value)) in values.iter().enumerate() {
                    write!(f, "{}{key}: {value}", if index > 0 { ", " } else { "" })?;
                }
                f.write_str("}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(value: impl Into<Attribute>) -> String {
        let attributes = [("a".to_owned(), value.into())];
        let text = format_text(&attributes).unwrap().unwrap();
        text.into_string().unwrap()
    }

    #[test]
    fn texts_are_json_and_no_format() {
        assert_eq!(text([1, -2]), r#"{"a":[1,-2]}"#);
        assert_eq!(text([[1usize], [2]]), r#"{"a":[[1],[2]]}"#);
        assert_eq!(text(u64::MAX), r#"{"a":18446744073709551615}"#);
        assert_eq!(text(0.1f32), r#"{"a":0.10000000149011612}"#);
        assert_eq!(text(2.0), r#"{"a":2.0}"#);
        assert_eq!(text("%n \"q\" \\ é\n"), r#"{"a":"%%n \"q\" \\ é\n"}"#);
        assert_eq!(text("\0"), r#"{"a":"\u0000"}"#);
        assert_eq!(text(f64::NEG_INFINITY), r#"{"a":-1.7976931348623157e308}"#);
        assert!(format_text(&[]).unwrap().is_none());
    }

    #[test]
    fn data_types_have_the_numbers_of_the_inside() {
        assert_eq!(text(DataType::Bool), r#"{"a":0}"#);
        assert_eq!(text(DataType::Half), r#"{"a":1}"#);
        assert_eq!(text(DataType::Float), r#"{"a":2}"#);
        assert_eq!(text(DataType::Fp8E5M2FnUz), r#"{"a":16}"#);
    }

    #[test]
    fn what_the_text_cannot_say_is_refused() {
        let mut deep = Attribute::Int(1);
        for _ in 0..2 * DEPTH {
            deep = Attribute::List(vec![deep]);
        }
        let refused = |value: Attribute| format_text(&[("a".to_owned(), value)]).is_err();
        assert!(refused(f64::NAN.into()));
        assert!(refused(DataType::Tuple.into()));
        assert!(refused(Attribute::List(vec![DataType::Fp4x2.into()])));
        assert!(refused(Attribute::Object(vec![("bytes".into(), 1.into())])));
        assert!(refused(deep));
    }
}
