//! Writing files so that a failure leaves nothing half-written and nothing old
//! lost.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde::Serialize;

/// Writes to a file beside `path`, then renames it to `path`.
pub fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    let partial = partial(path)?;
    let result = fs::write(&partial, bytes).and_then(|()| fs::rename(&partial, path));
    if result.is_err() {
        // Nothing of ours is left behind; the first error is the one to tell.
        let _ = fs::remove_file(&partial);
    }
    result.with_context(|| format!("cannot write {}", path.display()))
}

/// Writes what programs read, in lines that people can.
pub fn write_json(path: &Path, value: &impl Serialize) -> Result<()> {
    write(path, serde_json::to_string_pretty(value)?.as_bytes())
}

/// Fails where `path` could not be written, before any long work.
pub fn check_writable(path: &Path) -> Result<()> {
    if path.is_dir() {
        bail!(
            "cannot write {}: it is a folder, give a file name",
            path.display()
        );
    }
    let partial = partial(path)?;
    fs::write(&partial, b"")
        .and_then(|()| fs::remove_file(&partial))
        .with_context(|| format!("cannot write {}", path.display()))
}

/// Makes a folder and those above it.
pub fn make_folder(path: &Path) -> Result<()> {
    fs::create_dir_all(path).with_context(|| format!("cannot make the folder {}", path.display()))
}

/// Raw little-endian f32, as NumPy's `tofile` writes them.
pub fn f32_bytes(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

fn partial(path: &Path) -> Result<PathBuf> {
    let Some(name) = path.file_name() else {
        bail!("{} is no file name", path.display());
    };
    let mut hidden = std::ffi::OsString::from(".");
    hidden.push(name);
    hidden.push(format!(".{}.partial", std::process::id()));
    Ok(path.with_file_name(hidden))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_write_leaves_the_folder_as_it_was() {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("taken");
        fs::create_dir(&target).unwrap();
        fs::write(target.join("old"), "old").unwrap();
        let error = write(&target, b"new").unwrap_err();
        assert!(format!("{error:#}").contains("cannot write"), "{error:#}");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
        assert_eq!(fs::read(target.join("old")).unwrap(), b"old");
    }

    #[test]
    fn an_old_file_is_replaced_whole() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        write(&path, b"long old text").unwrap();
        check_writable(&path).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"long old text");
        write(&path, b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_missing_folder_is_told_before_the_work() {
        let dir = tempfile::tempdir().unwrap();
        let error = check_writable(&dir.path().join("no/such/x.png")).unwrap_err();
        assert!(format!("{error:#}").contains("x.png"), "{error:#}");
    }
}
