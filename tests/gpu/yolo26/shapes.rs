//! The model that ships, on eight GPUs.

use std::path::Path;

use serde_json::Value;
use testkit::scenes::Scenes;

use super::demo::{command, passes};
use super::{json, tmp};

/// FP16 on the GPU finds what training measured in FP32, to half a point.
pub fn recorded_map() {
    let tmp = tmp();
    let at = |name: &str| tmp.path().join(name).display().to_string();
    let scenes = Scenes {
        count: 100,
        ..Scenes::default()
    };
    scenes.write(tmp.path()).unwrap();
    let model = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/yolo26/model");
    let onnx = model.join("shapes.onnx").display().to_string();
    let (mxr, yaml, found) = (at("m.mxr"), at("coco.yaml"), at("found.json"));
    passes(command(&format!(
        "compile --weights {onnx} --target gpu --batch-size 4 --output {mxr}"
    )));
    passes(command(&format!(
        "val --weights {mxr} --data {yaml} --num-gpus 8 --quiet-mode yes --json {found}"
    )));
    let found = json(Path::new(&found))["mAP50"].as_f64().unwrap();
    let record: Value = json(&model.join("shapes.json"));
    let recorded = record["fresh_scenes"]["first_100"]["map50"]
        .as_f64()
        .unwrap();
    assert!(
        (found - recorded).abs() <= 0.005,
        "{found}, {recorded} in training"
    );
}
