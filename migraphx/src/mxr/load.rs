//! Loading: the header first, then the library, on one open file.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use super::{FileFormat, IN_MEMORY, Info, checked};
use crate::bound::{self, Bound, Needs, OnDevice};
use crate::buffers::{self, Buffers};
use crate::compiled::CompiledProgram;
#[cfg(feature = "hip")]
use crate::device_program::DeviceProgram;
use crate::error::{Error, Result};
use crate::ffi::handle::{FileOptionsHandle, ProgramHandle};
use crate::ffi::lock;
use crate::index_inputs;
use crate::listing::{self, Listing};
use crate::program::Program;
use crate::signature::Signature;
use crate::target;

/// A program from a file, compiled or not.
#[derive(Debug)]
#[allow(
    clippy::large_enum_variant,
    reason = "made once a file, and taken apart at once"
)]
#[non_exhaustive]
pub enum Loaded {
    /// Saved before it was compiled.
    Program(Program),
    /// Saved after it was compiled for host buffers; it runs at once.
    Compiled(CompiledProgram),
    /// Saved after it was compiled for buffers on the device; it runs at once.
    #[cfg(feature = "hip")]
    Device(DeviceProgram),
}

/// Loads a program, compiled or not. One for a GPU is bound to the device that
/// is current for this thread; see [`CompiledProgram::load_on`] and
/// [`DeviceProgram::load`] to choose it.
///
/// The file's structure is [checked](crate::mxr::check) first, and, where this crate
/// saved it, a checksum of the whole: damage is an error. Files are trusted input
/// all the same: they hold machine code for GPUs, and operators whose attributes
/// no reader checks (the indices of a `gather`, say).
///
/// # Errors
/// [`Error::Io`] where the file cannot be read; [`Error::Mxr`] where it has no
/// header of MIGraphX's, is not laid out as its programs are, or was damaged
/// since this crate saved it; [`Error::Architecture`] where it is for another
/// kind of GPU; [`Error::Api`] where the library refuses it, such as for a file
/// of another format version.
#[doc(alias = "migraphx_load")]
pub fn load(path: impl AsRef<Path>) -> Result<Loaded> {
    load_as(path, FileFormat::Msgpack)
}

/// Loads a program written in a given format.
///
/// # Errors
/// As [`load`].
pub fn load_as(path: impl AsRef<Path>, format: FileFormat) -> Result<Loaded> {
    load_on(path.as_ref(), format, None)
}

/// Loads a program from memory.
///
/// # Errors
/// As [`load`]; [`Error::Platform`] elsewhere than on Linux.
pub fn load_bytes(bytes: &[u8], format: FileFormat) -> Result<Loaded> {
    load_bytes_on(bytes, format, None)
}

/// As [`load_as`], on a device.
pub(crate) fn load_on(path: &Path, format: FileFormat, device: OnDevice) -> Result<Loaded> {
    let mut file = File::open(path).map_err(|error| Error::io("open", path, error))?;
    let name = path.display().to_string();
    super::first_byte(&mut file, path)?;
    let info = checked(&mut file, format, &name)?;
    load_open(&file, format, &name, &info, device)
}

/// As [`load_on`], of the entry of a cache that has this key. It was saved by this
/// crate, so it has to have a checksum.
pub(crate) fn load_entry(path: &Path, key: &str, device: OnDevice) -> Result<Loaded> {
    let mut file = File::open(path).map_err(|error| Error::io("open", path, error))?;
    let name = path.display().to_string();
    let (_, sum) = super::header(&mut file, FileFormat::Msgpack, &name)?;
    let info = checked(&mut file, FileFormat::Msgpack, &name)?;
    let problem = match (sum, info.cache_key()) {
        (Some(_), Some(found)) if found == key => None,
        (Some(_), Some(_)) => Some("it is the entry of another key"),
        _ => Some("it is no entry of a cache, or was damaged"),
    };
    match problem {
        None => load_open(&file, FileFormat::Msgpack, &name, &info, device),
        Some(problem) => Err(Error::Mxr {
            path: name,
            problem: problem.into(),
        }),
    }
}

/// As [`load_bytes`], on a device.
pub(crate) fn load_bytes_on(bytes: &[u8], format: FileFormat, device: OnDevice) -> Result<Loaded> {
    let name = IN_MEMORY;
    if bytes.is_empty() {
        return Err(Error::Mxr {
            path: name.into(),
            problem: "it is empty".into(),
        });
    }
    let info = checked(&mut std::io::Cursor::new(bytes), format, name)?;
    #[cfg(target_os = "linux")]
    return load_open(
        &crate::ffi::memory_file::holding(bytes)?,
        format,
        name,
        &info,
        device,
    );
    #[cfg(not(target_os = "linux"))]
    {
        let _ = device;
        Err(Error::Platform {
            what: "loading from memory",
            needs: "Linux",
        })
    }
}

/// Loads a program whose header this crate does not know, such as one of a
/// vendor's own MIGraphX.
///
/// # Safety
/// The caller knows that the program was compiled if `compiled_for` names the
/// target and the kind of buffers, and was not if it is `None`. The file comes
/// from a MIGraphX.
///
/// # Errors
/// [`Error::Io`] and [`Error::Api`] as for [`load`].
pub unsafe fn load_unchecked(
    path: impl AsRef<Path>,
    format: FileFormat,
    compiled_for: Option<(&str, Buffers)>,
) -> Result<Loaded> {
    let path = path.as_ref();
    let file = File::open(path).map_err(|error| Error::io("open", path, error))?;
    let info = Info {
        format_version: 0,
        migraphx_version: None,
        targets: compiled_for
            .map(|(target, _)| target.to_owned())
            .into_iter()
            .collect(),
        mark: None,
    };
    let name = path.display().to_string();
    let program = open(&file, format, &name, &info, None, Needs::default())?;
    match compiled_for {
        None => Program::new(program.into_handle(), &name).map(Loaded::Program),
        Some((target, kind)) => {
            let signature = Signature::of(program.handle())?;
            of_kind(program, signature, kind, target, &info, &name)
        }
    }
}

fn load_open(
    file: &File,
    format: FileFormat,
    name: &str,
    info: &Info,
    device: OnDevice,
) -> Result<Loaded> {
    let Some(target) = info.targets().first() else {
        let program = open(file, format, name, info, device, Needs::default())?;
        return Program::new(program.into_handle(), name).map(Loaded::Program);
    };
    // Of a layout that is not known here, the library's own text must do.
    let listing = match format {
        FileFormat::Msgpack if !target::is_host(target) => listing::in_file(file).ok(),
        _ => None,
    };
    let needs = match (&listing, format) {
        (Some(listing), _) => needs(listing),
        // All but a little of a file is weights and code, which go to the device.
        (None, FileFormat::Msgpack) => Needs {
            weights: file.metadata().map_or(0, |data| data.len()),
            scratch: 0,
        },
        (None, FileFormat::Json) => Needs::default(),
    };
    let program = open(file, format, name, info, device, needs)?;
    let kind = buffers::of(
        program.handle(),
        listing.as_ref(),
        info.buffers(),
        target,
        name,
    )?;
    let signature = Signature::of(program.handle())?;
    of_kind(program, signature, kind, target, info, name)
}

/// What a program compiled for a GPU takes there.
fn needs(listing: &Listing) -> Needs {
    Needs {
        weights: listing.literal_bytes() as u64,
        scratch: listing.scratch_bytes() as u64,
    }
}

/// The library's part, on the device that is asked for.
fn open(
    file: &File,
    format: FileFormat,
    name: &str,
    info: &Info,
    device: OnDevice,
    needs: Needs,
) -> Result<Bound> {
    // The very file whose header was read, even if the name now leads to another.
    #[cfg(target_os = "linux")]
    let c_path = crate::ffi::memory_file::path_of(file);
    #[cfg(not(target_os = "linux"))]
    let c_path = crate::ffi::c_path(Path::new(name))?;
    let options = FileOptionsHandle::of(format)?;
    let make = || {
        lock::loading(info.targets(), || {
            ProgramHandle::make(|out| {
                // SAFETY: path and options are live; the first load of a target runs alone (the lock).
                unsafe { call!(migraphx_load(out, c_path.as_ptr(), options.raw())) }
            })
        })
        .map_err(|error| {
            error
                .renaming_path(&c_path.to_string_lossy(), name)
                .while_doing(|| format!("loading {name}"))
        })
    };
    match info.targets().first() {
        None => Ok(Bound::new(make()?, None)),
        Some(target) => {
            let made_for = info.architecture();
            bound::loading(file, needs, target, made_for, device, name, make)
        }
    }
}

fn of_kind(
    program: Bound,
    signature: Arc<Signature>,
    kind: Buffers,
    target: &str,
    info: &Info,
    name: &str,
) -> Result<Loaded> {
    let notes = info.index_inputs();
    let found = index_inputs::of_file(program.handle(), signature.parameters(), target, notes)?;
    match kind {
        Buffers::Host => {
            CompiledProgram::new(program, signature, target, found, name).map(Loaded::Compiled)
        }
        #[cfg(feature = "hip")]
        Buffers::Device => {
            let outputs = info.marked_outputs();
            DeviceProgram::new(
                program,
                signature,
                target,
                outputs,
                index_inputs::unchecked(found.inputs),
                name,
            )
            .map(Loaded::Device)
        }
        #[cfg(not(feature = "hip"))]
        Buffers::Device => {
            let _ = found;
            Err(kind.refused(name))
        }
    }
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
