//! The tool from end to end.

use clap::Parser;
use migraphx::{CompileOptions, OnnxOptions, Target};
use serde_json::{Value, json};

use crate::tools_common::testing::{case, folder, model, network, words};
use crate::{Cli, run};

fn inspect(line: &str) -> Result<String, String> {
    let mut out = Vec::new();
    let cli = Cli::try_parse_from(words(&format!("inspect {line}"))).map_err(|e| e.to_string())?;
    run(&cli, &mut out).map_err(|error| format!("{error:#}"))?;
    Ok(String::from_utf8(out).unwrap())
}

#[test]
fn a_model_is_told_from_inputs_to_operators() {
    let folder = folder();
    let path = model(&folder, "network.onnx", &network());
    let text = inspect(&path).unwrap();
    for line in [
        "  input   images: float [2, 3, 8, 8]",
        "  output  0: float [2, 5]",
        "  weights       512 bytes", // 4 * 3 * 9 + 4 * 5 floats
        "  parameters    1.5 KiB",
        "       1  convolution",
    ] {
        assert!(text.contains(line), "`{line}` is not in:\n{text}");
    }
    let listing = inspect(&format!("{path} --listing")).unwrap();
    assert!(listing.contains(" = convolution["), "{listing}");

    let json: Value = serde_json::from_str(&inspect(&format!("{path} --json")).unwrap()).unwrap();
    let input = json!([{"name": "images", "type": "float", "dims": [2, 3, 8, 8]}]);
    assert_eq!(json["inputs"], input);
    assert_eq!(json["bytes"]["weights"], 512);
    assert_eq!(json["operators"]["dot"], 1);
}

#[test]
fn a_saved_program_is_told_by_its_file() {
    let folder = folder();
    let program = OnnxOptions::new().parse_bytes(&network()).unwrap();
    let path = folder.path().join("saved");
    program.save(&path).unwrap();
    let line = format!("{} --migraphx", path.display());
    assert!(inspect(&line).unwrap().contains("not compiled"));
    let target = Target::reference().unwrap();
    let compiled = program.compile(&target, &CompileOptions::new()).unwrap();
    compiled.save(&path).unwrap();
    let text = inspect(&line).unwrap();
    assert!(
        text.contains("compiled for ref") && text.contains("ref::convolution"),
        "{text}"
    );
    assert!(text.contains("output  0: float [2, 5]"), "{text}");
}

#[test]
fn open_sizes_are_settled_by_options() {
    let folder = folder();
    let path = model(&folder, "open.onnx", &testkit::models::dynamic_linear());
    assert!(inspect(&path).unwrap().contains("x: float [1, 4]"));
    let text = inspect(&format!("{path} --batch 3")).unwrap();
    assert!(
        text.contains("x: float [3, 4]") && text.contains("0: float [3, 2]"),
        "{text}"
    );
    let text = inspect(&format!("{path} --input-dim x=7,4")).unwrap();
    assert!(text.contains("x: float [7, 4]"), "{text}");
    let error = inspect(&format!("{path} --input-dim z=7,4")).unwrap_err();
    assert!(error.contains("no parameter `z`"), "{error}");
    let error = inspect(&format!("{path} --input-dim x=7;4")).unwrap_err();
    assert!(error.contains("invalid digit"), "{error}");
}

#[test]
fn a_tensorflow_graph_is_told() {
    let folder = folder();
    let path = model(&folder, "graph.pb", &testkit::tf::models::conv(-1, 8));
    let text = inspect(&format!("{path} --batch 4")).unwrap();
    assert!(
        text.contains("TensorFlow graph") && text.contains(": float [4, 2, 8, 8]"),
        "{text}"
    );
}

#[test]
fn submodules_are_counted_and_other_files_refused() {
    let text = inspect(&case("if_runtime.onnx")).unwrap();
    assert!(text.contains("in 3 modules"), "{text}");
    assert!(
        inspect(&case("index.tsv"))
            .unwrap_err()
            .contains("none of .onnx, .pb and .mxr")
    );
    assert!(inspect("none.onnx").unwrap_err().contains("none.onnx"));
    assert!(
        inspect(&case("mxr_random.mxr"))
            .unwrap_err()
            .contains("mxr_random.mxr")
    );
}
