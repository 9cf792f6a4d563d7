//! Makes one library: cargo for the static library, `cc` for the shared one.

use crate::libraries::{HIP, Library, Source};
use crate::prefix;
use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, io};

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

/// Links one stand-in into `<out>/lib`, with the symbolic links to it. One that
/// is made of the same things already is left alone: gives whether it was made.
pub fn make(library: &Library, archives: &Path, out: &Path) -> Result<bool, String> {
    let lib = &out.join("lib");
    let file = lib.join(library.file);
    // Programs run on the old file while the new one is made.
    let new = lib.join(format!("{}.new-{}", library.file, std::process::id()));
    let mut inputs = vec![workspace().join(library.map)];
    let made_of = out.join("made-of");
    let mut compilers = Vec::new();
    let mut linker = match library.source {
        Source::Rust { package } => {
            let archive = archives.join(format!("lib{}.a", package.replace('-', "_")));
            let mut cc = Command::new(env::var_os("CC").unwrap_or_else(|| "cc".into()));
            cc.args(["-shared", "-Wl,--gc-sections", "-Wl,--whole-archive"])
                .arg(&archive)
                .arg("-Wl,--no-whole-archive");
            inputs.push(archive);
            cc
        }
        Source::Cxx { sources, arguments } => {
            let cxx = || Command::new(env::var_os("CXX").unwrap_or_else(|| "c++".into()));
            let mut linker = cxx();
            linker.arg("-shared");
            for source in sources {
                let source = workspace().join(source);
                let object =
                    made_of.join(source.with_extension("o").file_name().unwrap_or_default());
                linker.arg(&object);
                let mut compiler = cxx();
                compiler.args(["-c", "-fPIC", "-fvisibility=hidden", "-O2", "-o"]);
                compiler.arg(&object).arg(&source);
                compiler.args(arguments.iter().map(|argument| {
                    argument
                        .replace("{include}", &out.join("include").to_string_lossy())
                        .replace("{gpu-sim}", &workspace().to_string_lossy())
                }));
                compilers.push(compiler);
                inputs.extend(source.parent().map(Path::to_path_buf));
            }
            inputs.push(out.join("include-cxx"));
            linker
        }
    };
    linker.arg(format!("-Wl,-soname,{}", library.file));
    linker.arg(format!(
        "-Wl,--version-script={}",
        workspace().join(library.map).display()
    ));
    // The stand-ins have threads, thread-local state and exit code of their own.
    linker.arg("-Wl,-z,nodelete");
    if library.needs_hip {
        linker.arg("-L").arg(lib).arg(format!("-l:{HIP}"));
    }
    linker.args(["-lgcc_s", "-lpthread", "-ldl", "-lm", "-lc"]);
    let stamp = made_of.join(library.file);
    let digest = digest(&linker, &compilers, &inputs)?;
    let is_new = fs::read_to_string(&stamp).is_ok_and(|old| old == digest) && file.is_file();
    if !is_new {
        let failed = |error: io::Error| format!("{}: {error}", file.display());
        fs::create_dir_all(&made_of).map_err(failed)?;
        prefix::remove(&stamp)?;
        all_at_once(compilers)?;
        linker.arg("-o").arg(&new);
        check(&mut linker).inspect_err(|_| drop(fs::remove_file(&new)))?;
        fs::rename(&new, &file).map_err(failed)?;
        fs::write(&stamp, digest).map_err(failed)?;
    }
    for name in library.links {
        prefix::link(&lib.join(name), Path::new(library.file))?;
    }
    Ok(!is_new)
}

/// Runs them beside each other; the error is that of the first that failed.
fn all_at_once(commands: Vec<Command>) -> Result<(), String> {
    let running: Vec<_> = commands
        .into_iter()
        .map(|mut command| std::thread::spawn(move || check(&mut command)))
        .collect();
    let ended = running
        .into_iter()
        .map(|thread| thread.join().unwrap_or_else(|_| Err("a panic".into())));
    ended.collect::<Vec<_>>().into_iter().collect()
}

/// Of commands and the files they take; of a folder, all that is in it. Told
/// apart by contents, since archives of different target folders come by turns.
fn digest(linker: &Command, compilers: &[Command], inputs: &[PathBuf]) -> Result<String, String> {
    let mut hasher = DefaultHasher::new();
    format!("{linker:?} {compilers:?}").hash(&mut hasher);
    let mut paths = inputs.to_vec();
    while let Some(path) = paths.pop() {
        let failed = |error: io::Error| format!("{}: {error}", path.display());
        if path.is_dir() {
            for entry in fs::read_dir(&path).map_err(failed)? {
                paths.push(entry.map_err(failed)?.path());
            }
            paths.sort();
        } else {
            path.hash(&mut hasher);
            fs::read(&path).map_err(failed)?.hash(&mut hasher);
        }
    }
    Ok(format!("{:016x}\n", hasher.finish()))
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
