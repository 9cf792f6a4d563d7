//! The tool from end to end.

use std::sync::Once;

use clap::Parser;
use serde_json::Value;

use crate::tools_common::testing::{case, folder, model, network, words};
use crate::{Cli, run};

fn trace(line: &str) -> Result<String, String> {
    // As `main` does it; the library reads it at the first run of this process.
    static VARIABLE: Once = Once::new();
    // SAFETY: the tests of this program read the environment through here only.
    VARIABLE.call_once(|| unsafe { std::env::set_var("MIGRAPHX_TRACE_EVAL", "1") });
    let mut out = Vec::new();
    let cli = Cli::try_parse_from(words(&format!("trace {line}"))).map_err(|e| e.to_string())?;
    run(&cli, &mut out).map_err(|error| format!("{error:#}"))?;
    Ok(String::from_utf8(out).unwrap())
}

fn spans(file: &std::path::Path) -> Vec<Value> {
    let file: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    let events = file["traceEvents"].as_array().unwrap().iter();
    events.filter(|event| event["ph"] == "X").cloned().collect()
}

#[test]
fn each_run_holds_its_instructions_one_after_the_other() {
    let folder = folder();
    let path = model(&folder, "network.onnx", &network());
    let file = folder.path().join("t.json");
    let text = trace(&format!("{path} --ref -n 2 -o {}", file.display())).unwrap();
    assert!(text.contains("1 x ref::convolution"), "{text}");
    let spans = spans(&file);
    let runs: Vec<&Value> = spans.iter().filter(|span| span["cat"] == "run").collect();
    assert_eq!(runs.len(), 2);
    let range = |span: &Value| {
        let start = span["ts"].as_f64().unwrap();
        (start, start + span["dur"].as_f64().unwrap())
    };
    assert!(range(runs[0]).1 <= range(runs[1]).0);
    for number in [0, 1] {
        let (start, end) = range(runs[number]);
        let inside = spans.iter().filter(|span| {
            let (from, to) = range(span);
            span["cat"] == "instruction" && from >= start - 0.01 && to <= end + 0.01
        });
        let mut last = start;
        let mut names = Vec::new();
        for span in inside {
            let (from, to) = range(span);
            assert!(from >= last - 0.01, "{span}");
            last = to;
            names.push(span["name"].as_str().unwrap().to_owned());
        }
        let expected = ["ref::convolution", "ref::relu", "ref::dot"];
        assert!(
            expected.iter().all(|name| names.iter().any(|n| n == name)),
            "{names:?}"
        );
    }
}

#[test]
fn loops_are_nested() {
    let folder = folder();
    let file = folder.path().join("t.json");
    trace(&format!(
        "{} --ref -o {}",
        case("loop_full.onnx"),
        file.display()
    ))
    .unwrap();
    let spans = spans(&file);
    let body = spans.iter().filter(|span| {
        let text = span["args"]["instruction"].as_str().unwrap_or_default();
        text.split(" = ").next().unwrap().contains(':')
    });
    assert!(body.count() > 1);
    let error = trace(&format!(
        "{} --ref -o {}/no/t.json",
        case("loop_full.onnx"),
        folder.path().display()
    ));
    assert!(error.unwrap_err().contains("no/t.json"));
}
