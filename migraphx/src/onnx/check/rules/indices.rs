//! Constants that are places in other values. MIGraphX takes them unseen, and
//! reads or writes there.

use super::{At, Problem};

impl At<'_> {
    pub(super) fn top_k(&self) -> Problem {
        let k = match self.node.inputs.len() {
            1 => self.int("k", 0),
            _ => *self.integers(1)?.first()?,
        };
        let axis = self.int("axis", -1);
        let size = self.size(0, axis);
        if k >= 0 && size.is_none_or(|size| k as u64 <= size as u64) {
            return None;
        }
        let of = size.map_or(String::new(), |size| format!(" of {size}"));
        Some(format!(
            "takes the {k} largest or smallest{of} along axis {axis}; give the model's inputs \
             sizes that leave as many (`input_dims`), or export it with a smaller k"
        ))
    }

    /// Places along one axis.
    pub(super) fn places(&self) -> Problem {
        let axis = self.int("axis", 0);
        let size = self.size(0, axis)?;
        let bad = outside(&self.integers(1)?, size, true)?;
        Some(outside_text(bad, size, axis))
    }

    /// Places as tuples, one number an axis.
    pub(super) fn tuples(&self, op: &str) -> Problem {
        let first = usize::try_from(self.int("batch_dims", 0)).ok()?;
        let dims = self.dims(0)?.get(first..)?;
        let length = (*self.dims(1)?.last()?)?;
        let places = self.integers(1)?;
        // MIGraphX's ScatterND knows no places counted from the end.
        let from_end = op == "GatherND";
        let axes = dims.get(..length)?;
        for place in places.chunks_exact(length.max(1)) {
            for (axis, (index, size)) in place.iter().zip(axes).enumerate() {
                if let Some(size) = *size
                    && let Some(bad) = outside(&[*index], size, from_end)
                {
                    return Some(outside_text(bad, size, (first + axis) as i64));
                }
            }
        }
        None
    }

    pub(super) fn one_hot(&self) -> Problem {
        let dims = self.dims(2)?.iter().copied().collect::<Option<Vec<_>>>()?;
        (dims != [2]).then(|| format!("has values of {dims:?}, and takes two: off and on"))
    }
}

/// The first index that is not among `size`.
fn outside(indices: &[i64], size: usize, from_end: bool) -> Option<i64> {
    let size = size as i64;
    let first = if from_end { -size } else { 0 };
    let mut indices = indices.iter().copied();
    indices.find(|index| *index < first || *index >= size)
}

fn outside_text(index: i64, size: usize, axis: i64) -> String {
    format!(
        "takes index {index} of {size} along axis {axis}; MIGraphX does not check constant \
         indices: export the model again, or give its inputs the sizes that it was made for \
         (`input_dims`)"
    )
}
