//! Sizes, steps and divisors.

use super::{At, INT, Problem};
use crate::shape;

/// Operators that slide a window.
const WINDOWS: [&str; 9] = [
    "AveragePool",
    "Conv",
    "ConvInteger",
    "ConvTranspose",
    "LpPool",
    "MaxPool",
    "NhwcConv",
    "QLinearAveragePool",
    "QLinearConv",
];

/// Attributes by which the parser divides.
const DIVISORS: [(&str, &str); 5] = [
    ("Attention", "num_heads"),
    ("GroupNorm", "groups"),
    ("GroupNorm", "num_groups"),
    ("GroupNormalization", "num_groups"),
    ("MultiHeadAttention", "num_heads"),
];

/// Operators that look at so many dimensions of their first input.
const RANKS: [(usize, &[&str]); 3] = [
    (2, &["InstanceNormalization", "Trilu"]),
    (
        3,
        &[
            "AveragePool",
            "Conv",
            "ConvInteger",
            "ConvTranspose",
            "GlobalAveragePool",
            "GlobalLpPool",
            "GlobalMaxPool",
            "LpPool",
            "MaxPool",
            "QLinearConv",
        ],
    ),
    (4, &["DepthToSpace", "SpaceToDepth"]),
];

impl At<'_> {
    pub(super) fn rank(&self, op: &str) -> Problem {
        let row = RANKS.iter().find(|(_, ops)| ops.contains(&op));
        let (least, rank) = (row?.0, self.dims(0)?.len());
        (rank < least).then(|| {
            format!("is given {rank} dimensions, and takes {least} or more; check `input_dims`")
        })
    }

    /// Steps of a window.
    pub(super) fn steps(&self, op: &str) -> Problem {
        if !WINDOWS.contains(&op) {
            return None;
        }
        let pads = self.ints("pads");
        if pads.len() % 2 == 1 {
            return Some(format!(
                "has the pads {pads:?}; there have to be two for each axis"
            ));
        }
        let strides = self.ints("strides");
        if strides.iter().any(|stride| *stride < 1) {
            return Some(format!(
                "has the strides {strides:?}; each has to be 1 or more"
            ));
        }
        self.at_least_one("group")
    }

    pub(super) fn divisors(&self, op: &str) -> Problem {
        let of_op = DIVISORS.iter().filter(|(name, _)| *name == op);
        of_op
            .map(|(_, attribute)| attribute)
            .find_map(|attribute| self.at_least_one(attribute))
    }

    fn at_least_one(&self, name: &str) -> Problem {
        let attribute = self.node.attribute(name)?;
        if !matches!(attribute.kind, 0 | INT) {
            return Some(format!("has the attribute {name}, which is no integer"));
        }
        // The parser takes the lower half of some.
        let value = attribute.int;
        (value < 1 || value as i32 == 0)
            .then(|| format!("has the {name} {value}; it has to be 1 or more"))
    }

    /// Integers divided by a constant 0, as processors do not do it.
    pub(super) fn division(&self) -> Problem {
        let by = self.integers(1)?;
        if by.contains(&0) {
            return Some(
                "divides integers by a constant that holds 0; make it another value".into(),
            );
        }
        let lowest = [i64::MIN, i64::from(i32::MIN)];
        let dividends = by.contains(&-1).then(|| self.integers(0)).flatten()?;
        dividends
            .iter()
            .any(|value| lowest.contains(value))
            .then(|| "divides the lowest of all integers by -1, which no integer is".into())
    }

    pub(super) fn slice(&self) -> Problem {
        let lists = [1, 2, 3, 4].map(|input| self.integers(input));
        if let [.., Some(steps)] = &lists
            && steps.contains(&0)
        {
            return Some(format!("has the steps {steps:?}; none may be 0"));
        }
        let mut lengths = lists.iter().flatten().map(Vec::len);
        let first = lengths.next()?;
        lengths.any(|length| length != first).then(|| {
            let [starts, ends, axes, steps] = lists.map(|list| list.unwrap_or_default());
            format!(
                "has the starts {starts:?}, ends {ends:?}, axes {axes:?} and steps {steps:?}; \
                 there have to be as many of each"
            )
        })
    }

    pub(super) fn split(&self) -> Problem {
        if self.node.outputs.is_empty() {
            return Some("has no outputs, and splits into as many parts".into());
        }
        let parts = match self.ints("split") {
            [] => self.integers(1)?,
            parts => parts.to_vec(),
        };
        parts
            .iter()
            .any(|part| *part < 0)
            .then(|| format!("splits into parts of {parts:?}; none may be negative"))
    }

    /// An empty one stops a library that was built with its assertions.
    pub(super) fn range(&self) -> Problem {
        for input in 0..3 {
            let dims = self.dims(input);
            if dims.is_some_and(|dims| dims.iter().any(|size| size.is_some_and(|size| size != 1))) {
                return Some("takes one value each for start, limit and step".into());
            }
        }
        let value = |input| self.integers(input)?.first().copied();
        let (start, limit, delta) = (value(0)?, value(1)?, value(2)?);
        let empty = match delta.signum() {
            1 => limit <= start,
            -1 => limit >= start,
            _ => true,
        };
        empty.then(|| {
            format!(
                "counts from {start} to {limit} in steps of {delta}; MIGraphX takes ranges of \
                 one value or more"
            )
        })
    }

    pub(super) fn filled(&self) -> Problem {
        let sizes = self.integers(0)?;
        // Of any type: none is longer than 8 bytes.
        too_large(&sizes, 8)
    }

    pub(super) fn expand(&self) -> Problem {
        let sizes = self.integers(1)?;
        too_large(&sizes, 8)
    }
}

fn too_large(sizes: &[i64], bytes: usize) -> Problem {
    let dims = sizes.iter().map(|size| usize::try_from(*size).ok());
    let dims: Option<Vec<usize>> = dims.collect();
    let fits = dims
        .and_then(|dims| shape::count(&dims))
        .and_then(|count| count.checked_mul(bytes))
        .is_some_and(|bytes| bytes <= isize::MAX as usize);
    (!fits).then(|| format!("makes a tensor of {sizes:?}, which is negative or larger than memory"))
}
