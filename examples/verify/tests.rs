//! The tool from end to end, with models that part from the reference where we
//! know it.

use clap::Parser;
use testkit::onnx::{Elem, Graph, fixed};

use crate::tools_common::testing::{folder, model, network, words};
use crate::{Cli, run};

/// What it says, and whether all agree.
fn verify(line: &str) -> Result<(String, bool), String> {
    let mut out = Vec::new();
    let cli = Cli::try_parse_from(words(&format!("verify {line}"))).map_err(|e| e.to_string())?;
    let agree = run(&cli, &mut out).map_err(|error| format!("{error:#}"))?;
    Ok((String::from_utf8(out).unwrap(), agree))
}

/// `relu((x / 2 + b) - b) + tanh(x)` with a large `b = 1000 · exp(x)`: the
/// difference has few digits left in 16 bits, and nothing else has an error of
/// note. (With a constant `b` MIGraphX computes the sum in another order.)
fn cancelling() -> Vec<u8> {
    let mut g = Graph::new("cancelling");
    g.input("x", Elem::F32, &fixed(&[64]));
    g.constant_f32("thousand", &[1], &[1000.0]);
    g.constant_f32("half", &[1], &[0.5]);
    g.node("Tanh", &["x"], &["t"], vec![]);
    g.node("Exp", &["x"], &["e"], vec![]);
    g.node("Mul", &["e", "thousand"], &["b"], vec![]);
    g.node("Mul", &["x", "half"], &["scaled"], vec![]);
    g.node("Add", &["scaled", "b"], &["large"], vec![]);
    g.node("Sub", &["large", "b"], &["small"], vec![]);
    g.node("Relu", &["small"], &["positive"], vec![]);
    g.node("Add", &["positive", "t"], &["y"], vec![]);
    g.output("y", Elem::F32, &fixed(&[64]));
    g.into_bytes()
}

#[test]
fn equal_programs_agree_to_the_last_bit() {
    let folder = folder();
    let path = model(&folder, "network.onnx", &network());
    let (text, agree) = verify(&format!("{path} --ref")).unwrap();
    assert!(
        agree && text.contains("largest 0.00e0, all 10 elements"),
        "{text}"
    );
    let (text, agree) = verify(&format!("{path} --ref --fp16")).unwrap();
    assert!(agree && text.contains("rms 8e-2"), "{text}");
    let (text, agree) = verify(&format!("{path} --ref --fp16 --atol 1e-9 --rms-tol 1e-9")).unwrap();
    assert!(!agree && text.contains("they differ"), "{text}");
    let (other, agree) = verify(&format!("{path} --ref --fp16 --rms-only")).unwrap();
    assert!(agree && other.contains("elements inf"), "{other}");
    // The seed makes other numbers, and so other errors.
    let other = verify(&format!("{path} --ref --fp16 --atol 1e-9 --seed 5"))
        .unwrap()
        .0;
    assert_ne!(text, other);
}

#[test]
fn the_node_that_loses_digits_is_named() {
    let folder = folder();
    let path = model(&folder, "cancelling.onnx", &cancelling());
    for precision in ["--bf16", "--fp16 --atol 1e-2 --rms-tol 1e-3"] {
        let (text, agree) = verify(&format!("{path} --ref {precision}")).unwrap();
        assert!(!agree, "{text}");
        // In one pass, and one node after the other.
        for pass in ["", "--bisect-nodes 1"] {
            let line = format!("{path} --ref {precision} --bisect {pass}");
            let (text, agree) = verify(&line).unwrap();
            assert!(
                !agree && text.contains("they part at node 5 `Sub_5` (Sub)"),
                "{text}"
            );
            assert!(text.contains("the 5 before it agree"), "{text}");
            assert!(
                text.contains("takes large: ") && text.contains("gives small: "),
                "{text}"
            );
        }
    }
    let (text, agree) = verify(&format!("{path} --ref --bisect")).unwrap();
    assert!(
        agree && text.contains("the results of all 8 nodes agree (8 compared)"),
        "{text}"
    );
}

/// A node may name results that MIGraphX does not give.
#[test]
fn results_that_the_library_leaves_out_are_passed_over() {
    let mut g = Graph::new("dropout");
    g.input("x", Elem::F32, &fixed(&[4]));
    g.node("Dropout", &["x"], &["d", "mask"], vec![]);
    g.node("Relu", &["d"], &["r"], vec![]);
    g.node("Exp", &["r"], &["y"], vec![]);
    g.output("y", Elem::F32, &fixed(&[4]));
    let folder = folder();
    let path = model(&folder, "dropout.onnx", &g.into_bytes());
    let (text, agree) = verify(&format!("{path} --ref --bf16 --bisect")).unwrap();
    assert!(
        agree && text.contains("the results of all 3 nodes agree"),
        "{text}"
    );
}

#[test]
fn a_compiled_program_is_compared_too() {
    let folder = folder();
    let path = model(&folder, "network.onnx", &network());
    let save = |name: &str, bytes: &[u8]| {
        let program = migraphx::OnnxOptions::new().parse_bytes(bytes).unwrap();
        let target = migraphx::Target::reference().unwrap();
        let program = program.compile(&target, &Default::default()).unwrap();
        let path = folder.path().join(name);
        program.save(&path).unwrap();
        path.display().to_string()
    };
    let same = save("same.mxr", &network());
    let (text, agree) = verify(&format!("{path} -c {same}")).unwrap();
    assert!(agree && text.contains("same.mxr"), "{text}");
    // Other weights are seen.
    let mut changed = network();
    let at = changed
        .windows(4)
        .rposition(|bytes| bytes == 0.9f32.to_le_bytes())
        .unwrap();
    changed[at..at + 4].copy_from_slice(&1.5f32.to_le_bytes());
    let other = save("other.mxr", &changed);
    let (text, agree) = verify(&format!("{path} -c {other}")).unwrap();
    assert!(!agree && text.contains("of 10 elements over it"), "{text}");
    // What makes no sense.
    for (line, expected) in [
        (format!("{same} --ref"), "give the model"),
        (format!("{same} --bisect --ref"), "takes an ONNX model"),
        (format!("{path} -c {same} --bisect"), "cannot be used with"),
        (format!("{path} -c {path}"), "network.onnx"),
    ] {
        let error = verify(&line).unwrap_err();
        assert!(error.contains(expected), "{line}: {error}");
    }
}
