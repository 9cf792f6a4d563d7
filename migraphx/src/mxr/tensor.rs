//! Shapes, and the data of literals, in a program's MessagePack form.

use super::value::Value;
use crate::dtype::DataType;
use crate::dynamic_dim::DynamicDim;
use crate::shape::Shape;

/// Bytes in the `data` of a literal, which is written in pieces.
pub(crate) fn data_bytes(literal: &Value) -> usize {
    literal.field("data").map_or(0, all_bytes)
}

/// Bytes in a value and all that it holds.
pub(crate) fn all_bytes(value: &Value) -> usize {
    match value {
        Value::Bytes(count) => usize::try_from(*count).unwrap_or(usize::MAX),
        other => other.items().iter().map(all_bytes).sum(),
    }
}

/// Reads a shape; the parts of a tuple, and of tuples in it, go to `parts`.
pub(crate) fn read_shape(value: &Value, parts: &mut Vec<Shape>) -> Result<Shape, String> {
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
