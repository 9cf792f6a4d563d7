//! The options of `score`.

use std::path::PathBuf;

use clap::Args;

#[derive(Args)]
pub struct ScoreArgs {
    /// Detections, as `val --save-json` writes them
    #[arg(long, value_name = "FILE")]
    pub detections: PathBuf,
    /// COCO's JSON of what is on the images
    #[arg(long, value_name = "FILE")]
    pub ground_truth_json: PathBuf,
    /// Write the metrics as JSON, too
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}
