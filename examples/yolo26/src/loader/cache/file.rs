//! The cache as a file: a header, the images one behind the other from a page's
//! border on, and a checksum an image.
//!
//! | bytes | what |
//! |---|---|
//! | 8 | `yolo26im` |
//! | 4 | [`VERSION`] |
//! | 4 | CRC-32 of the key |
//! | 8 | bytes of the key |
//! | … | the key: JSON of what the cache was made from; then zeros up to a page |
//! | images × bytes | values as the key says, little-endian |
//! | images × 4 | CRC-32 of each image |

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use anyhow::{Context, Result, bail};
use memmap2::Mmap;

use super::super::Form;
use super::key::Key;

const MAGIC: [u8; 8] = *b"yolo26im";
const VERSION: u32 = 1;
const PAGE: usize = 4096;

/// Why a file is not the cache that is wanted.
#[derive(Debug, PartialEq, Eq)]
pub enum Unfit {
    Missing,
    Version,
    Damaged,
    Other,
}

/// A cache's images, mapped.
pub struct Contents {
    map: Mmap,
    /// Where the images begin.
    start: usize,
    /// Bytes of one.
    image: usize,
    images: usize,
}

/// What stands before the images.
pub fn header(key: &Key) -> Vec<u8> {
    let text = key.text().as_bytes();
    let mut header = Vec::new();
    header.extend(MAGIC);
    header.extend(VERSION.to_le_bytes());
    header.extend(crc32fast::hash(text).to_le_bytes());
    header.extend((text.len() as u64).to_le_bytes());
    header.extend(text);
    header.resize(header.len().next_multiple_of(PAGE), 0);
    header
}

impl Contents {
    /// The cache at `path`, if it is one of this key.
    pub fn open(path: &Path, key: &Key, form: Form) -> Result<Result<Self, Unfit>> {
        let cannot = || format!("cannot read the cache {}", path.display());
        let mut file = match File::open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(Err(Unfit::Missing));
            }
            file => file.with_context(cannot)?,
        };
        if file.metadata().with_context(cannot)?.is_dir() {
            bail!("--cache {} is a folder: give a file's name", path.display());
        }
        let mut found = Vec::new();
        let wanted = header(key);
        let most = wanted.len() as u64;
        file.by_ref()
            .take(most)
            .read_to_end(&mut found)
            .with_context(cannot)?;
        let images = key.images();
        let length = wanted.len() as u64 + images as u64 * (form.bytes() as u64 + 4);
        if found != wanted {
            return match unfit(&found) {
                Some(unfit) => Ok(Err(unfit)),
                None => bail!(
                    "{} is there and no cache of images: give --cache another name",
                    path.display()
                ),
            };
        }
        if file.metadata().with_context(cannot)?.len() != length {
            return Ok(Err(Unfit::Damaged));
        }
        // Somebody who cuts the file off in spite of its mode gets this process
        // ended by a signal (SIGBUS); changed bytes fail their checksum.
        // SAFETY: the file does not change while it is mapped: a cache gets its name
        // when it is complete, is read-only from then on, and is replaced by rename.
        let map = unsafe { Mmap::map(&file) }.with_context(cannot)?;
        Ok(Ok(Contents {
            map,
            start: wanted.len(),
            image: form.bytes(),
            images,
        }))
    }

    /// The values of an image, if they are those that were written.
    pub fn image(&self, index: usize) -> Option<&[u8]> {
        let start = self.start + index * self.image;
        let image = self.map.get(start..start + self.image)?;
        let sum = self.start + self.images * self.image + 4 * index;
        let sum = self.map.get(sum..sum + 4)?.try_into().ok()?;
        (crc32fast::hash(image) == u32::from_le_bytes(sum)).then_some(image)
    }

    pub fn bytes(&self) -> usize {
        self.map.len()
    }
}

/// Why a file that begins so is not what is wanted; `None` where it is not ours.
fn unfit(found: &[u8]) -> Option<Unfit> {
    let Some((magic, rest)) = found.split_at_checked(MAGIC.len()) else {
        // What is left of one, or nothing.
        return MAGIC.starts_with(found).then_some(Unfit::Damaged);
    };
    if magic != MAGIC {
        return None;
    }
    let number = |at: usize| Some(u32::from_le_bytes(rest.get(at..at + 4)?.try_into().ok()?));
    if number(0) != Some(VERSION) {
        return Some(Unfit::Version);
    }
    let length = rest
        .get(8..16)
        .and_then(|bytes| Some(u64::from_le_bytes(bytes.try_into().ok()?)));
    // One that is longer than the wanted one is of other images.
    let text = length.and_then(|length| rest.get(16..16 + usize::try_from(length).ok()?));
    match (text, number(4)) {
        (Some(text), Some(sum)) if crc32fast::hash(text) != sum => Some(Unfit::Damaged),
        (None, _) if found.len() < PAGE => Some(Unfit::Damaged),
        _ => Some(Unfit::Other),
    }
}
