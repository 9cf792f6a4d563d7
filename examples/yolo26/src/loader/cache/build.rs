//! Making a cache, one process at a time.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, bail};

use super::super::{Form, Loader};
use super::Place;
use super::file::{Contents, header};
use super::key::Key;
use crate::pixels::{Element, Pixels};
use crate::progress::say;

/// Images that are decoded ahead of what is written.
const BATCH: usize = 8;

pub struct Built {
    pub contents: Contents,
    /// By this process, and not by another.
    pub made: bool,
}

/// Makes the cache, or waits for the process that does.
pub fn build(
    place: &Place,
    key: &Key,
    images: &Arc<[PathBuf]>,
    form: Form,
    threads: usize,
) -> Result<Built> {
    let path = &place.path;
    loop {
        let partial = Partial::alone(path, place.quiet)?;
        // Another may have made it meanwhile.
        if let Ok(contents) = Contents::open(path, key, form)? {
            if partial.is_there()? {
                partial.remove();
            }
            return Ok(Built {
                contents,
                made: false,
            });
        }
        // Or gave up, and the file is nobody's.
        if !partial.is_there()? {
            continue;
        }
        let loader = Loader::new(threads, images.clone(), form, None)?;
        partial.room(key, form)?;
        partial.write(&loader, key, images.len())?;
        let Ok(contents) = Contents::open(path, key, form)? else {
            bail!("the cache {} changed while it was made", path.display());
        };
        return Ok(Built {
            contents,
            made: true,
        });
    }
}

/// The file that becomes the cache. All processes use the one of this name; who
/// has it locked writes it, and starts anew what an ended one left.
struct Partial<'a> {
    file: File,
    partial: PathBuf,
    path: &'a Path,
}

impl<'a> Partial<'a> {
    /// Waits until no other process has it.
    fn alone(path: &'a Path, quiet: bool) -> Result<Self> {
        let Some(name) = path.file_name() else {
            bail!("--cache {} is no file name", path.display());
        };
        let mut hidden = std::ffi::OsString::from(".");
        hidden.push(name);
        hidden.push(".partial");
        let partial = path.with_file_name(hidden);
        let cannot = || format!("cannot write the cache {}", path.display());
        let file = File::options()
            .write(true)
            .create(true)
            .truncate(false)
            .open(&partial);
        let file = file.with_context(cannot)?;
        if !lock::now(&file).with_context(cannot)? {
            say(
                quiet,
                &format!("cache {}: another process makes it", path.display()),
            );
            lock::wait(&file).with_context(cannot)?;
        }
        Ok(Partial {
            file,
            partial,
            path,
        })
    }

    /// Whether the locked file still has its name.
    fn is_there(&self) -> Result<bool> {
        let named = match fs::metadata(&self.partial) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            named => named?,
        };
        Ok(lock::same(&named, &self.file.metadata()?))
    }

    /// Fails where the disk cannot hold the cache.
    fn room(&self, key: &Key, form: Form) -> Result<()> {
        let bytes = header(key).len() as u64 + (key.images() * (form.bytes() + 4)) as u64;
        self.file.set_len(0)?;
        let free = lock::free(&self.file)?;
        if free < bytes {
            self.remove();
            let less = match form.element {
                Element::U8 => "",
                _ => ", or --cache-type u8",
            };
            bail!(
                "the cache {} takes {:.1} GB, its disk has {:.1} GB left: give --cache a file on \
                 another disk{less}",
                self.path.display(),
                bytes as f64 / 1e9,
                free as f64 / 1e9
            );
        }
        Ok(())
    }

    fn write(&self, loader: &Loader, key: &Key, images: usize) -> Result<()> {
        let written = self.images(loader, key, images).and_then(|()| {
            self.file.sync_all()?;
            fs::rename(&self.partial, self.path)?;
            // A file system that knows no such thing does without.
            if let Ok(facts) = self.file.metadata() {
                let mut permissions = facts.permissions();
                permissions.set_readonly(true);
                let _ = self.file.set_permissions(permissions);
            }
            Ok(())
        });
        if written.is_err() {
            self.remove();
        }
        written.with_context(|| format!("cannot make the cache {}", self.path.display()))
    }

    fn images(&self, loader: &Loader, key: &Key, images: usize) -> Result<()> {
        let mut file = &self.file;
        file.write_all(&header(key))?;
        let image = loader.form.bytes();
        let mut sums = Vec::with_capacity(4 * images);
        let mut bytes = Vec::with_capacity(BATCH * image);
        let batches = (0..images)
            .step_by(BATCH)
            .map(|start| start..(start + BATCH).min(images));
        loader.each(3, BATCH, batches, |batch, values| {
            bytes.clear();
            little_endian(&values, &mut bytes);
            for one in bytes.chunks_exact(image).take(batch.len()) {
                sums.extend(crc32fast::hash(one).to_le_bytes());
            }
            Ok(file.write_all(&bytes[..batch.len() * image])?)
        })?;
        Ok(file.write_all(&sums)?)
    }

    /// The one of this name is ours as long as it is locked.
    fn remove(&self) {
        let _ = fs::remove_file(&self.partial);
    }
}

fn little_endian(values: &Pixels<'_>, bytes: &mut Vec<u8>) {
    match values {
        Pixels::F32(values) => bytes.extend(values.iter().flat_map(|v| v.to_le_bytes())),
        Pixels::F16(values) => bytes.extend(values.iter().flat_map(|v| v.to_le_bytes())),
        Pixels::U8(values) => bytes.extend_from_slice(values),
    }
}

/// What the system says of a file.
#[cfg(unix)]
mod lock {
    use std::fs::{File, Metadata};
    use std::io;
    use std::os::unix::fs::MetadataExt;

    use rustix::fs::{FlockOperation, flock, fstatvfs};
    use rustix::io::Errno;

    /// Locks it, unless another process has.
    pub fn now(file: &File) -> io::Result<bool> {
        match flock(file, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) => Ok(false),
            done => Ok(done.map(|()| true)?),
        }
    }

    pub fn wait(file: &File) -> io::Result<()> {
        loop {
            match flock(file, FlockOperation::LockExclusive) {
                Err(Errno::INTR) => {}
                done => return Ok(done?),
            }
        }
    }

    pub fn same(a: &Metadata, b: &Metadata) -> bool {
        (a.dev(), a.ino()) == (b.dev(), b.ino())
    }

    /// Bytes that its disk still has.
    pub fn free(file: &File) -> io::Result<u64> {
        let disk = fstatvfs(file)?;
        Ok(disk.f_bavail * disk.f_frsize)
    }
}

#[cfg(not(unix))]
mod lock {
    use std::fs::{File, Metadata};
    use std::io;

    pub fn now(_: &File) -> io::Result<bool> {
        Err(io::Error::other("--cache needs a Unix system"))
    }

    pub fn wait(_: &File) -> io::Result<()> {
        Err(io::Error::other("--cache needs a Unix system"))
    }

    pub fn same(_: &Metadata, _: &Metadata) -> bool {
        false
    }

    pub fn free(_: &File) -> io::Result<u64> {
        Ok(0)
    }
}
