//! The options of `compare` and `report`, which read stored reports.

use std::path::PathBuf;

use clap::Args;

/// What `compare` is told.
#[derive(Args)]
pub struct CompareArgs {
    /// The report of the earlier run (`bench --json`)
    pub old: PathBuf,
    /// The report of the later one
    pub new: PathBuf,
}

/// What `report` is told.
#[derive(Args)]
pub struct ReportArgs {
    /// The report of a run (`bench --json`)
    pub report: PathBuf,
    /// Write it as a page with charts, too
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
}
