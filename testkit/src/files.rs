//! Files and folders, with errors that name them.

use std::path::Path;
use std::{fs, io};

pub(crate) fn make_folder(path: &Path) -> io::Result<()> {
    fs::create_dir_all(path).map_err(|e| about("make", path, &e))
}

pub(crate) fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    fs::write(path, bytes).map_err(|e| about("write", path, &e))
}

fn about(what: &str, path: &Path, e: &io::Error) -> io::Error {
    io::Error::new(e.kind(), format!("cannot {what} {}: {e}", path.display()))
}
