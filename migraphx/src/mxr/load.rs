//! Loading: the header first, then the library, on one open file.

use std::fs::File;
use std::path::Path;

use super::{FileFormat, Info, header};
use crate::compiled::CompiledProgram;
use crate::error::{Error, Result};
use crate::ffi::handle::{FileOptionsHandle, ProgramHandle};
use crate::ffi::lock;
use crate::program::Program;

/// A program from a file, compiled or not.
#[derive(Debug)]
#[allow(
    clippy::large_enum_variant,
    reason = "made once a file, and taken apart at once"
)]
pub enum Loaded {
    /// Saved before it was compiled.
    Program(Program),
    /// Saved after it was compiled; it runs at once.
    Compiled(CompiledProgram),
}

/// Loads a program, compiled or not.
///
/// Files are trusted input: they hold machine code for GPUs, and MIGraphX's
/// reader does not survive every file made to harm it.
///
/// # Errors
/// [`Error::Io`] where the file cannot be read; [`Error::Mxr`] where it has no
/// header of MIGraphX's; [`Error::Api`] where the library refuses it, such as
/// for a file of another format version.
#[doc(alias = "migraphx_load")]
pub fn load(path: impl AsRef<Path>) -> Result<Loaded> {
    load_as(path, FileFormat::Msgpack)
}

/// Loads a program written in a given format.
///
/// # Errors
/// As [`load`].
pub fn load_as(path: impl AsRef<Path>, format: FileFormat) -> Result<Loaded> {
    let path = path.as_ref();
    let mut file = File::open(path).map_err(|error| Error::io("open", path, error))?;
    let name = path.display().to_string();
    super::first_byte(&mut file, path)?;
    let info = header(&mut file, format, &name)?;
    load_open(&file, format, &name, &info)
}

/// Loads a program from memory.
///
/// # Errors
/// As [`load`]; [`Error::Platform`] elsewhere than on Linux.
pub fn load_bytes(bytes: &[u8], format: FileFormat) -> Result<Loaded> {
    let name = "the program in memory";
    if bytes.is_empty() {
        return Err(Error::Mxr {
            path: name.into(),
            problem: "it is empty".into(),
        });
    }
    let info = header(&mut std::io::Cursor::new(bytes), format, name)?;
    #[cfg(target_os = "linux")]
    return load_open(
        &crate::ffi::memory_file::holding(bytes)?,
        format,
        name,
        &info,
    );
    #[cfg(not(target_os = "linux"))]
    Err(Error::Platform {
        what: "loading from memory",
        needs: "Linux",
    })
}

/// Loads a program whose header this crate does not know, such as one of a
/// vendor's own MIGraphX.
///
/// # Safety
/// The caller knows that the program was compiled if `compiled_for` names the
/// target, and was not if it is `None`. The file comes from a MIGraphX.
///
/// # Errors
/// [`Error::Io`] and [`Error::Api`] as for [`load`].
pub unsafe fn load_unchecked(
    path: impl AsRef<Path>,
    format: FileFormat,
    compiled_for: Option<&str>,
) -> Result<Loaded> {
    let path = path.as_ref();
    let file = File::open(path).map_err(|error| Error::io("open", path, error))?;
    let info = Info {
        format_version: 0,
        migraphx_version: None,
        targets: compiled_for.map(str::to_owned).into_iter().collect(),
    };
    load_open(&file, format, &path.display().to_string(), &info)
}

fn load_open(file: &File, format: FileFormat, name: &str, info: &Info) -> Result<Loaded> {
    // The very file whose header was read, even if the name now leads to another.
    #[cfg(target_os = "linux")]
    let c_path = crate::ffi::memory_file::path_of(file);
    #[cfg(not(target_os = "linux"))]
    let c_path = {
        let _ = file;
        crate::ffi::c_path(Path::new(name))?
    };
    let options = FileOptionsHandle::of(format)?;
    let handle = lock::loading(info.targets(), || {
        ProgramHandle::make(|out| {
            // SAFETY: path and options are live; the first load of a target runs alone (the lock).
            unsafe { call!(migraphx_load(out, c_path.as_ptr(), options.raw())) }
        })
    })
    .map_err(|error| {
        error
            .renaming_path(&c_path.to_string_lossy(), name)
            .while_doing(|| format!("loading {name}"))
    })?;
    Ok(match info.targets() {
        [] => Loaded::Program(Program::new(handle, name)?),
        [target, ..] => Loaded::Compiled(CompiledProgram::new(handle, name, target)?),
    })
}

impl FileOptionsHandle {
    pub(super) fn of(format: FileFormat) -> Result<Self> {
        let options = FileOptionsHandle::make(|out| {
            // SAFETY: the out pointer is valid.
            unsafe { call!(migraphx_file_options_create(out)) }
        })?;
        // SAFETY: the options are live, the name ends with NUL; C copies it.
        unsafe {
            call!(migraphx_file_options_set_file_format(
                options.raw(),
                format.c_name().as_ptr()
            ))
        }?;
        Ok(options)
    }
}
