//! A bound buffer is shared for as long as the set lives.
use migraphx::CompiledProgram;

fn run(program: &mut CompiledProgram) {
    let mut data = vec![0.0_f32; 4];
    let mut inputs = program.inputs().unwrap();
    let x = inputs.id("x").unwrap();
    inputs.bind(x, &data).unwrap();
    data[0] = 1.0; //~ E0506 E0502
    program.run(&mut inputs).unwrap();
}

fn main() {
    let _ = run;
}
