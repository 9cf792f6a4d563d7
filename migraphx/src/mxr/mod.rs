//! `.mxr` files: programs as MIGraphX stores them.
//!
//! The C API cannot say whether a program is compiled, and dies of compiling one
//! twice. The file's header says it, so it is read here, in Rust, before the
//! library sees the file.
//!
//! ```
//! use migraphx::{CompiledProgram, mxr};
//!
//! # use migraphx::{CompileOptions, OnnxOptions, Target};
//! # let file = std::env::temp_dir().join(format!("inspect-{}.mxr", std::process::id()));
//! # OnnxOptions::new()
//! #     .parse_bytes(&testkit::models::add(&[4]))?
//! #     .compile(&Target::reference()?, &CompileOptions::new())?
//! #     .save(&file)?;
//! let info = mxr::inspect(&file)?;
//! assert!(info.is_compiled());
//! assert_eq!(info.targets(), ["ref"]);
//! let program = CompiledProgram::load(&file)?;
//! # std::fs::remove_file(&file).unwrap();
//! # Ok::<(), migraphx::Error>(())
//! ```

mod check;
mod json;
mod load;
mod mark;
pub(crate) mod msgpack;
pub(crate) mod save;
pub(crate) mod tensor;
pub(crate) mod value;

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use crate::error::{Error, Result};

pub use crate::buffers::Buffers;
pub(crate) use mark::Mark;

pub use load::{Loaded, load, load_as, load_bytes, load_unchecked};
pub(crate) use load::{load_bytes_on, load_entry, load_on};

/// How a program is written.
#[doc(alias = "migraphx_file_options_set_file_format")]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum FileFormat {
    /// MessagePack: small, quick, the default.
    #[default]
    Msgpack,
    /// JSON: for reading by people.
    Json,
}

impl FileFormat {
    pub(crate) fn c_name(self) -> &'static std::ffi::CStr {
        match self {
            FileFormat::Msgpack => c"msgpack",
            FileFormat::Json => c"json",
        }
    }
}

/// Reads `msgpack` or `json`.
impl std::str::FromStr for FileFormat {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        match name {
            "msgpack" => Ok(FileFormat::Msgpack),
            "json" => Ok(FileFormat::Json),
            _ => Err(Error::InvalidArgument(format!(
                "unknown format `{name}`; formats are `msgpack` and `json`"
            ))),
        }
    }
}

/// What the header of a `.mxr` file says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Info {
    format_version: u64,
    migraphx_version: Option<String>,
    targets: Vec<String>,
    mark: Option<Mark>,
}

impl Info {
    /// The version of the file format: 7 from ROCm 6.0 to 7.2. The library
    /// refuses any other than its own.
    pub fn format_version(&self) -> u64 {
        self.format_version
    }

    /// The version of the MIGraphX that wrote the file, such as `2.14.0`.
    /// Another library warns and goes on.
    pub fn migraphx_version(&self) -> Option<&str> {
        self.migraphx_version.as_deref()
    }

    /// The targets that the program is compiled for; empty for an uncompiled one.
    pub fn targets(&self) -> &[String] {
        &self.targets
    }

    /// Whether the program is compiled.
    pub fn is_compiled(&self) -> bool {
        !self.targets.is_empty()
    }

    /// The kind of buffers that a compiled program takes, where this crate saved
    /// the file. Of other files it is found out when they are loaded.
    pub fn buffers(&self) -> Option<Buffers> {
        self.mark.as_ref()?.buffers
    }

    /// The architecture of the device that the program is compiled for, such as
    /// `gfx90a:sramecc+:xnack-`, where this crate saved the file.
    pub fn architecture(&self) -> Option<&str> {
        self.mark.as_ref()?.architecture.as_deref()
    }

    /// The key of an entry of a cache.
    pub(crate) fn cache_key(&self) -> Option<&str> {
        self.mark.as_ref()?.key.as_deref()
    }

    /// Parameters that are outputs, as far as the file says it.
    #[cfg_attr(not(feature = "hip"), allow(dead_code))]
    pub(crate) fn marked_outputs(&self) -> Option<&[String]> {
        let outputs = &self.mark.as_ref()?.outputs;
        (!outputs.is_empty()).then_some(outputs.as_slice())
    }

    /// Inputs that are indices, where this crate saved the file.
    pub(crate) fn index_inputs(&self) -> Option<&[String]> {
        self.mark.as_ref()?.index_inputs.as_deref()
    }
}

/// Reads the header of a `.mxr` file, in either format. No library is needed.
///
/// # Errors
/// [`Error::Io`] where the file cannot be read; [`Error::Mxr`] where it has no
/// such header.
pub fn inspect(path: impl AsRef<Path>) -> Result<Info> {
    let path = path.as_ref();
    let mut file = File::open(path).map_err(|error| Error::io("open", path, error))?;
    let format = match first_byte(&mut file, path)? {
        b'{' => FileFormat::Json,
        _ => FileFormat::Msgpack,
    };
    let (info, _) = header(&mut file, format, &path.display().to_string())?;
    Ok(info)
}

/// Checks a program's structure as far as this crate can: everything that
/// [`load_bytes`] checks before MIGraphX sees the program. No library is needed.
///
/// What MIGraphX's reader takes for granted must be so: each value ends within
/// the file and is nested no deeper than 128, shapes have a stride for each size
/// and fit into memory, constants have the bytes that their shapes say,
/// instructions take the results of earlier ones, modules do not run themselves.
/// Whether an operator takes such attributes, MIGraphX alone can tell. Of files
/// of another format version, which the library refuses, the nesting and the
/// lengths are checked.
///
/// ```
/// use migraphx::{OnnxOptions, mxr};
///
/// # let model = testkit::models::add(&[4]);
/// let mut bytes = OnnxOptions::new().parse_bytes(&model)?.to_bytes()?;
/// assert!(!mxr::check(&bytes, mxr::FileFormat::Msgpack)?.is_compiled());
/// bytes.truncate(bytes.len() - 1);
/// assert!(mxr::check(&bytes, mxr::FileFormat::Msgpack).is_err());
/// # Ok::<(), migraphx::Error>(())
/// ```
///
/// # Errors
/// [`Error::Mxr`], which says what is wrong.
pub fn check(bytes: &[u8], format: FileFormat) -> Result<Info> {
    checked(&mut std::io::Cursor::new(bytes), format, IN_MEMORY)
}

/// The name of a program without a file, in errors.
const IN_MEMORY: &str = "the program in memory";

/// The header of a program whose checksum and structure are right; goes back to
/// the start of `file`.
fn checked(file: &mut (impl Read + Seek), format: FileFormat, name: &str) -> Result<Info> {
    let info = checked_header(file, format, name)?;
    let (version, targets) = (info.format_version, info.targets.len());
    let whole = std::io::BufReader::new(&mut *file);
    let structure = match format {
        FileFormat::Msgpack => check::msgpack(whole, version, targets),
        FileFormat::Json => check::json(whole, version, targets),
    };
    structure.map_err(|problem| Error::Mxr {
        path: name.to_owned(),
        problem: format!(
            "{problem}; if MIGraphX itself wrote it so, `mxr::load_unchecked` takes it"
        ),
    })?;
    file.seek(SeekFrom::Start(0))
        .map_err(|error| Error::io("read", name, error))?;
    Ok(info)
}

/// What a header holds, as far as it was found.
#[derive(Default)]
struct Fields {
    format_version: Option<u64>,
    migraphx_version: Option<String>,
    targets: Option<Vec<String>>,
    found: Option<mark::Found>,
    /// Where the mark ends, and its checksum.
    mark_end: u64,
}

/// As [`header`], and checks the checksum where there is one.
fn checked_header(file: &mut (impl Read + Seek), format: FileFormat, name: &str) -> Result<Info> {
    let (info, sum) = header(file, format, name)?;
    let Some((at, expected)) = sum else {
        return Ok(info);
    };
    let found = checksum_around(file, at).map_err(|error| Error::io("read", name, error))?;
    if found == expected {
        return Ok(info);
    }
    Err(Error::Mxr {
        path: name.to_owned(),
        problem: "it was changed, damaged or cut off since it was saved (its checksum differs)"
            .into(),
    })
}

/// For the fuzz target: all that is read of a header.
#[cfg(fuzzing)]
pub(crate) fn read_all(file: &mut (impl Read + Seek)) {
    for format in [FileFormat::Msgpack, FileFormat::Json] {
        let _ = checked_header(file, format, "fuzzed");
        let _ = file.seek(SeekFrom::Start(0));
    }
}

/// Of all of a file but the checksum's own bytes at `at`; goes back to its start.
fn checksum_around(file: &mut (impl Read + Seek), at: u64) -> std::io::Result<u32> {
    let mut before = vec![0; at as usize]; // within the header
    file.read_exact(&mut before)?;
    file.seek(SeekFrom::Current(mark::CHECKSUM as i64))?;
    let found = save::checksum(before.chain(&mut *file))?;
    file.seek(SeekFrom::Start(0))?;
    Ok(found)
}

/// Where a checksum stands, and what it is.
type Sum = Option<(u64, u32)>;

/// Reads the header from the start of `file`, and goes back there.
fn header(file: &mut (impl Read + Seek), format: FileFormat, name: &str) -> Result<(Info, Sum)> {
    let mut start = [0; 2];
    let fail = |error| Error::io("read", name, error);
    let read = file.read(&mut start).map_err(fail)?;
    file.seek(SeekFrom::Start(0)).map_err(fail)?;
    let problem = |problem: String| Error::Mxr {
        path: name.to_owned(),
        problem: format!("{problem}{}", kind(&start[..read], format)),
    };
    let fields = match format {
        FileFormat::Msgpack => msgpack::fields(std::io::BufReader::new(&mut *file)),
        FileFormat::Json => json::fields(std::io::BufReader::new(&mut *file)),
    }
    .map_err(problem)?;
    file.seek(SeekFrom::Start(0)).map_err(fail)?;
    let missing = |field: &str| problem(format!("its header has no `{field}`"));
    let info = Info {
        format_version: fields.format_version.ok_or_else(|| missing("version"))?,
        migraphx_version: fields.migraphx_version,
        targets: fields.targets.ok_or_else(|| missing("targets"))?,
        mark: fields.found.as_ref().map(|found| found.mark.clone()),
    };
    // A target's name becomes part of the name of a library to load.
    for target in &info.targets {
        crate::target::check_name(target).map_err(|error| problem(error.to_string()))?;
    }
    let sum = fields.found.and_then(|found| found.checksum);
    // It is the last of the mark.
    let at = fields.mark_end.saturating_sub(mark::CHECKSUM as u64);
    Ok((info, sum.map(|sum| (at, sum))))
}

fn first_byte(file: &mut File, path: &Path) -> Result<u8> {
    let mut byte = [0];
    let result = file
        .read_exact(&mut byte)
        .and_then(|()| file.seek(SeekFrom::Start(0)));
    match result {
        Ok(_) => Ok(byte[0]),
        Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => Err(Error::Mxr {
            path: path.display().to_string(),
            problem: "the file is empty".into(),
        }),
        Err(error) => Err(Error::io("read", path, error)),
    }
}

/// What a file without a header of MIGraphX's plainly is instead.
fn kind(start: &[u8], asked: FileFormat) -> &'static str {
    match start {
        // Field 1 of an ONNX model, its format version, as a small number.
        [0x08, 1..=0x7f, ..] => " (it looks like an ONNX model: read it with `OnnxOptions::parse`)",
        [b'{', ..] if asked == FileFormat::Msgpack => {
            " (it looks like JSON: load it with `mxr::load_as`)"
        }
        _ => "",
    }
}

/// Whether `start` is the start of a MessagePack `.mxr` file.
pub(crate) fn looks_like_mxr(start: &[u8]) -> bool {
    // A map of a few keys, the first of which is "version".
    matches!(start, [0x80..=0x8f, rest @ ..] if rest.starts_with(b"\xa7version"))
}

/// The version of the library that wrote `bytes`, whatever else they hold.
pub(crate) fn version_in(bytes: &[u8]) -> Option<String> {
    msgpack::fields(bytes).ok()?.migraphx_version
}
