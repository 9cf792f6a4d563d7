//! What is refused, and what is said of it.

use std::fs;
use std::path::PathBuf;

use migraphx::{OnnxOptions, Target};

use super::{demo, refused, tmp};

#[test]
fn weights_that_do_not_fit_are_told_with_the_way_out() {
    let tmp = tmp();
    let write = |name: &str, bytes: &[u8]| {
        let path: PathBuf = tmp.path().join(name);
        fs::write(&path, bytes).unwrap();
        path
    };
    let onnx = fs::read(demo().join("model.onnx")).unwrap();
    write("onnx.mxr", &onnx);
    write("mxr.onnx", &fs::read(demo().join("model.mxr")).unwrap());
    write(
        "cut.mxr",
        &fs::read(demo().join("model.mxr")).unwrap()[..5000],
    );
    write("model.pt", b"");
    write("relu.onnx", &testkit::models::relu(&[2, 3, 80, 80]));
    let uncompiled = OnnxOptions::new()
        .parse_bytes(&testkit::models::relu(&[2]))
        .unwrap();
    uncompiled.save(tmp.path().join("uncompiled.mxr")).unwrap();
    let relu = OnnxOptions::new()
        .parse_bytes(&testkit::models::relu(&[2]))
        .unwrap();
    let relu = relu
        .compile(&Target::reference().unwrap(), &Default::default())
        .unwrap();
    relu.save(tmp.path().join("relu.mxr")).unwrap();

    for (options, expected) in [
        ("--weights {tmp}/gone.onnx", "gone.onnx do not exist"),
        ("--weights {tmp}/model.pt", "end in .onnx or .mxr"),
        ("--weights {tmp}/onnx.mxr", "must end in .onnx"),
        ("--weights {tmp}/mxr.onnx", "must end in .mxr"),
        ("--weights {tmp}/cut.mxr", "cut.mxr"),
        ("--weights {tmp}/uncompiled.mxr", "yolo26 compile"),
        ("--weights {tmp}/relu.mxr", "not a YOLO detector"),
        ("--weights {tmp}/relu.onnx", "not a YOLO detector"),
        (
            "--weights {demo}/model.mxr --batch-size 64",
            "--batch-size 2, not 64",
        ),
        (
            "--weights {demo}/model.mxr --imgsz 640",
            "--imgsz 80, not 640",
        ),
        (
            "--weights {demo}/model.mxr --target gpu",
            "compiled for the target ref",
        ),
        ("--weights {demo}/model.onnx --target nonsense", "nonsense"),
        (
            "--weights {demo}/model.onnx --target ref --offload-copy no",
            "only the host's memory",
        ),
        (
            "--weights {demo}/model.mxr --offload-copy no",
            "compiled for host buffers",
        ),
        (
            "--weights {demo}/model.mxr --source {tmp}/none",
            "none does not exist",
        ),
        (
            "--weights {demo}/model.mxr --output {tmp}/a.jpg",
            "end its name in .png",
        ),
        (
            "--weights {demo}/model.mxr --output {tmp}/no/a.png",
            "no/a.png",
        ),
    ] {
        let mut line = format!("predict {options}");
        for default in ["--source {demo}/images/000.png", "--output {tmp}/a.png"] {
            let option = default.split(' ').next().unwrap();
            if !options.contains(option) {
                line += &format!(" {default}");
            }
        }
        let error = refused(&tmp, &line);
        assert!(error.contains(expected), "{line}: {error}");
        assert!(!tmp.path().join("a.png").exists(), "{line} left a picture");
    }
}

#[test]
fn compile_refuses_before_it_works() {
    let tmp = tmp();
    for (options, expected) in [
        (
            "--weights {demo}/model.mxr --output {tmp}/a.mxr",
            "takes an ONNX export",
        ),
        (
            "--weights {demo}/model.onnx --output {tmp}/a.onnx",
            "must end in .mxr",
        ),
        (
            "--weights {demo}/model.onnx --output {tmp}/no/a.mxr",
            "no/a.mxr",
        ),
        (
            "--weights {demo}/model.onnx --output {tmp}/a.mxr --imgsz 160",
            "--imgsz 80, not 160",
        ),
    ] {
        let error = refused(&tmp, &format!("compile {options}"));
        assert!(error.contains(expected), "{options}: {error}");
    }
    assert_eq!(fs::read_dir(tmp.path()).unwrap().count(), 0);
}
