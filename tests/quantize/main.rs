//! Lower precision: right values against the arithmetic worked out here, and
//! what the library would not survive refused.

mod limits;
#[path = "../support/mod.rs"]
mod support;

use half::f16;
use migraphx::mxr::{self, FileFormat};
use migraphx::{
    Argument, Calibration, DataType, DynamicDim, Error, OnnxOptions, Program, Result, Target,
    accuracy,
};
use support::{compile, parse, refused, run};
use testkit::onnx::{Elem, Graph, fixed};
use testkit::{cnn, models};

fn reference() -> Target {
    Target::reference().unwrap()
}

const K: usize = 8;
const N: usize = 3;

fn weights() -> Vec<f32> {
    (0..K * N).map(|i| (i as f32 * 0.71).sin()).collect()
}

fn sample(number: usize) -> Vec<f32> {
    let wave = |i: usize| ((number * K + i) as f32 * 0.37).cos() * (1.0 + number as f32 * 0.1);
    (0..K).map(wave).collect()
}

/// y = x · w, x: float [1, K]
fn product() -> Program {
    parse(&models::matmul(1, K, N, &weights()))
}

fn calibration(program: &Program, samples: usize) -> Calibration {
    let samples = (0..samples).map(|i| Ok([("x", Argument::from_vec(sample(i), &[1, K])?)]));
    Calibration::from_iter(program, samples, |_| ()).unwrap()
}

fn largest(values: impl IntoIterator<Item = f32>) -> f32 {
    values.into_iter().fold(0.0, |a, b| a.max(b.abs()))
}

/// x · w, after each operand was rounded by `round` in steps of `scale`.
fn rounded_product(x: &[f32], scales: [f32; 2], round: impl Fn(f32) -> f32) -> Vec<f32> {
    let w = weights();
    let value = |v: f32, scale: f32| round(v / scale) * scale;
    (0..N)
        .map(|n| {
            let terms = x.iter().enumerate();
            terms
                .map(|(k, x)| value(*x, scales[0]) * value(w[k * N + n], scales[1]))
                .sum()
        })
        .collect()
}

fn assert_close(found: &[f32], expected: &[f32], tolerance: f32) {
    assert_eq!(found.len(), expected.len());
    for (a, b) in found.iter().zip(expected) {
        assert!(
            (a - b).abs() <= tolerance,
            "{found:?}, expected {expected:?}"
        );
    }
}

#[test]
fn int8_rounds_by_the_largest_value_of_all_samples() {
    let mut program = product();
    let calibration = calibration(&program, 5);
    program.quantize_int8(&reference(), &calibration).unwrap();
    assert!(program.to_string().contains("int8_type"));
    assert_eq!(program.output_shapes()[0].dtype(), DataType::Float);

    let of_inputs = largest((0..5).flat_map(sample)) / 127.0;
    let scales = [of_inputs, largest(weights()) / 127.0];
    let round = |v: f32| v.round_ties_even().clamp(-128.0, 127.0);
    let mut program = compile(program);
    // The last has values past all that was calibrated: they are cut off.
    let far: Vec<f32> = sample(1).iter().map(|v| v * 2.0).collect();
    for x in [sample(0), sample(3), sample(9), far] {
        let found = run(&mut program, &[("x", &x, &[1, K])]);
        assert_close(&found, &rounded_product(&x, scales, round), 1e-5);
    }
    // It would be hard to tell from single precision otherwise.
    let x = sample(3);
    let exact = run(&mut compile(product()), &[("x", &x, &[1, K])]);
    let found = run(&mut program, &[("x", &x, &[1, K])]);
    assert!(exact.iter().zip(&found).any(|(a, b)| (a - b).abs() > 1e-3));
}

/// Rounds to the nearest number of E4M3FN, even mantissas where two are as near.
fn round_e4m3(v: f32) -> f32 {
    let positive = (0u8..0x7f).map(|bits| {
        let (exponent, mantissa) = (i32::from(bits >> 3), f32::from(bits & 7));
        let value = match exponent {
            0 => mantissa / 8.0 * 2f32.powi(-6),
            _ => (1.0 + mantissa / 8.0) * 2f32.powi(exponent - 7),
        };
        (value, bits)
    });
    let nearest = positive.min_by(|(a, a_bits), (b, b_bits)| {
        let distance = |x: f32| (x - v.abs()).abs();
        let order = distance(*a).total_cmp(&distance(*b));
        order.then((a_bits & 1).cmp(&(b_bits & 1)))
    });
    nearest.unwrap().0.copysign(v)
}

#[test]
fn fp8_rounds_to_the_nearest_of_its_numbers() {
    let mut program = product();
    let calibration = calibration(&program, 5);
    program.quantize_fp8(&reference(), &calibration).unwrap();
    assert!(program.to_string().contains("fp8e4m3fn_type"));
    let of_inputs = largest((0..5).flat_map(sample)) / 448.0;
    let scales = [of_inputs, largest(weights()) / 448.0];
    let mut program = compile(program);
    for x in [sample(0), sample(3)] {
        let found = run(&mut program, &[("x", &x, &[1, K])]);
        assert_close(&found, &rounded_product(&x, scales, round_e4m3), 1e-5);
    }
}

#[test]
fn sixteen_bits_round_each_value() {
    let x = sample(2);
    let halves = |v: f32| f16::from_f32(v).to_f32();
    let floats = |v: f32| half::bf16::from_f32(v).to_f32();
    let quantized = |quantize: fn(&mut Program) -> Result<()>| {
        let mut program = product();
        quantize(&mut program).unwrap();
        run(&mut compile(program), &[("x", &x, &[1, K])])
    };
    // Sums are rounded too, to 11 and 8 bits.
    let expected = rounded_product(&x, [1.0, 1.0], halves);
    assert_close(&quantized(Program::quantize_fp16), &expected, 4e-3);
    assert_close(
        &quantized(|p| p.quantize_fp16_ops(&["dot"])),
        &expected,
        4e-3,
    );
    let expected = rounded_product(&x, [1.0, 1.0], floats);
    assert_close(&quantized(Program::quantize_bf16), &expected, 3e-2);
    assert_close(
        &quantized(|p| p.quantize_bf16_ops(&["dot"])),
        &expected,
        3e-2,
    );
    // A name that does not occur changes nothing.
    let exact = run(&mut compile(product()), &[("x", &x, &[1, K])]);
    assert_eq!(quantized(|p| p.quantize_bf16_ops(&["convolution"])), exact);
    refused!(
        product().quantize_fp16_ops(&[]),
        Error::InvalidArgument(_),
        "no operator names"
    );
}

#[test]
fn precisions_may_be_combined() {
    type Step = fn(&mut Program, &Calibration) -> Result<()>;
    let half: Step = |program, _| program.quantize_fp16();
    let int8: Step = |program, set| program.quantize_int8(&reference(), set);
    let fp8: Step = |program, set| program.quantize_fp8(&reference(), set);
    let set = calibration(&product(), 5);
    let x = sample(3);
    let exact = run(&mut compile(product()), &[("x", &x, &[1, K])]);
    for (steps, tolerance, types) in [
        ([half, int8], 0.03, ["half_type", "int8_type"]),
        ([int8, half], 0.03, ["half_type", "int8_type"]),
        ([int8, int8], 0.03, ["float_type", "int8_type"]),
        ([half, half], 0.002, ["half_type", "dot"]),
        // 4 bits a number
        ([half, fp8], 0.15, ["half_type", "fp8e4m3fn_type"]),
        ([int8, fp8], 0.15, ["int8_type", "fp8e4m3fn_type"]),
        ([fp8, int8], 0.15, ["int8_type", "fp8e4m3fn_type"]),
    ] {
        let mut program = product();
        for step in steps {
            step(&mut program, &set).unwrap();
        }
        let text = program.to_string();
        assert!(types.iter().all(|name| text.contains(name)), "{text}");
        let found = run(&mut compile(program), &[("x", &x, &[1, K])]);
        assert_close(&found, &exact, tolerance);
    }
}

#[test]
fn names_of_operators_have_limits() {
    let mut program = product();
    let set = calibration(&program, 2);
    let target = reference();
    refused!(
        program.quantize_int8_ops(&["dot", "add"], &target, &set),
        Error::InvalidArgument(_),
        "`add`",
        "`dot` and `convolution`",
        "quantize_fp16_ops"
    );
    refused!(
        program.quantize_int8_ops(&[], &target, &set),
        Error::InvalidArgument(_),
        "no operator"
    );

    // The library's own refusal, put into words; the program is as it was.
    let before = program.to_string();
    refused!(
        program.quantize_int8_ops(&["dot"], &target, &set),
        Error::Api { .. },
        "only together",
        "`dot`",
        "only support DOT and CONVOLUTION"
    );
    assert_eq!(program.to_string(), before);
    program
        .quantize_int8_ops(&["convolution", "dot", "dot"], &target, &set)
        .unwrap();
    let mut all = product();
    all.quantize_int8(&target, &set).unwrap();
    assert_eq!(program.to_string(), all.to_string());
}
