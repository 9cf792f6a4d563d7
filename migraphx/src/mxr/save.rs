//! Saving. The library reports no failure to write, so it writes into memory;
//! the bytes are checked there and put in place by us, whole or not at all.

use std::fs::{self, File, OpenOptions};
use std::io::{BufReader, ErrorKind, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use super::{FileFormat, Mark, json, msgpack};
use crate::error::{Error, Result};
use crate::ffi::handle::{FileOptionsHandle, ProgramHandle};

/// Writes `program` to `path`. What was there stays until all is written.
pub(crate) fn save(
    program: &ProgramHandle,
    mark: &Mark,
    path: &Path,
    format: FileFormat,
) -> Result<()> {
    let whole = written(program, path, format)?;
    let mut whole = marked(whole, mark, format).map_err(|error| Error::io("write", path, error))?;
    put(path, &mut whole)
}

/// As [`save`], by way of a temporary file with a name that no other writer uses.
/// One of that name was left by a writer that was killed.
pub(crate) fn save_by(
    temporary: PathBuf,
    program: &ProgramHandle,
    mark: &Mark,
    path: &Path,
) -> Result<()> {
    let format = FileFormat::Msgpack;
    let fail = |error| Error::io("write", path, error);
    let whole = written(program, path, format)?;
    let mut whole = marked(whole, mark, format).map_err(fail)?;
    let _ = fs::remove_file(&temporary);
    Temporary::at(temporary)
        .and_then(|temporary| {
            temporary.fill(&mut whole, None)?;
            temporary.put_at(path)
        })
        .map_err(fail)
}

/// Writes all of `whole` to `path`. What was there stays until all is written.
pub(crate) fn put(path: &Path, whole: &mut impl Read) -> Result<()> {
    // Follows a link to its file; a new file has no canonical name yet.
    let place = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let fail = |error| Error::io("write", path, error);
    match fs::metadata(&place) {
        Ok(there) if there.is_dir() => Err(fail(std::io::ErrorKind::IsADirectory.into())),
        // A device or a pipe cannot be replaced.
        Ok(there) if !there.is_file() => {
            let mut device = OpenOptions::new().write(true).open(&place).map_err(fail)?;
            std::io::copy(whole, &mut device).map(|_| ()).map_err(fail)
        }
        there => {
            let temporary = Temporary::beside(&place).map_err(fail)?;
            let permissions = there.ok().map(|there| there.permissions());
            temporary
                .fill(whole, permissions)
                .and_then(|()| temporary.put_at(&place))
                .map_err(fail)
        }
    }
}

/// The bytes that [`save`] would write.
pub(crate) fn to_bytes(
    program: &ProgramHandle,
    mark: &Mark,
    format: FileFormat,
) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let whole = written(program, Path::new("memory"), format)?;
    marked(whole, mark, format)
        .and_then(|mut whole| whole.read_to_end(&mut bytes))
        .map_err(|error| Error::io("read", "memory", error))?;
    Ok(bytes)
}

/// What the library wrote, with our mark in it.
fn marked(mut whole: File, mark: &Mark, format: FileFormat) -> std::io::Result<impl Read> {
    let mut start = [0; 64];
    let read = whole.read(&mut start)?;
    let (before, from) = match (format, msgpack::second_entry(&start[..read])) {
        (FileFormat::Msgpack, Some((head, at))) => {
            whole.seek(SeekFrom::Start(at as u64))?;
            let mut before = [&[head + 1], &start[1..at], &mark.to_msgpack()].concat();
            let checksum = checksum(before.chain(&mut whole))?;
            before.extend(checksum.to_be_bytes());
            (before, at)
        }
        (FileFormat::Json, _) if start[0] == b'{' => {
            (format!("{{{},", mark.to_json()).into_bytes(), 1)
        }
        _ => (Vec::new(), 0),
    };
    whole.seek(SeekFrom::Start(from as u64))?;
    Ok(std::io::Cursor::new(before).chain(whole))
}

/// CRC-32 of what is left to read.
pub(super) fn checksum(mut rest: impl Read) -> std::io::Result<u32> {
    let mut hasher = crc32fast::Hasher::new();
    let mut block = vec![0; 1 << 16];
    loop {
        match rest.read(&mut block) {
            Ok(0) => return Ok(hasher.finalize()),
            Ok(read) => hasher.update(&block[..read]),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// A file in memory with the whole program, at its start.
#[cfg(target_os = "linux")]
pub(crate) fn written(program: &ProgramHandle, path: &Path, format: FileFormat) -> Result<File> {
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
pub(crate) fn written(_: &ProgramHandle, _: &Path, _: FileFormat) -> Result<File> {
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
        loop {
            // Not made from the file's own name, which may be as long as names can be.
            let temporary = format!(
                ".migraphx-{}-{}.tmp",
                std::process::id(),
                COUNT.fetch_add(1, Ordering::Relaxed)
            );
            match Temporary::at(place.with_file_name(temporary)) {
                // Of a process of the same number that was killed while it saved.
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                made => return made,
            }
        }
    }

    fn at(path: PathBuf) -> std::io::Result<Self> {
        OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&path)?;
        Ok(Temporary(path))
    }

    fn fill(
        &self,
        from: &mut impl Read,
        permissions: Option<fs::Permissions>,
    ) -> std::io::Result<()> {
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
