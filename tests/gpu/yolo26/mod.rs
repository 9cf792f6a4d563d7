//! The example `yolo26` on eight GPUs, as a user starts it: right values on
//! every way through `bench`, cards that fail, processes that die.
//!
//! It runs in processes of its own, which the virtual GPU ends at the first
//! violation, and with a failure where anything is left behind.

mod compare;
mod demo;
mod failures;
mod shapes;
mod transfer;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::harness::Test;
use crate::sim::Call;
use compare::{equal_ref, shares, stored};
use demo::{BATCH, IMAGES, RESULT, SIZE, command, passes, refused};

pub const TESTS: &[Test] = &[
    yolo26("eight_cards_equal_ref", eight_cards),
    yolo26("a_process_each_equals_ref", isolated),
    yolo26("predict_takes_both_kinds", predicts),
    yolo26("accuracy_is_the_same_on_every_way", accuracy),
    yolo26("the_shipped_model_has_its_map", shapes::recorded_map),
    yolo26("a_card_that_fails", failures::failing_card),
    yolo26("a_card_of_another_architecture", failures::foreign_card).env(
        "GPU_SIM_ARCH",
        "gfx90a:sramecc+:xnack-,gfx90a:sramecc+:xnack-,gfx942:sramecc+:xnack-,gfx90a:sramecc+:xnack-",
    ),
    yolo26("a_process_that_dies", failures::dying_process).env("GPU_SIM_OP_US", "2000"),
    yolo26(
        "a_killed_parent_takes_its_processes",
        failures::killed_parent,
    ),
    yolo26("batches_are_queued_beside_each_other", overlapped),
    yolo26("few_bytes_go_up", transfer::few_bytes),
    yolo26("int8_finds_all", transfer::int8),
    yolo26("fewer_cards_than_asked", too_few)
        .env("GPU_SIM_DEVICES", "3"),
    yolo26("switches_are_in_the_environment", switches),
];

/// This process only starts others.
const fn yolo26(name: &'static str, run: fn()) -> Test {
    // The first of them may build the example and compile the model.
    Test::new(name, run).seconds(900).without_hip()
}

/// A bench of eight cards that stores its results; what it prints, and what is
/// in its JSON.
fn bench(tmp: &Path, options: &str) -> (Command, PathBuf, PathBuf) {
    let (results, json) = (tmp.join("results"), tmp.join("report.json"));
    let _ = fs::remove_dir_all(&results);
    let mut line =
        "bench --data {demo}/coco.yaml --num-gpus 8 --quiet-mode yes --dry-run no ".to_owned();
    if !options.contains("--warmup") {
        line += "--warmup 2 ";
    }
    if !options.contains("--weights") {
        line += "--weights {demo}/device.mxr ";
    }
    let mut command = command(&(line + options));
    command
        .arg("--output")
        .arg(&results)
        .arg("--json")
        .arg(&json);
    (command, results, json)
}

fn json(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

fn tmp() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

fn eight_cards() {
    let tmp = tmp();
    let both = "--weights {demo}/host.mxr ";
    for (options, steal, device) in [
        ("--in-flight 2", false, true),
        ("--in-flight 3 --schedule steal --decoders 2", true, true),
        (both, false, false),
    ] {
        let (command, results, report) = bench(tmp.path(), options);
        let table = passes(command);
        assert!(table.contains("8-GPU INFERENCE COMPLETE"), "{table}");
        assert!(table.contains("Total FPS across all 8 GPUs"), "{table}");
        assert_eq!(table.contains("up GB/s"), device, "{table}");
        let found = match steal {
            true => stored(&results, |_, number| number * BATCH),
            false => stored(&results, shares(8)),
        };
        equal_ref(&found);

        let report = json(&report);
        let cards = report["cards"].as_array().unwrap();
        assert_eq!(cards.len(), 8);
        let sum = |name: &str| cards.iter().map(|c| c[name].as_f64().unwrap()).sum::<f64>();
        assert_eq!(sum("images"), IMAGES as f64);
        // No batch took longer than all of them.
        let slowest = report["total"]["latency"]["turnaround_ms"]["max"].as_f64();
        let whole = report["total"]["pipeline_s"].as_f64().unwrap() * 1e3;
        assert!(slowest.unwrap() <= 1.01 * whole, "{slowest:?} of {whole}");
        if !steal {
            assert!(cards.iter().all(|card| card["images"].as_u64() >= Some(4)));
        }
        if device {
            let batch = (BATCH * 3 * SIZE * SIZE * 4) as f64;
            assert_eq!(sum("upload_bytes"), sum("batches") * batch);
            let batch = (BATCH * RESULT * 4) as f64;
            assert_eq!(sum("download_bytes"), sum("batches") * batch);
        }
        for card in cards.iter().filter(|card| card["images"] != 0) {
            let number = |name: &str| card[name].as_f64().unwrap();
            assert!(
                number("model_s") > 0.0 && number("model_fps") > 0.0,
                "{card}"
            );
            // Whatever overlaps: one card computes for no longer than it runs.
            assert!(number("model_s") <= number("pipeline_s"), "{card}");
            assert!(number("decode_s") <= number("pipeline_s"), "{card}");
        }
    }
}

fn isolated() {
    let tmp = tmp();
    for (options, steal) in [
        ("--isolate yes", false),
        ("--isolate --schedule steal", true),
    ] {
        let (command, results, report) = bench(tmp.path(), options);
        let table = passes(command);
        assert!(table.contains("8-GPU INFERENCE COMPLETE"), "{table}");
        assert!(table.contains("a process each"), "{table}");
        let found = match steal {
            true => stored(&results, |_, number| number * BATCH),
            false => stored(&results, shares(8)),
        };
        equal_ref(&found);
        let report = json(&report);
        assert_eq!(report["setting"]["isolate"], true);
        assert_eq!(report["total"]["images"], IMAGES);
        assert!(report["total"]["model_fps"].as_f64().unwrap() > 0.0);
    }
}

fn predicts() {
    let tmp = tmp();
    for (weights, device) in [("device.mxr", 5), ("host.mxr", 7), ("ref.mxr", 0)] {
        let mut command = command(&format!(
            "predict --weights {{demo}}/{weights} --device {device} --source {{demo}}/images \
             --labels {{demo}}/labels"
        ));
        command.arg("--output").arg(tmp.path().join(weights));
        let text = passes(command);
        assert!(text.contains("objects found, 0 false"), "{text}");
    }
}

fn accuracy() {
    let tmp = tmp();
    let val = |options: &str| {
        let mut command = command(&format!(
            "val --data {{demo}}/coco.yaml --quiet-mode yes {options}"
        ));
        let metrics = tmp.path().join("metrics.json");
        command.arg("--json").arg(&metrics);
        let text = passes(command);
        assert!(
            text.contains("\nmAP50: 0.9") || text.contains("\nmAP50: 1.0"),
            "{text}"
        );
        json(&metrics)
    };
    let device = val("--weights {demo}/device.mxr --num-gpus 8");
    let isolated = "--weights {demo}/device.mxr --num-gpus 8 --isolate yes --schedule steal";
    assert_eq!(val(isolated), device);
    // In FP32 on the CPU.
    let exact = val("--weights {demo}/ref.mxr");
    for key in ["mAP50", "mAP50-95"] {
        let [a, b] = [&device, &exact].map(|metrics| metrics[key].as_f64().unwrap());
        assert!((a - b).abs() < 0.02, "{key}: {a} and {b}");
    }
}

/// A card has several batches queued, each in a stream of its own, before one of
/// them is waited for.
fn overlapped() {
    let tmp = tmp();
    for in_flight in [2, 3] {
        let log = tmp.path().join(format!("log{in_flight}"));
        let mut command = command(&format!(
            "bench --weights {{demo}}/device.mxr --data {{demo}}/images --num-gpus 2 --warmup 1 \
             --quiet-mode yes --in-flight {in_flight}"
        ));
        // A run takes longer than decoding, whatever else the machine does.
        command
            .env("GPU_SIM_OP_US", "5000")
            .env("GPU_SIM_LOG", &log);
        passes(command);
        let calls = Call::all(&fs::read_to_string(&log).unwrap());
        let upload = format!(" {}x1 ", BATCH * 3 * SIZE * SIZE * 4);
        for device in [0, 1] {
            let (mut streams, mut queued, mut most) = (BTreeSet::new(), 0, 0);
            for call in calls.iter().filter(|call| call.device == device) {
                if call.name == "hipMemcpyAsync" && call.rest.contains(&upload) {
                    let (_, stream) = call.rest.split_once("stream=").unwrap();
                    streams.insert(stream.split(' ').next().unwrap());
                    queued += 1;
                    most = most.max(queued);
                } else if call.name == "hipEventSynchronize" {
                    queued = 0;
                }
            }
            assert_eq!(streams.len(), in_flight + 1);
            assert!(most >= in_flight, "GPU {device}: {most} queued");
        }
    }
}

fn too_few() {
    let tmp = tmp();
    for options in ["", "--isolate yes"] {
        let (command, ..) = bench(tmp.path(), options);
        let error = refused(command);
        let text = "--num-gpus 8: there is no GPU 7: this process sees 3, GPU 0 to GPU 2";
        assert!(error.contains(text), "{error}");
    }
    let mut command =
        command("predict --weights {demo}/device.mxr --device 3 --source {demo}/images");
    command.arg("--output").arg(tmp.path().join("out"));
    assert!(refused(command).contains("there is no GPU 3"));
}

/// The virtual GPU reads its variables once, as HIP does.
fn switches() {
    let tmp = tmp();
    let log = tmp.path().join("log");
    let mut command = self::command(
        "bench --weights {demo}/device.mxr --data {demo}/images --num-gpus 3 --quiet-mode yes \
         --set-env GPU_SIM_DEVICES=2 --nhwc yes",
    );
    command
        .arg("--set-env")
        .arg(format!("GPU_SIM_LOG={}", log.display()));
    let error = refused(command);
    assert!(error.contains("this process sees 2"), "{error}");
    assert!(
        fs::read_to_string(&log)
            .unwrap()
            .contains("hipGetDeviceCount")
    );
}
