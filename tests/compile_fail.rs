//! The lifetimes and types that make a safe call safe: each file of
//! `compile_fail/` must fail where its `//~ CODE` comments say, and only there.
//!
//! Codes and lines are compared, not texts, which change between compilers.

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Error codes by line.
type Errors = BTreeMap<usize, BTreeSet<String>>;

#[test]
fn what_must_not_compile_does_not() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let sources = sources(&root.join("tests/compile_fail"));
    assert!(sources.len() > 10, "the files are gone");
    let found = check(&package(root, &sources));

    let mut wrong = Vec::new();
    for (name, source) in &sources {
        let text = std::fs::read_to_string(source).unwrap();
        let (expected, found) = (
            expected(&text),
            found.get(name).cloned().unwrap_or_default(),
        );
        assert_eq!(
            expected.is_empty(),
            name == "passes",
            "{name}: no `//~` comment"
        );
        for line in expected.keys().chain(found.keys()).collect::<BTreeSet<_>>() {
            let allowed = expected.get(line).cloned().unwrap_or_default();
            let came = found.get(line).cloned().unwrap_or_default();
            if came.is_empty() || !came.is_subset(&allowed) {
                wrong.push(format!(
                    "{name}.rs:{line}: expected {allowed:?}, came {came:?}"
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

fn sources(dir: &Path) -> BTreeMap<String, PathBuf> {
    let paths = std::fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    paths
        .filter(|path| path.extension().is_some_and(|e| e == "rs"))
        .map(|path| (path.file_stem().unwrap().to_str().unwrap().to_owned(), path))
        .collect()
}

/// The lines that end in `//~ CODE`; more codes stand for one or the other.
fn expected(text: &str) -> Errors {
    let lines = text.lines().enumerate();
    lines
        .filter_map(|(i, line)| {
            let codes = line
                .split_once("//~ ")?
                .1
                .split_whitespace()
                .map(str::to_owned);
            Some((i + 1, codes.collect()))
        })
        .collect()
}

/// A package in the target folder whose binaries are the files.
fn package(root: &Path, sources: &BTreeMap<String, PathBuf>) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("compile_fail");
    std::fs::create_dir_all(dir.join("src")).unwrap();
    let mut manifest = format!(
        "[package]\nname = \"compile_fail\"\nedition = \"2024\"\nautobins = false\n\n\
         [workspace]\n\n[dependencies]\nmigraphx = {{ path = {:?}, default-features = false, features = [\"hip\"] }}\n",
        root.join("migraphx")
    );
    for (name, source) in sources {
        manifest += &format!("\n[[bin]]\nname = {name:?}\npath = {source:?}\n");
    }
    std::fs::write(dir.join("Cargo.toml"), manifest).unwrap();
    // The versions the workspace uses, which are on this machine already.
    std::fs::copy(root.join("Cargo.lock"), dir.join("Cargo.lock")).unwrap();
    dir
}

/// The errors `cargo check` finds, by binary.
fn check(package: &Path) -> BTreeMap<String, Errors> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args([
            "check",
            "--bins",
            "--keep-going",
            "--offline",
            "--message-format=json",
        ])
        .arg("--target-dir")
        .arg(package.join("target"))
        .current_dir(package)
        .output()
        .unwrap();
    let stdout = String::from_utf8(output.stdout).unwrap();
    let mut errors: BTreeMap<String, Errors> = BTreeMap::new();
    let mut checked = BTreeSet::new();
    for line in stdout.lines() {
        let Ok(message) = serde_json::from_str::<Value>(line) else {
            continue;
        };
        let target = message["target"]["name"].as_str().unwrap_or_default();
        checked.insert(target.to_owned());
        let diagnostic = &message["message"];
        let Some(code) = diagnostic["code"]["code"].as_str() else {
            continue;
        };
        if diagnostic["level"] != "error" {
            continue;
        }
        let spans = diagnostic["spans"].as_array().into_iter().flatten();
        for span in spans.filter(|span| span["is_primary"] == true) {
            let line = span["line_start"].as_u64().unwrap() as usize;
            let lines = errors.entry(target.to_owned()).or_default();
            lines.entry(line).or_default().insert(code.to_owned());
        }
    }
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(
        checked.contains("passes"),
        "cargo check did not run:\n{stderr}"
    );
    errors
}
