//! A run's report as text, JSON and a page, and compared.

use std::fs;

use serde_json::Value;

use super::{refused, tmp, yolo26};

#[test]
fn a_run_is_told_again_from_its_json() {
    let tmp = tmp();
    let bench = "bench --data {demo}/coco.yaml --weights {demo}/model.mxr --quiet-mode yes \
                 --warmup 0 --num-gpus 2";
    let files = "--json {tmp}/run.json --html {tmp}/run.html";
    let table = yolo26(&tmp, &format!("{bench} {files}")).unwrap();
    let again = yolo26(&tmp, "report {tmp}/run.json --html {tmp}/again.html").unwrap();
    assert_eq!(again, table);
    let read = |name: &str| fs::read_to_string(tmp.path().join(name)).unwrap();
    assert_eq!(read("again.html"), read("run.html"));

    let report: Value = serde_json::from_str(&read("run.json")).unwrap();
    assert_eq!(report["schema"], 1);
    // Three images and two, in batches of two.
    assert_eq!(report["total"]["latency"]["turnaround_ms"]["samples"], 3);
    assert_eq!(report["setting"]["image_bytes"], 3 * 80 * 80 * 4);
    assert_eq!(report["model"]["sha256"].as_str().unwrap().len(), 64);
    for card in report["cards"].as_array().unwrap() {
        let number = |key: &str| card[key].as_f64().unwrap();
        let ms = |of: &str, at: &str| card["latency"][of][at].as_f64().unwrap();
        // A batch is stored after it is computed, and within the run.
        assert!(ms("compute_ms", "max") <= ms("turnaround_ms", "max") * 1.001);
        assert!(ms("turnaround_ms", "max") <= number("pipeline_s") * 1001.0);
        let slots = card["timeline"]["images"].as_array().unwrap().iter();
        let stored: u64 = slots.map(|images| images.as_u64().unwrap()).sum();
        assert_eq!(stored, card["images"].as_u64().unwrap());
    }

    let text = yolo26(&tmp, "compare {tmp}/run.json {tmp}/run.json").unwrap();
    assert!(text.contains("both were made alike"), "{text}");
    assert_eq!(text.matches("pipeline FPS").count(), 3, "{text}");
    let later = format!("{bench} --in-flight 3 --compare {{tmp}}/run.json");
    let text = yolo26(&tmp, &later).unwrap();
    assert!(text.contains("  setting.in_flight: 2 -> 3\n"), "{text}");

    // Before any work: what it is compared with is no report.
    let error = refused(&tmp, &format!("{bench} --compare {{demo}}/coco.yaml"));
    assert!(
        error.contains("coco.yaml") && error.contains("no JSON"),
        "{error}"
    );
}
