//! INT8 with a calibration set, and what each lower precision costs.
//!
//! `cargo run --release --example 11_int8_calibration`, and with `-- gpu` on a GPU.

use migraphx::{Argument, Calibration, Error, OnnxOptions, Program, Result, Target, accuracy};
use testkit::cnn;

/// Inputs like those of later runs; a few dozen to a few hundred.
const CALIBRATION: std::ops::Range<u64> = 0..64;
/// Others, to measure on.
const TEST: std::ops::Range<u64> = 1000..1032;

/// One run's inputs. Here they are drawn; a real set is read from files.
fn sample(seed: u64) -> Result<[(&'static str, Argument<'static>); 1]> {
    let dims = [1, 3, cnn::SIZE, cnn::SIZE];
    Ok([("images", Argument::from_vec(cnn::image(seed), &dims)?)])
}

fn main() -> Result<()> {
    let target = Target::new(&std::env::args().nth(1).unwrap_or("ref".into()))?;
    // Two convolutions and a matrix product with fixed weights.
    let program = OnnxOptions::new().parse_bytes(&cnn::build(1))?;

    // Each sample is checked and copied as it comes. The library itself runs
    // them all inside `quantize_int8`, and tells nothing of its progress.
    let calibration = Calibration::from_iter(&program, CALIBRATION.map(sample), |done| {
        if done % 16 == 0 {
            println!("{done} samples");
        }
    })?;
    let kib = calibration.bytes() / 1024;
    println!("the calibration set takes {kib} KiB\n");

    // Quantizing takes the target: the calibration runs there.
    let int8 = |program: &mut Program| program.quantize_int8(&target, &calibration);
    let fp8 = |program: &mut Program| program.quantize_fp8(&target, &calibration);
    let both = |program: &mut Program| {
        program.quantize_fp16()?;
        program.quantize_int8(&target, &calibration)
    };
    let cost = |name: &str, quantize: &dyn Fn(&mut Program) -> Result<()>| {
        match accuracy::cost(&program, quantize, &target, TEST.map(sample)) {
            Ok(report) => println!("{name} against single precision, on `{target}`\n{report}\n"),
            // BF16 needs ROCm 7.0, FP8 6.4.
            Err(error @ Error::Unsupported { .. }) => println!("{name}: {error}\n"),
            Err(error) => return Err(error),
        }
        Ok(())
    };
    cost("FP16", &|program| program.quantize_fp16())?;
    cost("BF16", &|program| program.quantize_bf16())?;
    cost("INT8", &int8)?;
    cost("INT8, the rest in FP16", &both)?;
    cost("FP8", &fp8)?;

    // What an operator cannot do is an error, with the way out.
    let mut copy = program.try_clone()?;
    let refused = copy.quantize_int8_ops(&["pooling"], &target, &calibration);
    println!("INT8 for `pooling`: {}", refused.unwrap_err());
    Ok(())
}
