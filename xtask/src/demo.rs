//! `cargo xtask demo`: the main job on a model and pictures made on the spot.

use crate::command::{self, cargo, shown};
use crate::setup;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

pub const HELP: &str = "\
Usage: cargo xtask demo

Sets up, then does the main job from end to end in target/demo: draws pictures
with known objects, writes a tiny detector as ONNX, compiles it (FP16), finds
the objects and checks every box against the truth, and measures images per
second. Runs on MIGraphX's CPU reference target, which is slow: the numbers
show the way, not the speed of a GPU.
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
    let (model, compiled) = (at("model.onnx"), at("model.mxr"));
    let (images, labels, found) = (at("images"), at("labels"), at("found"));
    let compile = [
        "compile",
        "--weights",
        &model,
        "--target",
        "ref",
        "--output",
        &compiled,
    ];
    step(
        "ONNX to a compiled FP16 program",
        &[&yolo[..], &compile].concat(),
    )?;
    let predict = [
        "predict",
        "--weights",
        &compiled,
        "--source",
        &images,
        "--output",
        &found,
        "--labels",
        &labels,
    ];
    step(
        "boxes on every picture, checked against the truth",
        &[&yolo[..], &predict].concat(),
    )?;
    let data = at("coco.yaml");
    let bench = [
        "bench",
        "--weights",
        &compiled,
        "--data",
        &data,
        "--num-gpus",
        "2",
        "--warmup",
        "1",
        "--quiet-mode",
        "true",
    ];
    step(
        "images per second, two workers",
        &[&yolo[..], &bench].concat(),
    )?;
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

fn first_picture(folder: &Path) -> Option<PathBuf> {
    let entries = fs::read_dir(folder)
        .ok()?
        .flatten()
        .map(|entry| entry.path());
    entries
        .filter(|path| path.extension().is_some_and(|end| end == "png"))
        .min()
}
