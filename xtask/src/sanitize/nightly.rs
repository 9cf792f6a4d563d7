//! A nightly Rust, which sanitizers, miri and fuzzing need.

use crate::command::{cargo, output, which};
use std::path::Path;
use std::process::Command;

/// Nightly's Cargo in the root of the workspace.
pub fn nightly_cargo(root: &Path) -> Command {
    let mut command = cargo(root);
    // The `cargo` of rustup takes the toolchain; the one that started this program is of
    // a toolchain already.
    let mut rustup = Command::new("cargo");
    rustup.arg("+nightly").current_dir(root);
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => rustup.env(name, value),
            None => rustup.env_remove(name),
        };
    }
    for variable in ["RUSTUP_TOOLCHAIN", "RUSTC", "RUSTDOC", "CARGO"] {
        rustup.env_remove(variable);
    }
    command = rustup;
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
