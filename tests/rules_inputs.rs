//! Rule 3: before a run every parameter is checked against the program.

mod support;

use half::f16;
use migraphx::{Argument, CompiledProgram, DataType, Error};
use support::{case, compile, compiled, parse, refused};
use testkit::models;
use testkit::onnx::Elem;

fn floats(data: &[f32], dims: &[usize]) -> Argument<'static> {
    Argument::from_vec(data.to_vec(), dims).unwrap()
}

/// `x`, `y` and one more.
fn program_with(name: &str, program: &mut CompiledProgram) -> migraphx::Result<()> {
    let value = || floats(&[0.0; 2], &[2]);
    program
        .run_once(&[("x", value()), ("y", value()), (name, value())])
        .map(drop)
}

#[test]
fn each_parameter_must_be_given_once_and_no_other() {
    let mut program = compiled(&models::add(&[2]));
    let x = || ("x", floats(&[1.0, 2.0], &[2]));
    let y = || ("y", floats(&[1.0, 2.0], &[2]));
    assert!(program.run_once(&[y(), x()]).is_ok(), "the order is free");
    refused!(
        program.run_once(&[x()]),
        Error::MissingParameter { .. },
        "`y`",
        "[2]"
    );
    refused!(program.run_once(&[]), Error::MissingParameter { .. }, "`x`");
    let unknown = |name| program_with(name, &mut compiled(&models::add(&[2])));
    refused!(
        unknown("z"),
        Error::UnknownParameter { .. },
        "`z`",
        "`x`",
        "`y`"
    );
    // Names are compared whole, not up to a NUL.
    refused!(unknown("x\0"), Error::UnknownParameter { .. }, "`x`");
    refused!(
        program.run_once(&[x(), y(), x()]),
        Error::InvalidArgument(_),
        "`x`",
        "twice"
    );

    let inputs = program.inputs().unwrap();
    refused!(
        inputs.id("z"),
        Error::UnknownParameter { .. },
        "`z`",
        "`x`",
        "`y`"
    );
    refused!(inputs.id("x\0"), Error::UnknownParameter { .. });
}

#[test]
fn type_and_dims_must_be_the_parameters() {
    let mut program = compiled(&models::relu(&[2, 3]));
    let mut refuse = |argument: Argument<'_>, given: &str, wanted: &str| {
        let mut inputs = program.inputs().unwrap();
        let x = inputs.id("x").unwrap();
        let set = inputs.set(x, &argument);
        refused!(set, Error::ShapeMismatch { .. }, "`x`", given, wanted);
        let once = program.run_once(&[("x", argument)]);
        refused!(once, Error::ShapeMismatch { .. }, "`x`", given, wanted);
    };
    // The same number of bytes and of elements, but another shape.
    refuse(floats(&[0.0; 6], &[3, 2]), "[3, 2]", "[2, 3]");
    refuse(floats(&[0.0; 6], &[6]), "[6]", "[2, 3]");
    refuse(floats(&[0.0; 6], &[1, 2, 3]), "[1, 2, 3]", "[2, 3]");
    refuse(floats(&[0.0; 4], &[2, 2]), "[2, 2]", "[2, 3]");
    refuse(
        Argument::from_vec(vec![0_i32; 6], &[2, 3]).unwrap(),
        "int32",
        "float",
    );
    refuse(
        Argument::from_vec(vec![0.0_f64; 3], &[1, 3]).unwrap(),
        "double",
        "float",
    );
    refuse(
        Argument::from_vec(vec![f16::ONE; 6], &[2, 3]).unwrap(),
        "half",
        "float",
    );
    refuse(Argument::scalar(1.0_f32).unwrap(), "scalar", "[2, 3]");
}

#[test]
fn refills_are_typed_and_measured() {
    let program = compiled(&models::relu(&[2, 3]));
    let mut inputs = program.inputs().unwrap();
    let x = inputs.id("x").unwrap();
    assert_eq!(
        inputs.slice_mut::<f32>(x).unwrap(),
        [0.0; 6],
        "a new set is zeroed"
    );
    let double = inputs.slice_mut::<f64>(x);
    refused!(
        double,
        Error::DataTypeMismatch { .. },
        "`x`",
        "double",
        "float"
    );
    refused!(
        inputs.slice_mut::<i32>(x),
        Error::DataTypeMismatch { .. },
        "int32"
    );
    refused!(
        inputs.slice_mut::<u8>(x),
        Error::DataTypeMismatch { .. },
        "uint8"
    );
    assert_eq!(inputs.bytes_mut(x).unwrap().len(), 24);
    refused!(
        inputs.bind(x, &[0.0_f32; 5]),
        Error::LengthMismatch { .. },
        "`x`",
        "5",
        "6"
    );
    refused!(
        inputs.bind(x, &[0.0_f32; 7]),
        Error::LengthMismatch { .. },
        "`x`",
        "7",
        "6"
    );
    refused!(
        inputs.bind(x, &[0_u32; 6]),
        Error::DataTypeMismatch { .. },
        "`x`",
        "uint32"
    );
    refused!(
        inputs.resize(x, &[3, 2]),
        Error::ShapeMismatch { .. },
        "`x`",
        "[3, 2]",
        "[2, 3]"
    );
    // A refusal changes nothing.
    inputs.slice_mut::<f32>(x).unwrap().fill(2.0);
    assert_eq!(inputs.slice_mut::<f32>(x).unwrap(), [2.0; 6]);
}

#[test]
fn a_scalar_is_not_a_vector_of_one() {
    let mut program = compile(migraphx::parse_onnx(case("scalar_io.onnx")).unwrap());
    let shape = |program: &CompiledProgram, name: &str| {
        let parameters = program.parameters().iter();
        parameters
            .clone()
            .find(|p| p.name() == name)
            .unwrap()
            .shape()
            .clone()
    };
    assert!(shape(&program, "a").is_scalar() && shape(&program, "a").dims().is_empty());
    assert_eq!(shape(&program, "b").dims(), [1]);
    let scalar = || Argument::scalar(2.0_f32).unwrap();
    let vector = || floats(&[3.0], &[1]);
    assert!(
        program
            .run_once(&[("a", scalar()), ("b", vector())])
            .is_ok()
    );
    let both = program.run_once(&[("a", vector()), ("b", vector())]);
    refused!(both, Error::ShapeMismatch { .. }, "`a`", "scalar", "[1]");
    let both = program.run_once(&[("a", scalar()), ("b", scalar())]);
    refused!(both, Error::ShapeMismatch { .. }, "`b`", "scalar", "[1]");
}

#[test]
fn a_set_fits_programs_of_its_signature_only() {
    let add = compiled(&models::add(&[2]));
    let mut other_add = compiled(&models::add(&[2]));
    let mut larger = compiled(&models::add(&[3]));
    let mut eight = compiled(&models::sum8(&[2]));
    let mut inputs = add.inputs().unwrap();
    assert!(other_add.run(&mut inputs).is_ok());
    refused!(
        larger.run(&mut inputs),
        Error::ForeignInputs(_),
        "[2]",
        "[3]"
    );
    refused!(eight.run(&mut inputs), Error::ForeignInputs(_), "`x0`");

    // An id is no licence to reach beyond another set.
    let last = eight.inputs().unwrap().id("x7").unwrap();
    let mut relu = compiled(&models::relu(&[2])).inputs().unwrap();
    refused!(
        relu.slice_mut::<f32>(last),
        Error::InvalidArgument(_),
        "another program"
    );
    refused!(relu.bytes_mut(last), Error::InvalidArgument(_));
    refused!(relu.bind(last, &[0.0_f32; 2]), Error::InvalidArgument(_));
}

#[test]
fn a_bool_is_0_or_1() {
    let two = Argument::from_bytes(DataType::Bool, &[3], &[0, 2, 1]);
    refused!(two, Error::InvalidArgument(_), "2");
    let mut program = compiled(&models::identity(Elem::Bool, &[3]));
    let given = Argument::from_bools(&[false, true, true], &[3]).unwrap();
    let outputs = program.run_once(&[("x", given)]).unwrap();
    assert_eq!(
        outputs.get(0).unwrap().to_bools().unwrap(),
        [false, true, true]
    );
    refused!(
        outputs.slice::<u8>(0),
        Error::DataTypeMismatch { .. },
        "uint8",
        "bool"
    );
    // No way to write any other byte into a set.
    let mut inputs = program.inputs().unwrap();
    let x = inputs.id("x").unwrap();
    refused!(
        inputs.slice_mut::<u8>(x),
        Error::DataTypeMismatch { .. },
        "bool"
    );
    refused!(inputs.bytes_mut(x), Error::DataTypeMismatch { .. }, "bool");
    refused!(
        inputs.bind(x, &[2_u8; 3]),
        Error::DataTypeMismatch { .. },
        "bool"
    );
}

#[test]
fn every_type_goes_in_and_comes_out() {
    let types = [
        (Elem::F32, DataType::Float),
        (Elem::F64, DataType::Double),
        (Elem::F16, DataType::Half),
        (Elem::Bf16, DataType::Bf16),
        (Elem::U8, DataType::Uint8),
        (Elem::I8, DataType::Int8),
        (Elem::U16, DataType::Uint16),
        (Elem::I16, DataType::Int16),
        (Elem::I32, DataType::Int32),
        (Elem::I64, DataType::Int64),
        (Elem::U32, DataType::Uint32),
        (Elem::U64, DataType::Uint64),
        (Elem::Bool, DataType::Bool),
    ];
    for (elem, dtype) in types {
        let program = parse(&models::identity(elem, &[2, 2]));
        assert_eq!(program.parameters()[0].shape().dtype(), dtype, "{elem:?}");
        let mut program = compile(program);
        let bytes: Vec<u8> = (0..4 * dtype.size()).map(|i| (i % 2) as u8).collect();
        let argument = Argument::from_bytes(dtype, &[2, 2], &bytes).unwrap();
        let outputs = program.run_once(&[("x", argument)]).unwrap();
        let output = outputs.get(0).unwrap();
        assert_eq!(
            (output.shape().dtype(), output.as_bytes()),
            (dtype, &bytes[..])
        );
    }
}
