//! Outputs may lie in the program's own memory.
use migraphx::{CompiledProgram, Inputs, Outputs};

fn run<'a>(inputs: &'a mut Inputs<'_>) -> Outputs<'a> {
    let mut program = CompiledProgram::load("model.mxr").unwrap();
    program.run(inputs).unwrap() //~ E0515
}

fn main() {
    let _ = run;
}
