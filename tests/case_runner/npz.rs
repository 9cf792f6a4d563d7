//! Reads `.npz`: a zip archive of `.npy` arrays, kept as raw bytes.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// One array as numpy wrote it: little endian, row-major.
#[derive(Clone, Debug, PartialEq)]
pub struct Array {
    /// The type part of numpy's `descr`, e.g. `f4`, `b1`, `u2`.
    pub kind: String,
    pub dims: Vec<usize>,
    pub bytes: Vec<u8>,
}

/// The arrays of an archive by key (`in_0`, `out_0`, …).
pub type Arrays = BTreeMap<String, Array>;

pub fn read(path: &Path) -> Result<Arrays, String> {
    let fail = |what: &dyn std::fmt::Display| format!("{}: {what}", path.display());
    let file = File::open(path).map_err(|e| fail(&e))?;
    let mut archive = zip::ZipArchive::new(file).map_err(|e| fail(&e))?;
    let mut arrays = Arrays::new();
    for i in 0..archive.len() {
        let mut entry = archive.by_index(i).map_err(|e| fail(&e))?;
        let name = entry.name().to_owned();
        let Some(key) = name.strip_suffix(".npy") else {
            continue;
        };
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).map_err(|e| fail(&e))?;
        let array = parse_npy(&bytes).map_err(|e| fail(&format!("{key}: {e}")))?;
        arrays.insert(key.to_owned(), array);
    }
    Ok(arrays)
}

/// `prefix_0`, `prefix_1`, … up to the first that is missing.
pub fn numbered<'a>(arrays: &'a Arrays, prefix: &str) -> Vec<&'a Array> {
    (0..)
        .map_while(|i| arrays.get(&format!("{prefix}_{i}")))
        .collect()
}

/// The `.npy` format: magic, version, header length, a Python dict, the data.
pub fn parse_npy(file: &[u8]) -> Result<Array, String> {
    let rest = file.strip_prefix(b"\x93NUMPY").ok_or("not a .npy file")?;
    let (length, data_at) = match rest {
        [1, _, a, b, ..] => (u16::from_le_bytes([*a, *b]) as usize, 4),
        [2 | 3, _, a, b, c, d, ..] => (u32::from_le_bytes([*a, *b, *c, *d]) as usize, 6),
        _ => return Err("unknown .npy version".into()),
    };
    let header = rest
        .get(data_at..data_at + length)
        .ok_or("header is cut off")?;
    let header = std::str::from_utf8(header).map_err(|e| e.to_string())?;

    let kind = match value_of(header, "descr")?
        .trim_matches('\'')
        .split_at_checked(1)
    {
        Some(("<" | "|", kind)) => kind.to_owned(),
        _ => return Err(format!("type is not little endian: {header}")),
    };
    let fortran = value_of(header, "fortran_order")? == "True";
    let dims: Vec<usize> = value_of(header, "shape")?
        .trim_matches(['(', ')'])
        .split(',')
        .map(str::trim)
        .filter(|d| !d.is_empty())
        .map(|d| d.parse().map_err(|_| format!("bad shape: {header}")))
        .collect::<Result<_, _>>()?;
    if fortran && dims.iter().filter(|d| **d > 1).count() > 1 {
        return Err("column-major array".into());
    }

    let size: usize = kind[1..].parse().map_err(|_| format!("bad type: {kind}"))?;
    let want = dims.iter().product::<usize>() * size;
    let bytes = rest[data_at + length..].to_vec();
    if bytes.len() != want {
        return Err(format!(
            "{want} bytes by its header, {} in the file",
            bytes.len()
        ));
    }
    Ok(Array { kind, dims, bytes })
}

/// The value of one key of the header's dict, as text.
fn value_of<'a>(header: &'a str, key: &str) -> Result<&'a str, String> {
    let quoted = format!("'{key}':");
    let missing = || format!("no {key} in the header: {header}");
    let at = header.find(&quoted).ok_or_else(missing)? + quoted.len();
    let rest = header[at..].trim_start();
    let end = if rest.starts_with('(') {
        rest.find(')').map(|i| i + 1)
    } else {
        rest.find([',', '}'])
    };
    Ok(rest[..end.ok_or_else(missing)?].trim())
}
