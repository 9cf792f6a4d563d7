//! YOLO26 on MIGraphX: `compile` makes a `.mxr` of an ONNX export, `bench`
//! measures a folder of images on N workers, `predict` draws the boxes.
//!
//! ```text
//! cargo run --release --example yolo26 -- compile --weights yolo26s.onnx --output yolo26s.mxr --batch-size 64 --imgsz 640
//! cargo run --release --example yolo26 -- bench   --weights yolo26s.mxr --data coco.yaml --num-gpus 8
//! cargo run --release --example yolo26 -- predict --weights yolo26s.mxr --source bus.png --output boxes.png
//! ```
//!
//! Where to look: `weights` turns a file into a checked, compiled program;
//! `preprocess` turns an image into its input; `detections` reads its output;
//! `pipeline` is the loop that keeps decoding and inference side by side.

mod bench;
mod cli;
mod compile;
mod dataset;
mod detections;
mod draw;
mod files;
mod font;
mod labels;
mod onnx_info;
mod pipeline;
mod predict;
mod preprocess;
mod progress;
mod report;
mod store;
#[cfg(test)]
mod tests;
mod weights;

use std::io::{self, Write};
use std::process::ExitCode;

use anyhow::Result;
use clap::Parser;

use cli::{Cli, Command};

fn main() -> ExitCode {
    match run(&Cli::parse(), &mut io::stdout().lock()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("error: {e:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(cli: &Cli, out: &mut dyn Write) -> Result<()> {
    match &cli.command {
        Command::Compile(args) => compile::run(args, out),
        Command::Bench(args) => bench::run(args, out),
        Command::Predict(args) => predict::run(args, out),
    }
}
