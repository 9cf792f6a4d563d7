//! SHA-256, as text.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use sha2::{Digest as _, Sha256};

/// Of bytes that come in parts.
#[derive(Default)]
pub(super) struct Digest(Sha256);

impl Digest {
    pub(super) fn of(bytes: &[u8]) -> String {
        let mut digest = Digest::default();
        digest.add(bytes);
        digest.text()
    }

    /// Of a file's bytes, and how many there are.
    pub(super) fn of_file(path: &Path) -> io::Result<(String, u64)> {
        let mut file = File::open(path)?;
        let mut digest = Digest::default();
        let mut block = vec![0; 1 << 18];
        let mut length = 0;
        loop {
            match file.read(&mut block) {
                Ok(0) => return Ok((digest.text(), length)),
                Ok(read) => {
                    digest.add(&block[..read]);
                    length += read as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    pub(super) fn add(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// Adds bytes that cannot be taken for others, however they are cut into parts.
    pub(super) fn add_part(&mut self, bytes: &[u8]) {
        self.add(&(bytes.len() as u64).to_le_bytes());
        self.add(bytes);
    }

    pub(super) fn text(self) -> String {
        let bytes = self.0.finalize();
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}
