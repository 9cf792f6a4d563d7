//! A libclang for bindgen: the machine's, else one from the packages of its own
//! release, unpacked beside the prefix. Only `cargo xtask codegen` and
//! the package `yolo26-mpi` need it.

use super::fetch::{self, Unpacked};
use super::make::missing_tool;
use super::sources::{self, Release};
use super::work::{Work, lock_dir};
use super::{advice, unpack};
use crate::command::output;
use crate::os;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where libclang is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Libclang {
    /// For `LIBCLANG_PATH`: the folder of the library, or the library.
    pub path: PathBuf,
    /// Whether it was unpacked by us, and needs the libraries beside it.
    pub unpacked: bool,
}

/// The machine's libclang, else one made by an earlier call, else a new one.
pub fn find_or_fetch() -> Result<Libclang, String> {
    if let Some(path) = installed() {
        return Ok(Libclang {
            path,
            unpacked: false,
        });
    }
    let (dir, _lock) = lock_dir(None)?;
    let lib = dir.join("libclang/lib");
    if !has_libclang(&lib) {
        make(&dir)?;
    }
    Ok(Libclang {
        path: lib,
        unpacked: true,
    })
}

fn installed() -> Option<PathBuf> {
    if let Some(path) = std::env::var_os("LIBCLANG_PATH").filter(|path| !path.is_empty()) {
        return Some(path.into());
    }
    let mut folders: Vec<PathBuf> = [
        "/usr/lib/x86_64-linux-gnu",
        "/usr/lib64",
        "/usr/lib",
        "/usr/local/lib",
    ]
    .iter()
    .map(PathBuf::from)
    .collect();
    for versioned in fs::read_dir("/usr/lib").into_iter().flatten().flatten() {
        if versioned.file_name().to_string_lossy().starts_with("llvm-") {
            folders.push(versioned.path().join("lib"));
        }
    }
    folders.extend(folders_of_loader_cache());
    folders.into_iter().find(|folder| has_libclang(folder))
}

fn folders_of_loader_cache() -> Vec<PathBuf> {
    let tool = ["/sbin/ldconfig", "ldconfig"]
        .into_iter()
        .find(|tool| Path::new(tool).exists());
    let text = output(Command::new(tool.unwrap_or("ldconfig")).arg("-p")).unwrap_or_default();
    let paths = text.lines().filter_map(|line| line.split_once(" => "));
    let paths = paths.map(|(_, path)| Path::new(path.trim()));
    paths
        .filter(|path| {
            path.file_name()
                .is_some_and(|name| is_libclang(&name.to_string_lossy()))
        })
        .filter_map(|path| path.parent().map(Path::to_path_buf))
        .collect()
}

fn has_libclang(folder: &Path) -> bool {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut libraries = entries.filter(|entry| is_libclang(&entry.file_name().to_string_lossy()));
    libraries.any(|entry| entry.path().is_file())
}

/// `libclang.so…` or `libclang-14.so…`, but not `libclang-cpp.so…`.
fn is_libclang(name: &str) -> bool {
    let Some((stem, _)) = name.split_once(".so") else {
        return false;
    };
    match stem.strip_prefix("libclang") {
        Some("") => true,
        Some(rest) => rest
            .strip_prefix('-')
            .is_some_and(|version| version.starts_with(|first: char| first.is_ascii_digit())),
        None => false,
    }
}

fn make(dir: &Path) -> Result<(), String> {
    let release = Release::of_this_machine();
    let by_hand = |found: &str| {
        format!(
            "bindgen needs libclang, and {found}.\nInstall it (package libclang1-NN of Debian and \
             Ubuntu, clang-libs of Fedora), or set LIBCLANG_PATH to the folder that has libclang.so"
        )
    };
    if let Some(tool) = missing_tool() {
        return Err(by_hand(&format!(
            "this machine has no {tool} to fetch it with"
        )));
    }
    let entries = sources::of_this_machine();
    let entry = sources::own_release(&entries, &release)
        .ok_or_else(|| by_hand("apt's configuration does not name this machine's release"))?;
    let work = Work::new(dir).map_err(|error| advice::unwritable(dir, &error))?;
    let Unpacked { root, .. } = fetch::unpacked(&work, entry, "bindgen needs libclang", |apt| {
        let known = apt.names("libclang1-")?;
        let package = oldest_usable(&known)
            .ok_or_else(|| by_hand("this release has no libclang1 package"))?;
        apt.closure(&[package], &always_there)
    })?;
    let new = work.0.join("libclang");
    unpack::libraries(&root, &new.join("lib"))
        .map_err(|error| format!("cannot sort libclang's files: {error}"))?;
    if !has_libclang(&new.join("lib")) {
        return Err(by_hand("its package does not have it"));
    }
    let place = dir.join("libclang");
    os::replace_folder(&new, &place)
        .map_err(|error| format!("cannot put {} in place: {error}", place.display()))
}

/// Old ones are smaller, and any from 9 on reads the header alike.
fn oldest_usable(names: &[String]) -> Option<&str> {
    let version = |name: &str| name.strip_prefix("libclang1-")?.parse::<u32>().ok();
    let usable = names
        .iter()
        .filter_map(|name| Some((version(name)?, name.as_str())));
    usable
        .filter(|(version, _)| *version >= 9)
        .min()
        .map(|(_, name)| name)
}

/// The system's own C and C++ libraries have to be used.
fn always_there(package: &str) -> bool {
    let system = [
        "libc6",
        "libgcc-s1",
        "libstdc++6",
        "gcc-",
        "libc-",
        "debconf",
    ];
    system.iter().any(|start| package.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cpp_interface_is_not_libclang() {
        for name in [
            "libclang.so",
            "libclang.so.1",
            "libclang-14.so.1",
            "libclang-14.so",
        ] {
            assert!(is_libclang(name), "{name}");
        }
        for name in [
            "libclang-cpp.so.14",
            "libclang_rt.so",
            "libclangAST.so",
            "libclang-14.a",
        ] {
            assert!(!is_libclang(name), "{name}");
        }
    }

    #[test]
    fn the_oldest_usable_package_is_taken() {
        let names = [
            "libclang1-19",
            "libclang1-6.0",
            "libclang1-14",
            "libclang1-7",
        ];
        let names = names.map(str::to_owned);
        assert_eq!(oldest_usable(&names), Some("libclang1-14"));
        assert_eq!(oldest_usable(&names[1..2]), None);
    }
}
