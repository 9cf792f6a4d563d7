//! What std does not offer about the machine.

use std::fs::{File, OpenOptions};
use std::path::Path;

#[cfg(unix)]
mod imp {
    use super::*;
    use rustix::fs::{FlockOperation, RenameFlags, flock, renameat_with, statvfs};

    pub fn is_root() -> bool {
        rustix::process::geteuid().is_root()
    }

    pub fn free_bytes(folder: &Path) -> Option<u64> {
        let stat = statvfs(folder).ok()?;
        Some(stat.f_bavail.saturating_mul(stat.f_frsize))
    }

    pub fn try_lock(file: &File) -> bool {
        flock(file, FlockOperation::NonBlockingLockExclusive).is_ok()
    }

    pub fn lock(file: &File) -> std::io::Result<()> {
        Ok(flock(file, FlockOperation::LockExclusive)?)
    }

    pub fn make_program(path: &Path) -> std::io::Result<()> {
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755))
    }

    #[cfg(target_os = "linux")]
    pub fn exchange(a: &Path, b: &Path) -> bool {
        let here = rustix::fs::CWD;
        renameat_with(here, a, here, b, RenameFlags::EXCHANGE).is_ok()
    }

    #[cfg(not(target_os = "linux"))]
    pub fn exchange(_: &Path, _: &Path) -> bool {
        false
    }
}

#[cfg(not(unix))]
mod imp {
    use super::*;

    pub fn is_root() -> bool {
        false
    }

    pub fn free_bytes(_: &Path) -> Option<u64> {
        None
    }

    pub fn try_lock(_: &File) -> bool {
        true
    }

    pub fn lock(_: &File) -> std::io::Result<()> {
        Ok(())
    }

    pub fn make_program(_: &Path) -> std::io::Result<()> {
        Ok(())
    }

    pub fn exchange(_: &Path, _: &Path) -> bool {
        false
    }
}

pub use imp::is_root;

/// Bytes that this user can still write into the file system of `folder`.
pub fn free_bytes(folder: &Path) -> Option<u64> {
    imp::free_bytes(folder)
}

/// Locked until dropped; also let go when the process dies.
#[derive(Debug)]
pub struct Lock(#[expect(dead_code, reason = "closing it unlocks")] File);

/// Takes the lock of `path`; calls `waiting` once where another process has it.
pub fn lock(path: &Path, waiting: impl FnOnce()) -> std::io::Result<Lock> {
    let file = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .open(path)?;
    if !imp::try_lock(&file) {
        waiting();
        imp::lock(&file)?;
    }
    Ok(Lock(file))
}

/// Writes a script that can be started.
pub fn write_program(path: &Path, text: &str) -> std::io::Result<()> {
    std::fs::write(path, text)?;
    imp::make_program(path)
}

/// Puts the folder `new` in the place of `old`, which may or may not exist, so
/// that nobody sees a moment without one. What was there is then at `new`.
pub fn replace_folder(new: &Path, old: &Path) -> std::io::Result<()> {
    if !old.exists() {
        return std::fs::rename(new, old);
    }
    if imp::exchange(new, old) {
        return Ok(());
    }
    // A file system without exchange: a short moment without the folder.
    let aside = new.with_extension("old");
    std::fs::rename(old, &aside)?;
    std::fs::rename(new, old)?;
    std::fs::rename(&aside, new)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scratch(name: &str) -> std::path::PathBuf {
        let folder = std::env::temp_dir().join(format!("xtask-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        folder
    }

    #[test]
    fn replacing_keeps_the_old_folder_under_the_new_name() {
        let folder = scratch("replace");
        let (new, old) = (folder.join("new"), folder.join("old"));
        for (path, text) in [(&new, "n"), (&old, "o")] {
            std::fs::create_dir_all(path).unwrap();
            std::fs::write(path.join("who"), text).unwrap();
        }
        replace_folder(&new, &old).unwrap();
        assert_eq!(std::fs::read_to_string(old.join("who")).unwrap(), "n");
        assert_eq!(std::fs::read_to_string(new.join("who")).unwrap(), "o");
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_second_lock_waits_for_the_first() {
        let folder = scratch("lock");
        let path = folder.join("lock");
        let first = lock(&path, || panic!("nobody else has it")).unwrap();
        let (sender, receiver) = std::sync::mpsc::channel();
        let second = std::thread::spawn(move || {
            let _second = lock(&path, || sender.send("waiting").unwrap()).unwrap();
        });
        assert_eq!(receiver.recv().unwrap(), "waiting");
        assert!(!second.is_finished());
        drop(first);
        second.join().unwrap();
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
