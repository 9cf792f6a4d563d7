//! Neither half may be given away while its outputs live.
use migraphx::{CompiledProgram, Inputs};

fn drop_program(mut program: CompiledProgram, inputs: &mut Inputs<'_>) {
    let outputs = program.run(inputs).unwrap();
    drop(program); //~ E0505
    drop(outputs);
}

fn drop_inputs(program: &mut CompiledProgram, mut inputs: Inputs<'_>) {
    let outputs = program.run(&mut inputs).unwrap();
    drop(inputs); //~ E0505
    drop(outputs);
}

fn main() {
    let _ = (drop_program, drop_inputs);
}
