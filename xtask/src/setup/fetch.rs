//! Packages of one suite, fetched and unpacked into a work folder.

use super::apt::Apt;
use super::packages::Packages;
use super::sources::Entry;
use super::work::Work;
use super::{advice, step};
use crate::os;
use std::path::PathBuf;

/// How packages begin that come with compilers, and that the prefix or every system
/// has, or that nothing here uses.
pub const BESIDE_A_COMPILER: [&str; 12] = [
    "libc6",
    "libc-",
    "libgcc",
    "libstdc++",
    "gcc",
    "g++",
    "cpp",
    "binutils",
    "python3",
    "perl",
    "debconf",
    "zlib1g",
];

/// Packages that lie unpacked in a folder of the work folder.
pub struct Unpacked {
    pub root: PathBuf,
    pub packages: Packages,
}

/// Reads the package list of `entry`, and unpacks the packages that `choose` takes.
/// `why` is told to the user.
pub fn unpacked(
    work: &Work,
    entry: &Entry,
    why: &str,
    choose: impl FnOnce(&Apt) -> Result<Vec<String>, String>,
) -> Result<Unpacked, String> {
    let (uri, suite) = (&entry.uri, &entry.suite);
    step(&format!("{why}; reading the package list of {uri} {suite}"));
    let failed = |error: String| advice::apt_failed(&error, uri);
    let apt = Apt::open(&work.0.join("apt"), entry, os::is_root()).map_err(failed)?;
    let names = choose(&apt)?;
    let folder = work.0.join("packages");
    let packages = Packages::fetch(&apt, &names, &folder, &step).map_err(failed)?;
    let root = work.0.join("root");
    packages.unpack(&root)?;
    Ok(Unpacked { root, packages })
}
