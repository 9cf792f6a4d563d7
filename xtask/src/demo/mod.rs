//! `cargo xtask demo`: the main job on a model and pictures made on the spot.

mod machine;

use crate::command::{self, cargo, shown, target_dir};
use crate::setup;
use machine::Machine;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

pub const HELP: &str = "\
Usage: cargo xtask demo

Sets up, then does the main job from end to end in target/demo: draws fresh scenes
with known shapes, compiles the trained detector that ships with the project for
GPUs (FP16), stores it, loads it on every GPU, measures images per second, finds the
shapes, and checks the mAP against the one that the training recorded, and boxes
against FP32 on the CPU target `ref`.

Where MIGraphX is the machine's own, it runs on the machine's GPUs (on `ref` where
there is none, with fewer scenes). Elsewhere the set-up makes a private MIGraphX and
eight virtual GPUs, which the CPU plays: the same code with the same results, at a
speed that means nothing.
";

/// The trained detector and what its training recorded.
const MODEL: &str = "examples/yolo26/model/shapes.onnx";
const RECORD: &str = "examples/yolo26/model/shapes.json";

/// Scenes that the record is about.
const SCENES: u32 = 500;
/// Those that `ref`, at seconds a scene, can do.
const FEW: u32 = 4;
/// How far the mAP may be from the record's.
const TOLERANCE: f64 = 0.005;

pub fn command(arguments: &[String]) -> Result<ExitCode, String> {
    if !arguments.is_empty() {
        return Err(format!("demo takes no arguments\n\n{HELP}"));
    }
    let root = command::workspace_root()?;
    let machine = Machine::of(&setup::ensure(&setup::Options::default())?)?;
    let folder = target_dir(&root).join("demo");
    // What an earlier demo left must not pass for this one's work.
    if folder.exists() {
        fs::remove_dir_all(&folder)
            .map_err(|error| format!("cannot clear {}: {error}", folder.display()))?;
    }
    fs::create_dir_all(&folder)
        .map_err(|error| format!("cannot create {}: {error}", folder.display()))?;
    build(&root)?;
    println!("\ndemo: {}", machine.text());

    let demo = Demo {
        root: &root,
        folder: &folder,
        machine: &machine,
    };
    let (target, workers) = (machine.target(), machine.workers());
    let scenes = if target == "ref" { FEW } else { SCENES };
    demo.draw("DEMO", scenes)?;
    demo.draw("DEMO/few", FEW)?;
    let compile = format!(
        "compile|--weights|{MODEL}|--target|{target}|--batch-size|4|--output|DEMO/model.mxr"
    );
    demo.yolo26("ONNX to a compiled FP16 program", &compile)?;
    let bench = format!(
        "bench|--weights|DEMO/model.mxr|--data|DEMO/coco.yaml|--num-gpus|{workers}|--warmup|1|--quiet-mode|true"
    );
    demo.yolo26(
        &format!("images per second, on {}", machine.cards()),
        &bench,
    )?;
    let val = format!(
        "val|--weights|DEMO/model.mxr|--data|DEMO/coco.yaml|--num-gpus|{workers}|--quiet-mode|true"
    );
    let found = demo.yolo26(
        &format!("mAP on {scenes} fresh scenes, FP16, on {}", machine.cards()),
        &val,
    )?;
    let verdict = match scenes {
        SCENES => like_the_record(&found, &demo.read(RECORD)?)?,
        _ => format!("only {scenes} scenes, as `ref` is slow: too few to compare"),
    };
    demo.yolo26(
        "boxes drawn",
        "predict|--weights|DEMO/model.mxr|--source|DEMO/few/images|--output|DEMO/found|--json|DEMO/found.json",
    )?;
    if target != "ref" {
        let compare = format!(
            "predict|--weights|{MODEL}|--target|ref|--batch-size|{FEW}|--source|DEMO/few/images|--expected|DEMO/found.json"
        );
        demo.yolo26(
            "the same in FP32 on MIGraphX's CPU target, which is exact and slow",
            &compare,
        )?;
    }
    let pictures = folder.join("found");
    let picture = first_picture(&pictures)
        .ok_or_else(|| format!("predict wrote no picture into {}", pictures.display()))?;
    println!(
        "\ndemo: {verdict}; one of the pictures: {}",
        picture.display()
    );
    if let Some(warning) = machine.about_speed() {
        println!("demo: {warning}");
    }
    Ok(ExitCode::SUCCESS)
}

/// Apart from the steps, so that one sees why the first takes a while.
fn build(root: &Path) -> Result<(), String> {
    let mut build = cargo(root);
    build
        .args(["build", "--release", "-p", "testkit"])
        .args(["-p", "migraphx-workspace"])
        .args(["--bin", "make-scenes", "--example", "yolo26"]);
    match command::status(&mut build)? {
        true => Ok(()),
        false => Err("the demo could not be built; the compiler's own words are above".into()),
    }
}

struct Demo<'a> {
    root: &'a Path,
    folder: &'a Path,
    machine: &'a Machine,
}

impl Demo<'_> {
    fn draw(&self, folder: &str, count: u32) -> Result<(), String> {
        let mut draw = Command::new(target_dir(self.root).join("release/make-scenes"));
        draw.arg(folder.replace("DEMO", &self.folder.display().to_string()))
            .args(["--count", &count.to_string()]);
        self.step("scenes with known shapes", draw).map(drop)
    }

    fn read(&self, file: &str) -> Result<String, String> {
        let path = self.root.join(file);
        fs::read_to_string(&path)
            .map_err(|error| format!("cannot read {}: {error}", path.display()))
    }

    /// The example with a command line: words parted by bars; `DEMO` is the folder.
    fn command(&self, words: &str) -> Command {
        let mut run = Command::new(target_dir(self.root).join("release/examples/yolo26"));
        let folder = self.folder.display().to_string();
        run.args(words.split('|').map(|word| word.replace("DEMO", &folder)))
            .envs(self.machine.variables());
        run
    }

    /// Gives what it printed.
    fn yolo26(&self, what: &str, words: &str) -> Result<String, String> {
        self.step(what, self.command(words))
    }

    fn step(&self, what: &str, mut run: Command) -> Result<String, String> {
        println!("\ndemo: {what}\n  {}", typed(&run));
        run.current_dir(self.root);
        command::passed_on(&mut run)?
            .ok_or_else(|| format!("the demo stopped at this step: {what}"))
    }
}

/// Is the mAP50 that `val` printed the one that the training recorded?
fn like_the_record(printed: &str, record: &str) -> Result<String, String> {
    let number = |text: &str, name: &str| -> Option<f64> {
        let (_, rest) = text.split_once(name)?;
        let end = rest.find(|c: char| !matches!(c, '0'..='9' | '.' | ' '));
        rest[..end.unwrap_or(rest.len())].trim().parse().ok()
    };
    let found = number(printed, "mAP50: ").ok_or("`val` printed no mAP50")?;
    let recorded = number(record, "\"map50\":").ok_or_else(|| format!("{RECORD} has no map50"))?;
    let text = format!("mAP50 {found:.3}, and {recorded:.3} in training");
    match (found - recorded).abs() <= TOLERANCE {
        true => Ok(text),
        false => Err(format!("{text}: more than {TOLERANCE} apart")),
    }
}

/// A command as a person would type it, with the variables it needs.
fn typed(run: &Command) -> String {
    let variables = run.get_envs().filter_map(|(name, value)| {
        let value = command::quoted(&value?.to_string_lossy());
        Some(format!("{}={value} ", name.to_string_lossy()))
    });
    let program = Path::new(run.get_program());
    let name = program.file_name().unwrap_or_default().to_string_lossy();
    let path = command::quoted(&program.display().to_string());
    variables.collect::<String>() + &shown(run).replacen(&*name, &path, 1)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_map_far_from_the_record_is_refused() {
        let record = "{\"onnxruntime_fp32\": {\n \"map50\": 0.9458,\n";
        assert!(like_the_record("mAP50: 0.942\nmAP50-95: 0.7", record).is_ok());
        assert!(like_the_record("mAP50: 0.940\nmAP50-95: 0.7", record).is_err());
        assert!(like_the_record("mAP: 0.940", record).is_err());
    }
}
