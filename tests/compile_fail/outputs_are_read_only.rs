//! Two results may be one buffer, or an input: shared slices only.
use migraphx::Outputs;

fn write(outputs: &mut Outputs<'_>) {
    outputs.slice::<f32>(0).unwrap()[0] = 1.0; //~ E0594
}

fn main() {
    let _ = write;
}
