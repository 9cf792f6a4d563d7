//! The folder: who may write to it, what its files are, which of them go.
//!
//! | file | what |
//! |---|---|
//! | `<key>.mxr` | an entry; its time of change is when it was used last |
//! | `<key>.part` | an entry that is being written, by who has the lock |
//! | `<key>.lock` | the lock for a key, while someone has it |

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::lock::Lock;
use crate::error::{Error, Result};

/// Digits of a key.
const KEY: usize = 64;

#[derive(Debug, Clone)]
pub(super) struct Folder(PathBuf);

impl Folder {
    pub(super) fn new(path: &Path) -> Result<Self> {
        let absolute = std::path::absolute(path);
        let absolute = absolute.map_err(|error| Error::io("find", path, error))?;
        Ok(Folder(absolute))
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    pub(super) fn entry(&self, key: &str) -> PathBuf {
        self.0.join(format!("{key}.mxr"))
    }

    pub(super) fn part(&self, key: &str) -> PathBuf {
        self.0.join(format!("{key}.part"))
    }

    /// Refuses a folder that someone else could put programs into.
    pub(super) fn check(&self) -> Result<()> {
        let refuse = |problem: String| {
            Err(Error::InvalidArgument(format!(
                "{} cannot be a cache of compiled programs: {problem}",
                self.0.display()
            )))
        };
        match fs::metadata(&self.0) {
            Ok(there) if !there.is_dir() => refuse("it is not a folder".into()),
            Ok(there) => stranger(&there).map_or(Ok(()), refuse),
            // It is made when it is needed; what else is wrong shows then.
            Err(_) => Ok(()),
        }
    }

    /// Waits for the lock of a key; makes the folder where it is missing.
    pub(super) fn lock(&self, key: &str) -> Result<Lock> {
        make(&self.0).map_err(|error| Error::io("make the folder", &self.0, error))?;
        self.check()?;
        let path = self.lock_path(key);
        Lock::wait(&path).map_err(|error| Error::io("lock", path, error))
    }

    fn lock_path(&self, key: &str) -> PathBuf {
        self.0.join(format!("{key}.lock"))
    }

    /// Removes an entry. Its lock is held.
    pub(super) fn remove(&self, key: &str) {
        // One that stays is replaced, or found to be unfit again.
        let _ = fs::remove_file(self.entry(key));
    }

    /// Removes what killed processes left, and entries, the longest unused first,
    /// until the rest takes `limit` bytes at most. The entry of `kept` stays.
    pub(super) fn prune(&self, limit: u64, kept: &str) {
        let Ok(files) = fs::read_dir(&self.0) else {
            return;
        };
        let mut entries = Vec::new();
        for file in files.flatten() {
            let name = file.file_name();
            let Some((key, kind)) = name.to_str().and_then(parts) else {
                continue;
            };
            match (kind, file.metadata()) {
                ("mxr", Ok(data)) => entries.push(Entry {
                    used: data.modified().unwrap_or(SystemTime::UNIX_EPOCH),
                    bytes: data.len(),
                    kept: key == kept,
                    path: file.path(),
                }),
                ("part" | "lock", _) => self.remove_left(key),
                _ => {}
            }
        }
        remove_above(limit, entries);
    }

    /// Removes what is of no one who lives: its lock can be had.
    fn remove_left(&self, key: &str) {
        // The lock's own file goes when it is dropped.
        if let Ok(Some(_lock)) = Lock::try_take(&self.lock_path(key)) {
            let _ = fs::remove_file(self.part(key));
        }
    }
}

struct Entry {
    path: PathBuf,
    used: SystemTime,
    bytes: u64,
    kept: bool,
}

fn remove_above(limit: u64, mut entries: Vec<Entry>) {
    let mut total: u64 = entries.iter().map(|entry| entry.bytes).sum();
    entries.sort_by_key(|entry| entry.used);
    for entry in entries.iter().filter(|entry| !entry.kept) {
        if total <= limit {
            break;
        }
        // Who has opened it keeps it. Another process may have removed it already.
        let removed = fs::remove_file(&entry.path);
        if removed.is_ok() || removed.is_err_and(|e| e.kind() == io::ErrorKind::NotFound) {
            total -= entry.bytes;
        }
    }
}

/// The key and the kind of one of our files.
fn parts(name: &str) -> Option<(&str, &str)> {
    let (key, kind) = name.split_once('.')?;
    let digit = |c: char| matches!(c, '0'..='9' | 'a'..='f');
    (key.len() == KEY && key.chars().all(digit)).then_some((key, kind))
}

/// Marks an entry as used now.
pub(super) fn touch(entry: &Path) {
    // Where that cannot be, it is removed earlier than it could be.
    let _ = File::open(entry).and_then(|file| file.set_modified(SystemTime::now()));
}

#[cfg(unix)]
fn make(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true).mode(0o700).create(folder)
}

#[cfg(not(unix))]
fn make(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)
}

/// Whether someone else may write to a folder, and what to do about it.
#[cfg(unix)]
fn stranger(folder: &fs::Metadata) -> Option<String> {
    use std::os::unix::fs::MetadataExt;
    // SAFETY: the call takes nothing and cannot fail.
    let own = unsafe { libc::geteuid() };
    if folder.uid() != own && folder.uid() != 0 {
        return Some(format!(
            "it belongs to user {}, who could put programs into it, and this process runs as \
             user {own}; name a folder of its own",
            folder.uid()
        ));
    }
    (folder.mode() & 0o022 != 0).then(|| {
        format!(
            "others may write to it (its mode is {:o}), and put programs into it; `chmod go-w` it",
            folder.mode() & 0o7777
        )
    })
}

#[cfg(not(unix))]
fn stranger(_: &fs::Metadata) -> Option<String> {
    None
}
