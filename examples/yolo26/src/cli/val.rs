//! The options of `val`: those of `bench`, with other defaults, and its own.

use std::path::PathBuf;

use clap::{Arg, Args};

use super::BenchArgs;

#[derive(Args)]
#[command(
    mut_arg("letterbox", |arg| arg.default_value("val")),
    mut_arg("fp16", |arg| arg.default_value("false")),
    mut_arg("warmup", |arg| arg.default_value("0").hide(true)),
    mut_arg("json", |arg| arg.help("Write the metrics as JSON, too")),
    mut_arg("ground_truth_json", |arg| arg.help("COCO's JSON of what is on the images \
        [default: their label files]")),
    mut_arg("split_data", hidden),
    mut_arg("dry_run", hidden),
    mut_arg("output", hidden),
    mut_arg("trace", hidden),
    mut_arg("html", hidden),
    mut_arg("compare", hidden),
    mut_arg("shard", hidden),
)]
pub struct ValArgs {
    #[command(flatten)]
    pub bench: BenchArgs,
    /// Count objects with a score above this
    #[arg(long, default_value = "0.001")]
    pub conf: f32,
    /// Write all detections as COCO's results JSON
    #[arg(long, value_name = "FILE")]
    pub save_json: Option<PathBuf>,
}

/// It says nothing to `val`.
fn hidden(arg: Arg) -> Arg {
    arg.hide(true)
}
