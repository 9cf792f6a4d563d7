//! Rule 9: what C takes as a size or a name is checked first.

mod support;

use migraphx::{
    Argument, CompiledProgram, DataType, Error, OnnxOptions, Program, Shape, Target, mxr,
};
use support::{compiled, parse, refused};
use testkit::models;
use testkit::onnx::Elem;

#[test]
fn target_names_reach_no_path() {
    // The library pastes the name into the path of a library it opens.
    for name in [
        "",
        "../ref",
        "ref/../ref",
        "REF",
        "ref ",
        "ref\0",
        "réf",
        "r%sf",
    ] {
        refused!(Target::new(name), Error::InvalidArgument(_), "target");
    }
    refused!(
        Target::new("nosuch"),
        Error::Api { .. },
        "nosuch",
        "libmigraphx_nosuch.so"
    );
    // A failed load leaves the registry usable.
    assert!(Target::new("ref").is_ok());
}

#[test]
fn names_hold_no_nul() {
    let onnx = OnnxOptions::new().input_dims("x\0y", &[1]);
    refused!(
        onnx.parse_bytes(&models::relu(&[1])),
        Error::InvalidArgument(_),
        "NUL"
    );
    let onnx = OnnxOptions::new().external_data_dir("a\0b");
    refused!(
        onnx.parse_bytes(&models::relu(&[1])),
        Error::InvalidArgument(_),
        "NUL"
    );
    let mut program = parse(&models::relu(&[1]));
    refused!(
        program.quantize_fp16_ops(&["dot\0"]),
        Error::InvalidArgument(_),
        "NUL"
    );
    for result in [
        migraphx::parse_onnx("a\0b").map(drop),
        Program::load("a\0b").map(drop),
        CompiledProgram::load("a\0b").map(drop),
        mxr::inspect("a\0b").map(drop),
        program.save("a\0b"),
    ] {
        let error = result.unwrap_err();
        assert!(!matches!(error, Error::Api { .. }), "C was called: {error}");
    }
}

/// C sees `x` where the model says `x\0y`: the parameter cannot be reached.
#[test]
fn a_model_whose_names_c_cannot_hold_is_refused_or_whole() {
    let mut bytes = models::identity(Elem::F32, &[2]);
    let model = |name: [u8; 3]| {
        let mut graph = testkit::onnx::Graph::new("g");
        let dims = testkit::onnx::fixed(&[2]);
        graph.input("q#q", Elem::F32, &dims);
        graph.node("Relu", &["q#q"], &["y"], vec![]);
        graph.output("y", Elem::F32, &dims);
        bytes = graph.into_bytes();
        while let Some(at) = bytes.windows(3).position(|w| w == b"q#q") {
            bytes[at..at + 3].copy_from_slice(&name);
        }
        OnnxOptions::new().parse_bytes(&bytes)
    };
    let mut model = model;
    refused!(model(*b"a\0b"), Error::Model { .. }, "NUL", "rename");
    // Bytes that are no UTF-8: an error, or a name that can be used.
    if let Ok(program) = model([b'a', 0xff, b'b']) {
        let name = program.parameters()[0].name().to_owned();
        let mut program = support::compile(program);
        assert_eq!(
            support::run(&mut program, &[(&name, &[1.0, -1.0], &[2])]),
            [1.0, 0.0]
        );
    }
}

#[test]
fn models_from_memory_have_a_limit() {
    // Never touched, so never there: only its length is looked at.
    let huge = vec![0_u8; i32::MAX as usize + 1];
    let result = OnnxOptions::new().parse_bytes(&huge);
    refused!(result, Error::InvalidArgument(_), "2147483648");
}

#[test]
fn shapes_are_whole() {
    // Making a tuple shape aborts a library with assertions.
    let tuple = |error| {
        matches!(
            error,
            Error::InvalidShape(_) | Error::UnsupportedDataType { .. }
        )
    };
    assert!(tuple(Shape::new(DataType::Tuple, &[1]).unwrap_err()));
    assert!(tuple(
        Argument::from_bytes(DataType::Tuple, &[1], &[]).unwrap_err()
    ));
    assert!(tuple(Argument::zeros(DataType::Tuple, &[1]).unwrap_err()));
    let strides = Shape::with_strides(DataType::Float, &[2, 2], &[1]);
    refused!(strides, Error::InvalidShape(_), "2 dimensions", "1 strides");
}

#[test]
fn files_that_are_not_there_are_named() {
    let dir = tempfile::tempdir().unwrap();
    let missing = dir.path().join("missing.onnx");
    refused!(migraphx::parse_onnx(&missing), _, "missing.onnx");
    refused!(
        migraphx::parse_onnx(dir.path()),
        _,
        dir.path().to_str().unwrap()
    );
    refused!(mxr::inspect(&missing), Error::Io { .. }, "missing.onnx");
    refused!(mxr::load(&missing), _, "missing.onnx");
    refused!(CompiledProgram::load(&missing), _, "missing.onnx");
    refused!(Program::load(dir.path()), _, dir.path().to_str().unwrap());
}

#[test]
fn names_of_any_script_are_names() {
    let mut graph = testkit::onnx::Graph::new("g");
    let dims = testkit::onnx::fixed(&[2]);
    let name = "входное изображение/画像:0 😀";
    graph.input(name, Elem::F32, &dims);
    graph.node("Relu", &[name], &["y"], vec![]);
    graph.output("y", Elem::F32, &dims);
    let mut program = compiled(&graph.into_bytes());
    assert_eq!(program.parameters()[0].name(), name);
    assert_eq!(
        support::run(&mut program, &[(name, &[-1.0, 2.0], &[2])]),
        [0.0, 2.0]
    );
}
