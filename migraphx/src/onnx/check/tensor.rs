//! Constants: how many values they have, against their dimensions.

use super::super::model::Tensor;
use super::{Check, Refused};
use crate::shape;

/// How the parser reads a type of ONNX: number, name, bytes of an element, the
/// list field that may hold it.
struct Type(i32, &'static str, usize, Option<u32>);

const FLOATS: u32 = 4;
const INT32S: u32 = 5;
const INT64S: u32 = 7;
const DOUBLES: u32 = 10;
const UINT64S: u32 = 11;

/// Those that the parser takes; it refuses the others before it reads a value.
const TYPES: [Type; 17] = [
    Type(1, "float", 4, Some(FLOATS)),
    Type(2, "uint8", 1, Some(INT32S)),
    Type(3, "int8", 1, Some(INT32S)),
    Type(4, "uint16", 2, Some(INT32S)),
    Type(5, "int16", 2, Some(INT32S)),
    Type(6, "int32", 4, Some(INT32S)),
    Type(7, "int64", 8, Some(INT64S)),
    Type(9, "bool", 1, Some(INT32S)),
    Type(10, "float16", 2, Some(INT32S)),
    Type(11, "double", 8, Some(DOUBLES)),
    Type(12, "uint32", 4, Some(UINT64S)),
    Type(13, "uint64", 8, Some(UINT64S)),
    Type(16, "bfloat16", 2, None),
    Type(18, "float8e4m3fnuz", 1, Some(INT32S)),
    Type(UINT4, "uint4", 1, Some(INT32S)),
    Type(INT4, "int4", 1, Some(INT32S)),
    Type(FLOAT4, "float4e2m1", 1, None),
];
const UINT4: i32 = 21;
const INT4: i32 = 22;
const FLOAT4: i32 = 23;

impl Check {
    pub(super) fn tensor(
        &mut self,
        tensor: &Tensor<'_>,
        place: impl Fn() -> String,
    ) -> Result<(), Refused> {
        let refused = |problem: String| Refused::new(place(), problem);
        let Some(Type(_, dtype, size, list)) = TYPES.iter().find(|known| known.0 == tensor.dtype)
        else {
            return Ok(());
        };
        let elements = elements(tensor, *size).map_err(refused)?;
        let bytes = elements * size;
        if !tensor.external.is_empty() {
            self.seen.external = true;
            return self
                .folders
                .check(&tensor.external, bytes as u64)
                .map_err(refused);
        }
        if elements == 0 {
            return Ok(());
        }
        let dims = &tensor.dims;
        if tensor.dtype == FLOAT4 {
            return Err(refused(
                "holds 4-bit floats, of which MIGraphX reads twice the bytes that there are; \
                 keep them as another type"
                    .into(),
            ));
        }
        if let Some(raw) = tensor.raw {
            return match raw.len() == bytes {
                true => Ok(()),
                false => Err(refused(format!(
                    "has {} bytes, and its dimensions {dims:?} of {dtype} take {bytes}; the file \
                     is damaged: export the model again",
                    raw.len()
                ))),
            };
        }
        match list.map(|list| tensor.listed(list)) {
            Some(listed) if listed != elements => Err(refused(format!(
                "lists {listed} values, and its dimensions {dims:?} of {dtype} take {elements}; \
                 the file is damaged: export the model again"
            ))),
            _ => Ok(()),
        }
    }
}

/// How many elements the parser makes of a tensor, with every product checked.
fn elements(tensor: &Tensor<'_>, size: usize) -> Result<usize, String> {
    let sizes = &tensor.dims;
    let dims = sizes.iter().map(|size| usize::try_from(*size).ok());
    let Some(mut dims) = dims.collect::<Option<Vec<usize>>>() else {
        return Err(format!(
            "has the dimensions {sizes:?}; none may be negative"
        ));
    };
    if matches!(tensor.dtype, INT4 | UINT4) {
        // Two elements in a byte, of which MIGraphX makes bytes of the last dimension.
        match dims.last_mut() {
            Some(last) if *last > 0 && *last % 2 == 0 => *last /= 2,
            _ => {
                return Err(format!(
                    "has the dimensions {sizes:?} of 4-bit integers; MIGraphX takes those with \
                     an even last dimension"
                ));
            }
        }
    }
    let elements = shape::count(&dims);
    elements
        .filter(|count| {
            count
                .checked_mul(size)
                .is_some_and(|bytes| bytes <= isize::MAX as usize)
        })
        .ok_or_else(|| format!("has the dimensions {sizes:?}, which are larger than memory"))
}
