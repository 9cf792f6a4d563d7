//! What the library does not check before it reads or writes memory, divides
//! by, or throws on a thread where nothing catches.
//!
//! Found by reading MIGraphX 7.1 and by running operators with every kind of
//! odd attribute in child processes.

mod image;
mod layout;

pub(in crate::graph) use image::{convolution, convolution_backwards, lrn, pooling};
pub(in crate::graph) use layout::{
    dimensions_of, gather, pad, reshape, slice, squeeze, step, topk, unsqueeze,
};

use crate::dtype::DataType;
use crate::graph::attribute::Attribute;
use crate::graph::kind::Types;
use crate::graph::op::Op;
use crate::shape::Shape;

/// One use of an operator, with attributes of the right types.
pub(in crate::graph) struct Use<'a> {
    pub(in crate::graph) op: &'a Op,
    pub(in crate::graph) inputs: &'a [Operand<'a>],
}

/// An input of an operator.
pub(in crate::graph) struct Operand<'a> {
    pub(in crate::graph) shape: &'a Shape,
    /// The least and the largest value, of an integer literal.
    pub(in crate::graph) range: Option<(i64, i64)>,
}

/// Says what is wrong.
pub(in crate::graph) type Rule = fn(&Use) -> Result<(), String>;

impl Use<'_> {
    fn get(&self, name: &str) -> Option<&Attribute> {
        let mut attributes = self.op.attributes().iter();
        attributes
            .find(|(other, _)| other == name)
            .map(|(_, value)| value)
    }

    fn int(&self, name: &str, default: i64) -> i64 {
        match self.get(name) {
            Some(Attribute::Int(value)) => *value,
            _ => default,
        }
    }

    fn ints(&self, name: &str) -> Option<Vec<i64>> {
        let Some(Attribute::List(values)) = self.get(name) else {
            return None;
        };
        let int = |value: &Attribute| match value {
            Attribute::Int(value) => Some(*value),
            _ => None,
        };
        values.iter().map(int).collect()
    }

    fn flag(&self, name: &str) -> bool {
        self.get(name) == Some(&Attribute::Bool(true))
    }

    fn given(&self, name: &str) -> Result<Vec<i64>, String> {
        match self.ints(name) {
            Some(values) if !values.is_empty() => Ok(values),
            _ => Err(format!("attribute `{name}` is needed, and not empty")),
        }
    }

    fn dims(&self, input: usize) -> Vec<(i64, i64)> {
        dims(self.inputs[input].shape)
    }

    fn dtype(&self, input: usize) -> DataType {
        self.inputs[input].shape.dtype()
    }

    /// The axes of an attribute, counted from the front, each once.
    fn axes(&self, rank: usize) -> Result<Vec<usize>, String> {
        let axes = self.given("axes")?;
        let rank = rank as i64;
        let mut found = Vec::with_capacity(axes.len());
        for axis in axes {
            if !(-rank..rank).contains(&axis) {
                return Err(format!("axis {axis} of {rank} dimensions"));
            }
            let axis = axis.rem_euclid(rank) as usize;
            if found.contains(&axis) {
                return Err(format!("axis {axis} twice"));
            }
            found.push(axis);
        }
        Ok(found)
    }
}

/// The least and the largest size of each dimension. Scalars have rank 1 inside
/// the library.
pub(in crate::graph) fn dims(shape: &Shape) -> Vec<(i64, i64)> {
    if shape.is_dynamic() {
        let ranges = shape.dynamic_dims().iter();
        return ranges
            .map(|dim| (dim.min() as i64, dim.max() as i64))
            .collect();
    }
    match shape.is_scalar() {
        true => vec![(1, 1)],
        false => shape
            .dims()
            .iter()
            .map(|dim| (*dim as i64, *dim as i64))
            .collect(),
    }
}

pub(in crate::graph) fn none(_: &Use) -> Result<(), String> {
    Ok(())
}

/// The only attribute has no useful default.
pub(in crate::graph) fn required(use_: &Use) -> Result<(), String> {
    match use_.op.attributes().is_empty() {
        true => Err("its attribute is needed".into()),
        false => Ok(()),
    }
}

/// The inputs need not be of one type, but hold something.
pub(in crate::graph) fn numbers(use_: &Use) -> Result<(), String> {
    let dtype = |input: &Operand| Types::Numbers.hold(input.shape.dtype());
    match use_.inputs.iter().all(dtype) {
        true => Ok(()),
        false => Err("takes numbers or bools".into()),
    }
}

/// Without axes the library reads them from an input, and does not check them.
pub(in crate::graph) fn axes(use_: &Use) -> Result<(), String> {
    use_.axes(use_.dims(0).len()).map(drop)
}

pub(in crate::graph) fn reduce(use_: &Use) -> Result<(), String> {
    axes(use_)
}

/// Types are not compared, and a condition of one element picks an input as it is.
pub(in crate::graph) fn where_(use_: &Use) -> Result<(), String> {
    numbers(use_)?;
    if use_.dtype(0) != DataType::Bool {
        return Err(format!("the condition is bool, and was {}", use_.dtype(0)));
    }
    if use_.dtype(1) != use_.dtype(2) {
        return Err(format!(
            "both choices have one type, and were {} and {}",
            use_.dtype(1),
            use_.dtype(2)
        ));
    }
    if use_.dims(0) != use_.dims(1) || use_.dims(1) != use_.dims(2) {
        return Err("condition and choices have the same dimensions".into());
    }
    let single = use_.inputs[0].shape.elements() == 1;
    if single && use_.inputs[1].shape != use_.inputs[2].shape {
        return Err("choices of one element have the same shape".into());
    }
    Ok(())
}

/// A bool that is neither 0 nor 1 is undefined behaviour in C++.
pub(in crate::graph) fn bit_cast(use_: &Use) -> Result<(), String> {
    match use_.get("target_type") {
        Some(Attribute::DataType(dtype)) if *dtype == DataType::Bool => {
            Err("bits cannot be made bools; compare with 0".into())
        }
        Some(Attribute::DataType(dtype)) if dtype.size() == use_.dtype(0).size() => Ok(()),
        Some(Attribute::DataType(dtype)) => {
            Err(format!("{} and {dtype} differ in size", use_.dtype(0)))
        }
        _ => Err("attribute `target_type` is needed".into()),
    }
}

pub(in crate::graph) fn quantizelinear(use_: &Use) -> Result<(), String> {
    numbers(use_)?;
    let float = |input: usize| Types::Floats.hold(use_.dtype(input));
    match float(0) && float(1) {
        true => Ok(()),
        false => Err("the input and the scale are floats".into()),
    }
}

/// The zeros that stand for missing zero points are as many bytes as the output.
pub(in crate::graph) fn dequantizelinear(use_: &Use) -> Result<(), String> {
    numbers(use_)?;
    if !Types::Floats.hold(use_.dtype(1)) {
        return Err("the scale is a float".into());
    }
    let fits = use_.dtype(0).size() <= use_.dtype(1).size();
    if use_.inputs.len() == 2 && !(fits && use_.inputs[0].shape.is_standard()) {
        return Err("zero points are needed for this type or layout".into());
    }
    Ok(())
}
