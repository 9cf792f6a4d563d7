//! The options of `predict`.

use std::path::PathBuf;

use clap::{ArgAction, Args};

use super::{ModelArgs, yes_no};
use crate::preprocess::JpegDecoder;

#[derive(Args)]
pub struct PredictArgs {
    #[command(flatten)]
    pub model: ModelArgs,
    /// Images, folders of images, data set files, or patterns in quotes ('shots/*.jpg')
    #[arg(long, required = true, num_args = 1..)]
    pub source: Vec<PathBuf>,
    /// Draw the boxes: the picture to write for one image (.png), else a folder
    #[arg(long)]
    pub output: Option<PathBuf>,
    /// Write a label file for each image into this folder: `class cx cy w h score`
    #[arg(long, value_name = "DIR")]
    pub save_txt: Option<PathBuf>,
    /// Write what is found as JSON
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Show objects with a score above this
    #[arg(long, default_value = "0.25")]
    pub conf: f32,
    /// Quantize ONNX weights to FP16
    #[arg(long, value_parser = yes_no, action = ArgAction::Set, default_value = "false",
          num_args = 0..=1, default_missing_value = "true", value_name = "BOOL")]
    pub fp16: bool,
    /// The GPU to run on
    #[arg(long, default_value = "0")]
    pub device: usize,
    /// Check against YOLO label files of this folder; fail unless all is found and nothing else
    #[arg(long, value_name = "DIR")]
    pub labels: Option<PathBuf>,
    /// Check against the --json of another run; fail where it differs by more than may be
    #[arg(long, value_name = "FILE")]
    pub expected: Option<PathBuf>,
    /// Pixels that a corner may differ by from --expected
    #[arg(long, default_value = "1.5", value_name = "PIXELS")]
    pub tolerance: f32,
    /// How much a score may differ by from --expected
    #[arg(long, default_value = "0.02", value_name = "SCORE")]
    pub score_tolerance: f32,
    /// What decodes JPEG files; the pixels are the same
    #[arg(long, value_enum, default_value_t)]
    pub jpeg: JpegDecoder,
    /// Write the model's input for one image, raw f32
    #[arg(long, value_name = "FILE")]
    pub dump_input: Option<PathBuf>,
    /// Write the model's output for one image, raw f32
    #[arg(long, value_name = "FILE")]
    pub dump_output: Option<PathBuf>,
}
