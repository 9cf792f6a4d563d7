//! Options, read from the environment at the first call. `hipsim_set_option`
//! changes those that make sense later.

use crate::abi::Generation;
use crate::engines::Times;
use std::time::Duration;

/// Most devices one process can have.
pub const MAX_DEVICES: usize = 64;

/// What the environment variables `GPU_SIM_*` choose.
#[derive(Clone, Debug)]
pub struct Options {
    /// `GPU_SIM_DEVICES` (8): 0 to 64; 0 plays a machine without a GPU.
    pub devices: usize,
    /// HIP's own `HIP_VISIBLE_DEVICES`: those of them that the process sees, in its order.
    pub visible: Vec<usize>,
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
    /// How long work takes. `GPU_SIM_OP_US` (0): a kernel, in microseconds; `GPU_SIM_COPY_US`
    /// (0): a copy; `GPU_SIM_COPY_GBPS`: its bytes, 10⁹ a second.
    pub times: Times,
    /// `GPU_SIM_COMPUTE` (1): 0 checks kernels and computes nothing.
    pub compute: bool,
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
        let visible = variable("HIP_VISIBLE_DEVICES")
            .or_else(|| variable("CUDA_VISIBLE_DEVICES").filter(|list| !list.is_empty()));
        Ok(Self {
            devices,
            visible: match visible {
                None => (0..devices).collect(),
                Some(list) => parse_visible(&list, devices),
            },
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
            times: Times {
                kernel: Duration::from_micros(size("GPU_SIM_OP_US", 0)? as u64),
                copy: Duration::from_micros(size("GPU_SIM_COPY_US", 0)? as u64),
                rate: match text("GPU_SIM_COPY_GBPS").as_deref() {
                    None => None,
                    Some(value) => {
                        parse_rate(value).map_err(|e| format!("GPU_SIM_COPY_GBPS: {e}"))?
                    }
                },
            },
            compute: flag("GPU_SIM_COMPUTE", true)?,
            generation,
        })
    }

    /// The architecture of one device, features included.
    pub fn architecture(&self, device: usize) -> &str {
        let last = self.architectures.len() - 1;
        &self.architectures[device.min(last)]
    }
}

/// Ordinals by commas, up to the first that is no device; one named again is
/// left out. clr `rocdevice.cpp`, `Device::init` (and `flags.cpp`: a variable
/// that is set to nothing is a list of nothing). Identifiers (`GPU-…`) are no
/// virtual device's.
fn parse_visible(list: &str, devices: usize) -> Vec<usize> {
    let mut visible = Vec::new();
    for word in list.split(',') {
        match word.parse::<usize>() {
            Ok(device) if device < devices && device.to_string() == word => {
                if !visible.contains(&device) {
                    visible.push(device);
                }
            }
            _ => break,
        }
    }
    visible
}

/// `0` or `1`.
pub fn parse_flag(value: &str) -> Result<bool, String> {
    match value {
        "0" => Ok(false),
        "1" => Ok(true),
        other => Err(format!("`{other}` is neither 0 nor 1")),
    }
}

/// 10⁹ bytes a second; 0 is no limit.
pub fn parse_rate(value: &str) -> Result<Option<f64>, String> {
    match value.parse::<f64>() {
        Ok(0.0) => Ok(None),
        Ok(rate) if rate.is_finite() && rate >= 1e-6 => Ok(Some(rate)),
        _ => Err(format!("`{value}` is no rate (25, 0.5)")),
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
    fn visible_devices_are_a_list_in_order_up_to_the_first_that_is_none() {
        let visible = |list: &str| parse_visible(list, 8);
        assert_eq!(visible("3"), [3]);
        assert_eq!(visible("5,0,5,2"), [5, 0, 2]);
        assert_eq!(visible("1,2,8,3"), [1, 2]);
        assert_eq!(visible("1,-1,2"), [1]);
        assert_eq!(visible("4,"), [4]);
        for none in ["", "-1", "8", "02", " 1", "+1", "x", "GPU-0123"] {
            assert!(visible(none).is_empty(), "{none}");
        }
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
