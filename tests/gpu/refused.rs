//! Models that MIGraphX's gpu target would end the process on.

use crate::harness::Test;
use migraphx::hip::Device;
use migraphx::{CompileOptions, DynamicDim, Error, OnnxOptions, Target, parse_onnx};
use std::path::{Path, PathBuf};
use testkit::onnx::Elem;

pub const TESTS: &[Test] = &[
    Test::new("a_value_without_elements", no_elements),
    Test::new("a_dynamic_input_that_is_a_result", dynamic_result),
    // Names only: what is looked at is that each compiles or is refused.
    Test::new("every_small_case_compiles_or_is_refused", every_case)
        .env("GPU_SIM_JIT", "names")
        .seconds(600),
];

fn case(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/cases")
        .join(file)
}

/// A loop of no iterations, whose results laid end to end have no elements.
fn no_elements() {
    let parse = || parse_onnx(case("loop_zero_trip.onnx")).unwrap();
    let error = parse().compile(&Target::gpu().unwrap(), &CompileOptions::new());
    let error = error.unwrap_err().to_string();
    assert!(error.contains("without elements"), "{error}");
    let device = Device::new(1).unwrap();
    let error = parse().compile_for_device(device, &CompileOptions::new());
    assert!(matches!(error, Err(Error::InvalidArgument(_))), "{error:?}");
}

/// It compiles, and the library's assertion ends the process when it runs.
fn dynamic_result() {
    let model = testkit::models::identity(Elem::F32, &[4, 4]);
    let sizes = [DynamicDim::new(1, 4).unwrap(), DynamicDim::fixed(4)];
    let program = OnnxOptions::new()
        .input_dynamic_dims("x", &sizes)
        .parse_bytes(&model)
        .unwrap();
    let error = program.compile(&Target::gpu().unwrap(), &CompileOptions::new());
    let error = error.unwrap_err().to_string();
    assert!(error.contains("`x` back as a result"), "{error}");
}

fn every_case() {
    let files = std::fs::read_dir(case(".")).unwrap().flatten();
    let mut models: Vec<PathBuf> = files
        .map(|file| file.path())
        .filter(|path| path.extension().is_some_and(|end| end == "onnx"))
        .filter(|path| path.metadata().is_ok_and(|data| data.len() < 100_000))
        .collect();
    models.sort();
    let (mut compiled, mut refused) = (0, 0);
    for model in models {
        println!("{}", model.display());
        // What does not parse, or not without sizes, is tested elsewhere.
        let Ok(program) = parse_onnx(&model) else {
            continue;
        };
        match program.compile(&Target::gpu().unwrap(), &CompileOptions::new()) {
            Ok(_) => compiled += 1,
            Err(error) => {
                println!("  {error}");
                refused += 1;
            }
        }
    }
    assert!(compiled > 30, "{compiled} compiled, {refused} refused");
}
