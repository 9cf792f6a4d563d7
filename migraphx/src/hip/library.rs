//! HIP, opened at run time, once.
//!
//! Two HIP runtimes in one process know nothing of each other's devices and
//! memory, so the copy that MIGraphX's `gpu` target uses comes first.

use std::ffi::c_int;
use std::fmt;
use std::path::{Path, PathBuf};

use once_cell::sync::OnceCell;

use crate::error::{Error, Result};
use crate::hip::find;
use crate::hip::functions::Functions;

/// HIP. Never unloaded: its threads and exit handlers stay.
pub(crate) struct Library {
    pub(crate) functions: Functions,
    path: PathBuf,
    /// The devices it was told to show, as it read them when it was opened.
    pub(crate) visible: Option<String>,
}

static LIBRARY: OnceCell<Library> = OnceCell::new();

/// The library, opened at the first call; after a failure the next call tries again.
///
/// Never call it while holding MIGraphX's registry lock (`ffi::lock`): it may
/// load the `gpu` target.
#[inline]
pub(crate) fn library() -> Result<&'static Library> {
    match LIBRARY.get() {
        Some(library) => Ok(library),
        None => open(),
    }
}

/// Opens without a lock held, since loading a target waits for other threads.
#[cold]
fn open() -> Result<&'static Library> {
    let found = find::find().map_err(|looked| Error::NoDevice {
        ordinal: 0,
        found: looked,
    })?;
    Ok(LIBRARY.get_or_init(|| found))
}

impl Library {
    /// Takes HIP's functions from `handle`, or says what is missing.
    ///
    /// # Safety
    /// `handle` is HIP, or a library that uses it.
    pub(crate) unsafe fn new(handle: libloading::Library, name: &Path) -> Result<Self, String> {
        // SAFETY: the caller's word.
        let functions = unsafe { Functions::look_up(&handle) };
        // Never unloaded, not even when refused.
        std::mem::forget(handle);
        let functions =
            functions.map_err(|missing| format!("{} has no {missing}", name.display()))?;
        let path = find::file_of(functions.hipGetDevice as *const std::ffi::c_void)
            .unwrap_or_else(|| name.to_owned());
        Ok(Library {
            functions,
            path,
            visible: crate::hip::visible::of_this_process(),
        })
    }

    /// What to say where this library shows no device.
    pub(crate) fn sees_none(&self) -> String {
        format!(
            "HIP ({}) sees none; check that the GPU's driver is loaded, that this user may open \
             /dev/kfd and /dev/dri (groups render and video), and that HIP_VISIBLE_DEVICES and \
             ROCR_VISIBLE_DEVICES hide none that is wanted",
            self.path.display()
        )
    }
}

/// A version of HIP, which counts as ROCm does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    /// 6 is ROCm 6.
    pub major: u32,
    /// 4 is ROCm 6.4.
    pub minor: u32,
    /// HIP's own build number.
    pub patch: u32,
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

/// The version of the loaded HIP.
///
/// ```
/// match migraphx::hip::version() {
///     Ok(version) => println!("HIP {version}"),
///     Err(reason) => println!("{reason}"), // lists what was looked for
/// }
/// ```
///
/// # Errors
/// [`Error::NoDevice`] where there is no HIP.
#[doc(alias = "hipRuntimeGetVersion")]
pub fn version() -> Result<Version> {
    let mut number: c_int = 0;
    // SAFETY: the out pointer is valid.
    unsafe { hip!(hipRuntimeGetVersion(&mut number)) }?;
    Ok(version_of(number.unsigned_abs()))
}

/// Digits: major, two of minor, five of patch.
fn version_of(number: u32) -> Version {
    Version {
        major: number / 10_000_000,
        minor: number / 100_000 % 100,
        patch: number % 100_000,
    }
}

/// The file of the loaded HIP: the one that MIGraphX's `gpu` target uses,
/// where that can be loaded.
///
/// # Errors
/// [`Error::NoDevice`], with all that was looked for.
pub fn library_path() -> Result<PathBuf> {
    Ok(library()?.path.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_read_from_its_digits() {
        assert_eq!(version_of(60_443_482).to_string(), "6.4.43482");
        assert_eq!(version_of(50_731_921).to_string(), "5.7.31921");
    }
}
