//! `cargo xtask codegen`: `migraphx-sys/src/bindings.rs` from the real header.

use crate::command::{self, cargo};
use crate::setup::{self, libclang};
use std::collections::HashMap;
use std::fs;
use std::process::{ExitCode, Stdio};

pub const HELP: &str = "\
Usage: cargo xtask codegen [--check]

Makes migraphx-sys/src/bindings.rs again from the migraphx.h of the MIGraphX that
`cargo xtask setup` finds or makes. bindgen needs libclang: the machine's is
used (LIBCLANG_PATH says which), else one is fetched beside the prefix.

  --check   change nothing; fail where the file is not what would be written
";

const FILE: &str = "migraphx-sys/src/bindings.rs";

pub fn command(arguments: &[String]) -> Result<ExitCode, String> {
    let check = match arguments {
        [] => false,
        [only] if only == "--check" => true,
        _ => return Err(format!("codegen takes only --check\n\n{HELP}")),
    };
    let root = command::workspace_root()?;
    let found = setup::ensure(&setup::Options::default())?;
    let include = found.include.as_ref().ok_or_else(|| {
        format!(
            "{} has no headers beside it; install its development package, or set \
             MIGRAPHX_INCLUDE_DIR to the folder that has migraphx/migraphx.h",
            found.lib.display()
        )
    })?;
    let header = include.join("migraphx/migraphx.h");
    let clang = libclang::find_or_fetch()?;

    let mut run = cargo(&root);
    run.env("LIBCLANG_PATH", &clang.path)
        .arg("run")
        .arg("--quiet");
    if clang.unpacked {
        // For this one program: the libraries that our libclang needs lie beside it.
        let runner = format!(
            "target.x86_64-unknown-linux-gnu.runner=['env', 'LD_LIBRARY_PATH={}']",
            clang.path.display()
        );
        run.args(["--config", &runner]);
    }
    run.args([
        "--package",
        "xtask",
        "--features",
        "codegen",
        "--bin",
        "xtask-codegen",
        "--",
    ]);
    run.arg(&header).arg(include).stderr(Stdio::inherit());
    let made = run
        .output()
        .map_err(|error| format!("cannot run cargo: {error}"))?;
    if !made.status.success() {
        return Err("the generator failed; its own words are above".into());
    }
    let new = String::from_utf8(made.stdout).map_err(|_| "the generator wrote no text")?;
    let path = root.join(FILE);
    let old = fs::read_to_string(&path).unwrap_or_default();
    if old == new {
        println!("codegen: {FILE} is what {} gives", header.display());
        return Ok(ExitCode::SUCCESS);
    }
    println!("{}", difference(&old, &new));
    if check {
        return Err(format!(
            "{FILE} is not what {} gives; run `cargo xtask codegen` and look at the change",
            header.display()
        ));
    }
    fs::write(&path, new).map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    println!("codegen: wrote {FILE} from {}", header.display());
    Ok(ExitCode::SUCCESS)
}

/// Which lines went and came, the first few of each in full.
fn difference(old: &str, new: &str) -> String {
    let gone = without(old, new);
    let come = without(new, old);
    let mut text = format!("codegen: {} lines go, {} come", gone.len(), come.len());
    for (sign, lines) in [('-', gone), ('+', come)] {
        for line in lines.iter().take(10) {
            text.push_str(&format!("\n  {sign} {line}"));
        }
        if lines.len() > 10 {
            text.push_str(&format!("\n  {sign} … {} more", lines.len() - 10));
        }
    }
    text
}

/// The lines of `text` that are not in `other`, each as often as it is missing.
fn without<'a>(text: &'a str, other: &str) -> Vec<&'a str> {
    let mut there: HashMap<&str, usize> = HashMap::new();
    for line in other.lines() {
        *there.entry(line).or_default() += 1;
    }
    let mut missing = Vec::new();
    for line in text.lines() {
        match there.get_mut(line) {
            Some(count) if *count > 0 => *count -= 1,
            _ => missing.push(line),
        }
    }
    missing
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_difference_names_lines_that_go_and_come() {
        let text = difference("a\nb\nb\n", "a\nb\nc\n");
        assert_eq!(text, "codegen: 1 lines go, 1 come\n  - b\n  + c");
        let many: String = (0..15).map(|number| format!("{number}\n")).collect();
        assert!(difference("", &many).ends_with("+ … 5 more"));
    }
}
