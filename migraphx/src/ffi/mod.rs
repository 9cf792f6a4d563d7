//! The only way to C: calls, handles, exit and text.

#[macro_use]
pub(crate) mod call;
#[macro_use]
pub(crate) mod handle;
pub(crate) mod gate;
pub(crate) mod lock;
#[cfg(target_os = "linux")]
pub(crate) mod memory_file;
pub(crate) mod run_calls;
pub(crate) mod text;

use std::ffi::CString;
use std::path::Path;

use once_cell::sync::OnceCell;

use crate::error::{Error, Result};

/// The library, with text capture installed.
#[inline]
pub(crate) fn library() -> Result<&'static migraphx_sys::Library> {
    static INSTALLED: OnceCell<&'static migraphx_sys::Library> = OnceCell::new();
    INSTALLED
        .get_or_try_init(|| {
            let library = migraphx_sys::library()?;
            text::install(library);
            Ok(library)
        })
        .copied()
}

/// `text` for C, or an error that names what it is.
pub(crate) fn c_string(what: &str, text: &str) -> Result<CString> {
    CString::new(text).map_err(|_| {
        Error::InvalidArgument(format!(
            "{what} {text:?} holds a NUL character, which C takes for its end; remove it"
        ))
    })
}

/// `path` for C.
pub(crate) fn c_path(path: &Path) -> Result<CString> {
    #[cfg(unix)]
    let bytes = std::os::unix::ffi::OsStrExt::as_bytes(path.as_os_str()).to_owned();
    #[cfg(not(unix))]
    let bytes = path.to_string_lossy().into_owned().into_bytes();
    CString::new(bytes)
        .map_err(|_| Error::InvalidArgument(format!("path {path:?} holds a NUL character")))
}
