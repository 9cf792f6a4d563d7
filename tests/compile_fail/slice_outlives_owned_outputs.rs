//! A slice ends with the outputs that hold its memory.
use migraphx::{CompiledProgram, Inputs};

fn run(program: &mut CompiledProgram, inputs: &mut Inputs<'_>) -> f32 {
    let slice = {
        let owned = program.run(inputs).unwrap().into_owned().unwrap();
        owned.slice::<f32>(0).unwrap() //~ E0597
    };
    slice[0]
}

fn main() {
    let _ = run;
}
