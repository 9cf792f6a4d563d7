//! `--dry-run false`: each batch's rows of real images as raw f32 in
//! `<output>/gpu<i>/<batch>_<i>.bin`.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::files;

/// The folders of a run. A batch's place is that of its share, whoever did it.
pub struct Store {
    root: PathBuf,
}

impl Store {
    /// Makes a folder a share. Batches of an earlier run are not mixed with
    /// this one's: they must be moved away first.
    pub fn create(root: &Path, shares: usize) -> Result<Self> {
        refuse_old_batches(root)?;
        let store = Store::open(root);
        for share in 0..shares {
            files::make_folder(&store.folder(share))?;
            files::check_writable(&store.file(share, 0))?;
        }
        Ok(store)
    }

    /// Folders that were made before.
    pub fn open(root: &Path) -> Self {
        Store {
            root: root.to_owned(),
        }
    }

    /// Writes one batch.
    pub fn write(&self, share: usize, batch: usize, rows: &[f32]) -> Result<()> {
        files::write(&self.file(share, batch), &files::f32_bytes(rows))
    }

    fn folder(&self, share: usize) -> PathBuf {
        self.root.join(format!("gpu{share}"))
    }

    fn file(&self, share: usize, batch: usize) -> PathBuf {
        self.folder(share).join(format!("{batch}_{share}.bin"))
    }
}

fn refuse_old_batches(root: &Path) -> Result<()> {
    let Ok(folders) = fs::read_dir(root) else {
        return Ok(()); // not there yet
    };
    for folder in folders {
        let folder = folder
            .with_context(|| format!("cannot read {}", root.display()))?
            .path();
        let is_ours = folder
            .file_name()
            .is_some_and(|n| n.to_string_lossy().starts_with("gpu"));
        let mut inside = fs::read_dir(&folder).into_iter().flatten().flatten();
        if is_ours && inside.any(|f| f.path().extension().is_some_and(|e| e == "bin")) {
            bail!(
                "{} already holds the batches of an earlier run; move it away or give another --output",
                root.display()
            );
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_reads_back_as_written() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("results");
        let store = Store::create(&root, 2).unwrap();
        store.write(1, 12, &[1.5, f32::MIN_POSITIVE]).unwrap();
        let bytes = fs::read(root.join("gpu1/12_1.bin")).unwrap();
        assert_eq!(
            bytes,
            [1.5f32.to_le_bytes(), f32::MIN_POSITIVE.to_le_bytes()].concat()
        );
        assert_eq!(fs::read_dir(root.join("gpu1")).unwrap().count(), 1);
    }

    #[test]
    fn an_earlier_run_is_kept() {
        let dir = tempfile::tempdir().unwrap();
        Store::create(dir.path(), 1)
            .unwrap()
            .write(0, 0, &[1.0])
            .unwrap();
        let error = Store::create(dir.path(), 1).err().unwrap().to_string();
        assert!(
            error.contains("earlier run") && error.contains("--output"),
            "{error}"
        );
    }

    #[test]
    fn a_place_that_cannot_be_written_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        fs::write(&file, "").unwrap();
        let error = format!("{:#}", Store::create(&file, 1).err().unwrap());
        assert!(error.contains("file"), "{error}");
    }
}
