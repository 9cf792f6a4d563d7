//! A listing from a program's MessagePack form: `modules`, in each `nodes`.

use std::io::Read;

use super::instruction::Attribute;
use super::value::{Value, each, read};
use super::{Instruction, Listing};
use crate::dtype::DataType;
use crate::dynamic_dim::DynamicDim;
use crate::mxr::msgpack::Reader;
use crate::shape::Shape;

/// Reads a whole program.
pub(super) fn listing(from: impl Read) -> Result<Listing, String> {
    let mut listing = Listing {
        modules: Vec::new(),
        instructions: Vec::new(),
    };
    let mut found = false;
    let mut reader = Reader::new(from);
    each(&mut reader, "the program", |reader, key| {
        if key != "modules" {
            return reader.skip(0);
        }
        found = true;
        each(reader, "modules", |reader, name| {
            let name = name.to_owned();
            listing.modules.push(name.clone());
            each(reader, "a module", |reader, key| {
                if key != "nodes" {
                    return reader.skip(0);
                }
                each(reader, "nodes", |reader, _| {
                    let instruction = instruction(&name, &read(reader)?)?;
                    listing.instructions.push(instruction);
                    Ok(())
                })
            })
        })
    })?;
    match found {
        true => Ok(listing),
        false => Err("it has no `modules`".into()),
    }
}

fn instruction(module: &str, node: &Value) -> Result<Instruction, String> {
    let text = |field: &str| {
        node.field(field)
            .and_then(Value::as_text)
            .map(str::to_owned)
            .ok_or_else(|| format!("an instruction in it has no `{field}`"))
    };
    let texts = |field: &str| -> Vec<String> {
        let items = node.field(field).map(Value::items).unwrap_or_default();
        items
            .iter()
            .filter_map(Value::as_text)
            .map(str::to_owned)
            .collect()
    };
    let (name, mut operator) = (text("output")?, text("name")?);
    let shape = node
        .field("shape")
        .ok_or_else(|| format!("instruction `{name}` in it has no `shape`"))?;
    let in_shape = |problem| format!("instruction `{name}` in it: {problem}");
    let mut parts = Vec::new();
    let shape = read_shape(shape, &mut parts).map_err(in_shape)?;
    let entries = |value: Option<&Value>| match value {
        Some(Value::Map(entries)) => entries.clone(),
        _ => Vec::new(),
    };
    let mut attributes = entries(node.field("operator"));
    // What host targets wrap is told as they print it: `ref::topk`.
    if let Some(target) = operator.strip_suffix("::op")
        && let Some(fields) = node.field("operator")
        && let Some(inner) = fields.field("name").and_then(Value::as_text)
    {
        operator = format!("{target}::{inner}");
        attributes = entries(fields.field("operator"));
    }
    let literal = match operator.as_str() {
        "@literal" => node.field("literal").map(data_bytes),
        // A GPU's form of a literal keeps its data among the attributes.
        _ => attributes
            .iter()
            .find(|(key, _)| key == "literal")
            .map(|(_, value)| data_bytes(value)),
    };
    let code = attributes
        .iter()
        .find(|(key, _)| key == "code_object")
        .map(|(_, value)| all_bytes(value));
    let attributes = attributes
        .iter()
        .map(|(name, value)| Attribute {
            name: name.clone(),
            json: value.to_string(),
            shown: shown(value),
        })
        .collect();
    Ok(Instruction {
        name,
        operator,
        module: module.to_owned(),
        attributes,
        shape,
        parts,
        inputs: texts("inputs"),
        submodules: texts("module_inputs"),
        literal: literal.unwrap_or(0),
        code: code.unwrap_or(0),
    })
}

/// An attribute for people: shapes as this crate writes them.
fn shown(value: &Value) -> String {
    if let Value::List(items) = value {
        let items: Vec<String> = items.iter().map(shown).collect();
        return format!("[{}]", items.join(","));
    }
    // A literal is told by its shape.
    let shape = value.field("shape").unwrap_or(value);
    match value.field("lens").or(value.field("data")) {
        Some(_) => read_shape(shape, &mut Vec::new())
            .map_or_else(|_| value.to_string(), |shape| shape.to_string()),
        None => value.to_string(),
    }
}

/// Bytes in the `data` of a literal, which is written in pieces.
fn data_bytes(literal: &Value) -> usize {
    literal.field("data").map_or(0, all_bytes)
}

fn all_bytes(value: &Value) -> usize {
    match value {
        Value::Bytes(count) => usize::try_from(*count).unwrap_or(usize::MAX),
        other => other.items().iter().map(all_bytes).sum(),
    }
}

/// Reads a shape; the parts of a tuple, and of tuples in it, go to `parts`.
fn read_shape(value: &Value, parts: &mut Vec<Shape>) -> Result<Shape, String> {
    let name = value.field("type").and_then(Value::as_text).unwrap_or("");
    let short = name.strip_suffix("_type").unwrap_or(name);
    let dtype = DataType::ALL
        .iter()
        .copied()
        .find(|dtype| dtype.name() == short)
        .ok_or_else(|| format!("the data type `{name}` is not known"))?;
    let list = |field: &str| value.field(field).map(Value::items).unwrap_or_default();
    if dtype == DataType::Tuple {
        for part in list("sub_shapes") {
            let shape = read_shape(part, parts)?;
            if shape.dtype() != DataType::Tuple {
                parts.push(shape);
            }
        }
        return Ok(Shape::tuple());
    }
    let sizes = |field: &str| -> Result<Vec<usize>, String> {
        let size = |item: &Value| {
            item.as_size()
                .ok_or_else(|| format!("`{field}` holds {item}, which is no size"))
        };
        list(field).iter().map(size).collect()
    };
    let ranges = list("dynamic_dimensions");
    let shape = if ranges.is_empty() {
        let (dims, strides) = (sizes("lens")?, sizes("strides")?);
        match (dims.as_slice(), strides.as_slice()) {
            // The library's way to say rank 0.
            ([1], [0]) => Shape::scalar(dtype),
            // And to say that there is nothing.
            ([], []) => Shape::new(dtype, &[0]),
            (dims, strides) => Shape::with_strides(dtype, dims, strides),
        }
    } else {
        let ranges: Result<Vec<DynamicDim>, String> = ranges.iter().map(range).collect();
        Shape::dynamic(dtype, &ranges?)
    };
    shape.map_err(|error| error.to_string())
}

fn range(value: &Value) -> Result<DynamicDim, String> {
    let bound = |name: &str| {
        value
            .field(name)
            .and_then(Value::as_size)
            .ok_or_else(|| format!("a range of sizes is {value}"))
    };
    // The library's way to say that there is no upper bound.
    let max = bound("max")?.min(isize::MAX as usize);
    let optimals = value.field("optimals").map(Value::items).unwrap_or(&[]);
    let optimals: Vec<usize> = optimals.iter().filter_map(Value::as_size).collect();
    DynamicDim::new(bound("min")?, max)
        .and_then(|range| range.with_optimals(&optimals))
        .map_err(|error| error.to_string())
}
