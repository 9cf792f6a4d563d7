//! Files in memory, for a library that takes only paths.

use std::ffi::CString;
use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::os::fd::{AsRawFd, FromRawFd};

use crate::error::{Error, Result};

/// A new, empty file in memory.
pub(crate) fn empty() -> Result<File> {
    // SAFETY: the name is a C string; a non-negative result is a descriptor that is ours.
    let descriptor = unsafe { libc::memfd_create(c"migraphx".as_ptr(), libc::MFD_CLOEXEC) };
    if descriptor < 0 {
        return Err(Error::io(
            "make a file in memory",
            "memfd",
            std::io::Error::last_os_error(),
        ));
    }
    // SAFETY: as above.
    Ok(unsafe { File::from_raw_fd(descriptor) })
}

/// A file in memory that holds `bytes`, positioned at its start.
pub(crate) fn holding(bytes: &[u8]) -> Result<File> {
    let mut file = empty()?;
    file.write_all(bytes)
        .and_then(|()| file.seek(SeekFrom::Start(0)))
        .map_err(|error| Error::io("fill a file in memory", "memfd", error))?;
    Ok(file)
}

/// A path under which C opens the very file behind `file`.
pub(crate) fn path_of(file: &File) -> CString {
    CString::new(format!("/proc/self/fd/{}", file.as_raw_fd())).expect("no NUL in it")
}
