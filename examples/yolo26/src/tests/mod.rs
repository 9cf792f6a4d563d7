//! The commands from end to end on the real library, with the demo's network
//! and pictures.

mod accuracy;
mod exports;
mod refusals;
mod report;
mod shards;
#[cfg(target_os = "linux")]
mod signals;
mod transfer;

use std::fs;
use std::path::Path;
use std::sync::OnceLock;

use anyhow::Result;
use clap::Parser;
use tempfile::TempDir;
use testkit::demo::Demo;
use testkit::net::Batch;

use crate::cli::Cli;

/// Runs a command line in which `{demo}` is the shared folder and `{tmp}` the
/// test's own.
fn yolo26(tmp: &TempDir, line: &str) -> Result<String> {
    let place = |word: &str| {
        let word = word.replace("{demo}", demo().to_str().unwrap());
        word.replace("{tmp}", tmp.path().to_str().unwrap())
    };
    let words = ["yolo26".to_owned()]
        .into_iter()
        .chain(line.split_whitespace().map(place));
    let mut out = Vec::new();
    crate::run(&Cli::try_parse_from(words)?, &mut out)?;
    Ok(String::from_utf8(out)?)
}

fn refused(tmp: &TempDir, line: &str) -> String {
    match yolo26(tmp, line) {
        Ok(text) => panic!("`{line}` went through: {text}"),
        Err(e) => format!("{e:#}"),
    }
}

/// Five pictures, `model.onnx` for batches of two, and its FP16 `model.mxr`.
fn demo() -> &'static Path {
    static DEMO: OnceLock<TempDir> = OnceLock::new();
    let made = DEMO.get_or_init(|| {
        let dir = tempfile::tempdir().unwrap();
        let demo = Demo {
            size: 80,
            batch: Batch::Symbolic,
            images: 5,
        };
        demo.write(dir.path()).unwrap();
        let [onnx, mxr] = ["model.onnx", "model.mxr"].map(|f| dir.path().join(f));
        let line = format!(
            "yolo26 compile --weights {} --output {} --batch-size 2 --target ref",
            onnx.display(),
            mxr.display()
        );
        let mut out = Vec::new();
        crate::run(&Cli::parse_from(line.split_whitespace()), &mut out).unwrap();
        let out = String::from_utf8(out).unwrap();
        assert!(
            out.contains("images: (2, 3, 80, 80) -> (2, 300, 6)"),
            "{out}"
        );
        assert!(out.contains("FP16, target ref"), "{out}");
        dir
    });
    made.path()
}

fn tmp() -> TempDir {
    tempfile::tempdir().unwrap()
}

/// All stored rows of a run in order of the images.
fn stored(results: &Path, workers: usize) -> Vec<u8> {
    let mut all = Vec::new();
    for worker in 0..workers {
        let files = (0..).map(|b| results.join(format!("gpu{worker}/{b}_{worker}.bin")));
        all.extend(files.map_while(|f| fs::read(f).ok()).flatten());
    }
    all
}

#[test]
fn stored_batches_of_two_workers_equal_one_worker_bit_for_bit() {
    let tmp = tmp();
    let bench = "bench --data {demo}/coco.yaml --weights {demo}/model.mxr --batch-size 2 --imgsz 80 \
                 --quiet-mode yes --warmup 1 --dry-run false";
    let table = yolo26(&tmp, &format!("{bench} --num-gpus 2 --output {{tmp}}/two")).unwrap();
    assert!(table.contains("2-WORKER INFERENCE COMPLETE"), "{table}");
    assert!(
        table.contains("(3 images)") && table.contains("(2 images)"),
        "{table}"
    );
    yolo26(&tmp, &format!("{bench} --output {{tmp}}/one")).unwrap();
    let onnx = bench.replace("model.mxr", "model.onnx") + " --target ref --num-gpus 3";
    yolo26(&tmp, &format!("{onnx} --output {{tmp}}/three")).unwrap();
    let one = stored(&tmp.path().join("one"), 1);
    assert_eq!(one.len(), 5 * 300 * 6 * 4);
    for (folder, workers) in [("two", 2), ("three", 3)] {
        let more = stored(&tmp.path().join(folder), workers);
        assert!(one == more, "the stored rows differ");
    }
    let error = refused(&tmp, &format!("{bench} --output {{tmp}}/one"));
    assert!(error.contains("earlier run"), "{error}");
}

/// Rows of a run in which whoever was free took the next batch.
fn stolen(results: &Path, workers: usize) -> Vec<u8> {
    let files = (0..).map(|b| results.join(format!("gpu{0}/{b}_{0}.bin", b % workers)));
    files.map_while(|f| fs::read(f).ok()).flatten().collect()
}

#[test]
fn stolen_batches_equal_shares_and_the_report_says_so() {
    let tmp = tmp();
    let bench = "bench --data {demo}/coco.yaml --weights {demo}/model.mxr --quiet-mode yes \
                 --warmup 1 --dry-run false --decoders 2";
    yolo26(&tmp, &format!("{bench} --output {{tmp}}/one")).unwrap();
    let line = format!(
        "{bench} --num-gpus 3 --schedule steal --output {{tmp}}/three --json {{tmp}}/report.json"
    );
    let table = yolo26(&tmp, &line).unwrap();
    assert!(table.contains("whoever is free"), "{table}");
    assert!(!table.contains("GB/s"), "{table}");
    let one = stored(&tmp.path().join("one"), 1);
    assert!(one == stolen(&tmp.path().join("three"), 3), "rows differ");
    let report = fs::read(tmp.path().join("report.json")).unwrap();
    let report: serde_json::Value = serde_json::from_slice(&report).unwrap();
    assert_eq!(report["setting"]["buffers"], "host");
    assert_eq!(report["cards"].as_array().unwrap().len(), 3);
    assert_eq!(report["total"]["images"], 5);
    let error = refused(&tmp, &format!("{line} --split-data no"));
    assert!(error.contains("--schedule steal"), "{error}");
}

#[test]
fn without_split_every_worker_does_all() {
    let bench = "bench --data {demo}/images --weights {demo}/model.mxr --quiet-mode 1 --warmup 0 \
                 --num-gpus 2 --split-data no";
    let table = yolo26(&tmp(), bench).unwrap();
    assert_eq!(table.matches("(5 images)").count(), 2, "{table}");
}

#[test]
fn predict_finds_every_object_and_no_other() {
    let tmp = tmp();
    for weights in ["model.onnx", "model.mxr"] {
        let line = format!(
            "predict --weights {{demo}}/{weights} --source {{demo}}/images --output {{tmp}}/out \
             --labels {{demo}}/labels --target ref"
        );
        let text = yolo26(&tmp, &line).unwrap();
        assert!(text.contains("objects found, 0 false"), "{text}");
        assert!(text.contains("green square 0."), "{text}");
    }
    let before = image::open(demo().join("images/000.png"))
        .unwrap()
        .into_rgb8();
    let after = image::open(tmp.path().join("out/000.png"))
        .unwrap()
        .into_rgb8();
    assert_eq!(before.dimensions(), after.dimensions());
    assert_ne!(before, after);

    // A wrong label is seen.
    let labels = tmp.path().join("labels");
    fs::create_dir(&labels).unwrap();
    fs::write(labels.join("000.txt"), "0 0.5 0.5 0.1 0.1\n").unwrap();
    let line = "predict --weights {demo}/model.mxr --source {demo}/images/000.png \
                --output {tmp}/a.png --labels {tmp}/labels";
    assert!(refused(&tmp, line).contains("0 of 1 objects found"));
}

#[test]
fn dumps_hold_the_whole_batch() {
    let tmp = tmp();
    let line = "predict --weights {demo}/model.mxr --source {demo}/images/001.png \
                --output {tmp}/a.png --dump-input {tmp}/in.f32 --dump-output {tmp}/out.f32";
    yolo26(&tmp, line).unwrap();
    let size = |name: &str| fs::metadata(tmp.path().join(name)).unwrap().len();
    assert_eq!(size("in.f32"), 2 * 3 * 80 * 80 * 4);
    assert_eq!(size("out.f32"), 2 * 300 * 6 * 4);
}

#[test]
fn a_bad_image_fails_the_run_with_its_worker_and_name() {
    let tmp = tmp();
    for i in 0..6 {
        let image = tmp.path().join(format!("{i}.png"));
        fs::copy(demo().join("images/000.png"), image).unwrap();
    }
    fs::write(tmp.path().join("5.png"), "no picture").unwrap();
    let error = refused(
        &tmp,
        "bench --data {tmp} --weights {demo}/model.mxr --num-gpus 2 --warmup 0 --quiet-mode yes",
    );
    assert!(
        error.contains("Worker 1 failed") && error.contains("5.png"),
        "{error}"
    );
}
