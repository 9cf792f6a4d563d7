//! Half precision: the whole program, or the operators that gain most by it,
//! and what it costs in accuracy.
//!
//! `cargo run --example 04_fp16`

use migraphx::{Argument, CompileOptions, OnnxOptions, Program, Target};

const K: usize = 256;

fn main() -> migraphx::Result<()> {
    // y = x · w, [1, K] · [K, 4]
    let weights: Vec<f32> = (0..4 * K).map(|i| (i as f32 * 0.37).sin()).collect();
    let model = testkit::models::matmul(1, K, 4, &weights);
    let parse = || OnnxOptions::new().parse_bytes(&model);

    let exact = run(parse()?)?;
    println!("single precision:       {exact:?}");

    let mut whole = parse()?;
    whole.quantize_fp16()?;
    println!("\nIn half precision, inputs and outputs keep their types:\n{whole}\n");
    report("whole program:", &exact, &run(whole)?);

    let mut products = parse()?;
    products.quantize_fp16_ops(&["dot"])?;
    report("matrix products only:", &exact, &run(products)?);

    let mut none = parse()?;
    none.quantize_fp16_ops(&["convolution"])?;
    report("convolutions (none):", &exact, &run(none)?);
    Ok(())
}

fn run(program: Program) -> migraphx::Result<Vec<f32>> {
    let mut program = program.compile(&Target::reference()?, &CompileOptions::new())?;
    let x = Argument::from_vec((0..K).map(|i| (i as f32 * 0.11).cos()).collect(), &[1, K])?;
    Ok(program.run_once(&[("x", x)])?.slice::<f32>(0)?.to_vec())
}

fn report(what: &str, exact: &[f32], found: &[f32]) {
    let error = exact.iter().zip(found).map(|(a, b)| (a - b).abs());
    println!(
        "{what:<23} {found:?}, largest error {:.4}",
        error.fold(0.0, f32::max)
    );
}
