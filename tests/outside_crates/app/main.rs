//! A program of somebody else's: reads a model, runs it, prints the result.

use migraphx::{Argument, CompileOptions, OnnxOptions, Target};

fn main() -> std::process::ExitCode {
    // A linked library is mapped before anybody calls it.
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    println!("mapped at start: {}", maps.contains("libmigraphx_c.so"));
    match sum() {
        Ok(sum) => println!("sum: {sum:?}"),
        Err(error) => {
            println!("error: {error}");
            return 3.into();
        }
    }
    0.into()
}

fn sum() -> migraphx::Result<Vec<f32>> {
    let program = OnnxOptions::new().parse_bytes(include_bytes!("../add.onnx"))?;
    let mut program = program.compile(&Target::reference()?, &CompileOptions::new())?;
    let x = Argument::from_slice(&[1.0f32, 2.0, 3.0, 4.0], &[4])?;
    let y = Argument::from_slice(&[10.0f32, 20.0, 30.0, 40.0], &[4])?;
    let outputs = program.run_once(&[("x", x), ("y", y)])?;
    Ok(outputs.slice::<f32>(0)?.to_vec())
}
