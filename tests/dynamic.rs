//! Dynamic shapes: ranges given when a model is read, and what programs tell
//! of them afterwards.

mod support;

use migraphx::{Argument, CompiledProgram, DynamicDim, Error, OnnxOptions, Shape};
use support::{compile, refused};
use testkit::models;
use testkit::onnx::{Dim, Elem, Graph, fixed};

fn range(min: usize, max: usize) -> DynamicDim {
    DynamicDim::new(min, max).unwrap()
}

fn ranges(shape: &Shape) -> Vec<DynamicDim> {
    assert!(shape.is_dynamic() && shape.dims().is_empty());
    shape.dynamic_dims().to_vec()
}

fn floats(count: usize, dims: &[usize]) -> Argument<'static> {
    Argument::from_vec((0..count).map(|i| i as f32).collect::<Vec<f32>>(), dims).unwrap()
}

/// `y = relu(x)`, `x` of `[batch, 2, length]`
fn two_open_dims() -> Vec<u8> {
    let dims = [Dim::Symbol("batch"), Dim::Fixed(2), Dim::Symbol("length")];
    let mut g = Graph::new("two_open_dims");
    g.input("x", Elem::F32, &dims);
    g.node("Relu", &["x"], &["y"], vec![]);
    g.output("y", Elem::F32, &dims);
    g.into_bytes()
}

/// C has no getters for any of this.
#[test]
fn ranges_and_optimals_are_read_back() {
    for batch in [
        range(1, 4),
        range(0, 7),
        range(2, 4).with_optimals(&[4, 2]).unwrap(),
        range(100, 200),
        range(5000, 1 << 20),
        range(1, isize::MAX as usize),
        range(3, 900).with_optimals(&[64, 17, 64]).unwrap(),
    ] {
        let dims = [batch, DynamicDim::fixed(4)];
        let onnx = OnnxOptions::new().input_dynamic_dims("x", &dims);
        let program = onnx.parse_bytes(&models::dynamic_linear()).unwrap();
        assert_eq!(ranges(program.parameters()[0].shape()), dims);
        let outputs = ranges(&program.output_shapes()[0]);
        assert_eq!(outputs, [dims[0].clone(), DynamicDim::fixed(2)]);
        // Compiled, saved and loaded: nobody remembers, it is all in the program.
        let bytes = compile(program).to_bytes().unwrap();
        let loaded = CompiledProgram::load_bytes(&bytes).unwrap();
        assert_eq!(ranges(loaded.parameters()[0].shape()), dims);
        assert_eq!(ranges(&loaded.output_shapes()[0])[0], dims[0]);
    }
    let range = range(3, 900).with_optimals(&[64, 17, 64]).unwrap();
    assert_eq!(range.optimals(), [17, 64]);
}

#[test]
fn a_default_range_is_for_every_open_dimension() {
    let onnx = OnnxOptions::new().default_dynamic_dim(range(1, 6));
    let mut program = compile(onnx.parse_bytes(&two_open_dims()).unwrap());
    let expected = [range(1, 6), DynamicDim::fixed(2), range(1, 6)];
    let parameter = &program.parameters()[0];
    assert_eq!(ranges(parameter.shape()), expected);
    assert_eq!(parameter.shape().to_string(), "float [1..=6, 2, 1..=6]");
    assert_eq!(parameter.shape().bytes(), 6 * 2 * 6 * 4);
    assert_eq!(ranges(&program.output_shapes()[0]), expected);
    for (batch, length) in [(1, 1), (6, 6), (2, 5), (6, 1)] {
        let (count, dims) = (2 * batch * length, [batch, 2, length]);
        let outputs = program.run_once(&[("x", floats(count, &dims))]).unwrap();
        let output = outputs.get(0).unwrap();
        assert_eq!(output.shape().dims(), dims);
        let expected: Vec<f32> = (0..count).map(|i| i as f32).collect();
        assert_eq!(output.to_vec::<f32>().unwrap(), expected);
    }
    for dims in [[7, 2, 1], [1, 2, 0], [1, 3, 1]] {
        let count = dims.iter().product();
        let result = program.run_once(&[("x", floats(count, &dims))]);
        refused!(
            result,
            Error::ShapeMismatch { .. },
            "`x`",
            "[1..=6, 2, 1..=6]"
        );
    }
}

#[test]
fn ranges_of_one_size_are_static() {
    let dims = [DynamicDim::fixed(3), DynamicDim::fixed(4)];
    let onnx = OnnxOptions::new().input_dynamic_dims("x", &dims);
    let program = onnx.parse_bytes(&models::dynamic_linear()).unwrap();
    assert_eq!(program.parameters()[0].shape().dims(), [3, 4]);
    assert_eq!(program.output_shapes()[0].dims(), [3, 2]);
}

/// One input has a range, the other is as the model says.
#[test]
fn static_inputs_stand_beside_dynamic_ones() {
    let mut g = Graph::new("scaled");
    g.input("x", Elem::F32, &[Dim::Symbol("batch"), Dim::Fixed(3)]);
    g.input("scale", Elem::F32, &fixed(&[3]));
    g.node("Mul", &["x", "scale"], &["y"], vec![]);
    g.output("y", Elem::F32, &[Dim::Symbol("batch"), Dim::Fixed(3)]);
    let onnx = OnnxOptions::new().default_dynamic_dim(range(2, 9));
    let mut program = compile(onnx.parse_bytes(&g.into_bytes()).unwrap());
    let mut inputs = program.inputs().unwrap();
    let (x, scale) = (inputs.id("x").unwrap(), inputs.id("scale").unwrap());
    inputs
        .slice_mut::<f32>(scale)
        .unwrap()
        .copy_from_slice(&[1.0, 10.0, 100.0]);
    refused!(
        inputs.resize(x, &[1, 3]),
        Error::ShapeMismatch { .. },
        "2..=9"
    );
    for rows in [9, 2, 5] {
        inputs.resize(x, &[rows, 3]).unwrap();
        inputs.slice_mut::<f32>(x).unwrap().fill(rows as f32);
        let outputs = program.run(&mut inputs).unwrap();
        let row = [1.0, 10.0, 100.0].map(|scale| scale * rows as f32);
        assert_eq!(outputs.slice::<f32>(0).unwrap(), row.repeat(rows));
    }
}

#[test]
fn ranges_that_contradict_are_refused() {
    let model = models::dynamic_linear();
    let both = OnnxOptions::new()
        .default_dim(2)
        .default_dynamic_dim(range(1, 4));
    refused!(
        both.parse_bytes(&model),
        Error::InvalidArgument(_),
        "default_dim"
    );
    let both = OnnxOptions::new()
        .input_dims("x", &[2, 4])
        .input_dynamic_dims("x", &[range(1, 4), DynamicDim::fixed(4)]);
    refused!(both.parse_bytes(&model), Error::InvalidArgument(_), "`x`");
    let unknown = OnnxOptions::new().input_dynamic_dims("nope", &[range(1, 4)]);
    refused!(
        unknown.parse_bytes(&model),
        Error::UnknownParameter { .. },
        "`nope`"
    );
}
