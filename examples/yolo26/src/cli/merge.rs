//! The options of `merge`.

use std::path::PathBuf;

use clap::Args;

/// What `merge` is told.
#[derive(Args)]
pub struct MergeArgs {
    /// The nodes' reports (`bench --shard i/n --json`), in any order
    #[arg(required = true)]
    pub reports: Vec<PathBuf>,
    /// Write the report of all as JSON, too
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Write it as a page with charts, too
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
}
