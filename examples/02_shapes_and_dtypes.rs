//! Shapes and data types: what they are made of, and what a program says of its own.
//!
//! `cargo run --example 02_shapes_and_dtypes`

use migraphx::{Argument, CompileOptions, DataType, OnnxOptions, Shape, Target};

fn main() -> migraphx::Result<()> {
    let images = Shape::new(DataType::Float, &[64, 3, 640, 640])?;
    println!(
        "{images}: {} elements, {} bytes",
        images.elements(),
        images.bytes()
    );
    println!("  strides {:?}", images.strides());

    // Data in another order than row-major has a shape of its own.
    let transposed = Shape::with_strides(DataType::Half, &[3, 2], &[1, 3])?;
    println!(
        "{transposed}: {} bytes, standard: {}",
        transposed.bytes(),
        transposed.is_standard()
    );
    println!(
        "{}: {} byte",
        Shape::scalar(DataType::Bool)?,
        DataType::Bool.size()
    );

    // Sizes that cannot be are an error here, not a wrapped number later.
    println!(
        "error: {}",
        Shape::new(DataType::Float, &[1 << 40, 1 << 40]).unwrap_err()
    );

    // y = x, in half precision. Rust's type decides how data is read, and is checked.
    let model = testkit::models::identity(testkit::onnx::Elem::F16, &[3]);
    let program = OnnxOptions::new().parse_bytes(&model)?;
    println!("\nparameter `x` takes {}", program.parameters()[0].shape());
    let mut program = program.compile(&Target::reference()?, &CompileOptions::new())?;

    let x = Argument::half_from_f32(&[1.0, 0.5, 65504.0], &[3])?;
    let outputs = program.run_once(&[("x", x)])?;
    println!("as half::f16: {:?}", outputs.slice::<half::f16>(0)?);
    println!("as f32: {}", outputs.slice::<f32>(0).unwrap_err());

    // A wrong type or size never reaches the library.
    let wrong = Argument::from_slice(&[1.0f32, 2.0, 3.0], &[3])?;
    println!(
        "given f32: {}",
        program.run_once(&[("x", wrong)]).unwrap_err()
    );
    Ok(())
}
