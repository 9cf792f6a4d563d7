//! Operators that pick, order and arrange elements.

use crate::dtype::DataType;
use crate::graph::rules::{Use, numbers};

pub(in crate::graph) fn topk(use_: &Use) -> Result<(), String> {
    let dims = use_.dims(0);
    let (k, axis) = (use_.int("k", 1), use_.int("axis", 0));
    let rank = dims.len() as i64;
    if !(-rank..rank).contains(&axis) {
        return Err(format!("axis {axis} of {rank} dimensions"));
    }
    let size = dims[axis.rem_euclid(rank) as usize].0;
    match k <= size {
        true => Ok(()),
        false => Err(format!("the {k} largest of {size}")),
    }
}

pub(in crate::graph) fn dimensions_of(use_: &Use) -> Result<(), String> {
    let (start, end) = (use_.int("start", 0), use_.int("end", 0));
    let rank = use_.dims(0).len() as i64;
    match start < end && end <= rank {
        true => Ok(()),
        false => Err(format!("dimensions {start} to {end} of {rank}")),
    }
}

/// Indices are not checked when they are read.
pub(in crate::graph) fn gather(use_: &Use) -> Result<(), String> {
    numbers(use_)?;
    let dims = use_.dims(0);
    let (axis, rank) = (use_.int("axis", 0), dims.len() as i64);
    if !(-rank..rank).contains(&axis) {
        return Err(format!("axis {axis} of {rank} dimensions"));
    }
    let size = dims[axis.rem_euclid(rank) as usize].0;
    if !matches!(use_.dtype(1), DataType::Int32 | DataType::Int64) {
        return Err(format!(
            "the indices are int32 or int64, and were {}",
            use_.dtype(1)
        ));
    }
    match use_.inputs[1].range {
        Some((least, most)) if least >= -size && most < size => Ok(()),
        Some((least, most)) => Err(format!("indices from {least} to {most} into {size}")),
        None => Err(
            "indices that are computed or given at each run are not checked by the library; use \
             a literal, or `unsafe` and `add_unchecked`"
                .into(),
        ),
    }
}

/// Fewer entries than dimensions are read beyond their end.
pub(in crate::graph) fn pad(use_: &Use) -> Result<(), String> {
    let rank = use_.dims(0).len();
    match use_.ints("pads") {
        Some(pads) if pads.len() == 2 * rank => Ok(()),
        pads => Err(format!(
            "{} pads for {rank} dimensions; give one a dimension before all of it, then one a \
             dimension after",
            pads.map_or(0, |pads| pads.len())
        )),
    }
}

/// The library divides by the product, which it keeps in a C `int`.
pub(in crate::graph) fn reshape(use_: &Use) -> Result<(), String> {
    let dims = use_.dims(0);
    let wanted = use_.given("dims")?;
    if wanted.iter().filter(|dim| **dim == -1).count() > 1 {
        return Err("one dimension at most is -1".into());
    }
    let mut product = 1i64;
    for (at, dim) in wanted.iter().enumerate() {
        let size = match dim {
            -1 => 1,
            0 => {
                dims.get(at)
                    .ok_or("a 0 where there is no dimension to keep")?
                    .1
            }
            1.. => *dim,
            _ => return Err(format!("a dimension of {dim}")),
        };
        product = product
            .checked_mul(size)
            .filter(|product| *product <= i32::MAX.into())
            .ok_or("more than 2³¹ elements")?;
    }
    Ok(())
}

/// Unsorted bounds wrap; axes given twice move the start twice.
pub(in crate::graph) fn slice(use_: &Use) -> Result<(), String> {
    let dims = use_.dims(0);
    let axes = use_.axes(dims.len())?;
    let (starts, ends) = (use_.given("starts")?, use_.given("ends")?);
    if axes.len() != starts.len() || axes.len() != ends.len() {
        return Err(format!(
            "{} axes, {} starts and {} ends",
            axes.len(),
            starts.len(),
            ends.len()
        ));
    }
    for ((axis, start), end) in axes.into_iter().zip(starts).zip(ends) {
        let (size, most) = dims[axis];
        if size != most {
            return Err(format!("axis {axis} has no fixed size"));
        }
        let from_front = |at: i64| at.clamp(-size, size) + if at < 0 { size } else { 0 };
        if from_front(start) >= from_front(end) {
            return Err(format!("nothing lies from {start} to {end} of {size}"));
        }
    }
    Ok(())
}

pub(in crate::graph) fn squeeze(use_: &Use) -> Result<(), String> {
    let dims = use_.dims(0);
    for axis in use_.axes(dims.len())? {
        if dims[axis] != (1, 1) {
            return Err(format!("axis {axis} has not the size 1"));
        }
    }
    Ok(())
}

pub(in crate::graph) fn unsqueeze(use_: &Use) -> Result<(), String> {
    let added = use_.given("axes")?.len();
    use_.axes(use_.dims(0).len() + added).map(drop)
}

pub(in crate::graph) fn step(use_: &Use) -> Result<(), String> {
    let axes = use_.axes(use_.dims(0).len())?;
    match use_.given("steps")?.len() == axes.len() {
        true => Ok(()),
        false => Err("one step for each axis".into()),
    }
}
