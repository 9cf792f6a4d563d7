//! `cargo xtask demo`: the main job on a model and pictures made on the spot.

use crate::command::{self, cargo, shown};
use crate::setup::{self, gpu_sim};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

pub const HELP: &str = "\
Usage: cargo xtask demo

Sets up, then does the main job from end to end in target/demo: draws pictures
with known objects, writes a tiny detector as ONNX, compiles it (FP16), finds
the objects and checks every box against the truth, and measures images per
second. Runs on MIGraphX's CPU reference target, which is slow: the numbers
show the way, not the speed of a GPU. Where `cargo xtask setup --gpu-sim` was
run, the same follows on MIGraphX's gpu target and the virtual GPU.
";

pub fn command(arguments: &[String]) -> Result<ExitCode, String> {
    if !arguments.is_empty() {
        return Err(format!("demo takes no arguments\n\n{HELP}"));
    }
    let root = command::workspace_root()?;
    setup::ensure(&setup::Options::default())?;
    let folder = target_dir(&root).join("demo");
    // What an earlier demo left must not pass for this one's work.
    if folder.exists() {
        fs::remove_dir_all(&folder)
            .map_err(|error| format!("cannot clear {}: {error}", folder.display()))?;
    }
    fs::create_dir_all(&folder)
        .map_err(|error| format!("cannot create {}: {error}", folder.display()))?;

    let at = |name: &str| folder.join(name).display().to_string();
    let step = |what: &str, words: &[&str]| {
        let mut run = cargo(&root);
        run.args(["run", "--quiet", "--release"]).args(words);
        println!("\ndemo: {what}\n  {}", shown(&run));
        match command::status(&mut run)? {
            true => Ok(()),
            false => Err(format!("the demo stopped at this step: {what}")),
        }
    };
    // Apart from the steps, so that one sees why the first takes a while.
    let mut build = cargo(&root);
    build.args([
        "build",
        "--release",
        "-p",
        "testkit",
        "-p",
        "migraphx-workspace",
    ]);
    build.args(["--bin", "make-demo", "--example", "yolo26"]);
    if !command::status(&mut build)? {
        return Err("the demo could not be built; the compiler's own words are above".into());
    }
    step(
        "a detector as ONNX, and pictures with known objects",
        &[
            "-p",
            "testkit",
            "--bin",
            "make-demo",
            "--",
            &folder.display().to_string(),
        ],
    )?;
    let yolo = ["-p", "migraphx-workspace", "--example", "yolo26", "--"];
    let yolo26 = |what: &str, words: &str| {
        let words = in_folder(words, &folder);
        let words = words.iter().map(String::as_str);
        step(what, &yolo.into_iter().chain(words).collect::<Vec<_>>())
    };
    yolo26("ONNX to a compiled FP16 program", &compile("ref", "model"))?;
    yolo26(
        "boxes on every picture, checked against the truth",
        &predict("model", "found"),
    )?;
    yolo26("images per second, two workers", &bench("model", 2))?;
    if let Some(gpu) = gpu_sim::made() {
        let virtual_gpu =
            |what: &str, words: &str| on_virtual_gpu(&root, &gpu, &folder, what, words);
        virtual_gpu("ONNX to FP16, target gpu", &compile("gpu", "model-gpu"))?;
        virtual_gpu("boxes, checked", &predict("model-gpu", "found-gpu"))?;
        virtual_gpu("images per second", &bench("model-gpu", 1))?;
    }
    let found = at("found");
    let picture = first_picture(Path::new(&found))
        .ok_or_else(|| format!("predict wrote no picture into {found}"))?;
    println!(
        "\ndemo: all boxes are right; one of the pictures: {}",
        picture.display()
    );
    Ok(ExitCode::SUCCESS)
}

fn target_dir(root: &Path) -> PathBuf {
    let given = std::env::var_os("CARGO_TARGET_DIR").filter(|value| !value.is_empty());
    root.join(given.map_or_else(|| PathBuf::from("target"), PathBuf::from))
}

fn in_folder(words: &str, folder: &Path) -> Vec<String> {
    let folder = folder.display().to_string();
    let words = words.split('|');
    words.map(|word| word.replace("DEMO", &folder)).collect()
}

/// Command lines, words parted by bars; `DEMO` is the folder.
fn compile(target: &str, name: &str) -> String {
    format!("compile|--weights|DEMO/model.onnx|--target|{target}|--output|DEMO/{name}.mxr")
}

fn predict(name: &str, found: &str) -> String {
    format!(
        "predict|--weights|DEMO/{name}.mxr|--source|DEMO/images|--output|DEMO/{found}|--labels|DEMO/labels"
    )
}

fn bench(name: &str, workers: usize) -> String {
    format!(
        "bench|--weights|DEMO/{name}.mxr|--data|DEMO/coco.yaml|--num-gpus|{workers}|--warmup|1|--quiet-mode|true"
    )
}

/// The example as built, on MIGraphX's real `gpu` target and our stand-in for its GPU.
fn on_virtual_gpu(
    root: &Path,
    gpu: &Path,
    folder: &Path,
    what: &str,
    words: &str,
) -> Result<(), String> {
    let example = target_dir(root).join("release/examples/yolo26");
    let mut run = Command::new(&example);
    run.args(in_folder(words, folder))
        .env("MIGRAPHX_LIB_DIR", gpu.join("lib"))
        .current_dir(root);
    println!(
        "\ndemo: virtual GPU: {what}\n  MIGRAPHX_LIB_DIR={} {}",
        gpu.join("lib").display(),
        shown(&run).replacen("yolo26", &example.display().to_string(), 1)
    );
    match command::status(&mut run)? {
        true => Ok(()),
        false => Err(format!(
            "the demo stopped at this step: virtual GPU: {what}"
        )),
    }
}

fn first_picture(folder: &Path) -> Option<PathBuf> {
    let entries = fs::read_dir(folder)
        .ok()?
        .flatten()
        .map(|entry| entry.path());
    entries
        .filter(|path| path.extension().is_some_and(|end| end == "png"))
        .min()
}
