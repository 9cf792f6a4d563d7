//! `report`: the tables and the page of a run, from its JSON.

use std::io::Write;
use std::path::Path;

use anyhow::Result;

use super::Report;
use crate::cli::ReportArgs;
use crate::files;

impl Report {
    /// Writes it to those files that are wanted.
    pub fn write(&self, json: Option<&Path>, html: Option<&Path>) -> Result<()> {
        if let Some(path) = json {
            files::write_json(path, &self.to_json())?;
        }
        if let Some(path) = html {
            files::write(path, self.html().as_bytes())?;
        }
        Ok(())
    }
}

pub fn run(args: &ReportArgs, out: &mut dyn Write) -> Result<()> {
    let report = Report::read(&args.report)?;
    report.write(None, args.html.as_deref())?;
    write!(out, "{report}")?;
    Ok(())
}
