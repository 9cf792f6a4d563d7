//! A listing from a program's MessagePack form: `modules`, in each `nodes`.

use std::io::Read;

use super::instruction::Attribute;
use super::{Instruction, Listing};
use crate::mxr::msgpack::Reader;
use crate::mxr::tensor::{all_bytes, data_bytes, read_shape};
use crate::mxr::value::{Value, each, read};

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
