//! YOLO26 on MIGraphX: `compile` makes a `.mxr` of an ONNX export, `bench`
//! measures a folder of images on N GPUs, `val` measures accuracy by COCO's rules,
//! `predict` draws the boxes. `coco` makes a data set of COCO's files, `score` takes
//! stored detections, `loader` measures the images' way alone, and `report`,
//! `compare` and `merge` go on with what `bench` wrote. `docs/yolo26.md` is the guide.
//!
//! ```text
//! cargo run --release --example yolo26 -- compile --weights yolo26s.onnx --output yolo26s.mxr --batch-size 64 --imgsz 640
//! cargo run --release --example yolo26 -- bench   --weights yolo26s.mxr --data coco.yaml --num-gpus 8
//! cargo run --release --example yolo26 -- val     --weights yolo26s.mxr --data coco.yaml --num-gpus 8
//! cargo run --release --example yolo26 -- predict --weights yolo26s.mxr --source bus.png --output boxes.png
//! ```
//!
//! Where to look: `weights` turns a file into a checked, compiled program, and
//! `onnx` changes an export's ends before;
//! `detector` runs it on buffers of the host or on the GPU; `preprocess` turns an
//! image into its input, `loader` fills batches with them on threads, from files or a
//! cache; `detections` reads its output. `bench/card` is the loop
//! that keeps decoding, copies and computing side by side, `bench/schedule` says
//! which GPU does which images, `bench/isolate` gives each GPU a process.

mod about;
mod bench;
mod calibration;
mod cli;
mod coco;
mod compare;
mod compile;
mod contract;
mod dataset;
mod detections;
mod detector;
mod draw;
mod environment;
mod files;
mod font;
mod labels;
mod loader;
pub mod matching;
mod merge;
mod names;
mod nms;
mod nodes;
mod onnx;
mod pixels;
mod predict;
mod preprocess;
mod progress;
mod report;
mod shard;
#[cfg(test)]
mod tests;
mod val;
mod weights;

use std::io::{self, Write};
use std::process::ExitCode;

use anyhow::Result;
use clap::Parser;

use cli::{Cli, Command};

pub use nodes::Nodes;

/// The command line of this process, done; its exit code.
pub fn main() -> ExitCode {
    done(&Cli::parse())
}

fn done(cli: &Cli) -> ExitCode {
    let done = cli.environment.settle();
    match done.and_then(|()| run(cli, &mut io::stdout())) {
        Ok(()) => ExitCode::SUCCESS,
        // The reader of a pipe has seen enough.
        Err(error) if is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => failed(&error),
    }
}

fn is_closed_pipe(error: &anyhow::Error) -> bool {
    let io = error.downcast_ref::<io::Error>();
    io.is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

fn failed(error: &anyhow::Error) -> ExitCode {
    eprintln!("error: {error:#}");
    ExitCode::FAILURE
}

/// The same, with `bench` done by all the processes that `join` finds: each its
/// part of the images, and one report of all. `join` is called where it is needed,
/// and once.
pub fn main_with(join: impl FnOnce() -> Result<Box<dyn Nodes>>) -> ExitCode {
    let cli = Cli::parse();
    match &cli.command {
        // A card's process belongs to its parent.
        Command::Bench(args) if args.isolated.is_none() => {
            // It may start this program anew.
            match cli.environment.settle().and_then(|()| join()) {
                Ok(nodes) => nodes::main(args, &*nodes, &mut io::stdout()),
                Err(error) => failed(&error),
            }
        }
        _ => done(&cli),
    }
}

fn run(cli: &Cli, out: &mut dyn Write) -> Result<()> {
    match &cli.command {
        Command::Compile(args) => compile::run(args, out),
        Command::Bench(args) => bench::run(args, out),
        Command::Compare(args) => compare::run(args, out),
        Command::Report(args) => report::run(args, out),
        Command::Merge(args) => merge::run(args, out),
        Command::Loader(args) => loader::command::run(args, out),
        Command::Predict(args) => predict::run(args, out),
        Command::Val(args) => val::run(args, out),
        Command::Score(args) => val::score(args, out),
        Command::Coco(args) => coco::run(args, out),
    }
}
