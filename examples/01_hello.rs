//! The shortest whole use: read a model, compile it, run it.
//!
//! `cargo run --example 01_hello` on any machine: it takes the CPU target.

use migraphx::{Argument, CompileOptions, OnnxOptions, Target};

fn main() -> migraphx::Result<()> {
    println!(
        "MIGraphX {} from {}",
        migraphx::version()?,
        migraphx::library_path()?.display()
    );

    // z = x + y, both float [4]; a file would be `parse("model.onnx")`.
    let model = testkit::models::add(&[4]);
    let program = OnnxOptions::new().parse_bytes(&model)?;
    println!("\nThe program:\n{program}");

    let mut program = program.compile(&Target::reference()?, &CompileOptions::new())?;
    let x = Argument::from_slice(&[1.0f32, 2.0, 3.0, 4.0], &[4])?;
    let y = Argument::from_slice(&[10.0f32, 20.0, 30.0, 40.0], &[4])?;
    let outputs = program.run_once(&[("x", x), ("y", y)])?;
    println!("\nx + y = {:?}", outputs.slice::<f32>(0)?);
    Ok(())
}
