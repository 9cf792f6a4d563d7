//! Keys: all that a compiled program depends on, as text, and the hash of it.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use super::digest::Digest;
use super::external;
use super::kind::Kind;
use super::recipe::Recipe;
use crate::target::Target;

/// Why there is no key.
type Problem = String;

pub(super) struct Key {
    name: String,
    model: String,
}

impl Key {
    /// Of the program of kind `P` that `recipe` makes of a model for a target.
    pub(super) fn of<P: Kind>(
        model: &Path,
        target: &Target,
        recipe: &Recipe<'_>,
    ) -> Result<Self, Problem> {
        let model = model_text(model, recipe)?;
        let mut text = format!(
            "migraphx-rs {} on {}\nbuffers {}\n{}",
            env!("CARGO_PKG_VERSION"),
            std::env::consts::ARCH,
            P::BUFFERS.key(),
            recipe.key(),
        );
        text += &target_text(target)?;
        text += &library_text(target.name())?;
        text += &environment_text();
        text += &model;
        log::debug!(target: "migraphx", "key of a compiled program:\n{text}");
        let name = Digest::of(text.as_bytes());
        Ok(Key { name, model })
    }

    /// The hash, in 64 digits: the name of the entry.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Whether the model still is what the key was made of.
    pub(super) fn still_of(&self, model: &Path, recipe: &Recipe<'_>) -> bool {
        model_text(model, recipe).is_ok_and(|text| text == self.model)
    }
}

/// The model and its external data, by their bytes.
fn model_text(model: &Path, recipe: &Recipe<'_>) -> Result<String, Problem> {
    let bytes = std::fs::read(model).map_err(|error| cannot_read(model, &error))?;
    let mut text = format!("model {} {}\n", bytes.len(), Digest::of(&bytes));
    let files = external::files_of(&bytes).map_err(|_| {
        let model = model.display();
        format!("{model} is not the model that it seems to be, so its external data is not known")
    })?;
    drop(bytes);
    let folder = recipe.onnx_options().external_data_of(model);
    for name in files {
        let path = folder.join(&name);
        let (digest, length) =
            Digest::of_file(&path).map_err(|error| cannot_read(&path, &error))?;
        let _ = writeln!(text, "external {name:?} {length} {digest}");
    }
    Ok(text)
}

fn cannot_read(path: &Path, error: &std::io::Error) -> Problem {
    format!("cannot read {}: {error}", path.display())
}

/// The target, and the kind of device behind it. Entries serve each device of the kind.
fn target_text(target: &Target) -> Result<String, Problem> {
    let name = target.name();
    if name != "gpu" {
        return Ok(format!("target {name}\n"));
    }
    #[cfg(feature = "hip")]
    {
        use crate::hip::Device;
        let device = target.device().map_or_else(Device::current, Ok);
        let facts = device.and_then(|device| Ok((device.architecture()?, device.name()?)));
        let (architecture, device) = facts.map_err(|error| error.to_string())?;
        Ok(format!("target gpu {architecture:?} {device:?}\n"))
    }
    #[cfg(not(feature = "hip"))]
    Err("which kind of GPU it is for is not known without the feature `hip`".into())
}

/// The version of MIGraphX and the identity of its files.
fn library_text(target: &str) -> Result<String, Problem> {
    let version = crate::version().map_err(|error| error.to_string())?;
    let mut text = format!("library {version}\n");
    for path in library_files(target)? {
        let facts = std::fs::metadata(&path).and_then(|data| Ok((data.len(), data.modified()?)));
        // Replaced since it was loaded: it is not known any more what it was.
        let (length, modified) = facts.map_err(|error| cannot_read(&path, &error))?;
        // A time before 1970 is none that a file gets by being built.
        let modified = modified.duration_since(UNIX_EPOCH).unwrap_or_default();
        let name = path.file_name().unwrap_or_default();
        let _ = writeln!(text, "file {name:?} {length} {}", modified.as_nanos());
    }
    Ok(text)
}

/// Libraries that compile for a target and that are always loaded with it.
fn takes_part(file: &str, target: &str) -> bool {
    let Some((name, _)) = file.split_once(".so") else {
        return false;
    };
    match name.strip_prefix("libmigraphx") {
        Some("" | "_c" | "_onnx") => true,
        Some("_device") => target == "gpu",
        Some(part) => part.strip_prefix('_') == Some(target),
        None if target == "gpu" => matches!(
            name,
            "libamdhip64" | "libhiprtc" | "libMIOpen" | "librocblas" | "libhipblaslt"
        ),
        None => false,
    }
}

#[cfg(target_os = "linux")]
fn library_files(target: &str) -> Result<std::collections::BTreeSet<PathBuf>, Problem> {
    let maps = Path::new("/proc/self/maps");
    let text = std::fs::read_to_string(maps).map_err(|error| cannot_read(maps, &error))?;
    let mapped = text
        .lines()
        .filter_map(|line| Some(&line[line.find('/')?..]));
    let files = mapped.filter(|path| {
        let file = path.rsplit('/').next();
        file.is_some_and(|file| takes_part(file, target))
    });
    Ok(files.map(PathBuf::from).collect())
}

#[cfg(not(target_os = "linux"))]
fn library_files(_: &str) -> Result<Vec<PathBuf>, Problem> {
    let library = crate::library_path().map_err(|error| error.to_string())?;
    Ok(vec![library])
}

/// Variables that change what is compiled.
fn environment_text() -> String {
    let mut variables: Vec<_> = std::env::vars_os()
        .filter(|(name, _)| changes_programs(name))
        .collect();
    variables.sort();
    let mut text = String::new();
    for (name, value) in variables {
        let _ = writeln!(text, "environment {name:?} {value:?}");
    }
    text
}

fn changes_programs(name: &OsStr) -> bool {
    /// Of libraries that take part in compiling.
    const PREFIXES: [&str; 4] = ["MIGRAPHX_", "MIOPEN_", "ROCBLAS_", "HIPBLASLT_"];
    /// Of this project: which library it is, which is known from its files.
    const OWN: [&str; 7] = [
        "MIGRAPHX_LIB_DIR",
        "MIGRAPHX_INCLUDE_DIR",
        "MIGRAPHX_LINK",
        "MIGRAPHX_PATH",
        "MIGRAPHX_SETUP_DIR",
        "MIGRAPHX_TEST_",
        "MIGRAPHX_GPU_TEST",
    ];
    /// They print, or say how many threads compile.
    const HARMLESS: [&str; 9] = [
        "MIGRAPHX_TRACE_",
        "MIGRAPHX_TIME_PASSES",
        "MIGRAPHX_GPU_COMPILE_PARALLEL",
        "MIOPEN_ENABLE_LOGGING",
        "MIOPEN_LOG_LEVEL",
        "MIOPEN_COMPILE_PARALLEL_LEVEL",
        "ROCBLAS_LAYER",
        "ROCBLAS_LOG_",
        "HIPBLASLT_LOG_",
    ];
    let Some(name) = name.to_str() else {
        return false;
    };
    let begins = |prefixes: &[&str]| prefixes.iter().any(|prefix| name.starts_with(prefix));
    name == "HSA_OVERRIDE_GFX_VERSION" || begins(&PREFIXES) && !begins(&OWN) && !begins(&HARMLESS)
}
