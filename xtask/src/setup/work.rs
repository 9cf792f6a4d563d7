//! The set-up directory: one process at a time, nothing unfinished left behind.

use super::{advice, step};
use crate::{finder, os};
use std::fs;
use std::path::{Path, PathBuf};

/// The directory to work in, made if need be, for this process alone.
pub fn lock_dir(given: Option<&Path>) -> Result<(PathBuf, os::Lock), String> {
    let dir = given
        .map(Path::to_path_buf)
        .or_else(finder::setup_dir)
        .ok_or_else(advice::no_home)?;
    let dir = std::path::absolute(&dir).map_err(|error| advice::unwritable(&dir, &error))?;
    fs::create_dir_all(&dir).map_err(|error| advice::unwritable(&dir, &error))?;
    let waiting = || {
        step(&format!(
            "another set-up is at work in {}; waiting for it",
            dir.display()
        ))
    };
    let lock = os::lock(&dir.join("lock"), waiting);
    let lock = lock.map_err(|error| advice::unwritable(&dir, &error))?;
    Ok((dir, lock))
}

/// A folder beside the prefix that goes away with everything unfinished in it.
pub struct Work(pub PathBuf);

impl Work {
    /// Called with the lock held: what other work folders there are was left by
    /// processes that were killed.
    pub fn new(dir: &Path) -> std::io::Result<Self> {
        for entry in fs::read_dir(dir)?.flatten() {
            if entry.file_name().to_string_lossy().starts_with("work-") {
                fs::remove_dir_all(entry.path())?;
            }
        }
        let path = dir.join(format!("work-{}", std::process::id()));
        fs::create_dir(&path)?;
        Ok(Work(path))
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_left_by_a_killed_process_is_cleared() {
        let dir = std::env::temp_dir().join(format!("xtask-work-{}", std::process::id()));
        fs::create_dir_all(dir.join("work-1/prefix")).unwrap();
        fs::create_dir_all(dir.join("prefix")).unwrap();
        let work = Work::new(&dir).unwrap();
        assert!(!dir.join("work-1").exists() && dir.join("prefix").exists());
        drop(work);
        assert_eq!(fs::read_dir(&dir).unwrap().count(), 1);
        fs::remove_dir_all(&dir).unwrap();
    }
}
