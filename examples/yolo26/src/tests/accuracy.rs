//! `val`, and what else tells of accuracy, on the demo's network and pictures.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::{demo, refused, tmp, yolo26};
use crate::labels;

/// What the label files say, as COCO has it: ids with gaps, in another order.
fn truth() -> Value {
    let images: Vec<_> = (0..5)
        .map(|i| demo().join(format!("images/{i:03}.png")))
        .collect();
    let mut all = json!({"images": [], "annotations": [], "categories": [
        {"id": 90, "name": "yellow bar"}, {"id": 7, "name": "green square"},
        {"id": 1, "name": "red disc"}, {"id": 12, "name": "blue diamond"}]});
    let ids = [1, 7, 12, 90];
    let push = |list: &mut Value, entry| list.as_array_mut().unwrap().push(entry);
    for (i, path) in images.iter().enumerate() {
        let (width, height) = image::image_dimensions(path).unwrap();
        let id = 1000 - i;
        push(
            &mut all["images"],
            json!({"id": id, "file_name": format!("{i:03}.png"), "width": width, "height": height}),
        );
        for label in labels::of_image(path).unwrap().unwrap() {
            let [x1, y1, x2, y2] = label.corners((width, height)).map(f64::from);
            push(
                &mut all["annotations"],
                json!({"image_id": id, "category_id": ids[label.class],
                       "bbox": [x1, y1, x2 - x1, y2 - y1], "iscrowd": 0}),
            );
        }
    }
    all
}

fn read(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

/// Equal up to the last digits of the boxes.
fn same(one: &Value, other: &Value) {
    for key in ["images", "objects", "detections"] {
        assert_eq!(one[key], other[key], "{key}");
    }
    for key in ["mAP50", "mAP50-95", "AP75", "APs", "APm", "AR1", "AR100"] {
        let [a, b] = [one, other].map(|metrics| metrics[key].as_f64());
        let off = a.unwrap_or(-1.0) - b.unwrap_or(-1.0);
        assert!(off.abs() < 1e-9, "{key}: {a:?}, {b:?}");
    }
}

#[test]
fn labels_json_and_stored_detections_give_the_same_numbers() {
    let tmp = tmp();
    let at = |name: &str| tmp.path().join(name);
    fs::write(at("truth.json"), truth().to_string()).unwrap();
    let val = "val --weights {demo}/model.mxr --quiet-mode yes --data {demo}/coco.yaml";
    let text = yolo26(
        &tmp,
        &format!("{val} --json {{tmp}}/labels.json --num-gpus 2"),
    )
    .unwrap();
    let by_labels = read(&at("labels.json"));
    assert!(by_labels["mAP50"].as_f64().unwrap() > 0.9, "{text}");
    let line = format!("mAP50: {:.3}\n", by_labels["mAP50"].as_f64().unwrap());
    assert!(
        text.contains(&line) && text.contains("green square"),
        "{text}"
    );

    let with = "--ground-truth-json {tmp}/truth.json";
    let options = "--save-json {tmp}/found.json --json {tmp}/json.json --schedule steal";
    yolo26(&tmp, &format!("{val} {with} {options}")).unwrap();
    same(&read(&at("json.json")), &by_labels);
    let found = read(&at("found.json"));
    let first = &found[0];
    assert_eq!(
        (&first["image_id"], &first["file_name"]),
        (&json!(1000), &json!("000.png"))
    );

    let line = format!("score --detections {{tmp}}/found.json {with} --json {{tmp}}/score.json");
    let scored = yolo26(&tmp, &line).unwrap();
    // These to the last bit.
    assert_eq!(read(&at("score.json")), read(&at("json.json")));
    assert!(scored.contains("mAP50-95: "), "{scored}");

    let bench = "bench --weights {demo}/model.mxr --quiet-mode yes --warmup 0 --letterbox val \
                 --data {demo}/images --json {tmp}/bench.json";
    let table = yolo26(&tmp, &format!("{bench} {with}")).unwrap();
    assert!(
        table.contains("INFERENCE COMPLETE") && table.contains("mAP50: "),
        "{table}"
    );
    assert_eq!(read(&at("bench.json"))["accuracy"], read(&at("json.json")));
    let table = yolo26(&tmp, &format!("{bench} --ground_truth_json=")).unwrap();
    assert!(!table.contains("mAP50"), "{table}");
    assert_eq!(read(&at("bench.json")).get("accuracy"), None);
}

#[test]
fn a_truth_that_does_not_fit_is_refused() {
    let tmp = tmp();
    let write = |name: &str, truth: &Value| {
        fs::write(tmp.path().join(name), truth.to_string()).unwrap();
    };
    let mut other = truth();
    other["images"][3]["file_name"] = "other.png".into();
    write("other.json", &other);
    let mut few = truth();
    few["annotations"] = json!([]);
    few["categories"] = json!([{"id": 1, "name": "red disc"}]);
    write("few.json", &few);
    fs::create_dir(tmp.path().join("bare")).unwrap();
    fs::copy(
        demo().join("images/000.png"),
        tmp.path().join("bare/000.png"),
    )
    .unwrap();
    for (options, expected) in [
        ("--ground-truth-json {tmp}/gone.json", "cannot read"),
        (
            "--ground-truth-json {demo}/coco.yaml",
            "coco.yaml is not COCO's instances_*.json",
        ),
        (
            "--ground-truth-json {tmp}/other.json",
            "does not tell of the image",
        ),
        (
            "--ground-truth-json {tmp}/few.json",
            "the ground truth has 1 classes",
        ),
        ("--data {tmp}/bare", "none of the 1 images has a label file"),
        ("--json {tmp}/no/x.json", "no/x.json"),
        ("--save-json {tmp}/no/x.json", "no/x.json"),
    ] {
        let mut line = format!("val --weights {{demo}}/model.mxr --quiet-mode yes {options}");
        if !options.contains("--data") {
            line += " --data {demo}/images";
        }
        let error = refused(&tmp, &line);
        assert!(error.contains(expected), "{options}: {error}");
    }
}

#[test]
fn predict_tells_of_many_sources_and_compares() {
    let tmp = tmp();
    let line = "predict --weights {demo}/model.mxr --source {demo}/images/00[0-2].png \
                {demo}/images/004.png --save-txt {tmp}/txt --json {tmp}/found.json";
    let text = yolo26(&tmp, line).unwrap();
    assert_eq!(text.matches(".png: ").count(), 4, "{text}");
    let found = read(&tmp.path().join("found.json"));
    assert_eq!(found.as_array().unwrap().len(), 4);
    for image in found.as_array().unwrap() {
        let path = Path::new(image["image"].as_str().unwrap());
        let stem = path.file_stem().unwrap().to_str().unwrap();
        let text = fs::read_to_string(tmp.path().join(format!("txt/{stem}.txt"))).unwrap();
        let objects = image["objects"].as_array().unwrap();
        assert_eq!(text.lines().count(), objects.len());
        let number = |value: &Value| value.as_f64().unwrap();
        for (line, object) in text.lines().zip(objects) {
            let words: Vec<f64> = line.split(' ').map(|word| word.parse().unwrap()).collect();
            let ([cx, _, w, _], width) = (words[1..5].try_into().unwrap(), number(&image["width"]));
            let [x1, x2] = [-0.5, 0.5].map(|half| (cx + half * w) * width);
            assert!(
                (x1 - number(&object["box"][0])).abs() < 0.01,
                "{line}: {object}"
            );
            assert!(
                (x2 - number(&object["box"][2])).abs() < 0.01,
                "{line}: {object}"
            );
            assert_eq!(words[0], number(&object["class"]));
            assert!((words[5] - number(&object["score"])).abs() < 1e-6);
        }
    }
    // FP32 of the same.
    let line = "predict --weights {demo}/model.onnx --target ref --batch-size 3 --source \
                {demo}/images/00[0124].png --expected {tmp}/found.json";
    let text = yolo26(&tmp, line).unwrap();
    assert!(
        text.contains("objects as expected; the corners differ by"),
        "{text}"
    );
    let error = refused(&tmp, &format!("{line} --score-tolerance 0.000001"));
    assert!(
        error.contains(".png: ") && error.contains("of score apart"),
        "{error}"
    );
    let error = refused(&tmp, &line.replace("[0124]", "[012]"));
    assert!(error.contains("only one has"), "{error}");
}
