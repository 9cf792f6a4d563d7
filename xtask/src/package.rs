//! `cargo xtask package`: what would be published, built as a stranger gets it.

use crate::command::{self, cargo, shown, which};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

pub const HELP: &str = "\
Usage: cargo xtask package [--dry-run]

Checks the two crates that are published, with no MIGraphX to be found:
  1. what their packages hold: sources, licences, a README; no path of this machine
  2. each package builds by itself
  3. every feature alone, none, and all that need nothing else installed
  4. their documentation, as docs.rs builds it, with warnings denied
  5. each direct dependency has its reason in docs/dependencies.md; the whole tree
  6. the oldest Rust that they promise, where rustup has it or can get it
  7. `cargo deny check` and `cargo semver-checks`, where they are installed

  --dry-run   also `cargo publish --dry-run`, which asks the registry
";

/// The published crates, in the order of publishing.
const CRATES: [&str; 2] = ["migraphx-sys", "migraphx"];
const REASONS: &str = "docs/dependencies.md";
/// Beyond `src/` and the build script.
const ALLOWED: [&str; 8] = [
    ".cargo_vcs_info.json",
    "Cargo.lock",
    "Cargo.toml",
    "Cargo.toml.orig",
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "README.md",
    "build.rs",
];
/// Each must be there.
const NEEDED: [&str; 3] = ["LICENSE-APACHE", "LICENSE-MIT", "README.md"];
/// `(crate, features)`; `bindgen` needs libclang and has a check of its own (codegen).
const FEATURES: [(&str, &str); 8] = [
    ("migraphx-sys", ""),
    ("migraphx-sys", "linked"),
    ("migraphx-sys", "load-dynamic"),
    ("migraphx", ""),
    ("migraphx", "linked"),
    ("migraphx", "load-dynamic"),
    ("migraphx", "hip"),
    ("migraphx", "ndarray"),
];

pub fn command(arguments: &[String]) -> Result<ExitCode, String> {
    let dry_run = match arguments {
        [] => false,
        [only] if only == "--dry-run" => true,
        _ => return Err(format!("package takes only --dry-run\n\n{HELP}")),
    };
    let root = command::workspace_root()?;
    let tools = Tools::new(root)?;
    tools.contents()?;
    tools.run("each package builds by itself", |cargo| {
        cargo.args(["package", "--quiet", "--allow-dirty"]);
        cargo.args(CRATES.iter().flat_map(|name| ["-p", name]));
    })?;
    for (name, features) in FEATURES {
        let title = format!("{name} with {}", or_none(features));
        tools.run(&title, |cargo| {
            cargo.args(["check", "--quiet", "-p", name, "--no-default-features"]);
            cargo.args(["--features", features]);
        })?;
    }
    tools.run("documentation", |cargo| {
        cargo.args(["doc", "--quiet", "--no-deps"]);
        cargo.args(CRATES.iter().flat_map(|name| ["-p", name]));
        cargo.env("RUSTDOCFLAGS", "-D warnings");
    })?;
    tools.dependencies()?;
    tools.oldest_rust()?;
    tools.optional("cargo-deny", &["deny", "check"])?;
    tools.optional("cargo-semver-checks", &["semver-checks", "-p", "migraphx"])?;
    if dry_run {
        tools.run("cargo publish --dry-run", |cargo| {
            cargo.args(["publish", "--dry-run", "--quiet", "--allow-dirty"]);
            cargo.args(CRATES.iter().flat_map(|name| ["-p", name]));
        })?;
    }
    println!("package: all is well");
    Ok(ExitCode::SUCCESS)
}

fn or_none(features: &str) -> &str {
    match features {
        "" => "no feature",
        features => features,
    }
}

struct Tools {
    root: PathBuf,
    /// A set-up folder without anything in it: builds find no MIGraphX there.
    nothing: PathBuf,
}

impl Tools {
    fn new(root: PathBuf) -> Result<Self, String> {
        let nothing = command::target_dir(&root).join("package-without-migraphx");
        fs::create_dir_all(&nothing)
            .map_err(|error| format!("cannot make {}: {error}", nothing.display()))?;
        Ok(Tools { root, nothing })
    }

    fn cargo(&self) -> Command {
        let mut cargo = cargo(&self.root);
        cargo.env("MIGRAPHX_SETUP_DIR", &self.nothing);
        cargo
    }

    fn run(&self, title: &str, words: impl FnOnce(&mut Command)) -> Result<(), String> {
        let mut cargo = self.cargo();
        words(&mut cargo);
        if !command::status(&mut cargo)? {
            return Err(format!("{title}: `{}` failed", shown(&cargo)));
        }
        println!("package: {title}: ok");
        Ok(())
    }

    fn contents(&self) -> Result<(), String> {
        for name in CRATES {
            let mut list = self.cargo();
            list.args(["package", "--list", "--quiet", "--allow-dirty", "-p", name]);
            let files = command::output(&mut list)?;
            let files: BTreeSet<&str> = files.lines().collect();
            problems_of(name, &files)?;
            let folder = self.root.join(name);
            let mut bytes = 0;
            for file in &files {
                // What Cargo makes itself is not there yet.
                let Ok(content) = fs::read(folder.join(file)) else {
                    continue;
                };
                bytes += content.len();
                self.no_path_of_this_machine(name, file, &content)?;
            }
            println!(
                "package: {name}: {} files, {} KiB: ok",
                files.len(),
                bytes / 1024
            );
        }
        Ok(())
    }

    fn no_path_of_this_machine(&self, name: &str, file: &str, text: &[u8]) -> Result<(), String> {
        let text = String::from_utf8_lossy(text);
        let home = std::env::var("HOME").unwrap_or_default();
        for path in [self.root.to_string_lossy().as_ref(), &home] {
            if path.len() > 1 && text.contains(&format!("{path}/")) {
                return Err(format!(
                    "{name}/{file} holds the path {path} of this machine"
                ));
            }
        }
        Ok(())
    }

    fn dependencies(&self) -> Result<(), String> {
        let mut metadata = self.cargo();
        metadata.args(["metadata", "--format-version", "1", "--no-deps"]);
        let metadata = command::output(&mut metadata)?;
        let metadata: Value = serde_json::from_str(&metadata).map_err(|error| error.to_string())?;
        let reasons = self.root.join(REASONS);
        let reasons = fs::read_to_string(&reasons)
            .map_err(|error| format!("cannot read {}: {error}", reasons.display()))?;
        for name in CRATES {
            let direct = direct_dependencies(&metadata, name)?;
            compare(name, &direct, &with_a_reason(&reasons, name))?;
            let mut tree = self.cargo();
            tree.args(["tree", "-p", name, "--edges", "normal", "--prefix", "none"]);
            let tree = command::output(&mut tree)?;
            let crates: BTreeSet<&str> = tree
                .lines()
                .filter_map(|line| line.split_whitespace().next())
                .filter(|other| *other != name)
                .collect();
            println!(
                "package: {name}: {} direct dependencies, each with a reason; {} crates in all: {}",
                direct.len(),
                crates.len(),
                crates.into_iter().collect::<Vec<_>>().join(", ")
            );
        }
        Ok(())
    }

    fn oldest_rust(&self) -> Result<(), String> {
        let manifest = self.root.join("Cargo.toml");
        let manifest = fs::read_to_string(&manifest)
            .map_err(|error| format!("cannot read {}: {error}", manifest.display()))?;
        let oldest = oldest_rust(&manifest).ok_or("Cargo.toml has no rust-version")?;
        let toolchain = format!("{oldest}.0");
        if which("rustup").is_none() {
            println!("package: Rust {oldest}: not checked, rustup is not here");
            return Ok(());
        }
        let mut install = Command::new("rustup");
        install.args(["toolchain", "install", &toolchain, "--profile", "minimal"]);
        if command::output(&mut install).is_err() {
            println!("package: Rust {oldest}: not checked, rustup cannot get it");
            return Ok(());
        }
        // Not the Cargo that runs this, but the one of that Rust.
        let mut check = Command::new("rustup");
        check
            .current_dir(&self.root)
            .env("MIGRAPHX_SETUP_DIR", &self.nothing)
            .env_remove("RUSTUP_TOOLCHAIN")
            .env_remove("CARGO")
            .args(["run", &toolchain, "cargo", "check", "--quiet"])
            .args(CRATES.iter().flat_map(|name| ["-p", name]))
            .arg("--target-dir")
            .arg(command::target_dir(&self.root).join("oldest-rust"));
        if !command::status(&mut check)? {
            return Err(format!("Rust {oldest}: `{}` failed", shown(&check)));
        }
        println!("package: Rust {oldest}: ok");
        Ok(())
    }

    fn optional(&self, tool: &str, words: &[&str]) -> Result<(), String> {
        if which(tool).is_none() {
            println!("package: {tool}: not checked, it is not installed");
            return Ok(());
        }
        self.run(tool, |cargo| {
            cargo.args(words);
        })
    }
}

/// What a package holds that it should not, or lacks.
fn problems_of(name: &str, files: &BTreeSet<&str>) -> Result<(), String> {
    let belongs = |file: &str| {
        ALLOWED.contains(&file)
            || (file.ends_with(".rs") && (file.starts_with("src/") || file.starts_with("build/")))
    };
    if let Some(strange) = files.iter().find(|file| !belongs(file)) {
        return Err(format!("the package {name} holds {strange}"));
    }
    match NEEDED.iter().find(|file| !files.contains(*file)) {
        Some(missing) => Err(format!("the package {name} lacks {missing}")),
        None => Ok(()),
    }
}

/// All but those for tests.
fn direct_dependencies(metadata: &Value, name: &str) -> Result<BTreeSet<String>, String> {
    let packages = metadata["packages"].as_array();
    let package = packages
        .into_iter()
        .flatten()
        .find(|package| package["name"] == name)
        .ok_or_else(|| format!("cargo metadata has no package {name}"))?;
    let dependencies = package["dependencies"].as_array();
    Ok(dependencies
        .into_iter()
        .flatten()
        .filter(|dependency| dependency["kind"] != "dev")
        .filter_map(|dependency| dependency["name"].as_str())
        .map(str::to_owned)
        .collect())
}

/// The crates named in the first column of the table under "## `name`".
fn with_a_reason(document: &str, name: &str) -> BTreeSet<String> {
    let title = format!("## `{name}`");
    document
        .lines()
        .skip_while(|line| line.trim() != title)
        .skip(1)
        .take_while(|line| !line.starts_with("## "))
        .filter_map(|line| line.strip_prefix("| ")?.split_once(" |"))
        .flat_map(|(cell, _)| {
            // `name` in code marks; what stands in brackets is a condition.
            let cell = cell.split('(').next().unwrap_or_default();
            cell.split('`').skip(1).step_by(2)
        })
        .map(str::to_owned)
        .collect()
}

fn compare(
    name: &str,
    direct: &BTreeSet<String>,
    reasons: &BTreeSet<String>,
) -> Result<(), String> {
    if let Some(without) = direct.difference(reasons).next() {
        return Err(format!(
            "{REASONS} gives no reason why {name} needs {without}"
        ));
    }
    match reasons.difference(direct).next() {
        Some(gone) => Err(format!("{REASONS} has {gone}, which {name} does not need")),
        None => Ok(()),
    }
}

fn oldest_rust(manifest: &str) -> Option<&str> {
    let line = manifest
        .lines()
        .find(|line| line.starts_with("rust-version"))?;
    line.split('"').nth(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_package_holds_sources_and_licences_alone() {
        let whole = BTreeSet::from(["LICENSE-APACHE", "LICENSE-MIT", "README.md", "src/lib.rs"]);
        assert_eq!(problems_of("x", &whole), Ok(()));
        for strange in ["src/model.onnx", "tests/a.rs", "notes.txt"] {
            let mut files = whole.clone();
            files.insert(strange);
            assert!(problems_of("x", &files).unwrap_err().contains(strange));
        }
        let mut files = whole;
        files.remove("LICENSE-MIT");
        assert!(
            problems_of("x", &files)
                .unwrap_err()
                .contains("LICENSE-MIT")
        );
    }

    #[test]
    fn every_dependency_needs_its_row_and_every_row_its_dependency() {
        let metadata = json!({"packages": [{"name": "x", "dependencies": [
            {"name": "a", "kind": null}, {"name": "b", "kind": "build"}, {"name": "t", "kind": "dev"},
        ]}]});
        let direct = direct_dependencies(&metadata, "x").unwrap();
        let text = "## `y`\n| `z` | no |\n## `x`\n| crate | why |\n|---|---|\n| `a`, `b` (feature `f`) | so |\n## End\n| `c` | no |\n";
        assert_eq!(compare("x", &direct, &with_a_reason(text, "x")), Ok(()));
        let less = with_a_reason("## `x`\n| `a` | so |\n", "x");
        assert!(compare("x", &direct, &less).unwrap_err().contains('b'));
        let more = with_a_reason("## `x`\n| `a`, `b`, `gone` | so |\n", "x");
        assert!(compare("x", &direct, &more).unwrap_err().contains("gone"));
    }

    #[test]
    fn the_oldest_rust_is_that_of_the_manifest() {
        let manifest = "[workspace.package]\nedition = \"2024\"\nrust-version = \"1.88\"\n";
        assert_eq!(oldest_rust(manifest), Some("1.88"));
    }
}
