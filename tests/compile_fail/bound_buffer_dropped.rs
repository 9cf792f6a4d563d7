//! A bound buffer must outlive the set that reads it.
use migraphx::CompiledProgram;

fn run(program: &mut CompiledProgram) {
    let mut inputs = program.inputs().unwrap();
    let x = inputs.id("x").unwrap();
    {
        let data = vec![0.0_f32; 4];
        inputs.bind(x, &data).unwrap(); //~ E0597
    }
    program.run(&mut inputs).unwrap();
}

fn main() {
    let _ = run;
}
