//! Rules 1 and 2: compiled or not is in the type, and no program is empty.

mod support;

use migraphx::mxr::{self, FileFormat, Loaded};
use migraphx::{CompiledProgram, Error, OnnxOptions, Program};
use support::{compile, parse, refused, run};
use testkit::models;

#[test]
fn a_file_is_loaded_as_what_it_is() {
    let dir = tempfile::tempdir().unwrap();
    for format in [FileFormat::Msgpack, FileFormat::Json] {
        let (plain, ready) = (dir.path().join("plain"), dir.path().join("ready"));
        let program = parse(&models::add(&[2]));
        program.save_as(&plain, format).unwrap();
        let mut program = compile(program);
        program.save_as(&ready, format).unwrap();
        let inputs: [(&str, &[f32], &[usize]); 2] =
            [("x", &[1.0, 2.0], &[2]), ("y", &[3.0, 4.0], &[2])];
        let sum = run(&mut program, &inputs);

        let Loaded::Program(program) = mxr::load_as(&plain, format).unwrap() else {
            panic!("an uncompiled program came back compiled");
        };
        assert_eq!(run(&mut compile(program), &inputs), sum);
        let Loaded::Compiled(mut program) = mxr::load_as(&ready, format).unwrap() else {
            panic!("a compiled program came back uncompiled");
        };
        assert_eq!(run(&mut program, &inputs), sum);
    }
}

#[test]
fn the_other_state_is_refused_with_the_way_out() {
    let dir = tempfile::tempdir().unwrap();
    let (plain, ready) = (dir.path().join("plain.mxr"), dir.path().join("ready.mxr"));
    let program = parse(&models::add(&[2]));
    program.save(&plain).unwrap();
    compile(program).save(&ready).unwrap();

    refused!(
        Program::load(&ready),
        Error::AlreadyCompiled { .. },
        "ready.mxr",
        "ref",
        "CompiledProgram::load"
    );
    refused!(
        CompiledProgram::load(&plain),
        Error::NotCompiled { .. },
        "plain.mxr",
        "Program::load"
    );
    let bytes = std::fs::read(&plain).unwrap();
    refused!(
        CompiledProgram::load_bytes(&bytes),
        Error::NotCompiled { .. },
        "compile"
    );

    // The header decides, not what a file is called.
    assert!(!mxr::inspect(&plain).unwrap().is_compiled());
    let info = mxr::inspect(&ready).unwrap();
    assert!(info.is_compiled());
    assert_eq!(info.targets(), ["ref"]);
}

/// What the library takes for a program of another layout could be compiled or
/// not: nothing may guess.
#[test]
fn a_header_without_a_state_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("vendor.json");
    parse(&models::add(&[2]))
        .save_as(&file, FileFormat::Json)
        .unwrap();
    let text = std::fs::read_to_string(&file).unwrap();
    let mut json: serde_json::Value = serde_json::from_str(&text).unwrap();
    json.as_object_mut().unwrap().remove("targets").unwrap();
    std::fs::write(&file, json.to_string()).unwrap();

    refused!(
        mxr::load_as(&file, FileFormat::Json),
        Error::Mxr { .. },
        "vendor.json"
    );
}

#[test]
fn a_clone_of_an_uncompiled_program_is_its_own() {
    let weights: Vec<f32> = (0..16).map(|i| i as f32).collect();
    let program = parse(&models::matmul(4, 4, 4, &weights));
    let mut copy = program.try_clone().unwrap();
    copy.quantize_fp16().unwrap();
    assert!(copy.to_string().contains("half_type"), "{copy}");
    assert!(!program.to_string().contains("half_type"), "{program}");

    let x: Vec<f32> = (0..16).map(|i| i as f32 / 4.0).collect();
    drop(compile(copy));
    let mut program = compile(program);
    let first = run(&mut program, &[("x", &x, &[4, 4])])[1];
    let truth: f32 = (0..4).map(|k| x[k] * weights[4 * k + 1]).sum();
    assert_eq!(first, truth);
}

#[test]
fn only_the_named_operators_are_quantized() {
    let weights = vec![1.0; 16];
    let mut program = parse(&models::matmul(4, 4, 4, &weights));
    program.quantize_fp16_ops(&["convolution"]).unwrap();
    assert!(
        !program.to_string().contains("half_type"),
        "there is no convolution"
    );
    program.quantize_fp16_ops(&["dot"]).unwrap();
    assert!(program.to_string().contains("half_type"));
}

#[test]
fn an_empty_program_is_refused_at_parse() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("empty.onnx");
    std::fs::write(&file, []).unwrap();
    let onnx = OnnxOptions::new();
    refused!(onnx.parse(&file), Error::EmptyModel { .. }, "empty.onnx");
    refused!(onnx.parse_bytes(&[]), Error::EmptyModel { .. });
    refused!(
        onnx.parse_reader(std::io::empty()),
        Error::EmptyModel { .. }
    );
    // Not empty as a file, but nothing to compute.
    refused!(
        onnx.parse_bytes(&models::empty()),
        Error::EmptyModel { .. },
        "outputs"
    );
    std::fs::write(&file, models::empty()).unwrap();
    refused!(
        onnx.parse(&file),
        Error::EmptyModel { .. },
        "empty.onnx",
        "outputs"
    );
}
