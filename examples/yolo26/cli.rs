//! The command line. `bench` takes the options of the published YOLO26 script.

use std::path::PathBuf;

use clap::{ArgAction, Args, Parser, Subcommand};

use crate::preprocess::Mode;

#[derive(Parser)]
#[command(name = "yolo26", about = "YOLO26 detection with MIGraphX")]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand)]
pub enum Command {
    /// Compile an ONNX export to a .mxr file
    Compile(CompileArgs),
    /// Measure images per second over a data set
    Bench(BenchArgs),
    /// Find objects in images and draw them
    Predict(PredictArgs),
}

/// What every command asks of the model.
#[derive(Args, Clone)]
pub struct ModelArgs {
    /// The model: an ONNX export (.onnx) or a compiled program (.mxr)
    #[arg(long)]
    pub weights: PathBuf,
    /// Images a run [default: what the model was made for, else 1]
    #[arg(long, value_parser = positive)]
    pub batch_size: Option<usize>,
    /// Pixels a side of the model's input [default: what the model was made for, else 640]
    #[arg(long, visible_aliases = ["img", "img-size"], value_parser = positive)]
    pub imgsz: Option<usize>,
    /// MIGraphX target for ONNX weights [default: gpu where there is one, else ref]
    #[arg(long)]
    pub target: Option<String>,
}

#[derive(Args)]
pub struct CompileArgs {
    #[command(flatten)]
    pub model: ModelArgs,
    /// The compiled program to write (.mxr)
    #[arg(long)]
    pub output: PathBuf,
    /// Quantize to FP16
    #[arg(long, value_parser = yes_no, action = ArgAction::Set, default_value = "true",
          num_args = 0..=1, default_missing_value = "true", value_name = "BOOL")]
    pub fp16: bool,
}

#[derive(Args)]
pub struct BenchArgs {
    #[command(flatten)]
    pub model: ModelArgs,
    /// A folder of images, or a data set file (coco.yaml)
    #[arg(long)]
    pub data: PathBuf,
    /// Workers, one a GPU; on ref, that many threads
    #[arg(long, default_value = "1", value_parser = positive)]
    pub num_gpus: usize,
    /// Divide the images among the workers; otherwise each does them all
    #[arg(long, value_parser = yes_no, action = ArgAction::Set, default_value = "true",
          num_args = 0..=1, default_missing_value = "true", value_name = "BOOL")]
    pub split_data: bool,
    /// Only measure: store no results
    #[arg(long, value_parser = yes_no, action = ArgAction::Set, default_value = "true",
          num_args = 0..=1, default_missing_value = "true", value_name = "BOOL")]
    pub dry_run: bool,
    /// Show no progress
    #[arg(long, value_parser = yes_no, action = ArgAction::Set, default_value = "false",
          num_args = 0..=1, default_missing_value = "true", value_name = "BOOL")]
    pub quiet_mode: bool,
    /// Quantize ONNX weights to FP16
    #[arg(long, value_parser = yes_no, action = ArgAction::Set, default_value = "true",
          num_args = 0..=1, default_missing_value = "true", value_name = "BOOL")]
    pub fp16: bool,
    /// Runs of the first batch before measuring
    #[arg(long, default_value = "20")]
    pub warmup: usize,
    /// Where results go with --dry-run false
    #[arg(long, default_value = "results")]
    pub output: PathBuf,
    /// For the published command line; accuracy is not measured here
    #[arg(long, hide = true, visible_alias = "ground_truth_json", value_parser = nothing, default_value = "")]
    pub ground_truth_json: String,
    /// How images are fitted to the model's input
    #[arg(long, value_enum, default_value_t = Mode::Predict)]
    pub letterbox: Mode,
}

#[derive(Args)]
pub struct PredictArgs {
    #[command(flatten)]
    pub model: ModelArgs,
    /// An image or a folder of images
    #[arg(long)]
    pub source: PathBuf,
    /// The picture to write (.png); for a folder of images, a folder
    #[arg(long)]
    pub output: PathBuf,
    /// Show objects with a score above this
    #[arg(long, default_value = "0.25")]
    pub conf: f32,
    /// Quantize ONNX weights to FP16
    #[arg(long, value_parser = yes_no, action = ArgAction::Set, default_value = "false",
          num_args = 0..=1, default_missing_value = "true", value_name = "BOOL")]
    pub fp16: bool,
    /// Check against YOLO label files of this folder; fail unless all is found and nothing else
    #[arg(long)]
    pub labels: Option<PathBuf>,
    /// Write the model's input for one image, raw f32
    #[arg(long)]
    pub dump_input: Option<PathBuf>,
    /// Write the model's output for one image, raw f32
    #[arg(long)]
    pub dump_output: Option<PathBuf>,
}

fn yes_no(text: &str) -> Result<bool, String> {
    match text.to_ascii_lowercase().as_str() {
        "yes" | "true" | "1" | "y" | "t" => Ok(true),
        "no" | "false" | "0" | "n" | "f" => Ok(false),
        _ => Err("say yes, true, 1 or no, false, 0".into()),
    }
}

fn nothing(text: &str) -> Result<String, String> {
    match text {
        "" => Ok(String::new()),
        _ => Err("bench measures speed only; leave the option out or empty".into()),
    }
}

fn positive(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) | Err(_) => Err("give a whole number of 1 or more".into()),
        Ok(n) => Ok(n),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bench(words: &str) -> Result<BenchArgs, clap::Error> {
        let line = format!("yolo26 bench --data d --weights w.mxr {words}");
        match Cli::try_parse_from(line.split_whitespace())?.command {
            Command::Bench(args) => Ok(args),
            _ => unreachable!("asked for bench"),
        }
    }

    #[test]
    fn the_published_command_line_is_understood() {
        let args = bench(
            "--batch-size 64 --img-size 640 --num-gpus 8 --split-data yes --dry-run 0 --quiet-mode True \
             --ground_truth_json=",
        )
        .unwrap();
        assert_eq!(
            (args.model.batch_size, args.model.imgsz, args.num_gpus),
            (Some(64), Some(640), 8)
        );
        assert_eq!(
            (args.split_data, args.dry_run, args.quiet_mode),
            (true, false, true)
        );
        assert_eq!(args.warmup, 20);
        assert_eq!(bench("--img 320").unwrap().model.imgsz, Some(320));
        assert!(bench("--dry-run --quiet-mode no").unwrap().dry_run);
    }

    #[test]
    fn nonsense_is_refused() {
        for words in [
            "--num-gpus 0",
            "--dry-run maybe",
            "--batch-size -1",
            "--no-such-option",
            "--ground_truth_json truth.json",
        ] {
            assert!(bench(words).is_err(), "{words}");
        }
    }
}
