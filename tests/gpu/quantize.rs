//! Quantized programs on a GPU: 8-bit operators, and the values of `ref`.

use crate::harness::Test;
use migraphx::hip::Device;
use migraphx::{
    Argument, Calibration, CompileOptions, CompiledProgram, OnnxOptions, Program, Result, Target,
    accuracy,
};
use testkit::cnn;

pub const TESTS: &[Test] = &[
    Test::new("int8_is_computed_in_8_bits", int8).seconds(400),
    Test::new("int8_on_hipblaslt", int8)
        .env("GPU_SIM_ARCH", "gfx942")
        .seconds(400),
    Test::new("fp8_is_near_ref", fp8).seconds(400),
    Test::new("calibration_runs_on_the_device_of_the_target", on_device).seconds(200),
];

type Sample = [(&'static str, Argument<'static>); 1];

fn program() -> Program {
    OnnxOptions::new().parse_bytes(&cnn::build(1)).unwrap()
}

fn images(from: u64, to: u64) -> impl Iterator<Item = Result<Sample>> {
    (from..to).map(|seed| {
        let dims = [1, 3, cnn::SIZE, cnn::SIZE];
        Ok([("images", Argument::from_vec(cnn::image(seed), &dims)?)])
    })
}

fn calibration() -> Calibration {
    Calibration::from_iter(&program(), images(0, 8), |_| ()).unwrap()
}

fn compiled(program: Program, target: &Target) -> CompiledProgram {
    program.compile(target, &CompileOptions::new()).unwrap()
}

/// The same network, quantized and compiled for both targets.
fn both(
    quantize: impl Fn(&mut Program, &Target, &Calibration) -> Result<()>,
) -> (CompiledProgram, CompiledProgram) {
    let calibration = calibration();
    let [reference, gpu] = ["ref", "gpu"].map(|name| {
        let target = Target::new(name).unwrap();
        let mut program = program();
        quantize(&mut program, &target, &calibration).unwrap();
        compiled(program, &target)
    });
    (reference, gpu)
}

fn int8() {
    let (mut reference, mut gpu) = both(|p, target, set| p.quantize_int8(target, set));
    let text = gpu.to_string();
    for operator in ["quant_convolution", "quant_gemm"] {
        assert!(text.contains(operator), "no {operator} in\n{text}");
    }
    let report = accuracy::compare(&mut reference, &mut gpu, images(100, 104)).unwrap();
    println!("gpu against ref, both INT8\n{report}");
    for output in report.outputs() {
        assert!(
            output.max_error < 1e-3 && output.cosine > 0.9999,
            "{report}"
        );
    }
    let mut exact = compiled(program(), &Target::reference().unwrap());
    let report = accuracy::compare(&mut exact, &mut gpu, images(100, 104)).unwrap();
    println!("gpu in INT8 against ref in single precision\n{report}");
    assert!(report.outputs()[0].cosine > 0.99, "{report}");
    assert!(
        report.outputs()[0].max_error > 1e-5,
        "not quantized?\n{report}"
    );
}

fn fp8() {
    let (mut reference, mut gpu) = both(|p, target, set| p.quantize_fp8(target, set));
    let report = accuracy::compare(&mut reference, &mut gpu, images(100, 104)).unwrap();
    println!("gpu against ref, both FP8\n{report}");
    for output in report.outputs() {
        assert!(output.cosine > 0.99, "{report}");
    }
}

fn on_device() {
    let third = Device::new(3).unwrap();
    let target = Target::gpu_on(third).unwrap();
    let before = Device::current().unwrap();
    let launches = |device| crate::sim::counters(device).launches;
    let (none, some) = (launches(0), launches(3));
    let mut program = program();
    program.quantize_int8(&target, &calibration()).unwrap();
    assert_eq!(Device::current().unwrap(), before);
    assert_eq!(launches(0), none);
    assert!(launches(3) > some, "the calibration ran somewhere else");
}
