//! The next run may reuse what the outputs of this one lie in.
use migraphx::{CompiledProgram, Inputs};

fn same_program(program: &mut CompiledProgram, a: &mut Inputs<'_>, b: &mut Inputs<'_>) {
    let first = program.run(a).unwrap();
    let second = program.run(b).unwrap(); //~ E0499
    drop((first, second));
}

fn same_inputs(p: &mut CompiledProgram, q: &mut CompiledProgram, inputs: &mut Inputs<'_>) {
    let first = p.run(inputs).unwrap();
    let second = q.run(inputs).unwrap(); //~ E0499
    drop((first, second));
}

fn main() {
    let _ = (same_program, same_inputs);
}
