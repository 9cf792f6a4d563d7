//! Constants that lie in files of their own.

use std::collections::HashMap;
use std::fmt::Display;
use std::path::{Component, Path, PathBuf};

use super::shown;

/// Where a model keeps its external data.
#[derive(Debug, Default)]
pub(crate) struct Folders {
    /// Where the parser looks.
    folder: PathBuf,
    /// Where the files have to be, links resolved.
    allowed: Vec<PathBuf>,
    /// How long each file is that was looked at, by its location.
    lengths: HashMap<PathBuf, u64>,
}

/// What the parser reads of a file, by the position of the entries.
struct Range {
    offset: u64,
    length: u64,
}

impl Folders {
    /// Data in `folder`, of a model that is in the file `model`, if it is in one.
    ///
    /// Where a model is a link into a store, as in the caches of model hubs, its
    /// data is a link to a file beside it there.
    pub(crate) fn new(folder: &Path, model: Option<&Path>) -> Self {
        let folder = match folder.as_os_str().is_empty() {
            true => Path::new("."),
            false => folder,
        };
        let real_model = model.and_then(|model| model.canonicalize().ok());
        let beside = real_model.as_deref().and_then(Path::parent);
        let allowed = folder.canonicalize().into_iter();
        Folders {
            folder: folder.to_owned(),
            allowed: allowed.chain(beside.map(Path::to_owned)).collect(),
            lengths: HashMap::new(),
        }
    }

    /// Checks the entries of a tensor that takes `bytes`.
    pub(super) fn check(&mut self, entries: &[(&[u8], &[u8])], bytes: u64) -> Result<(), String> {
        let (key, location) = entries[0];
        if key != b"location" {
            return Err(format!(
                "has external data whose first entry is `{}`; MIGraphX reads the entries by \
                 their order, which has to be location, offset, length: save the model again \
                 with its entries in this order",
                shown(key)
            ));
        }
        let Range { offset, length } = range(entries, bytes)?;
        if length < bytes {
            return Err(format!(
                "has {length} bytes in `{}`, and its dimensions take {bytes}; the file is \
                 damaged: export the model again",
                shown(location)
            ));
        }
        let there = self.length_of(location)?;
        match offset.checked_add(length) {
            Some(end) if end <= there => Ok(()),
            _ => Err(format!(
                "keeps {length} bytes at offset {offset} of `{}`, which has {there}; the file \
                 belongs to another model or was cut off: copy it again",
                shown(location)
            )),
        }
    }

    fn length_of(&mut self, location: &[u8]) -> Result<u64, String> {
        let refused = |problem: &dyn Display| {
            Err(format!(
                "keeps its values in the file `{}`, {problem}",
                shown(location)
            ))
        };
        let Some(path) = path_of(location) else {
            return refused(&"which is no name of a file");
        };
        if let Some(length) = self.lengths.get(&path) {
            return Ok(*length);
        }
        let plain = |part| {
            matches!(
                part,
                Component::Normal(_) | Component::CurDir | Component::ParentDir
            )
        };
        if !path.components().all(plain) {
            return refused(
                &"and a model may only name files by their way from its own folder; move the \
                  file there",
            );
        }
        let place = self.folder.join(&path);
        let real = match place.canonicalize() {
            Ok(real) => real,
            Err(error) => {
                let folder = self.folder.display();
                return refused(&format_args!(
                    "which cannot be opened in {folder} ({error}); put it there, or name its \
                     folder with `external_data_dir`"
                ));
            }
        };
        if !self.allowed.iter().any(|folder| real.starts_with(folder)) {
            let folder = self.folder.display();
            return refused(&format_args!(
                "which is outside the folder {folder}; a model may only read files that lie \
                 there: move the file, or name its folder with `external_data_dir`"
            ));
        }
        match real.metadata() {
            Ok(metadata) if metadata.is_file() => {
                self.lengths.insert(path, metadata.len());
                Ok(metadata.len())
            }
            Ok(_) => refused(&"which is not a file"),
            Err(error) => refused(&format_args!("which cannot be read ({error})")),
        }
    }
}

/// What the parser takes from the second and third entry; an error where their
/// keys say something else.
fn range(entries: &[(&[u8], &[u8])], bytes: u64) -> Result<Range, String> {
    let named = |key: &str| entries.iter().find(|entry| entry.0 == key.as_bytes());
    let mut values = [0, bytes];
    for (at, (key, value)) in ["offset", "length"]
        .into_iter()
        .zip(&mut values)
        .enumerate()
    {
        let default = *value;
        let number = |entry: Option<&(&[u8], &[u8])>| match entry {
            None => Ok(default),
            Some((_, text)) => number(text).ok_or_else(|| {
                format!(
                    "has external data with the {key} `{}`, which is no number",
                    shown(text)
                )
            }),
        };
        let meant = number(named(key))?;
        let read = entries.get(at + 1);
        if read.is_some_and(|entry| entry.0 != key.as_bytes()) && number(read) != Ok(meant) {
            return Err(format!(
                "has external data with `{}` where MIGraphX reads the {key}: it takes the \
                 entries by their order, which has to be location, offset, length: save the \
                 model again with its entries in this order",
                shown(read.map_or(b"", |entry| entry.0))
            ));
        }
        if read.is_none() && meant != default {
            return Err(format!(
                "has external data whose {key} MIGraphX would not read: it takes the entries by \
                 their order, which has to be location, offset, length"
            ));
        }
        *value = meant;
    }
    let [offset, length] = values;
    Ok(Range { offset, length })
}

fn number(text: &[u8]) -> Option<u64> {
    let digits = !text.is_empty() && text.iter().all(u8::is_ascii_digit);
    std::str::from_utf8(text)
        .ok()
        .filter(|_| digits)?
        .parse()
        .ok()
}

/// `None` for one that C would cut, or that this system does not know.
fn path_of(location: &[u8]) -> Option<PathBuf> {
    if location.is_empty() || location.contains(&0) {
        return None;
    }
    #[cfg(unix)]
    {
        use std::os::unix::ffi::OsStrExt;
        Some(std::ffi::OsStr::from_bytes(location).into())
    }
    #[cfg(not(unix))]
    std::str::from_utf8(location).ok().map(PathBuf::from)
}
