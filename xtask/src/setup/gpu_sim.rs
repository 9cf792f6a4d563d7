//! The second prefix: MIGraphX's `gpu` target on the virtual GPU of `gpu-sim/`.
//!
//! `DIR/gpu-sim` holds the libraries of the first prefix with our stand-ins for
//! HIP and its libraries beside them, MIGraphX's C++ headers (some stand-ins
//! take its C++ types), and a clang that builds MIGraphX's kernels for the CPU.

use super::fetch::{self, Unpacked};
use super::options::Options;
use super::packages::Packages;
use super::sources::Release;
use super::work::{Work, lock_dir};
use super::{advice, make, prefix_of, step};
use crate::command::{self, cargo, shown};
use crate::os;
use std::fs;
use std::path::{Path, PathBuf};

/// Where MIGraphX's own headers are in Debian's `migraphx-dev`.
const CXX_HEADERS: &str = "usr/lib/x86_64-linux-gnu/migraphx/include";

/// Makes or renews `DIR/gpu-sim`, and gives its path.
pub fn ensure(options: &Options) -> Result<PathBuf, String> {
    let found = super::ensure(options)?;
    let base = prefix_of(&found)
        .ok_or_else(|| {
            format!(
                "the virtual GPU is made of the private copy of MIGraphX, and {} is another one; \
                 `cargo xtask setup --gpu-sim --force --dir DIR` makes both in DIR",
                found.lib.display()
            )
        })?
        .to_path_buf();
    let (dir, _lock) = lock_dir(base.parent())?;
    let place = dir.join("gpu-sim");
    headers(&dir, &place)?;
    clang(options, &dir, &place)?;
    let root = command::workspace_root()?;
    let mut build = cargo(&root);
    build
        .args(["run", "--quiet", "--release", "--manifest-path"])
        .arg(root.join("gpu-sim/Cargo.toml"))
        .args(["-p", "gpu-sim-build", "--", "--prefix"])
        .arg(&base)
        .arg("--out")
        .arg(&place);
    step(&format!("building the stand-ins: {}", shown(&build)));
    match command::status(&mut build)? {
        true => step(&format!("virtual GPU in {}", place.display())),
        false => return Err("the stand-ins could not be built; the reason is above".into()),
    }
    Ok(place)
}

/// The C++ headers, from the package that the first set-up kept.
fn headers(dir: &Path, place: &Path) -> Result<(), String> {
    let target = place.join("include-cxx");
    if target.join("migraphx/argument.hpp").is_file() {
        return Ok(());
    }
    let missing = || {
        format!(
            "{} does not have the package migraphx-dev; delete that folder and set up again",
            dir.join("packages").display()
        )
    };
    let kept = Packages::kept(&dir.join("packages")).ok_or_else(missing)?;
    let work = Work::new(dir).map_err(|error| advice::unwritable(dir, &error))?;
    step("unpacking MIGraphX's C++ headers");
    kept.unpack(&work.0)?;
    if !work
        .0
        .join(CXX_HEADERS)
        .join("migraphx/argument.hpp")
        .is_file()
    {
        return Err(missing());
    }
    fs::create_dir_all(place).map_err(|error| advice::unwritable(place, &error))?;
    os::replace_folder(&work.0.join(CXX_HEADERS), &target)
        .map_err(|error| format!("cannot put {} in place: {error}", target.display()))
}

/// A clang of Debian sid, which runs on the prefix's own C library.
fn clang(options: &Options, dir: &Path, place: &Path) -> Result<(), String> {
    let target = place.join("clang");
    if target.join("usr/lib/clang").is_dir() {
        return Ok(());
    }
    let entry = make::archive(options, &Release::of_this_machine())?;
    let work = Work::new(dir).map_err(|error| advice::unwritable(dir, &error))?;
    let why = "the virtual GPU needs clang";
    let Unpacked { root, .. } = fetch::unpacked(&work, &entry, why, |apt| {
        let package = newest_clang(&apt.names("clang-")?)
            .ok_or("the archive's suite sid has no clang package at the moment; try again later")?;
        let version = package.trim_start_matches("clang-");
        let resources = format!("libclang-common-{version}-dev");
        apt.closure(&[&package, &resources], &in_the_prefix_or_unused)
    })?;
    fs::create_dir_all(place).map_err(|error| advice::unwritable(place, &error))?;
    os::replace_folder(&root, &target)
        .map_err(|error| format!("cannot put {} in place: {error}", target.display()))
}

fn newest_clang(names: &[String]) -> Option<String> {
    let version = |name: &str| name.strip_prefix("clang-")?.parse::<u32>().ok();
    let newest = names.iter().filter_map(|name| version(name)).max()?;
    Some(format!("clang-{newest}"))
}

/// The prefix has the C and C++ libraries; linking is the host's; nothing else
/// of a compiler's surroundings is needed for kernels.
fn in_the_prefix_or_unused(package: &str) -> bool {
    let others = ["linux-libc-dev", "libobjc", "media-types", "llvm-"];
    let mut starts = fetch::BESIDE_A_COMPILER.iter().chain(&others);
    starts.any(|start| package.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_clang_is_taken_as_a_number() {
        let names = [
            "clang-9",
            "clang-21",
            "clang-tools-22",
            "clang-21-doc",
            "clang-format",
        ];
        let names = names.map(str::to_owned);
        assert_eq!(newest_clang(&names).as_deref(), Some("clang-21"));
        assert_eq!(newest_clang(&names[2..]), None);
    }

    #[test]
    fn a_clang_without_a_system_around_it_is_enough() {
        for name in [
            "libc6-dev",
            "gcc-16-base",
            "libstdc++-16-dev",
            "llvm-21-linker-tools",
        ] {
            assert!(in_the_prefix_or_unused(name), "{name}");
        }
        for name in [
            "clang-21",
            "libllvm21",
            "libclang-cpp21",
            "libclang-common-21-dev",
            "libtinfo6",
        ] {
            assert!(!in_the_prefix_or_unused(name), "{name}");
        }
    }
}
