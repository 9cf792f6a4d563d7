//! Rule 15: values that are indices or divisors are checked before a run.

mod followed;
mod operators;
#[path = "../support/mod.rs"]
mod support;
mod ways;

use std::os::unix::process::ExitStatusExt;

use migraphx::{Argument, CompiledProgram, Element, Error};
use support::compiled;
use testkit::onnx::{Attr, Elem, Graph, fixed};

/// A program of an f32 `x` of `[3, 4]` that holds 0, 1, … and an i64 `i`.
fn with_indices(dims: &[usize], build: impl FnOnce(&mut Graph)) -> CompiledProgram {
    let mut graph = Graph::new("indices");
    graph.input("x", Elem::F32, &fixed(&[3, 4]));
    graph.input("i", Elem::I64, &fixed(dims));
    build(&mut graph);
    graph.output("y", Elem::F32, &[]);
    compiled(&graph.into_bytes())
}

fn x() -> Argument<'static> {
    Argument::from_vec((0..12).map(|v| v as f32).collect(), &[3, 4]).unwrap()
}

fn tensor<T: Element>(values: &[T], dims: &[usize]) -> Argument<'static> {
    Argument::from_vec(values.to_vec(), dims).unwrap()
}

/// The first result with these indices.
fn picked(program: &mut CompiledProgram, indices: &[i64]) -> migraphx::Result<Vec<f32>> {
    let parameters = program.parameters().iter();
    let dims = parameters.clone().find(|p| p.name() == "i").unwrap();
    let dims = dims.shape().dims().to_vec();
    let mut given = vec![("x", x()), ("i", tensor(indices, &dims))];
    if let Some(update) = program.parameters().iter().find(|p| p.name() == "u") {
        let (count, dims) = (update.shape().elements(), update.shape().dims().to_vec());
        given.push(("u", tensor(&vec![-1.0f32; count], &dims)));
    }
    let outputs = program.run_once(&given)?;
    Ok(outputs.slice::<f32>(0)?.to_vec())
}

/// Which element was refused, and its value.
#[track_caller]
fn wrong(program: &mut CompiledProgram, indices: &[i64]) -> (usize, i128) {
    match picked(program, indices) {
        Err(Error::IndexOutOfRange {
            parameter,
            position,
            value,
            ..
        }) => {
            assert_eq!(parameter, "i");
            (position, value)
        }
        other => panic!("{indices:?} gave {other:?}"),
    }
}

fn unary(op: &'static str, axis: i64) -> impl FnOnce(&mut Graph) {
    move |graph| graph.node(op, &["x", "i"], &["y"], vec![("axis", Attr::Int(axis))])
}

/// Without the check, these end the process in every build of MIGraphX.
#[test]
fn what_is_refused_would_end_the_process() {
    const TEST: &str = "what_is_refused_would_end_the_process";
    let division = |a: i64, b: i64| {
        let mut graph = Graph::new("div");
        graph.input("a", Elem::I64, &fixed(&[1]));
        graph.input("b", Elem::I64, &fixed(&[1]));
        graph.node("Div", &["a", "b"], &["q"], vec![]);
        graph.output("q", Elem::I64, &fixed(&[1]));
        let mut program = compiled(&graph.into_bytes());
        // SAFETY: none; this process is there to end by it.
        unsafe { program.without_index_check() };
        let _ = program.run_once(&[("a", tensor(&[a], &[1])), ("b", tensor(&[b], &[1]))]);
    };
    if support::is_child(TEST) {
        return match std::env::var("MIGRAPHX_TEST_KIND").unwrap().as_str() {
            "zero" => division(1, 0),
            "least" => division(i64::MIN, -1),
            _ => {
                let gather = |g: &mut Graph| g.node("GatherND", &["x", "i"], &["y"], vec![]);
                let mut program = with_indices(&[64, 1], gather);
                // SAFETY: none; as above.
                unsafe { program.without_index_check() };
                let _ = picked(&mut program, &[3; 64]);
            }
        };
    }
    for (kind, signal) in [
        ("zero", libc::SIGFPE),
        ("least", libc::SIGFPE),
        ("thread", libc::SIGABRT),
    ] {
        let output = support::child(TEST)
            .env("MIGRAPHX_TEST_KIND", kind)
            .output()
            .unwrap();
        assert_eq!(output.status.signal(), Some(signal), "{kind}: {output:?}");
    }
}
