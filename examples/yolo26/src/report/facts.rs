//! What a run was made on and with.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read};
use std::path::Path;
use std::time::SystemTime;

use anyhow::{Context, Result};
use migraphx::hip::Device;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// A host, as far as it tells.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// Its processor's model.
    pub cpu: Option<String>,
    /// Processors that this program may use.
    pub processors: usize,
    pub memory_bytes: Option<u64>,
    pub os: Option<String>,
    pub kernel: Option<String>,
}

impl Machine {
    /// The one that this runs on.
    pub fn this() -> Self {
        let line_of = |file: &str, key: &str, mark: char| value(&read(file)?, key, mark);
        Machine {
            cpu: line_of("/proc/cpuinfo", "model name", ':'),
            processors: crate::loader::processors(),
            memory_bytes: line_of("/proc/meminfo", "MemTotal", ':').and_then(|kib| {
                let kib: u64 = kib.strip_suffix("kB")?.trim().parse().ok()?;
                Some(kib * 1024)
            }),
            os: line_of("/etc/os-release", "PRETTY_NAME", '=')
                .map(|name| name.trim_matches('"').to_owned()),
            kernel: read("/proc/sys/kernel/osrelease").map(|text| text.trim().to_owned()),
        }
    }

    /// Its host name; the system's where there is none.
    pub fn name() -> String {
        let name = read("/proc/sys/kernel/hostname").map(|text| text.trim().to_owned());
        name.filter(|name| !name.is_empty())
            .unwrap_or_else(|| std::env::consts::OS.to_owned())
    }
}

fn read(file: &str) -> Option<String> {
    fs::read_to_string(file).ok()
}

/// The value of the first line with this key.
fn value(text: &str, key: &str, mark: char) -> Option<String> {
    text.lines().find_map(|line| {
        let (name, value) = line.split_once(mark)?;
        (name.trim() == key).then(|| value.trim().to_owned())
    })
}

/// The weights that were measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelFile {
    /// Without its folder.
    pub file: String,
    pub bytes: u64,
    pub sha256: String,
}

impl ModelFile {
    pub fn of(path: &Path) -> Result<Self> {
        let cannot = || format!("cannot read {}", path.display());
        let mut file = fs::File::open(path).with_context(cannot)?;
        let mut hash = Sha256::new();
        let mut piece = vec![0; 1 << 20];
        let mut bytes = 0;
        loop {
            match file.read(&mut piece) {
                Ok(0) => break,
                Ok(read) => {
                    hash.update(&piece[..read]);
                    bytes += read as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error).with_context(cannot),
            }
        }
        let digits = hash.finalize();
        Ok(ModelFile {
            file: path
                .file_name()
                .map(|name| name.to_string_lossy().into_owned())
                .unwrap_or_default(),
            bytes,
            sha256: digits.iter().map(|byte| format!("{byte:02x}")).collect(),
        })
    }
}

/// A GPU.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeviceFacts {
    pub name: Option<String>,
    pub architecture: Option<String>,
    /// All of its memory.
    pub total_memory_bytes: Option<u64>,
    /// Where it sits, whatever number it has.
    #[serde(default)]
    pub pci_bus_id: Option<String>,
}

impl DeviceFacts {
    /// Of the GPU with that number on this machine, where the target has GPUs.
    pub fn of(target: &str, number: usize) -> Option<Self> {
        let device = (target == "gpu").then(|| Device::new(number).ok())??;
        Some(DeviceFacts {
            name: device.name().ok(),
            architecture: device.architecture().ok(),
            total_memory_bytes: device.memory().ok().map(|memory| memory.total as u64),
            pci_bus_id: device.pci_bus_id().ok().flatten(),
        })
    }
}

/// Of the software.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Versions {
    /// MIGraphX says of itself.
    pub migraphx: Option<String>,
    /// The file of its C library, through all links.
    pub library: Option<String>,
    pub hip: Option<String>,
    /// This program.
    pub yolo26: String,
}

impl Versions {
    pub fn of(target: &str) -> Self {
        let library = migraphx::library_path().ok();
        let library = library.map(|path| fs::canonicalize(&path).unwrap_or(path));
        let hip = (target == "gpu").then(|| migraphx::hip::version().ok());
        Versions {
            migraphx: migraphx::version().map(|version| version.to_string()).ok(),
            library: library.map(|path| path.display().to_string()),
            hip: hip
                .flatten()
                .map(|v| format!("{}.{}.{}", v.major, v.minor, v.patch)),
            yolo26: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }
}

/// Variables that steer the libraries.
pub fn switches() -> BTreeMap<String, String> {
    const OF_LIBRARIES: [&str; 10] = [
        "AMD_",
        "GPU_",
        "HIP_",
        "HSA_",
        "MIGRAPHX_",
        "MIOPEN_",
        "ROCBLAS_",
        "ROCM_",
        "ROCR_",
        "TENSILE_",
    ];
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value)))
        .filter(|(name, _)| OF_LIBRARIES.iter().any(|prefix| name.starts_with(prefix)))
        .map(|(name, value)| (name, value.to_string_lossy().into_owned()))
        .collect()
}

/// The wall clock: seconds since 1970, and in UTC as RFC 3339 has it.
pub fn now() -> (f64, String) {
    let now = SystemTime::now();
    let since = now
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default();
    (
        since.as_secs_f64(),
        humantime::format_rfc3339_seconds(now).to_string(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_model_is_known_by_its_hash() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("m.mxr");
        fs::write(&path, "abc").unwrap();
        let model = ModelFile::of(&path).unwrap();
        assert_eq!((model.file.as_str(), model.bytes), ("m.mxr", 3));
        // FIPS 180-2, appendix B.1.
        assert_eq!(
            model.sha256,
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
        let missing = ModelFile::of(&folder.path().join("gone.mxr")).unwrap_err();
        assert!(format!("{missing:#}").contains("gone.mxr"), "{missing:#}");
    }

    #[test]
    fn lines_of_system_files_are_understood() {
        let text = "processor\t: 0\nmodel name\t: A: fast @ 2 GHz\nmodel name\t: other\n";
        assert_eq!(value(text, "model name", ':').unwrap(), "A: fast @ 2 GHz");
        assert_eq!(value(text, "model", ':'), None);
        #[cfg(target_os = "linux")]
        assert!(Machine::this().memory_bytes > Some(1 << 20));
    }
}
