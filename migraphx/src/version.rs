//! Which MIGraphX is loaded.

use std::fmt;
use std::path::{Path, PathBuf};

use migraphx_sys::finder;

use crate::error::{Error, Result};

/// A version of MIGraphX. ROCm 7.1 has MIGraphX 2.14, and so on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    /// 2 for every MIGraphX since ROCm 5.0.
    pub major: u32,
    /// Counts ROCm's minor releases: 8 is ROCm 6.0, 12 is 6.4, 13 is 7.0, 14 is 7.1.
    pub minor: u32,
    /// Patch level.
    pub patch: u32,
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

/// Whether MIGraphX can be loaded here. Loads it.
pub fn is_available() -> bool {
    crate::ffi::library().is_ok()
}

/// The file of the loaded library.
///
/// # Errors
/// [`Error::Load`].
pub fn library_path() -> Result<PathBuf> {
    Ok(crate::ffi::library()?.path().to_owned())
}

/// Loads MIGraphX from a file of your choice, before anything else of this crate is used.
///
/// # Errors
/// [`Error::Load`] where the file is not a usable MIGraphX, or another copy is in use.
pub fn load_from(path: impl AsRef<Path>) -> Result<()> {
    migraphx_sys::load_from(path)?;
    crate::ffi::library().map(|_| ())
}

/// The version of the loaded MIGraphX.
///
/// No C function tells it: it is in the name of the core library (since ROCm
/// 6.1), else in what the library writes into a saved program (since ROCm 5.7).
///
/// # Errors
/// [`Error::Load`]; [`Error::Unsupported`] where neither says it.
pub fn version() -> Result<Version> {
    let library = crate::ffi::library()?;
    core_name(library.path())
        .as_deref()
        .and_then(parse)
        .map_or_else(from_saved_program, Ok)
}

/// The version in the name of the core library that is mapped into this process.
#[cfg(target_os = "linux")]
fn core_name(_: &Path) -> Option<String> {
    let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
    maps.lines()
        .filter_map(|line| line.rsplit('/').next())
        .find_map(finder::version_of_core_name)
}

#[cfg(not(target_os = "linux"))]
fn core_name(library: &Path) -> Option<String> {
    let entries = std::fs::read_dir(library.parent()?).ok()?;
    entries
        .flatten()
        .find_map(|entry| finder::version_of_core_name(entry.file_name().to_str()?))
}

fn parse(text: &str) -> Option<Version> {
    let mut numbers = text.split('.').map(str::parse);
    let mut next = || numbers.next()?.ok();
    Some(Version {
        major: next()?,
        minor: next()?,
        patch: next()?,
    })
}

/// An empty program, saved, names the version that saved it.
fn from_saved_program() -> Result<Version> {
    let program = crate::ffi::handle::ProgramHandle::make(|out| {
        // SAFETY: the out pointer is valid.
        unsafe { call!(migraphx_program_create(out)) }
    })?;
    let bytes = crate::mxr::save::to_bytes(
        &program,
        &Default::default(),
        crate::mxr::FileFormat::Msgpack,
    )?;
    crate::mxr::version_in(&bytes)
        .as_deref()
        .and_then(parse)
        .ok_or(Error::Unsupported {
            function: "migraphx_version in saved programs",
            since: Some("5.7"),
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_to_the_version_agree() {
        if let Ok(library) = crate::ffi::library() {
            let by_name = core_name(library.path()).as_deref().and_then(parse);
            assert_eq!(by_name, Some(from_saved_program().unwrap()));
        }
    }
}
