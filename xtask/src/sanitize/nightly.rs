//! A nightly Rust, which sanitizers, miri and fuzzing need.

use crate::command::{forget_package, output, which};
use std::path::Path;
use std::process::Command;

/// Nightly's Cargo in the root of the workspace.
pub fn nightly_cargo(root: &Path) -> Command {
    // That of rustup, which takes a toolchain; `CARGO` is one of a toolchain.
    let mut command = Command::new("cargo");
    command
        .arg("+nightly")
        .current_dir(root)
        .env_remove("CARGO")
        .env_remove("RUSTUP_TOOLCHAIN");
    forget_package(&mut command);
    command
}

/// An error that says what to install, where nightly has no `component`.
pub fn need(component: &str) -> Result<(), String> {
    let advice = format!(
        "`rustup toolchain install nightly --component {component}` installs what is missing"
    );
    if which("rustup").is_none() {
        return Err(format!(
            "there is no rustup here, and a nightly Rust is needed; {advice}"
        ));
    }
    let mut list = Command::new("rustup");
    list.args(["component", "list", "--toolchain", "nightly", "--installed"]);
    let installed = output(&mut list).map_err(|error| format!("{error}\n{advice}"))?;
    match installed.lines().any(|line| line.starts_with(component)) {
        true => Ok(()),
        false => Err(format!("the nightly Rust has no {component}; {advice}")),
    }
}
