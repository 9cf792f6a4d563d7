//! The prefix: MIGraphX's libraries and headers, taken over from another one.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// The file that says a prefix is complete and ours. It is written last.
const MARKER: &str = "migraphx-setup";

/// Takes over `lib` and `include`.
pub fn copy_base(base: &Path, out: &Path) -> Result<(), String> {
    let gpu = base.join("lib").join("libmigraphx_gpu.so");
    if !gpu.exists() {
        return Err(format!(
            "{} is no prefix with MIGraphX: {} is missing (`cargo xtask setup` makes one)",
            base.display(),
            gpu.display()
        ));
    }
    // Programs of now may go on while the stand-ins alone are renewed.
    if fs::read_to_string(out.join(MARKER)).is_ok_and(|text| Ok(text) == marker(base)) {
        return Ok(());
    }
    remove(&out.join(MARKER))?;
    for folder in ["lib", "include"] {
        copy_folder(&base.join(folder), &out.join(folder))?;
    }
    Ok(())
}

/// The marker's text: that of the base, and which prefix this is.
fn marker(base: &Path) -> Result<String, String> {
    match fs::read_to_string(base.join(MARKER)) {
        Ok(text) => Ok(format!("{text}gpu-sim=1\n")),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok("gpu-sim=1\n".into()),
        Err(error) => Err(format!("{}: {error}", base.join(MARKER).display())),
    }
}

/// Writes the marker.
pub fn mark(base: &Path, out: &Path) -> Result<(), String> {
    let path = out.join(MARKER);
    fs::write(&path, marker(base)?).map_err(|error| format!("{}: {error}", path.display()))
}

fn copy_folder(from: &Path, to: &Path) -> Result<(), String> {
    let failed = |path: &Path, error: std::io::Error| format!("{}: {error}", path.display());
    fs::create_dir_all(to).map_err(|error| failed(to, error))?;
    for entry in fs::read_dir(from).map_err(|error| failed(from, error))? {
        let entry = entry.map_err(|error| failed(from, error))?;
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        let kind = entry.file_type().map_err(|error| failed(&source, error))?;
        if entry
            .file_name()
            .to_string_lossy()
            .starts_with("libmigraphx_device.")
        {
            continue;
        }
        if kind.is_dir() {
            copy_folder(&source, &target)?;
        } else if kind.is_symlink() {
            link(
                &target,
                &fs::read_link(&source).map_err(|error| failed(&source, error))?,
            )?;
        } else if !is_same(&source, &target) {
            remove(&target)?;
            fs::hard_link(&source, &target)
                .or_else(|_| fs::copy(&source, &target).map(drop))
                .map_err(|error| failed(&target, error))?;
        }
    }
    Ok(())
}

/// Whether two names are the same file, or a copy made earlier.
fn is_same(a: &Path, b: &Path) -> bool {
    let (Ok(a), Ok(b)) = (fs::metadata(a), fs::symlink_metadata(b)) else {
        return false;
    };
    (a.dev(), a.ino()) == (b.dev(), b.ino()) || (a.len() == b.len() && b.mtime() >= a.mtime())
}

/// Makes a symbolic link, in place of what is there.
pub fn link(at: &Path, target: &Path) -> Result<(), String> {
    if fs::read_link(at).is_ok_and(|old| old == target) {
        return Ok(());
    }
    remove(at)?;
    std::os::unix::fs::symlink(target, at).map_err(|error| format!("{}: {error}", at.display()))
}

/// Removes a file, if there is one.
pub fn remove(path: &Path) -> Result<(), String> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(format!("{}: {error}", path.display()))
        }
        _ => Ok(()),
    }
}
