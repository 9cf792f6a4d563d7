//! GPUs.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::fmt;
use std::process::Command;

use crate::error::{Error, Result};
use crate::hip::functions::{NO_DEVICE, failure};
use crate::hip::library::library;
use crate::hip::{current, visible};

/// A GPU that this process sees.
///
/// A number that was checked: it is copied freely and owns nothing. No call
/// of this module leaves another device current for a thread than it found.
///
/// ```
/// use migraphx::hip::Device;
///
/// for device in Device::all() {
///     let memory = device.memory()?;
///     println!("{device}: {}, {} of {} bytes free", device.name()?, memory.free, memory.total);
/// }
/// # Ok::<(), migraphx::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct Device(c_int);

/// A device's memory, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MemoryInfo {
    /// What nobody uses.
    pub free: usize,
    /// All of it.
    pub total: usize,
}

/// The first number that cannot be one.
fn seen() -> Result<c_int> {
    let mut count: c_int = 0;
    // SAFETY: the out pointer is valid.
    match unsafe { hip_status!(hipGetDeviceCount(&mut count)) }? {
        0 => Ok(count.max(0)),
        NO_DEVICE => Ok(0),
        code => Err(failure("hipGetDeviceCount", code)),
    }
}

impl Device {
    /// How many GPUs this process sees; 0 where there is none or no HIP.
    ///
    /// The first call opens HIP, and for that loads MIGraphX's `gpu` target
    /// (see [`Target::new`](crate::Target::new)).
    #[doc(alias = "hipGetDeviceCount")]
    pub fn count() -> usize {
        usize::try_from(seen().unwrap_or(0)).unwrap_or(0)
    }

    /// All GPUs that this process sees.
    pub fn all() -> Vec<Device> {
        (0..seen().unwrap_or(0)).map(Device).collect()
    }

    /// The GPU with this number, from 0.
    ///
    /// ```
    /// use migraphx::hip::Device;
    ///
    /// let error = Device::new(1000).unwrap_err();
    /// assert!(error.to_string().starts_with("there is no GPU 1000: "));
    /// ```
    ///
    /// # Errors
    /// [`Error::NoDevice`], which says how many there are, or what was looked
    /// for where there is no HIP.
    pub fn new(ordinal: usize) -> Result<Device> {
        let missing = |found| Error::NoDevice { ordinal, found };
        let count = seen().map_err(|error| match error {
            Error::NoDevice { found, .. } => missing(found),
            Error::Exiting => error,
            error => missing(error.to_string()),
        })?;
        match c_int::try_from(ordinal) {
            Ok(number) if number < count => Ok(Device(number)),
            _ => Err(missing(match count {
                0 => library()?.sees_none(),
                1 => "this process sees one, GPU 0".into(),
                _ => format!("this process sees {count}, GPU 0 to GPU {}", count - 1),
            })),
        }
    }

    /// The current device of the calling thread.
    ///
    /// # Errors
    /// [`Error::NoDevice`] where there is none.
    #[doc(alias = "hipGetDevice")]
    pub fn current() -> Result<Device> {
        current::current().map(Device)
    }

    /// The number, from 0. `HIP_VISIBLE_DEVICES` changes which GPU has it.
    pub fn ordinal(self) -> usize {
        // Never negative: `new`, `all` and HIP make it.
        self.0.unsigned_abs() as usize
    }

    pub(crate) fn number(self) -> c_int {
        self.0
    }

    /// The name, such as `AMD Instinct MI300X`.
    ///
    /// # Errors
    /// [`Error::Hip`].
    #[doc(alias = "hipDeviceGetName")]
    pub fn name(self) -> Result<String> {
        let mut text = [0u8; 256];
        let room = c_int::try_from(text.len() - 1).unwrap_or(0);
        // SAFETY: `text` has that much room, and a NUL after it.
        unsafe {
            hip!(hipDeviceGetName(
                text.as_mut_ptr().cast::<c_char>(),
                room,
                self.0
            ))
        }?;
        let name = CStr::from_bytes_until_nul(&text).unwrap_or_default();
        Ok(name.to_string_lossy().trim().to_owned())
    }

    /// Where it sits in its machine, such as `0000:c1:00.0`; `None` where HIP does
    /// not tell. Unlike [`ordinal`](Self::ordinal) it is the same in every process.
    ///
    /// # Errors
    /// [`Error::Hip`].
    #[doc(alias = "hipDeviceGetPCIBusId")]
    pub fn pci_bus_id(self) -> Result<Option<String>> {
        static RETURNS: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let library = library()?;
        let Some(get) = library.functions.pci_bus_id else {
            return Ok(None);
        };
        let mut text = [0u8; 64];
        let room = c_int::try_from(text.len() - 1).unwrap_or(0);
        let call = || {
            // SAFETY: `text` has that much room, and a NUL after it.
            unsafe { get(text.as_mut_ptr().cast::<c_char>(), room, self.0) }
        };
        match library.functions.status(&RETURNS, call)? {
            0 => {}
            code => return Err(failure("hipDeviceGetPCIBusId", code)),
        }
        let id = CStr::from_bytes_until_nul(&text).unwrap_or_default();
        Ok(Some(id.to_string_lossy().to_ascii_lowercase()))
    }

    /// The architecture with its features, such as `gfx90a:sramecc+:xnack-`.
    ///
    /// Programs compiled for one architecture do not run on another.
    ///
    /// # Errors
    /// [`Error::Hip`]; [`Error::InvalidArgument`] where HIP tells none.
    #[doc(alias = "hipGetDeviceProperties")]
    pub fn architecture(self) -> Result<String> {
        /// More than any version of the struct, which is one or two kilobytes.
        #[repr(C, align(64))]
        struct Properties([u8; 64 << 10]);

        let library = library()?;
        let mut properties = Box::new(Properties([0; 64 << 10]));
        if let Some(get) = library.functions.properties {
            static RETURNS: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
            let room = (&raw mut *properties).cast::<c_void>();
            let call = || {
                // SAFETY: the room is larger than the struct of any version.
                unsafe { get(room, self.0) }
            };
            match library.functions.status(&RETURNS, call)? {
                0 => {}
                code => return Err(failure("hipGetDeviceProperties", code)),
            }
        }
        architecture_in(&properties.0).ok_or_else(|| {
            Error::InvalidArgument(format!(
                "{self}: HIP's description of the device holds no architecture (`gfx…`)"
            ))
        })
    }

    /// How much memory the device has, and how much of it is free.
    ///
    /// # Errors
    /// [`Error::Hip`].
    #[doc(alias = "hipMemGetInfo")]
    pub fn memory(self) -> Result<MemoryInfo> {
        let _current = self.enter()?;
        let (mut free, mut total) = (0, 0);
        // SAFETY: the out pointers are valid.
        unsafe { hip!(hipMemGetInfo(&mut free, &mut total)) }?;
        Ok(MemoryInfo { free, total })
    }

    /// Waits for all work on the device, of all threads.
    ///
    /// # Errors
    /// [`Error::Hip`], also for work queued earlier that failed.
    #[doc(alias = "hipDeviceSynchronize")]
    pub fn synchronize(self) -> Result<()> {
        let _current = self.enter()?;
        // SAFETY: no arguments.
        unsafe { hip!(hipDeviceSynchronize()) }
            .map_err(|error| error.while_doing(|| format!("waiting for {self}")))
    }

    /// Runs `f` with this device current for the calling thread, and makes the
    /// former one current again, also where `f` panics.
    ///
    /// For code that follows HIP's current device, such as other HIP libraries;
    /// what this crate makes says its device itself.
    ///
    /// # Errors
    /// [`Error::Hip`] where it cannot be made current; `f` is not run then.
    #[doc(alias = "hipSetDevice")]
    pub fn scope<R>(self, f: impl FnOnce() -> R) -> Result<R> {
        let _current = self.enter()?;
        Ok(f())
    }

    /// Sets `HIP_VISIBLE_DEVICES` of a process to be started, so that it sees
    /// this device only, as its GPU 0.
    ///
    /// The list that this process has in `HIP_VISIBLE_DEVICES` (or
    /// `CUDA_VISIBLE_DEVICES`) is taken into account; `ROCR_VISIBLE_DEVICES`
    /// works one level below, and is handed on as it is.
    ///
    /// ```no_run
    /// use std::process::Command;
    /// use migraphx::hip::Device;
    ///
    /// let mut children = Vec::new();
    /// for device in Device::all() {
    ///     let mut command = Command::new("worker");
    ///     device.pin_child(&mut command)?;
    ///     children.push(command.spawn()?);
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] where this process's own list has no entry
    /// for the device: it was changed after HIP had read it.
    #[doc(alias = "HIP_VISIBLE_DEVICES")]
    pub fn pin_child(self, command: &mut Command) -> Result<()> {
        let list = library()?.visible.as_deref();
        let entry = visible::entry(list, self.ordinal()).ok_or_else(|| {
            Error::InvalidArgument(format!(
                "{self} is not in this process's HIP_VISIBLE_DEVICES ({}); do not change the \
                 variable while the process runs",
                list.unwrap_or_default()
            ))
        })?;
        command.env("HIP_VISIBLE_DEVICES", entry);
        Ok(())
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "GPU {}", self.0)
    }
}

/// The text of the form `gfx90a:sramecc+:xnack-` that stands alone in `bytes`.
fn architecture_in(bytes: &[u8]) -> Option<String> {
    let texts = bytes.split(|byte| *byte == 0);
    let architecture = |text: &&[u8]| {
        let number = text.strip_prefix(b"gfx");
        let number = number.and_then(|rest| rest.first());
        number.is_some_and(u8::is_ascii_hexdigit) && text.iter().all(u8::is_ascii_graphic)
    };
    // What stands before it may be bytes of numbers, with no NUL between.
    let ends = |text: &'_ [u8]| {
        (0..text.len())
            .map(|start| text[start..].to_vec())
            .find(|end| architecture(&end.as_slice()))
    };
    texts
        .filter(|text| text.len() >= 4)
        .find_map(ends)
        .and_then(|text| String::from_utf8(text).ok())
}

#[cfg(test)]
mod tests {
    use super::architecture_in;

    #[test]
    fn the_architecture_is_found_wherever_it_stands() {
        let mut bytes = vec![0u8; 4096];
        let name = b"AMD gfx card\0";
        bytes[..name.len()].copy_from_slice(name);
        assert_eq!(architecture_in(&bytes), None);
        let architecture = b"gfx90a:sramecc+:xnack-\0";
        for at in [396, 1160] {
            let mut bytes = bytes.clone();
            bytes[at..at + architecture.len()].copy_from_slice(architecture);
            // A number before it, with no zero byte between.
            bytes[at - 4..at].copy_from_slice(&[0xff, 0x01, 0x80, 0x07]);
            assert_eq!(
                architecture_in(&bytes).as_deref(),
                Some("gfx90a:sramecc+:xnack-")
            );
        }
    }

    #[test]
    fn what_only_looks_like_one_is_not_taken() {
        assert_eq!(architecture_in(b"gfx\0gfxz\0gf"), None);
        assert_eq!(architecture_in(b"gfx9\x01\0"), None);
        assert_eq!(architecture_in(b"gfx1100\0").as_deref(), Some("gfx1100"));
    }
}
