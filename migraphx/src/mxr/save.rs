//! Saving. The library reports no failure to write, so it writes into memory;
//! the bytes are checked there and put in place by us, whole or not at all.

use std::fs::{self, File, OpenOptions};
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use super::{FileFormat, json, msgpack};
use crate::error::{Error, Result};
use crate::ffi::handle::{FileOptionsHandle, ProgramHandle};

/// Writes `program` to `path`. What was there stays until all is written.
pub(crate) fn save(program: &ProgramHandle, path: &Path, format: FileFormat) -> Result<()> {
    let mut whole = written(program, path, format)?;
    // Follows a link to its file; a new file has no canonical name yet.
    let place = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let fail = |error| Error::io("write", path, error);
    match fs::metadata(&place) {
        Ok(there) if there.is_dir() => Err(fail(std::io::ErrorKind::IsADirectory.into())),
        // A device or a pipe cannot be replaced.
        Ok(there) if !there.is_file() => {
            let mut device = OpenOptions::new().write(true).open(&place).map_err(fail)?;
            std::io::copy(&mut whole, &mut device)
                .map(|_| ())
                .map_err(fail)
        }
        there => {
            let temporary = Temporary::beside(&place).map_err(fail)?;
            let permissions = there.ok().map(|there| there.permissions());
            temporary
                .fill(&mut whole, permissions)
                .and_then(|()| temporary.put_at(&place))
                .map_err(fail)
        }
    }
}

/// The bytes that [`save`] would write.
pub(crate) fn to_bytes(program: &ProgramHandle, format: FileFormat) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    written(program, Path::new("memory"), format)?
        .read_to_end(&mut bytes)
        .map_err(|error| Error::io("read", "memory", error))?;
    Ok(bytes)
}

/// A file in memory with the whole program, at its start.
#[cfg(target_os = "linux")]
fn written(program: &ProgramHandle, path: &Path, format: FileFormat) -> Result<File> {
    let mut file = crate::ffi::memory_file::empty()?;
    let c_path = crate::ffi::memory_file::path_of(&file);
    let options = FileOptionsHandle::of(format)?;
    // SAFETY: program, path and options are live; saving only reads the program.
    unsafe { call!(migraphx_save(program.raw(), c_path.as_ptr(), options.raw())) }
        .map_err(|error| error.while_doing(|| format!("saving {}", path.display())))?;
    let rewind = |file: &mut File| {
        file.seek(SeekFrom::Start(0))
            .map_err(|error| Error::io("write", path, error))
    };
    let check = match format {
        FileFormat::Msgpack => msgpack::check_whole(BufReader::new(&file)),
        FileFormat::Json => json::check_whole(BufReader::new(&file)),
    };
    check.map_err(|problem| {
        let text = format!("the program came out of the library incomplete ({problem})");
        Error::io("write", path, std::io::Error::other(text))
    })?;
    rewind(&mut file)?;
    Ok(file)
}

#[cfg(not(target_os = "linux"))]
fn written(_: &ProgramHandle, _: &Path, _: FileFormat) -> Result<File> {
    let _ = FileOptionsHandle::of;
    Err(Error::Platform {
        what: "saving a program",
        needs: "Linux",
    })
}

/// A file beside its final place, removed unless it is put there.
struct Temporary(PathBuf);

impl Temporary {
    fn beside(place: &Path) -> std::io::Result<Self> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        // Not made from the file's own name, which may be as long as names can be.
        let temporary = format!(
            ".migraphx-{}-{}.tmp",
            std::process::id(),
            COUNT.fetch_add(1, Ordering::Relaxed)
        );
        let path = place.with_file_name(temporary);
        OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&path)?;
        Ok(Temporary(path))
    }

    fn fill(&self, from: &mut File, permissions: Option<fs::Permissions>) -> std::io::Result<()> {
        let mut file = OpenOptions::new().write(true).open(&self.0)?;
        std::io::copy(from, &mut file)?;
        if let Some(permissions) = permissions {
            file.set_permissions(permissions)?;
        }
        file.sync_all()
    }

    fn put_at(&self, place: &Path) -> std::io::Result<()> {
        fs::rename(&self.0, place)
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // Gone already once it was put in place.
        let _ = fs::remove_file(&self.0);
    }
}
