//! Reading ONNX: sizes that a model leaves open are settled when it is parsed.
//!
//! `cargo run --example 03_onnx_options`

use migraphx::{Argument, CompileOptions, DynamicDim, OnnxOptions, Program, Target};

fn main() -> migraphx::Result<()> {
    // y = x · w + b with x of [batch, 4]: the batch is open.
    let model = testkit::models::dynamic_linear();
    let show = |what: &str, program: &Program| {
        let x = program.parameters()[0].shape();
        println!("{what:<34} x: {x}, y: {}", program.output_shapes()[0]);
    };

    show(
        "by default, open sizes are 1:",
        &OnnxOptions::new().parse_bytes(&model)?,
    );
    let all = OnnxOptions::new().default_dim(8);
    show("default_dim(8):", &all.parse_bytes(&model)?);
    let one = OnnxOptions::new().input_dims("x", &[64, 4]);
    show("input_dims(\"x\", [64, 4]):", &one.parse_bytes(&model)?);

    // A misspelt input would be ignored by the library; here it is an error.
    let misspelt = OnnxOptions::new().input_dims("X", &[64, 4]);
    println!(
        "input_dims(\"X\", …): {}",
        misspelt.parse_bytes(&model).unwrap_err()
    );

    // A range instead of a size: each run settles it, within the range.
    let batch = DynamicDim::new(1, 4)?;
    let ranges = OnnxOptions::new().input_dynamic_dims("x", &[batch, DynamicDim::fixed(4)]);
    let program = ranges.parse_bytes(&model)?;
    show("input_dynamic_dims(\"x\", [1..=4, 4]):", &program);
    let mut program = program.compile(&Target::reference()?, &CompileOptions::new())?;
    for batch in [1, 3, 5] {
        let x = Argument::from_vec(vec![1.0f32; batch * 4], &[batch, 4])?;
        match program.run_once(&[("x", x)]) {
            Ok(outputs) => println!("batch {batch}: y = {:?}", outputs.slice::<f32>(0)?),
            Err(error) => println!("batch {batch}: {error}"),
        }
    }
    Ok(())
}
