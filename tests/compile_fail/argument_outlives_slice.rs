//! An argument over a slice borrows it.
use migraphx::Argument;

fn argument() -> Argument<'static> {
    let data = vec![0.0_f32; 4];
    Argument::from_slice(&data, &[4]).unwrap() //~ E0515
}

fn main() {
    let _ = argument;
}
