//! The tool from end to end.

use clap::Parser;
use migraphx::{CompiledProgram, DataType};

use crate::tools_common::testing::{folder, model, network, words};
use crate::{Cli, run};

fn compile(line: &str) -> Result<String, String> {
    let mut out = Vec::new();
    let cli = Cli::try_parse_from(words(&format!("compile {line}"))).map_err(|e| e.to_string())?;
    run(&cli, &mut out).map_err(|error| format!("{error:#}"))?;
    Ok(String::from_utf8(out).unwrap())
}

#[test]
fn what_is_saved_runs_in_the_precision_asked_for() {
    let folder = folder();
    let path = model(&folder, "network.onnx", &network());
    let saved = folder.path().join("a.mxr");
    for (option, dtype) in [
        ("", DataType::Float),
        ("--fp16", DataType::Half),
        ("--bf16", DataType::Bf16),
    ] {
        let text = compile(&format!("{path} -o {} --ref {option}", saved.display())).unwrap();
        assert!(text.contains("images: float [2, 3, 8, 8]"), "{text}");
        let mut program = CompiledProgram::load(&saved).unwrap();
        let listing = program.instructions().unwrap();
        let convolution = listing.with_operator("ref::convolution").next().unwrap();
        assert_eq!(convolution.shape().dtype(), dtype);
        let mut inputs = program.inputs().unwrap();
        assert_eq!(
            program.run(&mut inputs).unwrap().slice::<f32>(0).unwrap(),
            [0.0; 10]
        );
    }
}

#[test]
fn sizes_are_settled_by_options() {
    let folder = folder();
    let path = model(&folder, "open.onnx", &testkit::models::dynamic_linear());
    let saved = folder.path().join("a.mxr").display().to_string();
    compile(&format!("{path} -o {saved} --target ref --batch 6")).unwrap();
    let program = CompiledProgram::load(&saved).unwrap();
    assert_eq!(program.parameters()[0].shape().dims(), [6, 4]);
    // What is compiled is not compiled again, and its sizes are settled.
    let again = compile(&format!("{saved} -o {saved}")).unwrap_err();
    assert!(again.contains("compiled already"), "{again}");
    let sizes = compile(&format!("{saved} -o {saved} --batch 2")).unwrap_err();
    assert!(sizes.contains("settled"), "{sizes}");
}

#[test]
fn what_cannot_be_done_is_told() {
    let folder = folder();
    let path = model(&folder, "network.onnx", &network());
    let inside = folder.path().display();
    for (line, expected) in [
        (
            format!("{path} --ref -o {inside}/no/a.mxr"),
            "no such folder",
        ),
        (format!("{path} --ref -o {inside}"), "it is one"),
        (
            format!("{path} --target nonsense -o {inside}/a.mxr"),
            "nonsense",
        ),
        (
            format!("{path} --ref --gpu -o {inside}/a.mxr"),
            "cannot be used with",
        ),
        (
            format!("{path} --fp16 --bf16 -o {inside}/a.mxr"),
            "cannot be used with",
        ),
        (format!("{path} --ref"), "--output"),
    ] {
        let error = compile(&line).unwrap_err();
        assert!(error.contains(expected), "{line}: {error}");
    }
    assert!(!folder.path().join("a.mxr").exists());
}
