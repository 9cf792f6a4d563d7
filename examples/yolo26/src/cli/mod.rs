//! The command line.

mod bench;
mod coco;
mod compare;
mod loader;
mod merge;
mod predict;
mod score;
mod val;

use std::path::PathBuf;

use clap::{ArgAction, Args, Parser, Subcommand};

pub use bench::{BenchArgs, Failing, Schedule};
pub use coco::CocoArgs;
pub use compare::{CompareArgs, ReportArgs};
pub use loader::{CacheArgs, LoaderArgs};
pub use merge::MergeArgs;
pub use predict::PredictArgs;
pub use score::ScoreArgs;
pub use val::ValArgs;

use crate::environment::Environment;
use crate::pixels::Element;

#[derive(Parser)]
#[command(name = "yolo26", about = "YOLO26 detection with MIGraphX")]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
    #[command(flatten)]
    pub environment: Environment,
}

#[derive(Subcommand)]
#[allow(clippy::large_enum_variant, reason = "one a process")]
pub enum Command {
    /// Compile an ONNX export to a .mxr file
    Compile(CompileArgs),
    /// Measure images per second over a data set
    Bench(BenchArgs),
    /// Say what differs between two runs that were measured before
    Compare(CompareArgs),
    /// Tell a run that was measured before, from its JSON
    Report(ReportArgs),
    /// Measure how fast images become batches, without a model
    Loader(LoaderArgs),
    /// Make one report of those of the nodes that shared a data set
    Merge(MergeArgs),
    /// Find objects in images and draw them
    Predict(PredictArgs),
    /// Measure accuracy over a data set: COCO's mean average precision
    Val(ValArgs),
    /// Measure the accuracy of detections that are stored as COCO's results JSON
    Score(ScoreArgs),
    /// Make YOLO label files and a coco.yaml of COCO's instances_*.json
    Coco(CocoArgs),
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
    /// How images are handed to an ONNX model: a byte a value is a quarter of what f32
    /// takes on the way to the GPU [default: as the model was exported]
    #[arg(long, value_enum)]
    pub input: Option<Element>,
    /// MIGraphX target for ONNX weights [default: gpu where there is one, else ref]
    #[arg(long)]
    pub target: Option<String>,
    /// Compile ONNX weights for host buffers, which each run copies, instead of
    /// buffers on the GPU, whose copies run beside the computing [default: no]
    #[arg(long, value_parser = yes_no, num_args = 0..=1, default_missing_value = "true",
          value_name = "BOOL")]
    pub offload_copy: Option<bool>,
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
    /// Quantize convolutions and matrix products to INT8, by what --calibration shows;
    /// all else is as --fp16 says
    #[arg(long, value_parser = yes_no, action = ArgAction::Set, default_value = "false",
          num_args = 0..=1, default_missing_value = "true", value_name = "BOOL")]
    pub int8: bool,
    /// Images like those of later runs, for --int8: a folder, or a data set file (coco.yaml)
    #[arg(long, value_name = "DATA")]
    pub calibration: Option<PathBuf>,
    /// So many of them, from all over the data set
    #[arg(long, default_value = "100", value_parser = positive, value_name = "COUNT")]
    pub calibration_images: usize,
    /// The GPU to compile on; the program runs on every GPU of its architecture
    #[arg(long, default_value = "0")]
    pub device: usize,
}

pub fn yes_no(text: &str) -> Result<bool, String> {
    match text.to_ascii_lowercase().as_str() {
        "yes" | "true" | "1" | "y" | "t" => Ok(true),
        "no" | "false" | "0" | "n" | "f" => Ok(false),
        _ => Err("say yes, true, 1 or no, false, 0".into()),
    }
}

fn positive(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) | Err(_) => Err("give a whole number of 1 or more".into()),
        Ok(n) => Ok(n),
    }
}
