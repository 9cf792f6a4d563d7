//! Nor may a parameter be bound elsewhere or resized.
use migraphx::{CompiledProgram, InputId, Inputs};

fn bind<'b>(program: &mut CompiledProgram, inputs: &mut Inputs<'b>, x: InputId, data: &'b [f32]) {
    let outputs = program.run(inputs).unwrap();
    inputs.bind(x, data).unwrap(); //~ E0499
    drop(outputs);
}

fn resize(program: &mut CompiledProgram, inputs: &mut Inputs<'_>, x: InputId) {
    let outputs = program.run(inputs).unwrap();
    inputs.resize(x, &[1]).unwrap(); //~ E0499
    drop(outputs);
}

fn main() {
    let _ = (bind, resize);
}
