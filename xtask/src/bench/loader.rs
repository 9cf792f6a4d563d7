//! `loader`: image files to batches, over Ultralytics' own validation loader.

use super::figures::{Bar, Figures};
use crate::command::{self, cargo};
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// Names the Python that has Ultralytics.
const PYTHON: &str = "YOLO26_PYTHON";
const SCRIPT: &str = "tools/loader_ultralytics.py";
/// Over the other, with as many workers.
const BAR: Bar = Bar::AtLeast(3.0);
const PHOTOS: u64 = 192;
/// Blocks of each side, in turn.
const BLOCKS: usize = 3;

pub fn figures(root: &Path, figures: &mut Figures) -> Result<(), String> {
    let ours = Ours::set_up(root)?;
    for workers in [1, 2] {
        let name = format!("loader, {workers} workers");
        let Some(python) = std::env::var_os(PYTHON) else {
            let rust = ours.block(workers, "f32", false)?;
            println!(
                "{name:<44}       n/a  (set {PYTHON} to a Python that has ultralytics==8.4.90)"
            );
            tell_ours(figures, &name, &rust);
            continue;
        };
        let mut theirs = Theirs::start(root, Path::new(&python), &ours.images, workers)?;
        let (mut rust, mut python) = (Vec::new(), Vec::new());
        for _ in 0..BLOCKS {
            python.push(theirs.block()?);
            rust.push(ours.block(workers, "f32", false)?);
        }
        let (rust, python) = (median(rust), median(python));
        let more = format!(
            "({:.1} images/s and {:.1} in Python)",
            rust.rate(),
            python.rate()
        );
        figures.tell(
            &format!("{name}, over Ultralytics'"),
            rust.rate() / python.rate(),
            &more,
            BAR,
        );
        let more = format!(
            "({:.2} ms an image and {:.2} in Python)",
            1e3 * rust.cpu(),
            1e3 * python.cpu()
        );
        let less = python.cpu() / rust.cpu();
        figures.tell(
            &format!("{name}, CPU of theirs over ours"),
            less,
            &more,
            Bar::None,
        );
    }
    for (what, element, cached) in [
        ("u8", "u8", false),
        ("u8 from a cache of u8", "u8", true),
        ("f32 from a cache of u8", "f32", true),
    ] {
        let block = ours.block(2, element, cached)?;
        tell_ours(figures, &format!("loader, 2 workers, {what}"), &block);
    }
    Ok(())
}

fn tell_ours(figures: &mut Figures, name: &str, block: &Block) {
    let more = format!("(images/s; CPU {:.2} ms an image)", 1e3 * block.cpu());
    figures.tell(name, block.rate(), &more, Bar::None);
}

/// All photographs once, when everything was warm.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Block {
    images: f64,
    seconds: f64,
    cpu_s: f64,
}

impl Block {
    fn of(json: &str) -> Result<Block, String> {
        let value: Value = serde_json::from_str(json).map_err(|e| format!("{e} in {json:?}"))?;
        let number = |key: &str| {
            let number = value[key].as_f64().filter(|number| *number > 0.0);
            number.ok_or_else(|| format!("no `{key}` in {json:?}"))
        };
        Ok(Block {
            images: number("images")?,
            seconds: number("seconds")?,
            cpu_s: number("cpu_s")?,
        })
    }

    fn rate(&self) -> f64 {
        self.images / self.seconds
    }

    /// Seconds an image.
    fn cpu(&self) -> f64 {
        self.cpu_s / self.images
    }
}

/// By images a second; CPU time by itself.
fn median(mut blocks: Vec<Block>) -> Block {
    let middle = blocks.len() / 2;
    blocks.sort_by(|a, b| a.cpu().total_cmp(&b.cpu()));
    let cpu = blocks[middle].cpu();
    blocks.sort_by(|a, b| a.rate().total_cmp(&b.rate()));
    let mut block = blocks[middle];
    block.cpu_s = cpu * block.images;
    block
}

/// `yolo26 loader` and the photographs.
struct Ours {
    program: PathBuf,
    folder: PathBuf,
    images: PathBuf,
}

impl Ours {
    fn set_up(root: &Path) -> Result<Ours, String> {
        let mut build = cargo(root);
        build
            .args(["build", "--release", "--quiet", "-p", "testkit"])
            .args(["-p", "migraphx-workspace"])
            .args(["--bin", "make-photos", "--example", "yolo26"]);
        if !command::status(&mut build)? {
            return Err("yolo26 could not be built; the compiler's own words are above".into());
        }
        let target = command::target_dir(root);
        let folder = target.join("bench-loader");
        let images = folder.join("images");
        let _ = fs::remove_dir_all(&folder);
        let mut draw = Command::new(target.join("release/make-photos"));
        draw.arg(&images).arg(PHOTOS.to_string());
        print!("{}", command::output(&mut draw)?);
        Ok(Ours {
            program: target.join("release/examples/yolo26"),
            folder,
            images,
        })
    }

    fn block(&self, workers: usize, element: &str, cached: bool) -> Result<Block, String> {
        let json = self.folder.join("loader.json");
        let mut loader = Command::new(&self.program);
        loader
            .arg("loader")
            .arg("--data")
            .arg(&self.images)
            .args(["--workers", &workers.to_string()])
            .args(["--element", element, "--letterbox", "val"])
            .args([
                "--batch-size",
                "16",
                "--imgsz",
                "640",
                "--quiet-mode",
                "yes",
            ])
            .args(["--cache", if cached { "yes" } else { "no" }])
            .arg("--json")
            .arg(&json);
        command::output(&mut loader)?;
        let json = fs::read_to_string(&json).map_err(|e| format!("{}: {e}", json.display()))?;
        Block::of(&json)
    }
}

/// The script, which does a block when it is asked. Dropped, it ends.
struct Theirs {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Theirs {
    fn start(root: &Path, python: &Path, images: &Path, workers: usize) -> Result<Self, String> {
        let mut script = Command::new(python);
        script
            .arg(root.join(SCRIPT))
            .arg("--data")
            .arg(images)
            .args(["--workers", &workers.to_string()])
            // It keeps settings of its own.
            .env("YOLO_CONFIG_DIR", images.with_file_name("ultralytics"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let failed = |error| format!("{PYTHON}={} does not start: {error}", python.display());
        let mut child = script.spawn().map_err(failed)?;
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let mut theirs = Theirs {
            input,
            output: BufReader::new(output.ok_or("no standard output")?),
            child,
        };
        match theirs.line() {
            Some(line) if line == "ready" => Ok(theirs),
            _ => Err(format!(
                "{SCRIPT} does not get ready; see what `{} {SCRIPT} --data {} --passes 1` says",
                python.display(),
                images.display()
            )),
        }
    }

    fn block(&mut self) -> Result<Block, String> {
        let ended = || format!("{SCRIPT} ended within its work");
        let input = self.input.as_mut().ok_or_else(ended)?;
        input.write_all(b"pass\n").map_err(|_| ended())?;
        Block::of(&self.line().ok_or_else(ended)?)
    }

    /// The next line that is its answer; Ultralytics prints, too.
    fn line(&mut self) -> Option<String> {
        loop {
            let mut line = String::new();
            if self.output.read_line(&mut line).ok()? == 0 {
                return None;
            }
            let line = line.trim();
            if line == "ready" || line.starts_with('{') {
                return Some(line.to_owned());
            }
        }
    }
}

impl Drop for Theirs {
    fn drop(&mut self) {
        // At the end of its input it ends its workers, too.
        self.input = None;
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_read_and_the_middle_one_counts() {
        let json = r#"{"images": 256, "seconds": 2.0, "cpu_s": 4.0, "workers": 2}"#;
        let block = Block::of(json).unwrap();
        assert_eq!((block.rate(), block.cpu()), (128.0, 1.0 / 64.0));
        let error = Block::of(r#"{"images": 256, "seconds": 0}"#).unwrap_err();
        assert!(error.contains("`seconds`"), "{error}");
        let block = |seconds, cpu_s| Block {
            images: 1.0,
            seconds,
            cpu_s,
        };
        let middle = median(vec![block(4.0, 1.0), block(1.0, 2.0), block(2.0, 5.0)]);
        assert_eq!(middle, block(2.0, 2.0));
    }
}
