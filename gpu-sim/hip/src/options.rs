//! Options, read from the environment at the first call. `hipsim_set_option`
//! changes those that make sense later.

use crate::abi::Generation;
use std::time::Duration;

/// Most devices one process can have.
pub const MAX_DEVICES: usize = 64;

/// What the environment variables `GPU_SIM_*` choose.
#[derive(Clone, Debug)]
pub struct Options {
    /// `GPU_SIM_DEVICES` (8): 0 to 64; 0 plays a machine without a GPU.
    pub devices: usize,
    /// `GPU_SIM_ARCH` (`gfx90a:sramecc+:xnack-`): a comma list gives one a device, the last repeats.
    pub architectures: Vec<String>,
    /// `GPU_SIM_MEMORY` (4G): memory of each device; K, M, G are powers of 1024.
    pub memory: usize,
    /// `GPU_SIM_DEFERRED` (0): 1 leaves stream work in its queue until something waits for it.
    pub deferred: bool,
    /// `GPU_SIM_HOST_ACCESS` (0): 1 lets the host touch device memory; else it is a SIGSEGV.
    pub host_access: bool,
    /// `GPU_SIM_STRICT` (0): 1 refuses what real HIP tolerates and this library only records.
    pub strict: bool,
    /// `GPU_SIM_POISON` (1): fill new memory with 0xA5.
    pub poison: bool,
    /// `GPU_SIM_ABORT` (0): 1 ends the process at the first violation.
    pub abort: bool,
    /// `GPU_SIM_FAIL`: faults to inject, see [`crate::faults`].
    pub faults: String,
    /// `GPU_SIM_LOG`: a file, or `stderr`; one line a call.
    pub log: Option<String>,
    /// `GPU_SIM_REPORT`: a file, or `stderr`; written at exit.
    pub report: Option<String>,
    /// `GPU_SIM_OP_US` (0): every stream operation takes this many microseconds more.
    pub delay: Duration,
    /// `GPU_SIM_ABI` (`hip5`, `hip6`; by default from the library's file name).
    pub generation: Generation,
}

impl Options {
    /// Reads the environment. A value that cannot be understood ends the
    /// process with a message: a test that runs with other options than it
    /// asked for proves nothing.
    pub fn from_env() -> Self {
        Self::parse(|name| std::env::var(name).ok()).unwrap_or_else(|message| {
            eprintln!("gpu-sim: {message}");
            std::process::exit(2)
        })
    }

    /// The same from any source of variables.
    pub fn parse(variable: impl Fn(&str) -> Option<String>) -> Result<Self, String> {
        let text = |name: &str| variable(name).filter(|value| !value.is_empty());
        let flag = |name: &str, default: bool| match text(name).as_deref() {
            None => Ok(default),
            Some(value) => parse_flag(value).map_err(|e| format!("{name}: {e}")),
        };
        let size = |name: &str, default: usize| match text(name).as_deref() {
            None => Ok(default),
            Some(value) => parse_size(value).map_err(|e| format!("{name}: {e}")),
        };
        let devices = size("GPU_SIM_DEVICES", 8)?;
        if devices > MAX_DEVICES {
            return Err(format!(
                "GPU_SIM_DEVICES: {devices} asked, {MAX_DEVICES} is the most"
            ));
        }
        let architectures = text("GPU_SIM_ARCH").unwrap_or_else(|| "gfx90a:sramecc+:xnack-".into());
        let generation = match text("GPU_SIM_ABI").as_deref() {
            None => Generation::of_this_library(),
            Some("hip5") => Generation::Hip5,
            Some("hip6") => Generation::Hip6,
            Some(other) => return Err(format!("GPU_SIM_ABI: `{other}` is neither hip5 nor hip6")),
        };
        Ok(Self {
            devices,
            architectures: architectures
                .split(',')
                .map(|a| a.trim().to_owned())
                .collect(),
            memory: size("GPU_SIM_MEMORY", 4 << 30)?,
            deferred: flag("GPU_SIM_DEFERRED", false)?,
            host_access: flag("GPU_SIM_HOST_ACCESS", false)?,
            strict: flag("GPU_SIM_STRICT", false)?,
            poison: flag("GPU_SIM_POISON", true)?,
            abort: flag("GPU_SIM_ABORT", false)?,
            faults: text("GPU_SIM_FAIL").unwrap_or_default(),
            log: text("GPU_SIM_LOG"),
            report: text("GPU_SIM_REPORT"),
            delay: Duration::from_micros(size("GPU_SIM_OP_US", 0)? as u64),
            generation,
        })
    }

    /// The architecture of one device, features included.
    pub fn architecture(&self, device: usize) -> &str {
        let last = self.architectures.len() - 1;
        &self.architectures[device.min(last)]
    }
}

/// `0` or `1`.
pub fn parse_flag(value: &str) -> Result<bool, String> {
    match value {
        "0" => Ok(false),
        "1" => Ok(true),
        other => Err(format!("`{other}` is neither 0 nor 1")),
    }
}

/// A whole number, `K`, `M` or `G` after it.
pub fn parse_size(value: &str) -> Result<usize, String> {
    let (digits, shift) = match value.as_bytes().last() {
        Some(b'K') => (&value[..value.len() - 1], 10),
        Some(b'M') => (&value[..value.len() - 1], 20),
        Some(b'G') => (&value[..value.len() - 1], 30),
        _ => (value, 0),
    };
    let number: usize = digits
        .parse()
        .map_err(|_| format!("`{value}` is not a size (4096, 100M, 4G)"))?;
    number
        .checked_mul(1 << shift)
        .ok_or_else(|| format!("`{value}` is too large"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_and_lists() {
        let options = Options::parse(|name| match name {
            "GPU_SIM_ARCH" => Some("gfx906, gfx1100".into()),
            "GPU_SIM_MEMORY" => Some("100M".into()),
            _ => None,
        })
        .unwrap();
        assert_eq!(options.devices, 8);
        assert_eq!(options.memory, 100 << 20);
        assert_eq!(options.architecture(0), "gfx906");
        assert_eq!(options.architecture(5), "gfx1100");
        assert!(!options.host_access && options.poison);
    }

    #[test]
    fn nonsense_is_refused() {
        for (name, value) in [
            ("GPU_SIM_DEVICES", "65"),
            ("GPU_SIM_DEFERRED", "yes"),
            ("GPU_SIM_MEMORY", "4X"),
            ("GPU_SIM_ABI", "hip7"),
        ] {
            let error = Options::parse(|n| (n == name).then(|| value.into())).unwrap_err();
            assert!(error.starts_with(name), "{error}");
        }
    }
}
