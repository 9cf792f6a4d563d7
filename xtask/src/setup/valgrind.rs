//! valgrind for `cargo xtask sanitize`: of the same Debian suite as the prefix, with
//! the debug symbols of the prefix's C library.
//!
//! valgrind takes the place of functions of the loader and the C library (`memcmp`,
//! `strlen`, …), which it finds by name, and these names are only in `libc6-dbg`: with
//! none it does not start. It has to be the package of just this C library, since
//! valgrind asks the library for the name of its symbol file. That file it looks for
//! below `--extra-debuginfo-path`, in a folder named as that of the library.

use super::fetch::{self, Unpacked};
use super::make;
use super::options::Options;
use super::sources::Release;
use super::work::{Work, lock_dir};
use super::{advice, prefix_of, step};
use crate::command::which;
use crate::finder::MARKER;
use crate::os;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A valgrind that runs programs of the MIGraphX that was found.
#[derive(Debug)]
pub enum Valgrind {
    /// Of the machine, as MIGraphX itself.
    Machine,
    /// Unpacked beside the prefix.
    Unpacked { place: PathBuf },
}

impl Valgrind {
    /// `valgrind --tool=TOOL`.
    pub fn command(&self, tool: &str) -> Command {
        match self {
            Valgrind::Machine => {
                let mut command = Command::new("valgrind");
                command.arg(format!("--tool={tool}"));
                command
            }
            // The tool itself, which is linked statically; `valgrind` only looks for it.
            Valgrind::Unpacked { place } => {
                let tools = place.join(TOOLS);
                let symbols = place.join(SYMBOLS);
                let mut command = Command::new(tools.join(format!("{tool}-amd64-linux")));
                command
                    .env("VALGRIND_LIB", &tools)
                    .env("VALGRIND_LAUNCHER", place.join("usr/bin/valgrind.bin"))
                    .arg(format!("--extra-debuginfo-path={}", symbols.display()));
                command
            }
        }
    }
}

/// Where the package has its tools.
const TOOLS: &str = "usr/libexec/valgrind";
/// Where we put symbol files for valgrind to find.
const SYMBOLS: &str = "symbols";

/// The machine's, where MIGraphX is the machine's own; else one made by an earlier
/// call for this prefix, else a new one.
pub fn find_or_fetch(options: &Options) -> Result<Valgrind, String> {
    let found = super::ensure(options)?;
    let Some(prefix) = prefix_of(&found) else {
        return match which("valgrind") {
            Some(_) => Ok(Valgrind::Machine),
            None => Err(
                "there is no valgrind on this machine; install the packages valgrind and \
                         libc6-dbg (glibc-debuginfo on Fedora)"
                    .into(),
            ),
        };
    };
    let (dir, _lock) = lock_dir(prefix.parent())?;
    let place = dir.join("valgrind");
    let library = c_library(prefix)?;
    let marker = fs::read_to_string(place.join(MARKER)).unwrap_or_default();
    if marker != library {
        make(options, &dir, prefix, &library)?;
    }
    step(&format!("valgrind in {}", place.display()));
    Ok(Valgrind::Unpacked { place })
}

/// The line of the prefix's marker that names its C library.
fn c_library(prefix: &Path) -> Result<String, String> {
    let marker = prefix.join(MARKER);
    let text = fs::read_to_string(&marker)
        .map_err(|error| format!("cannot read {}: {error}", marker.display()))?;
    let line = text.lines().find(|line| line.starts_with("package=libc6 "));
    line.map(str::to_owned).ok_or_else(|| {
        format!(
            "{} does not name libc6; set up again with --force",
            marker.display()
        )
    })
}

fn make(options: &Options, dir: &Path, prefix: &Path, library: &str) -> Result<(), String> {
    let entry = make::archive(options, &Release::of_this_machine())?;
    let work = Work::new(dir).map_err(|error| advice::unwritable(dir, &error))?;
    let names = ["valgrind", "libc6-dbg"].map(str::to_owned);
    let Unpacked { root, packages } = fetch::unpacked(
        &work,
        &entry,
        "no valgrind here yet",
        |_| Ok(names.to_vec()),
    )?;
    let mut list = packages.list().into_iter();
    let symbols = list.find(|(name, _)| name == "libc6-dbg");
    let version = symbols.map(|(_, version)| version).unwrap_or_default();
    if library != format!("package=libc6 {version}") {
        return Err(format!(
            "the prefix has {}, and the archive has its symbols for {version} only; delete the \
             folder {} and make the prefix anew with `cargo xtask setup --force`",
            library.trim_start_matches("package="),
            dir.join("packages").display()
        ));
    }
    let failed = |error: std::io::Error| format!("cannot sort valgrind's files: {error}");
    link_symbols(&root, &prefix.join("lib")).map_err(failed)?;
    fs::write(root.join(MARKER), library).map_err(failed)?;
    let place = dir.join("valgrind");
    os::replace_folder(&root, &place)
        .map_err(|error| format!("cannot put {} in place: {error}", place.display()))
}

/// Links all symbol files into one folder, named as the folder of the libraries.
fn link_symbols(root: &Path, lib: &Path) -> std::io::Result<()> {
    let lib = fs::canonicalize(lib)?;
    let folder = root
        .join(SYMBOLS)
        .join(lib.strip_prefix("/").unwrap_or(&lib));
    fs::create_dir_all(&folder)?;
    for group in fs::read_dir(root.join("usr/lib/debug/.build-id"))? {
        for file in fs::read_dir(group?.path())? {
            let file = file?;
            fs::hard_link(file.path(), folder.join(file.file_name()))?;
        }
    }
    Ok(())
}
