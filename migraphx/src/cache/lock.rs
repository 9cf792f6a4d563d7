//! Locks between processes and threads. The system frees those of killed processes.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

/// A lock that is held; its file exists while it is.
#[derive(Debug)]
pub(super) struct Lock {
    path: PathBuf,
    /// Closing it, after the file was removed, frees the lock.
    _file: File,
}

impl Lock {
    /// Waits for the lock at `path`.
    pub(super) fn wait(path: &Path) -> io::Result<Self> {
        loop {
            if let Some(lock) = Lock::take(path, Wait::Yes)? {
                return Ok(lock);
            }
        }
    }

    /// The lock at `path`, unless someone has it.
    pub(super) fn try_take(path: &Path) -> io::Result<Option<Self>> {
        Lock::take(path, Wait::No)
    }

    fn take(path: &Path, wait: Wait) -> io::Result<Option<Self>> {
        let mut options = OpenOptions::new();
        let file = options
            .create(true)
            .truncate(false)
            .write(true)
            .open(path)?;
        if !lock(&file, wait)? {
            return Ok(None);
        }
        // Whoever had it has removed the file, and this is no lock any more.
        if !is_at(&file, path)? {
            return Ok(None);
        }
        Ok(Some(Lock {
            path: path.to_owned(),
            _file: file,
        }))
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // The next one makes it anew. One that stays is of no harm.
        let _ = fs::remove_file(&self.path);
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Wait {
    Yes,
    No,
}

#[cfg(unix)]
fn lock(file: &File, wait: Wait) -> io::Result<bool> {
    use std::os::fd::AsRawFd;
    let how = match wait {
        Wait::Yes => libc::LOCK_EX,
        Wait::No => libc::LOCK_EX | libc::LOCK_NB,
    };
    loop {
        // SAFETY: the descriptor is open while `file` is borrowed; flock takes no memory.
        if unsafe { libc::flock(file.as_raw_fd(), how) } == 0 {
            return Ok(true);
        }
        let error = io::Error::last_os_error();
        match error.kind() {
            io::ErrorKind::Interrupted => {}
            io::ErrorKind::WouldBlock if wait == Wait::No => return Ok(false),
            _ => return Err(error),
        }
    }
}

#[cfg(not(unix))]
fn lock(_: &File, _: Wait) -> io::Result<bool> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Whether `path` leads to this very file.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    let own = file.metadata()?;
    match fs::metadata(path) {
        Ok(there) => Ok((there.dev(), there.ino()) == (own.dev(), own.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(not(unix))]
fn is_at(_: &File, _: &Path) -> io::Result<bool> {
    Ok(true)
}
