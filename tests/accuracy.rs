//! Reports of accuracy, against numbers worked out by hand.

mod support;

use migraphx::{Argument, CompiledProgram, Error, Result, Target, accuracy};
use support::{compiled, parse, refused};
use testkit::models;
use testkit::onnx::{Elem, Graph, fixed};

fn vector(values: &[f32]) -> Argument<'static> {
    Argument::from_vec(values.to_vec(), &[values.len()]).unwrap()
}

/// y = x, rounded to `elem` on the way, or left in it.
fn cast(elem: Elem, length: usize, back: bool) -> CompiledProgram {
    let mut g = Graph::new("cast");
    let dims = fixed(&[length]);
    g.input("x", Elem::F32, &dims);
    let to = |elem: Elem| vec![("to", testkit::onnx::Attr::Int(elem as i64))];
    g.node("Cast", &["x"], &["small"], to(elem));
    if back {
        g.node("Cast", &["small"], &["y"], to(Elem::F32));
        g.output("y", Elem::F32, &dims);
    } else {
        g.output("small", elem, &dims);
    }
    compiled(&g.into_bytes())
}

#[test]
fn errors_are_summed_over_samples_and_outputs_kept_apart() {
    // sum = 2x and product = x² against y = relu(x) and x itself.
    let mut reference = compiled(&models::two_outputs(&[2]));
    let mut candidate = compiled(&models::relu_and_passthrough(&[2]));
    let samples = [[3.0, -4.0], [0.5, 0.0]].map(|x| Ok([("x", vector(&x))]));
    let report = accuracy::compare(&mut reference, &mut candidate, samples).unwrap();
    assert_eq!((report.samples(), report.outputs().len()), (2, 2));

    // 6, -8, 1, 0 against 3, 0, 0.5, 0
    let first = &report.outputs()[0];
    assert_eq!((first.index, first.values, first.mismatched), (0, 4, 0));
    assert_eq!(first.shape.to_string(), "float [2]");
    assert_eq!((first.largest, first.max_error), (8.0, 8.0));
    assert_eq!(first.mean_error, 11.5 / 4.0);
    assert!((first.rms_error - (73.25f64 / 4.0).sqrt()).abs() < 1e-12);
    assert!((first.cosine - 18.5 / (101f64 * 9.25).sqrt()).abs() < 1e-12);
    // 9, 16, 0.25, 0 against 3, -4, 0.5, 0
    let second = &report.outputs()[1];
    assert_eq!((second.max_error, second.mean_error), (20.0, 26.25 / 4.0));
    let text = report.to_string();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 3, "{text}");
    assert!(
        lines[1].starts_with("0: float [2]") && lines[2].contains("20.00"),
        "{text}"
    );
}

#[test]
fn types_are_compared_by_value() {
    let x = [1.0, 2049.0, -0.1, 70_000.0];
    let inputs = || [Ok([("x", vector(&x))])];
    let compare = |a: &mut CompiledProgram, b: &mut CompiledProgram| {
        accuracy::compare(a, b, inputs()).unwrap().outputs()[0].clone()
    };
    // Halves keep 11 bits and end at 65504, where MIGraphX's conversion stops.
    let mut exact = compiled(&models::identity(Elem::F32, &[4]));
    let found = compare(&mut exact, &mut cast(Elem::F16, 4, false));
    assert_eq!(
        (found.mismatched, found.max_error),
        (0, 70_000.0 - 65_504.0)
    );
    let tenth = (half::f16::from_f32(-0.1).to_f64() + f64::from(0.1f32)).abs();
    assert!((found.mean_error - (1.0 + tenth + 4_496.0) / 4.0).abs() < 1e-12);
    // A type by its values, whichever side has it.
    let mut halves = cast(Elem::F16, 4, false);
    let found = compare(&mut halves, &mut cast(Elem::F16, 4, true));
    assert_eq!(
        (found.mismatched, found.max_error, found.cosine),
        (0, 0.0, 1.0)
    );
    // 1, 2049, 0 and 70000 as integers
    let found = compare(&mut exact, &mut cast(Elem::I64, 4, false));
    assert_eq!((found.max_error, found.mismatched), (f64::from(0.1f32), 0));
    // x > 0 against the integers
    let mut g = Graph::new("positive");
    g.input("x", Elem::F32, &fixed(&[4]));
    g.constant_f32("zero", &[1], &[0.0]);
    g.node("Greater", &["x", "zero"], &["y"], vec![]);
    g.output("y", Elem::Bool, &fixed(&[4]));
    let mut positive = compiled(&g.into_bytes());
    let found = compare(&mut positive, &mut cast(Elem::I32, 4, false));
    assert_eq!((found.largest, found.max_error), (1.0, 69_999.0));
    assert_eq!(found.mean_error, (2048.0 + 69_999.0) / 4.0);
}

#[test]
fn values_that_are_not_finite_are_counted() {
    let mut root = compiled_root();
    let mut same = compiled(&models::identity(Elem::F32, &[4]));
    // Roots 2, NaN, infinity, 3
    let inputs = || [Ok([("x", vector(&[4.0, -1.0, f32::INFINITY, 9.0]))])];
    for reference_is_root in [true, false] {
        let report = match reference_is_root {
            true => accuracy::compare(&mut root, &mut same, inputs()),
            false => accuracy::compare(&mut same, &mut root, inputs()),
        };
        let found = report.unwrap().outputs()[0].clone();
        assert_eq!((found.values, found.mismatched), (4, 1));
        assert_eq!((found.max_error, found.mean_error), (6.0, 4.0));
        assert_eq!(found.largest, if reference_is_root { 3.0 } else { 9.0 });
    }
    let twice = accuracy::compare(&mut root, &mut compiled_root(), inputs()).unwrap();
    let found = &twice.outputs()[0];
    assert_eq!(
        (found.mismatched, found.max_error, found.cosine),
        (0, 0.0, 1.0)
    );
}

#[test]
fn what_cannot_be_compared_is_refused() {
    let mut two = compiled(&models::two_outputs(&[2]));
    let mut one = compiled(&models::relu(&[2]));
    let mut other = compiled(&models::slice(2));
    let inputs = || [Ok([("x", vector(&[1.0, 2.0]))])];
    refused!(
        accuracy::compare(&mut two, &mut one, inputs()),
        Error::Output { .. },
        "2 outputs",
        "candidate 1"
    );
    let none: [Result<[(&str, Argument); 1]>; 0] = [];
    refused!(
        accuracy::compare(&mut one, &mut compiled_relu(), none),
        Error::InvalidArgument(_),
        "no inputs"
    );
    refused!(
        accuracy::compare(&mut one, &mut other, inputs()),
        Error::ShapeMismatch { .. },
        "[2, 4]"
    );
    let x = Argument::from_vec(vec![0f32; 8], &[2, 4]).unwrap();
    refused!(
        accuracy::compare(
            &mut compiled(&models::relu(&[2, 4])),
            &mut other,
            [Ok([("x", x)])]
        ),
        Error::Output { .. },
        "float [2, 4]",
        "float [2, 2]"
    );
    let failing = [Err::<[(&str, Argument); 1], _>(Error::InvalidArgument(
        "no file".into(),
    ))];
    refused!(
        accuracy::compare(&mut one, &mut compiled_relu(), failing),
        Error::InvalidArgument(_),
        "no file"
    );
}

/// y = √x
fn compiled_root() -> CompiledProgram {
    let mut g = Graph::new("root");
    g.input("x", Elem::F32, &fixed(&[4]));
    g.node("Sqrt", &["x"], &["y"], vec![]);
    g.output("y", Elem::F32, &fixed(&[4]));
    compiled(&g.into_bytes())
}

fn compiled_relu() -> CompiledProgram {
    compiled(&models::relu(&[2]))
}

#[test]
fn the_cost_of_a_precision_is_one_call() {
    // 1 + 2^-12 is no half; the product with 1 shows it.
    let odd = 1.0 + 2f32.powi(-12);
    let program = parse(&models::matmul(1, 1, 2, &[odd, 1.0]));
    let before = program.to_string();
    let inputs = [1.0f32, 2.0].map(|x| Ok([("x", Argument::from_vec(vec![x], &[1, 1])?)]));
    let target = Target::reference().unwrap();
    let report = accuracy::cost(&program, |p| p.quantize_fp16(), &target, inputs).unwrap();
    let output = &report.outputs()[0];
    assert_eq!((output.values, output.max_error), (4, 2f64.powi(-11)));
    assert_eq!(output.mean_error, (2f64.powi(-12) + 2f64.powi(-11)) / 4.0);
    assert_eq!(program.to_string(), before);

    let failing = accuracy::cost(
        &program,
        |p| p.quantize_fp16_ops(&[]),
        &target,
        [Ok([("x", vector(&[1.0]))])],
    );
    refused!(failing, Error::InvalidArgument(_), "no operator names");
}
