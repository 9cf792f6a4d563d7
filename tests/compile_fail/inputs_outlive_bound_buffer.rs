//! A set that borrows a local buffer cannot be returned.
use migraphx::{CompiledProgram, Inputs};

fn inputs(program: &CompiledProgram) -> Inputs<'static> {
    let data = vec![0.0_f32; 4];
    let mut inputs = program.inputs().unwrap();
    let x = inputs.id("x").unwrap();
    inputs.bind(x, &data).unwrap();
    inputs //~ E0515
}

fn main() {
    let _ = inputs;
}
