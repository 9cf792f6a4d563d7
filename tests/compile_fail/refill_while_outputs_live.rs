//! Outputs may lie in the input buffers: no refill while they live.
use migraphx::{CompiledProgram, InputId, Inputs};

fn step(program: &mut CompiledProgram, inputs: &mut Inputs<'_>, x: InputId) -> f32 {
    let outputs = program.run(inputs).unwrap();
    inputs.slice_mut::<f32>(x).unwrap()[0] = 1.0; //~ E0499
    outputs.slice::<f32>(0).unwrap()[0]
}

fn main() {
    let _ = step;
}
