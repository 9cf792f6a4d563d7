//! `yolo26 bench` on virtual GPUs whose kernels and copies take a set time, and
//! compute nothing: two processors can play eight cards at full speed then.
//!
//! The images are a few pixels, so that decoding them is nothing beside the rest.

use crate::command::{self, cargo};
use crate::setup::{self, gpu_sim};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Images of a run.
const BATCH: usize = 2;
/// Pixels a side of the model's input.
const SIZE: usize = 80;

/// Eight by eight pixels of one grey.
const IMAGE: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\0\0\0\x08\0\0\0\x08\x08\x02\0\0\0\x4b\x6d\
    \x29\xdc\0\0\0\x0fIDAT\x78\xda\x63\x28\xc2\x01\x18\x86\x96\x04\0\x68\xb7\x55\x81\xcc\x42\x78\
    \x84\0\0\0\0IEND\xae\x42\x60\x82";

/// The example, a compiled model, and the virtual GPUs.
pub struct Cards {
    program: PathBuf,
    folder: PathBuf,
    libraries: PathBuf,
    /// Kernels of a run.
    kernels: u64,
}

/// What is to be run.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    pub cards: usize,
    /// Of each card.
    pub batches: usize,
    pub in_flight: usize,
    /// Computing takes so long for a batch.
    pub compute: Duration,
    /// The upload of its images takes so long; the download is in proportion.
    pub upload: Duration,
}

impl Cards {
    /// Makes what is needed.
    pub fn set_up(root: &Path) -> Result<Cards, String> {
        let place = gpu_sim::ensure(&setup::Options::default())?;
        let target = command::target_dir(root);
        let mut build = cargo(root);
        build
            .args(["build", "--release", "--quiet", "-p", "testkit"])
            .args(["-p", "migraphx-workspace"])
            .args(["--bin", "make-demo", "--example", "yolo26"]);
        if !command::status(&mut build)? {
            return Err("yolo26 could not be built; the compiler's own words are above".into());
        }
        let folder = target.join("bench");
        let _ = fs::remove_dir_all(&folder);
        let mut draw = Command::new(target.join("release/make-demo"));
        draw.arg(&folder).args(["--images", "0"]);
        draw.args(["--size", &SIZE.to_string()]);
        draw.args(["--batch", &BATCH.to_string()]);
        command::output(&mut draw)?;
        let mut cards = Cards {
            program: target.join("release/examples/yolo26"),
            folder,
            libraries: place.join("lib"),
            kernels: 0,
        };
        let mut compile = cards.command("compile");
        compile
            .arg("--weights")
            .arg(cards.folder.join("model.onnx"))
            .arg("--output")
            .arg(cards.folder.join("model.mxr"))
            .args(["--target", "gpu"])
            // Without a compiler kernels would be names only.
            .env("GPU_SIM_JIT", "clang");
        command::output(&mut compile)?;
        cards.kernels = cards.count_kernels()?;
        Ok(cards)
    }

    /// By the difference of two runs.
    fn count_kernels(&self) -> Result<u64, String> {
        let launches = |batches| {
            let load = Load {
                cards: 1,
                batches,
                in_flight: 2,
                compute: Duration::ZERO,
                upload: Duration::ZERO,
            };
            self.run(&load)?.counter(0, "launches")
        };
        let more = launches(7)?.saturating_sub(launches(2)?);
        match more > 0 && more.is_multiple_of(5) {
            true => Ok(more / 5),
            false => Err(format!(
                "five batches more launched {more} kernels more; they should launch equally many"
            )),
        }
    }

    fn command(&self, name: &str) -> Command {
        let mut command = Command::new(&self.program);
        command.arg(name).env("MIGRAPHX_LIB_DIR", &self.libraries);
        command
    }

    pub fn model_bytes(&self) -> u64 {
        fs::metadata(self.folder.join("model.mxr")).map_or(0, |data| data.len())
    }

    pub fn run(&self, load: &Load) -> Result<Measured, String> {
        let images = self.images(load.cards * load.batches * BATCH)?;
        let (json, report) = (
            self.folder.join("report.json"),
            self.folder.join("gpu-sim.txt"),
        );
        // The virtual GPU adds to what is there.
        let _ = fs::remove_file(&report);
        let mut bench = self.command("bench");
        bench
            .arg("--weights")
            .arg(self.folder.join("model.mxr"))
            .arg("--data")
            .arg(images)
            .args(["--num-gpus", &load.cards.to_string()])
            .args(["--in-flight", &load.in_flight.to_string()])
            .args(["--warmup", "3", "--decoders", "1", "--quiet-mode", "yes"])
            .arg("--json")
            .arg(&json)
            .env("GPU_SIM_REPORT", &report)
            .env("GPU_SIM_DEVICES", load.cards.to_string())
            .env("GPU_SIM_ABORT", "1")
            .env("GPU_SIM_COMPUTE", "0");
        if !load.compute.is_zero() {
            let each = load.compute.as_micros() as u64 / self.kernels;
            bench.env("GPU_SIM_OP_US", each.to_string());
        }
        if !load.upload.is_zero() {
            let bytes = (BATCH * 3 * SIZE * SIZE * size_of::<f32>()) as f64;
            let rate = bytes / 1e9 / load.upload.as_secs_f64();
            bench.env("GPU_SIM_COPY_GBPS", rate.to_string());
        }
        command::output(&mut bench)?;
        let read = |path: &Path| {
            fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
        };
        let json = serde_json::from_str(&read(&json)?);
        Ok(Measured {
            json: json.map_err(|error| format!("the report of `yolo26 bench`: {error}"))?,
            counters: read(&report)?,
        })
    }

    /// What computing takes for a batch: kernels have whole microseconds.
    pub fn compute(&self, load: &Load) -> Duration {
        let each = load.compute.as_micros() as u64 / self.kernels;
        Duration::from_micros(each * self.kernels)
    }

    /// A folder of so many images.
    fn images(&self, count: usize) -> Result<PathBuf, String> {
        let folder = self.folder.join(format!("images-{count}"));
        let failed = |error| format!("cannot fill {}: {error}", folder.display());
        if !folder.is_dir() {
            fs::create_dir_all(&folder).map_err(failed)?;
            for number in 0..count {
                fs::write(folder.join(format!("{number:05}.png")), IMAGE).map_err(failed)?;
            }
        }
        Ok(folder)
    }
}

/// What a run told.
pub struct Measured {
    json: Value,
    counters: String,
}

impl Measured {
    /// Each card's number of this name.
    fn of_cards(&self, name: &str) -> Result<Vec<f64>, String> {
        let cards = self.json["cards"].as_array().into_iter().flatten();
        let values: Vec<f64> = cards.filter_map(|card| card[name].as_f64()).collect();
        match values.is_empty() {
            false => Ok(values),
            true => Err(format!("the report of `yolo26 bench` has no `{name}`")),
        }
    }

    pub fn sum(&self, name: &str) -> Result<f64, String> {
        Ok(self.of_cards(name)?.iter().sum())
    }

    pub fn pipeline_fps(&self) -> Result<f64, String> {
        let total = self.json["total"]["pipeline_fps"].as_f64();
        total.ok_or_else(|| "the report of `yolo26 bench` has no total of FPS".into())
    }

    /// Images over the time that computing took, of all cards together.
    pub fn model_fps(&self) -> Result<f64, String> {
        let (images, time) = (self.of_cards("images")?, self.of_cards("model_s")?);
        Ok(images.iter().zip(&time).map(|(n, s)| n / s).sum())
    }

    /// Images over the time that the copies of the busier direction took.
    pub fn copy_fps(&self) -> Result<f64, String> {
        let (up, down) = (self.of_cards("upload_s")?, self.of_cards("download_s")?);
        let images = self.of_cards("images")?.into_iter();
        let time = up.iter().zip(&down).map(|(up, down)| up.max(*down));
        Ok(images.zip(time).map(|(n, s)| n / s).sum())
    }

    /// What the virtual GPU counted on a card.
    pub fn counter(&self, card: usize, name: &str) -> Result<u64, String> {
        let line = format!("gpu-sim: device {card} ");
        let line = self.counters.lines().find(|text| text.starts_with(&line));
        let number = line.and_then(|line| number(line, name));
        number.ok_or_else(|| format!("the virtual GPU's report has no `{name}` of card {card}"))
    }

    /// Bytes of the host pinned for a card.
    pub fn pinned(&self, card: usize) -> Result<u64, String> {
        self.counter(card, "pinned")
    }
}

/// The number in `name: 5`, or in `5 bytes of the host pinned`.
fn number(line: &str, name: &str) -> Option<u64> {
    let (before, after) = match name {
        "pinned" => line.rsplit_once(" bytes of the host pinned"),
        _ => line.split_once(&format!(" {name}: ")),
    }?;
    let is_digit = |c: char| c.is_ascii_digit();
    match name {
        "pinned" => before.rsplit(|c| !is_digit(c)).next()?.parse().ok(),
        _ => after.split(|c| !is_digit(c)).next()?.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_the_virtual_gpus_report() {
        let line = "gpu-sim: device 0 (gfx90a): Counters { fills: 2, launches: 37, cross_launches: 1 }, \
                    480 bytes of the host pinned at most";
        assert_eq!(number(line, "launches"), Some(37));
        assert_eq!(number(line, "pinned"), Some(480));
        assert_eq!(number(line, "peaks"), None);
    }

    #[test]
    fn speeds_are_those_of_the_slower_direction() {
        let measured = Measured {
            json: serde_json::json!({
                "cards": [
                    {"images": 10, "model_s": 2.0, "upload_s": 1.0, "download_s": 0.5},
                    {"images": 30, "model_s": 3.0, "upload_s": 1.0, "download_s": 5.0},
                ],
                "total": {"pipeline_fps": 9.5},
            }),
            counters: String::new(),
        };
        assert_eq!(measured.model_fps(), Ok(15.0));
        assert_eq!(measured.copy_fps(), Ok(16.0));
        assert_eq!(measured.pipeline_fps(), Ok(9.5));
        assert!(measured.sum("store_s").is_err());
    }
}
