//! One instruction: its fields, and the shapes and data in it.

use crate::mxr::tensor::{data_bytes, read_shape};
use crate::mxr::value::Value;
use crate::shape::Shape;

/// What of an instruction others refer to, or what refers to others.
#[derive(Debug)]
pub(super) struct Node {
    /// The name of its result.
    pub(super) output: String,
    /// The parameter that it is, if it is one.
    pub(super) parameter: Option<String>,
    pub(super) inputs: Vec<String>,
    pub(super) modules: Vec<String>,
}

impl Node {
    pub(super) fn checked(node: &Value) -> Result<Self, String> {
        let Value::Map(entries) = node else {
            return Err("an instruction in it is no map".into());
        };
        let output = text(node, "output").map_err(|problem| format!("an instruction {problem}"))?;
        let fail = |problem| format!("instruction `{output}` {problem}");
        let operator = text(node, "name").map_err(fail)?;
        if !matches!(node.field("normalized"), Some(Value::Bool(_))) {
            return Err(fail("does not say whether it is normalized".into()));
        }
        let parameter = match operator {
            "@param" => Some(parameter(node).map_err(fail)?),
            _ => None,
        };
        if operator == "@literal" && node.field("literal").is_none() {
            return Err(fail("has no `literal`".into()));
        }
        for (key, value) in entries {
            // The library computes the shape of other instructions anew.
            let found = match (key.as_str(), &parameter) {
                ("shape", None) => check_counts(value),
                ("literal", _) if operator == "@literal" => check_literal(value),
                _ => check_tensors(value),
            };
            found.map_err(fail)?;
        }
        let computes = !matches!(operator, "@param" | "@literal");
        let inputs = match computes {
            true => texts(node, "inputs").map_err(fail)?,
            false => Vec::new(),
        };
        let modules = match computes && node.field("module_inputs").is_some() {
            true => texts(node, "module_inputs").map_err(fail)?,
            false => Vec::new(),
        };
        Ok(Node {
            output: output.to_owned(),
            parameter,
            inputs,
            modules,
        })
    }
}

fn text<'v>(node: &'v Value, field: &str) -> Result<&'v str, String> {
    let value = node.field(field).and_then(Value::as_text);
    value.ok_or_else(|| format!("has no text `{field}`"))
}

/// A list of texts; none may be written as nil.
fn texts(node: &Value, field: &str) -> Result<Vec<String>, String> {
    let items = match node.field(field) {
        Some(Value::List(items)) => items.as_slice(),
        Some(Value::Nil) => &[],
        _ => return Err(format!("has no list `{field}`")),
    };
    let text = |item: &Value| item.as_text().map(str::to_owned);
    items
        .iter()
        .map(|item| text(item).ok_or_else(|| format!("has {item} among its `{field}`")))
        .collect()
}

/// The name of a parameter, whose shape is checked.
fn parameter(node: &Value) -> Result<String, String> {
    let name = node
        .field("operator")
        .and_then(|fields| fields.field("parameter"));
    let name = name
        .and_then(Value::as_text)
        .ok_or("has no text `parameter`")?;
    match node.field("shape") {
        Some(shape) if is_shape(shape) => Ok(name.to_owned()),
        _ => Err("has no `shape`".into()),
    }
}

/// The fields that MIGraphX writes of every shape.
fn is_shape(value: &Value) -> bool {
    let fields = ["type", "lens", "strides", "dynamic_dimensions"];
    fields.iter().all(|field| value.field(field).is_some())
}

/// Checks all shapes and data in a value.
fn check_tensors(value: &Value) -> Result<(), String> {
    if is_shape(value) {
        return shape(value).map(|_| ());
    }
    match value {
        Value::Map(entries) => {
            if value.field("shape").is_some_and(is_shape) {
                check_data(value)?;
            }
            entries
                .iter()
                .try_for_each(|(key, value)| match (key.as_str(), value) {
                    ("literal", Value::Map(_)) => check_literal(value),
                    _ => check_tensors(value),
                })
        }
        Value::List(items) => items.iter().try_for_each(check_tensors),
        _ => Ok(()),
    }
}

/// A literal has both: the reader does not ask.
fn check_literal(literal: &Value) -> Result<(), String> {
    let shape = literal.field("shape").is_some_and(is_shape);
    if !shape || literal.field("data").is_none() {
        return Err("has a literal without `shape` or `data`".into());
    }
    check_data(literal)
}

/// The reader takes from `data` as many bytes as `shape` says.
fn check_data(tensor: &Value) -> Result<(), String> {
    let (Some(of), Some(data)) = (tensor.field("shape"), tensor.field("data")) else {
        // A tuple has parts instead.
        return Ok(());
    };
    let shape = shape(of)?;
    let (Some(shape), true) = (shape, is_bytes(data)) else {
        return Err("has data that are no bytes, or of no fixed size".into());
    };
    let found = data_bytes(tensor);
    if found < shape.bytes() {
        let wanted = shape.bytes();
        return Err(format!(
            "has {found} bytes for {shape}, which takes {wanted}"
        ));
    }
    Ok(())
}

fn is_bytes(data: &Value) -> bool {
    matches!(data, Value::Bytes(_)) || matches!(data.items().first(), Some(Value::Bytes(_)))
}

/// Checks a shape, and gives it where it is that of one tensor of a fixed size.
fn shape(value: &Value) -> Result<Option<Shape>, String> {
    check_counts(value)?;
    let mut parts = Vec::new();
    let shape = read_shape(value, &mut parts)
        .map_err(|problem| format!("has a shape that is none: {problem}"))?;
    Ok(
        (!shape.is_dynamic() && parts.is_empty() && shape.dtype() != crate::DataType::Tuple)
            .then_some(shape),
    )
}

/// Whether a shape has a stride for each of its sizes; and so the parts of a tuple.
fn check_counts(shape: &Value) -> Result<(), String> {
    let list = |field: &str| match shape.field(field) {
        Some(Value::List(items)) => Ok(items.as_slice()),
        // No shapes, or ranges, may be written as nil.
        None | Some(Value::Nil) if field != "lens" && field != "strides" => Ok(&[][..]),
        _ => Err(format!("has a shape with no list `{field}`")),
    };
    if shape.field("type").and_then(Value::as_text).is_none() {
        return Err("has a shape without a type".into());
    }
    let (lens, strides) = (list("lens")?, list("strides")?);
    list("dynamic_dimensions")?;
    if lens.len() != strides.len() {
        let (lens, strides) = (lens.len(), strides.len());
        return Err(format!("has a shape of {lens} sizes and {strides} strides"));
    }
    list("sub_shapes")?.iter().try_for_each(check_counts)
}
