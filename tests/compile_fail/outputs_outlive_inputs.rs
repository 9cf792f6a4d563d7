//! Outputs may lie in the set's buffers.
use migraphx::{CompiledProgram, Outputs};

fn run(program: &mut CompiledProgram) -> Outputs<'_> {
    let mut inputs = program.inputs().unwrap();
    program.run(&mut inputs).unwrap() //~ E0515
}

fn main() {
    let _ = run;
}
