//! Programs built by hand: right values, and an error for everything that the
//! library would not survive.

mod attributes;
mod branding;
mod control;
mod custom;
mod draw;
mod programs;
mod random;
mod refusals;
#[path = "../support/mod.rs"]
mod support;
mod values;

use migraphx::{Argument, DataType, OwnedOutputs, Program, Shape};
use support::compile;

pub fn float(dims: &[usize]) -> Shape {
    Shape::new(DataType::Float, dims).unwrap()
}

pub fn run(program: Program, inputs: &[(&str, Argument)]) -> OwnedOutputs {
    let copies: Vec<(&str, Argument)> = inputs
        .iter()
        .map(|(name, data)| {
            let shape = data.shape();
            let copy = Argument::from_bytes(shape.dtype(), shape.dims(), data.as_bytes());
            (*name, copy.unwrap())
        })
        .collect();
    compile(program).run_once(&copies).unwrap()
}
