//! Exports of several kinds.

use std::fs;

use image::RgbImage;
use testkit::onnx::{Attr, Dim, Elem, Graph, fixed};

use super::{refused, tmp, yolo26};

const SIZE: usize = 32;
/// Cells of 8, 16 and 32 pixels.
const ANCHORS: usize = 16 + 4 + 1;

/// A head of two classes that says `boxes` (anchor; cx, cy, w, h, scores) of white
/// images, and nothing of black ones.
fn dense(elem: Elem, task: &str, boxes: &[(usize, [f32; 6])]) -> Vec<u8> {
    let mut values = vec![0.0; 6 * ANCHORS];
    for (anchor, column) in boxes {
        for (row, value) in column.iter().enumerate() {
            values[row * ANCHORS + anchor] = *value;
        }
    }
    let mut g = Graph::new("dense");
    g.opset(12);
    g.metadata("task", task);
    g.metadata("names", "{0: 'cat', 1: 'dog'}");
    g.input("images", elem, &fixed(&[1, 3, SIZE, SIZE]));
    let axes = vec![("axes", Attr::Ints(vec![1, 2])), ("keepdims", Attr::Int(0))];
    g.node("ReduceMean", &["images"], &["row"], axes);
    let axes = vec![("axes", Attr::Ints(vec![1])), ("keepdims", Attr::Int(1))];
    g.node("ReduceMean", &["row"], &["mean"], axes);
    match elem {
        Elem::F16 => {
            let values: Vec<half::f16> = values.iter().map(|v| half::f16::from_f32(*v)).collect();
            g.constant_f16("head", &[1, 6, ANCHORS], &values);
        }
        _ => g.constant_f32("head", &[1, 6, ANCHORS], &values),
    }
    g.node("Mul", &["head", "mean"], &["output0"], vec![]);
    g.output("output0", elem, &fixed(&[1, 6, ANCHORS]));
    g.into_bytes()
}

#[test]
fn a_dense_head_gets_nms() {
    let tmp = tmp();
    let boxes = [
        (2, [16.0, 16.0, 8.0, 8.0, 0.5, 0.25]),
        // The same again, better; a dog there; one elsewhere; one too faint.
        (3, [16.5, 16.0, 8.0, 8.0, 0.75, 0.0]),
        (4, [16.0, 16.0, 8.0, 8.0, 0.0, 0.625]),
        (5, [8.0, 8.0, 8.0, 8.0, 0.375, 0.0]),
        (20, [24.0, 24.0, 8.0, 8.0, 0.125, 0.0]),
    ];
    let white = RgbImage::from_pixel(32, 32, image::Rgb([255; 3]));
    white.save(tmp.path().join("white.png")).unwrap();
    for (elem, input) in [
        (Elem::F32, "f32"),
        (Elem::F32, "u8"),
        (Elem::F16, "f16"),
        (Elem::F16, "f32"),
        (Elem::F16, "u8"),
    ] {
        fs::write(tmp.path().join("m.onnx"), dense(elem, "detect", &boxes)).unwrap();
        let line = format!(
            "predict --weights {{tmp}}/m.onnx --target ref --input {input} \
             --source {{tmp}}/white.png --output {{tmp}}/a.png --dump-output {{tmp}}/out"
        );
        let said = yolo26(&tmp, &line).unwrap();
        let found: Vec<&str> = said.lines().skip(1).map(str::trim).collect();
        let expected = [
            "cat 0.750  12.5 12.0 20.5 20.0",
            "dog 0.625  12.0 12.0 20.0 20.0",
            "cat 0.375  4.0 4.0 12.0 12.0",
        ];
        assert_eq!(found, expected, "{elem:?} {input}");
        // The whole head, whatever NMS leaves.
        let dump = fs::metadata(tmp.path().join("out")).unwrap();
        assert_eq!(dump.len() as usize, 6 * ANCHORS * 4);
    }
}

#[test]
fn another_task_is_refused_by_name() {
    let tmp = tmp();
    for task in ["segment", "pose", "obb", "classify"] {
        fs::write(tmp.path().join("m.onnx"), dense(Elem::F32, task, &[])).unwrap();
        let line = "compile --weights {tmp}/m.onnx --output {tmp}/m.mxr --target ref";
        let error = refused(&tmp, line);
        assert!(error.contains(&format!("for the task {task}")), "{error}");
        assert!(error.contains("m.onnx"), "{error}");
    }
}

#[test]
fn int8_is_calibrated_with_images() {
    let tmp = tmp();
    let line = "compile --weights {demo}/model.onnx --output {tmp}/int8.mxr --target ref --fp16 no \
                --batch-size 2 --int8 --calibration {demo}/coco.yaml --calibration-images 2";
    let said = yolo26(&tmp, line).unwrap();
    assert!(said.contains("calibrating with 2 images"), "{said}");
    assert!(said.contains("INT8+FP32, target ref"), "{said}");
    let about = fs::read_to_string(tmp.path().join("int8.about.json")).unwrap();
    assert!(
        about.contains("INT8+FP32") && about.contains("model.onnx"),
        "{about}"
    );
    let check = "predict --weights {tmp}/int8.mxr --source {demo}/images/000.png \
                 --output {tmp}/a.png --labels {demo}/labels";
    let text = yolo26(&tmp, check).unwrap();
    assert!(text.contains("objects found, 0 false"), "{text}");
    for (options, expected) in [
        ("--int8", "--calibration"),
        ("--calibration {demo}/images", "is for --int8"),
        ("--int8 --calibration {tmp}/none", "none does not exist"),
    ] {
        let line =
            format!("compile --weights {{demo}}/model.onnx --output {{tmp}}/a.mxr {options}");
        let error = refused(&tmp, &line);
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn a_list_longer_than_its_anchors_is_refused() {
    let tmp = tmp();
    let mut g = Graph::new("short");
    g.input(
        "images",
        Elem::F32,
        &[
            Dim::Fixed(1),
            Dim::Fixed(3),
            Dim::Symbol("height"),
            Dim::Symbol("width"),
        ],
    );
    // A value a cell of 8 pixels, in one list; its best 30, six times each.
    let pool = ["kernel_shape", "strides"].map(|name| (name, Attr::Ints(vec![8, 8])));
    g.node("AveragePool", &["images"], &["cells"], pool.to_vec());
    let axes = vec![("axes", Attr::Ints(vec![1])), ("keepdims", Attr::Int(0))];
    g.node("ReduceMean", &["cells"], &["grey"], axes);
    g.constant_i64("flat", &[2], &[1, -1]);
    g.node("Reshape", &["grey", "flat"], &["list"], vec![]);
    g.constant_i64("k", &[1], &[30]);
    g.node(
        "TopK",
        &["list", "k"],
        &["best", "at"],
        vec![("axis", Attr::Int(-1))],
    );
    g.constant_i64("column", &[3], &[1, 30, 1]);
    g.node("Reshape", &["best", "column"], &["rows"], vec![]);
    g.node(
        "Concat",
        &["rows"; 6],
        &["output0"],
        vec![("axis", Attr::Int(2))],
    );
    g.output("output0", Elem::F32, &fixed(&[1, 30, 6]));
    fs::write(tmp.path().join("m.onnx"), g.into_bytes()).unwrap();
    let compile = "compile --weights {tmp}/m.onnx --output {tmp}/m.mxr --target ref --fp16 no";
    let error = refused(&tmp, &format!("{compile} --imgsz 32"));
    assert!(
        error.contains("best 30 of its anchors, and has 16"),
        "{error}"
    );
    let said = yolo26(&tmp, &format!("{compile} --imgsz 48")).unwrap();
    assert!(said.contains("(1, 3, 48, 48) -> (1, 30, 6)"), "{said}");
}
