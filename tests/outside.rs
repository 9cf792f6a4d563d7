//! Crates outside the workspace that have `migraphx` as their one dependency:
//! they build, find the library and run, however it is linked, also inside a
//! module that a foreign program opens privately.
//!
//! Their sources are in `outside_crates/`. They are built by Cargo in a
//! workspace of their own under `target/tmp`, offline, with the versions of our
//! `Cargo.lock`. One pass of `cargo xtask test` is enough for that.
#![cfg(all(target_os = "linux", debug_assertions, not(feature = "load-dynamic")))]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Mutex, MutexGuard, PoisonError};

use migraphx_sys::finder;

const TARGET: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/outside");
/// What Cargo is told to build for where the set-up prefix is in use.
const TRIPLE: &str = "x86_64-unknown-linux-gnu";
const SUM: &str = "sum: [11.0, 22.0, 33.0, 44.0]";

/// How the outside crates ask for `migraphx`, and what they set.
#[derive(Clone, Copy)]
struct Mode {
    dependency: &'static str,
    /// `MIGRAPHX_LINK`.
    link: Option<&'static str>,
    /// Whether they use the configuration of the set-up prefix, where that is in use.
    configured: bool,
}

const DEFAULT: Mode = Mode {
    dependency: "",
    link: None,
    configured: true,
};

/// The workspace of the outside crates; one test at a time has it.
struct Outside {
    mode: Mode,
    root: PathBuf,
    prefix: Option<PathBuf>,
    _alone: MutexGuard<'static, ()>,
}

impl Outside {
    fn new(mode: Mode) -> Self {
        static ALONE: Mutex<()> = Mutex::new(());
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let ours = Path::new(env!("CARGO_MANIFEST_DIR"));
        let root = Path::new(TARGET).join("crates");
        write(
            &root.join("Cargo.toml"),
            b"[workspace]\nmembers = [\"app\", \"host\", \"plugin\"]\nresolver = \"3\"\n\
              [profile.dev]\ndebug = false\nincremental = false\n",
        );
        // Cargo drops what they do not use, and asks no registry for what is locked.
        write(
            &root.join("Cargo.lock"),
            &fs::read(ours.join("Cargo.lock")).unwrap(),
        );
        write(&root.join("add.onnx"), &testkit::models::add(&[4]));
        let package = |name: &str, rest: &str| {
            format!("[package]\nname = \"{name}\"\nversion = \"0.0.0\"\nedition = \"2024\"\n{rest}")
        };
        let depends = format!(
            "[dependencies]\nmigraphx = {{ path = {:?}{} }}\n",
            ours.join("migraphx"),
            mode.dependency
        );
        let bin = |name: &str| format!("[[bin]]\nname = \"{name}\"\npath = \"main.rs\"\n");
        let lib = "[lib]\npath = \"lib.rs\"\ncrate-type = [\"cdylib\"]\n";
        for (name, rest) in [
            ("app", bin("app") + &depends),
            ("host", bin("host")),
            ("plugin", lib.to_owned() + &depends),
        ] {
            write(
                &root.join(name).join("Cargo.toml"),
                package(name, &rest).as_bytes(),
            );
            let file = if name == "plugin" {
                "lib.rs"
            } else {
                "main.rs"
            };
            let source = ours.join("tests/outside_crates").join(name).join(file);
            write(&root.join(name).join(file), &fs::read(source).unwrap());
        }
        let found = finder::find().expect("MIGraphX is there: `cargo xtask setup`");
        let prefix = found
            .prefix
            .then(|| found.lib_dir().parent().unwrap().to_owned());
        Outside {
            mode,
            root,
            prefix,
            _alone: alone,
        }
    }

    fn configured(&self) -> Option<PathBuf> {
        let prefix = self.prefix.as_ref().filter(|_| self.mode.configured)?;
        Some(prefix.join("cargo-config.toml"))
    }

    /// `cargo` as somebody types it who follows the advice of the set-up.
    fn cargo(&self, command: &str, package: &str) -> Command {
        let mut cargo = Command::new(env!("CARGO"));
        if let Some(file) = self.configured() {
            cargo.arg("--config").arg(file);
        }
        cargo.args([command, "--quiet", "--offline", "-p", package]);
        if self.configured().is_some() {
            cargo.args(["--target", TRIPLE]);
        }
        cargo
            .arg("--target-dir")
            .arg(TARGET)
            .current_dir(&self.root);
        for name in [
            "MIGRAPHX_LINK",
            "RUSTFLAGS",
            "CARGO_ENCODED_RUSTFLAGS",
            "CARGO_BUILD_TARGET",
        ] {
            cargo.env_remove(name);
        }
        if let Some(link) = self.mode.link {
            cargo.env("MIGRAPHX_LINK", link);
        }
        cargo
    }

    /// Runs the program `app`.
    fn app(&self) -> Output {
        self.cargo("run", "app").output().unwrap()
    }

    /// Has the program `host` open the module `plugin`.
    fn plugin(&self) -> Output {
        succeeds(&self.cargo("build", "plugin").output().unwrap());
        let mut folder = PathBuf::from(TARGET);
        if self.configured().is_some() {
            folder.push(TRIPLE);
        }
        let module = folder.join("debug/libplugin.so");
        self.cargo("run", "host").arg(module).output().unwrap()
    }
}

/// Writes a file where its content changes, so that Cargo builds no more than it must.
fn write(path: &Path, content: &[u8]) {
    if fs::read(path).is_ok_and(|old| old == content) {
        return;
    }
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}

fn succeeds(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        output.status.success(),
        "{}\n{text}{}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    text
}

/// Both the program and the module work.
fn works(mode: Mode, linked: Option<bool>) {
    let outside = Outside::new(mode);
    let text = succeeds(&outside.app());
    assert!(text.contains(SUM), "{text}");
    if let Some(linked) = linked {
        assert!(
            text.contains(&format!("mapped at start: {linked}")),
            "{text}"
        );
    }
    let text = succeeds(&outside.plugin());
    assert!(text.contains(SUM), "{text}");
    // The host sees nothing of the library, and neither does a plain dlsym.
    assert!(text.contains("seen by the host: false"), "{text}");
    // MIGraphX's words are found through the copy that the module uses.
    let words = text
        .lines()
        .find(|line| line.starts_with("text: "))
        .unwrap();
    assert!(
        words.contains("migraphx_parse_onnx_buffer") && words.contains("parse"),
        "{words}"
    );
}

/// As a crate has it that says nothing.
#[test]
fn by_default() {
    works(DEFAULT, None);
}

#[test]
fn loaded_at_run_time() {
    let mode = Mode {
        dependency: ", default-features = false, features = [\"load-dynamic\"]",
        ..DEFAULT
    };
    works(mode, Some(false));
}

#[test]
fn linked_by_force() {
    let mode = Mode {
        link: Some("force"),
        ..DEFAULT
    };
    works(mode, Some(true));
}

#[test]
fn never_linked() {
    let mode = Mode {
        link: Some("never"),
        ..DEFAULT
    };
    let text = succeeds(&Outside::new(mode).app());
    assert!(
        text.contains("mapped at start: false") && text.contains(SUM),
        "{text}"
    );
}

/// The library of the set-up needs a newer C library than most systems have. A
/// program that was built without the prefix's configuration says so.
#[test]
fn without_the_configuration_the_error_says_what_to_do() {
    let mode = Mode {
        configured: false,
        ..DEFAULT
    };
    let outside = Outside::new(mode);
    let output = outside.app();
    let text = String::from_utf8_lossy(&output.stdout);
    let Some(prefix) = outside
        .prefix
        .as_ref()
        .filter(|_| output.status.code() != Some(0))
    else {
        // An installed MIGraphX, or a system as new as the set-up's.
        assert!(succeeds(&output).contains(SUM), "{text}");
        return;
    };
    // An error, not a crash.
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    let file = prefix.join("cargo-config.toml");
    let advice = format!("cargo --config {} run --target {TRIPLE}", file.display());
    for words in ["needs GLIBC_2.", "this process runs on glibc 2.", &advice] {
        assert!(text.contains(words), "`{words}` is not in: {text}");
    }
}
