//! Rule 3 on sizes: dynamic parameters, of which the library checks nothing,
//! and sizes that wrap, do not fit, or are none.

mod support;

use migraphx::{Argument, DataType, DynamicDim, Error, OnnxOptions, Shape};
use support::{compile, compiled, refused};
use testkit::models;
use testkit::onnx::Elem;

fn floats(data: &[f32], dims: &[usize]) -> Argument<'static> {
    Argument::from_vec(data.to_vec(), dims).unwrap()
}

/// The library checks nothing of a dynamic parameter.
#[test]
fn dynamic_parameters_are_checked_in_full() {
    let ranges = [DynamicDim::new(1, 4).unwrap(), DynamicDim::fixed(4)];
    let onnx = OnnxOptions::new().input_dynamic_dims("x", &ranges);
    let mut program = compile(onnx.parse_bytes(&models::dynamic_linear()).unwrap());
    for rows in [1, 4, 2] {
        let x: Vec<f32> = (0..rows * 4).map(|i| i as f32).collect();
        let outputs = program.run_once(&[("x", floats(&x, &[rows, 4]))]).unwrap();
        assert_eq!(outputs.get(0).unwrap().shape().dims(), [rows, 2]);
        // The last row: 4 values from 4 (rows - 1), times the columns 0 2 4 6 and 1 3 5 7.
        let row = &x[4 * (rows - 1)..];
        let even: f32 = row
            .iter()
            .zip([0.0, 2.0, 4.0, 6.0])
            .map(|(x, w)| x * w)
            .sum();
        assert_eq!(outputs.slice::<f32>(0).unwrap()[2 * rows - 2], even + 0.5);
    }
    let mut refuse = |argument: Argument<'_>, given: &str| {
        let mut inputs = program.inputs().unwrap();
        let x = inputs.id("x").unwrap();
        if argument.shape().dtype() == DataType::Float {
            let resized = inputs.resize(x, argument.shape().dims());
            refused!(resized, Error::ShapeMismatch { .. }, "`x`", given, "1..=4");
        }
        refused!(
            inputs.set(x, &argument),
            Error::ShapeMismatch { .. },
            "`x`",
            given
        );
        let once = program.run_once(&[("x", argument)]);
        refused!(once, Error::ShapeMismatch { .. }, "`x`", given, "1..=4");
    };
    refuse(floats(&[0.0; 20], &[5, 4]), "[5, 4]");
    refuse(floats(&[], &[0, 4]), "[0, 4]");
    refuse(floats(&[0.0; 6], &[2, 3]), "[2, 3]");
    refuse(floats(&[0.0; 4], &[4]), "[4]");
    refuse(floats(&[0.0; 4], &[1, 4, 1]), "[1, 4, 1]");
    refuse(
        Argument::from_vec(vec![0.0_f64; 8], &[2, 4]).unwrap(),
        "double",
    );
}

#[test]
fn a_resized_set_runs_with_its_new_dims() {
    let ranges = [DynamicDim::new(1, 4).unwrap(), DynamicDim::fixed(4)];
    let onnx = OnnxOptions::new().input_dynamic_dims("x", &ranges);
    let mut program = compile(onnx.parse_bytes(&models::dynamic_linear()).unwrap());
    let mut inputs = program.inputs().unwrap();
    let x = inputs.id("x").unwrap();
    refused!(
        program.run(&mut inputs),
        Error::InvalidArgument(_),
        "`x`",
        "no size",
        "resize"
    );
    refused!(
        inputs.slice_mut::<f32>(x),
        Error::InvalidArgument(_),
        "`x`",
        "no size"
    );
    refused!(
        inputs.bind(x, &[0.0_f32; 4]),
        Error::InvalidArgument(_),
        "`x`",
        "no size"
    );
    for rows in [4, 1, 3] {
        inputs.resize(x, &[rows, 4]).unwrap();
        let data = inputs.slice_mut::<f32>(x).unwrap();
        assert_eq!(data.len(), rows * 4);
        data.fill(1.0);
        let outputs = program.run(&mut inputs).unwrap();
        assert_eq!(outputs.slice::<f32>(0).unwrap(), [12.5, 15.5].repeat(rows));
    }
    // A bound slice is of the size that is settled, and resizing unbinds it.
    let data = [2.0_f32; 12];
    inputs.bind(x, &data).unwrap();
    assert_eq!(
        program.run(&mut inputs).unwrap().slice::<f32>(0).unwrap()[..2],
        [24.5, 31.5]
    );
    inputs.resize(x, &[1, 4]).unwrap();
    assert_eq!(
        program.run(&mut inputs).unwrap().slice::<f32>(0).unwrap(),
        [0.5, -0.5]
    );
}

#[test]
fn ranges_are_ranges() {
    refused!(DynamicDim::new(4, 1), Error::InvalidShape(_), "4", "1");
    // The library ignores dims for a name that is not there.
    let onnx = OnnxOptions::new().input_dims("nope", &[1, 4]);
    let program = onnx.parse_bytes(&models::dynamic_linear());
    refused!(program, Error::UnknownParameter { .. }, "`nope`", "`x`");
}

#[test]
fn sizes_are_computed_without_wrapping() {
    let short = Argument::from_vec(vec![0.0_f32; 3], &[2, 2]);
    refused!(short, Error::LengthMismatch { .. }, "[2, 2]", "3", "4");
    for dims in [
        vec![usize::MAX, 2],
        vec![1 << 62],
        vec![1 << 32, 1 << 32],
        vec![usize::MAX],
    ] {
        assert!(Shape::new(DataType::Float, &dims).is_err(), "{dims:?}");
        assert!(
            Argument::from_vec(Vec::<f32>::new(), &dims).is_err(),
            "{dims:?}"
        );
        assert!(Argument::from_slice::<u8>(&[], &dims).is_err(), "{dims:?}");
        assert!(
            Argument::from_bytes(DataType::Float, &dims, &[]).is_err(),
            "{dims:?}"
        );
    }
    // Where strides are 0 the bytes stay few, and only the elements wrap.
    let wide = Shape::with_strides(DataType::Float, &[1 << 33, 1 << 33], &[0, 0]);
    refused!(wide, Error::InvalidShape(_));
    // The program's own sizes wrap as well: the library would say 0 bytes.
    for dims in [[1 << 62, 1], [1 << 32, 1 << 32]] {
        let onnx = OnnxOptions::new().input_dims("x", &dims);
        let result = onnx
            .parse_bytes(&models::identity(Elem::F32, &[1, 1]))
            .and_then(|program| {
                let target = migraphx::Target::reference()?;
                let program = program.compile(&target, &migraphx::CompileOptions::new())?;
                program.inputs().map(drop)
            });
        assert!(result.is_err(), "{dims:?}");
    }
}

#[test]
fn nothing_is_as_good_as_something() {
    // 0 elements, in and out.
    let onnx = OnnxOptions::new().input_dims("x", &[0, 4]);
    let mut program = compile(onnx.parse_bytes(&models::relu(&[1, 4])).unwrap());
    let outputs = program.run_once(&[("x", floats(&[], &[0, 4]))]).unwrap();
    assert_eq!(outputs.get(0).unwrap().shape().dims(), [0, 4]);
    assert_eq!(outputs.slice::<f32>(0).unwrap(), [0.0_f32; 0]);
    let mut inputs = program.inputs().unwrap();
    let x = inputs.id("x").unwrap();
    assert!(inputs.slice_mut::<f32>(x).unwrap().is_empty());
    assert!(program.run(&mut inputs).is_ok());
    // No parameters at all.
    let mut program = compiled(&models::constant_only(&[1.0, 2.0]));
    let mut none = program.inputs().unwrap();
    assert_eq!(
        program.run(&mut none).unwrap().slice::<f32>(0).unwrap(),
        [1.0, 2.0]
    );
}

/// More than any machine has, but not more than an address can say.
#[test]
fn a_parameter_larger_than_memory_is_an_error() {
    let onnx = OnnxOptions::new().input_dims("x", &[1 << 46]);
    let program = compile(onnx.parse_bytes(&models::identity(Elem::U8, &[1])).unwrap());
    refused!(program.inputs(), _, "70368744177664");
}
