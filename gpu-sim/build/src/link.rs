//! Makes one library: cargo for the static library, `cc` for the shared one.

use crate::libraries::{HIP, Library, Source};
use crate::prefix;
use std::collections::BTreeSet;
use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

/// `gpu-sim/`
fn workspace() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("the package is in a folder of the workspace")
}

/// Builds the static libraries; gives the folder they are in.
pub fn build_packages(wanted: &[&Library]) -> Result<PathBuf, String> {
    let target =
        env::var_os("CARGO_TARGET_DIR").map_or_else(|| workspace().join("target"), PathBuf::from);
    let packages: BTreeSet<_> = wanted
        .iter()
        .filter_map(|library| match library.source {
            Source::Rust { package } => Some(package),
            Source::Cxx { .. } => None,
        })
        .collect();
    if !packages.is_empty() {
        let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo
            .args(["build", "--release", "--lib", "--manifest-path"])
            .arg(workspace().join("Cargo.toml"));
        cargo.arg("--target-dir").arg(&target);
        packages.iter().for_each(|package| {
            cargo.args(["-p", package]);
        });
        check(&mut cargo)?;
    }
    Ok(target.join("release"))
}

/// Links one stand-in into `<out>/lib`, with the symbolic links to it.
pub fn make(library: &Library, archives: &Path, out: &Path) -> Result<(), String> {
    let lib = &out.join("lib");
    let file = lib.join(library.file);
    // A running program may have the old file mapped: never write into it.
    prefix::remove(&file)?;
    let mut compiler = match library.source {
        Source::Rust { package } => {
            let archive = archives.join(format!("lib{}.a", package.replace('-', "_")));
            let mut cc = Command::new(env::var_os("CC").unwrap_or_else(|| "cc".into()));
            cc.args(["-shared", "-Wl,--gc-sections", "-Wl,--whole-archive"])
                .arg(archive)
                .arg("-Wl,--no-whole-archive");
            cc
        }
        Source::Cxx { sources, arguments } => {
            let mut cxx = Command::new(env::var_os("CXX").unwrap_or_else(|| "c++".into()));
            cxx.args(["-shared", "-fPIC", "-fvisibility=hidden", "-O2"]);
            cxx.args(sources.iter().map(|source| workspace().join(source)));
            let folders = [
                ("{lib}", lib.to_path_buf()),
                ("{include}", out.join("include")),
                ("{gpu-sim}", workspace().to_path_buf()),
            ];
            for argument in arguments {
                let filled = folders
                    .iter()
                    .fold((*argument).to_owned(), |text, (mark, path)| {
                        text.replace(mark, &path.to_string_lossy())
                    });
                cxx.arg(filled);
            }
            cxx
        }
    };
    compiler.arg("-o").arg(&file);
    compiler.arg(format!("-Wl,-soname,{}", library.file));
    compiler.arg(format!(
        "-Wl,--version-script={}",
        workspace().join(library.map).display()
    ));
    // The stand-ins have threads, thread-local state and exit code of their own.
    compiler.arg("-Wl,-z,nodelete");
    if library.needs_hip {
        compiler.arg("-L").arg(lib).arg(format!("-l:{HIP}"));
    }
    compiler.args(["-lgcc_s", "-lpthread", "-ldl", "-lm", "-lc"]);
    check(&mut compiler)?;
    for name in library.links {
        prefix::link(&lib.join(name), Path::new(library.file))?;
    }
    Ok(())
}

fn check(command: &mut Command) -> Result<(), String> {
    let status = command
        .status()
        .map_err(|error| format!("cannot start {command:?}: {error}"))?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("{command:?} failed: {status}"))
    }
}
