//! Compiled once, loaded ever after: `.mxr` files, and how to look into one.
//!
//! `cargo run --example 05_save_and_load`

use migraphx::{Argument, CompileOptions, CompiledProgram, OnnxOptions, Program, Target, mxr};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::temp_dir().join(format!("migraphx-example-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let file = folder.join("add.mxr");

    let model = testkit::models::add(&[4]);
    let program = OnnxOptions::new().parse_bytes(&model)?;
    let program = program.compile(&Target::reference()?, &CompileOptions::new())?;
    program.save(&file)?; // whole or not at all: an old file stays until the new one is written
    println!("{} bytes", std::fs::metadata(&file)?.len());

    // The header is read without the library.
    let info = mxr::inspect(&file)?;
    println!(
        "format {}, written by MIGraphX {}, compiled for {:?}",
        info.format_version(),
        info.migraphx_version().unwrap_or("(unknown)"),
        info.targets()
    );

    let mut loaded = CompiledProgram::load(&file)?;
    let tensor = |value: f32| Argument::from_vec(vec![value; 4], &[4]);
    let outputs = loaded.run_once(&[("x", tensor(1.0)?), ("y", tensor(2.0)?)])?;
    println!("loaded and run: {:?}", outputs.slice::<f32>(0)?);

    // Mixing up the two kinds of program is an error that says which one it is.
    println!(
        "\nas a program to compile: {}",
        Program::load(&file).unwrap_err()
    );
    let onnx = folder.join("add.onnx");
    std::fs::write(&onnx, &model)?;
    println!(
        "an ONNX model: {}",
        CompiledProgram::load(&onnx).unwrap_err()
    );

    std::fs::remove_dir_all(&folder)?;
    Ok(())
}
