//! A result byte may be neither 0 nor 1: bools come out through a checked
//! accessor, never as a slice.
use migraphx::{InputId, Inputs, Outputs};

fn read(outputs: &Outputs<'_>) -> bool {
    outputs.slice::<bool>(0).unwrap()[0] //~ E0277
}

fn write(inputs: &mut Inputs<'_>, id: InputId) {
    inputs.slice_mut::<char>(id).unwrap()[0] = 'a'; //~ E0277
}

fn main() {
    let _ = (read, write);
}
