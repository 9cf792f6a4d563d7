//! MPI for the package `yolo26-mpi`: the machine's own, else MPICH from the packages
//! of its own release, unpacked beside the prefix. Its programs run on the system's
//! C library, as those of any MPI of the machine do.

use super::fetch::{self, Unpacked};
use super::libclang;
use super::make::missing_tool;
use super::sources::{self, Release};
use super::work::{Work, lock_dir};
use super::{advice, step, unpack};
use crate::command::{output, which};
use crate::os;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where MPI's programs are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mpi {
    /// Compiles and links a program of MPI.
    pub compiler: PathBuf,
    /// Starts one.
    pub starter: PathBuf,
}

/// The machine's MPI, else one made by an earlier call, else a new one.
pub fn find_or_fetch(dir: Option<&Path>) -> Result<Mpi, String> {
    if let Some(mpi) = installed() {
        step(&format!("MPI of the machine: {}", mpi.starter.display()));
        return Ok(mpi);
    }
    let (dir, _lock) = lock_dir(dir)?;
    let place = dir.join("mpi");
    if !place.join(MARKER).is_file() {
        make(&dir, &place)?;
    }
    let mpi = Mpi {
        compiler: place.join("bin/mpicc"),
        starter: place.join("bin/mpirun"),
    };
    step(&format!("MPI in {}", place.display()));
    Ok(mpi)
}

impl Mpi {
    /// For a build of `yolo26-mpi`, whose dependency makes its bindings with libclang.
    pub fn environment(&self) -> Result<Vec<(&'static str, OsString)>, String> {
        let clang = libclang::find_or_fetch()?;
        let mut variables = vec![
            ("MPICC", self.compiler.clone().into()),
            ("MPIRUN", self.starter.clone().into()),
            ("LIBCLANG_PATH", clang.path.clone().into()),
        ];
        if clang.unpacked {
            // It came without headers of its own; the C compiler's serve.
            let headers = output(Command::new("cc").arg("-print-file-name=include"))?;
            let argument = format!("-isystem {}", headers.trim());
            variables.push(("BINDGEN_EXTRA_CLANG_ARGS", argument.into()));
            variables.push(("LD_LIBRARY_PATH", clang.path.into()));
        }
        Ok(variables)
    }
}

fn installed() -> Option<Mpi> {
    let compiler = match std::env::var_os("MPICC").filter(|path| !path.is_empty()) {
        Some(path) => path.into(),
        None => which("mpicc")?,
    };
    let starter = match std::env::var_os("MPIRUN").filter(|path| !path.is_empty()) {
        Some(path) => path.into(),
        None => which("mpirun")?,
    };
    Some(Mpi { compiler, starter })
}

/// Written last: which package it is of.
const MARKER: &str = "migraphx-setup";
/// MPICH: its starter finds its helper beside itself, wherever that is.
const PACKAGES: [&str; 2] = ["mpich", "libmpich-dev"];

fn make(dir: &Path, place: &Path) -> Result<(), String> {
    let release = Release::of_this_machine();
    let by_hand = |found: &str| {
        format!(
            "there is no mpicc and mpirun on this machine, and {found}.\nInstall an MPI (packages \
             libopenmpi-dev and openmpi-bin, or libmpich-dev and mpich, of Debian and Ubuntu), or \
             set MPICC and MPIRUN to the programs of one"
        )
    };
    if let Some(tool) = missing_tool() {
        return Err(by_hand(&format!("no {tool} to fetch MPICH with")));
    }
    let entries = sources::of_this_machine();
    let entry = sources::own_release(&entries, &release)
        .ok_or_else(|| by_hand("apt's configuration does not name this machine's release"))?;
    let work = Work::new(dir).map_err(|error| advice::unwritable(dir, &error))?;
    let Unpacked { root, packages } = fetch::unpacked(&work, entry, "no MPI here", |apt| {
        apt.closure(&PACKAGES, &unused)
    })?;
    let new = work.0.join("mpi");
    sort(&root, &new).map_err(|error| format!("cannot sort MPICH's files: {error}"))?;
    let mut check = Command::new(new.join("bin/mpirun"));
    output(check.args(["-n", "2", "true"]))
        .map_err(|error| by_hand(&format!("MPICH of its packages does not start: {error}")))?;
    let list = packages.list().into_iter();
    let list = list.map(|(name, version)| format!("package={name} {version}\n"));
    fs::write(new.join(MARKER), list.collect::<String>())
        .map_err(|error| advice::unwritable(&new, &error))?;
    os::replace_folder(&new, place)
        .map_err(|error| format!("cannot put {} in place: {error}", place.display()))
}

/// What programs in C need neither to be linked nor to run, and what every system has.
fn unused(package: &str) -> bool {
    let others = [
        "gfortran",
        "flang",
        "libgfortran",
        "libquadmath",
        "hwloc",
        "systemd",
        "openssh",
        "adduser",
        "ibverbs-providers",
    ];
    let mut starts = fetch::BESIDE_A_COMPILER.iter().chain(&others);
    let header = package.ends_with("-dev") && package != PACKAGES[1];
    header || starts.any(|start| package.starts_with(start))
}

/// `lib`, `include` and `bin` of unpacked packages.
fn sort(root: &Path, new: &Path) -> std::io::Result<()> {
    unpack::libraries(root, &new.join("lib"))?;
    let headers = ["usr/include/x86_64-linux-gnu/mpich", "usr/include/mpich"];
    let headers = headers.map(|folder| root.join(folder));
    let headers = headers.iter().find(|folder| folder.join("mpi.h").is_file());
    let missing = || std::io::Error::other("there is no mpi.h in the packages");
    fs::rename(headers.ok_or_else(missing)?, new.join("include"))?;
    let bin = new.join("bin");
    fs::create_dir(&bin)?;
    for program in ["mpiexec.hydra", "hydra_pmi_proxy"] {
        fs::rename(root.join("usr/bin").join(program), bin.join(program))?;
    }
    os::write_program(&bin.join("mpicc"), COMPILER)?;
    os::write_program(&bin.join("mpirun"), STARTER)
}

/// The packages' own has the folders of an installed one in it.
const COMPILER: &str = r#"#!/bin/sh
# Made by `cargo xtask setup --mpi`.
here=$(cd "$(dirname "$0")/.." && pwd)
if [ "$1" = -show ]; then
    echo "cc -I'$here/include' -L'$here/lib' -lmpich"
else
    exec cc "-I$here/include" "$@" "-L$here/lib" -lmpich
fi
"#;

/// Its libraries are those of the system's own release, so that nothing that the
/// ranks start can trip over them.
const STARTER: &str = r#"#!/bin/sh
# Made by `cargo xtask setup --mpi`.
here=$(cd "$(dirname "$0")/.." && pwd)
LD_LIBRARY_PATH=$here/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH
exec "$here/bin/mpiexec.hydra" "$@"
"#;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_and_compilers_of_others_stay_away() {
        for name in ["libucx-dev", "gfortran-12", "libc6-dev", "hwloc-nox", "g++"] {
            assert!(unused(name), "{name}");
        }
        for name in [
            "libmpich-dev",
            "mpich",
            "libmpich12",
            "libhwloc15",
            "libucx0",
        ] {
            assert!(!unused(name), "{name}");
        }
    }

    #[test]
    fn the_compiler_names_its_own_place() {
        let folder = std::env::temp_dir().join(format!("xtask mpi-{}", std::process::id()));
        fs::create_dir_all(folder.join("bin")).unwrap();
        let compiler = folder.join("bin/mpicc");
        os::write_program(&compiler, COMPILER).unwrap();
        let shown = output(Command::new(&compiler).arg("-show")).unwrap();
        let expected = format!("-L'{}/lib'", folder.canonicalize().unwrap().display());
        assert!(shown.contains(&expected), "{shown}");
        fs::remove_dir_all(&folder).unwrap();
    }
}
