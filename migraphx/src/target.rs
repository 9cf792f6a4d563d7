//! What a program is compiled for.

use std::fmt;

use crate::bound::OnDevice;
use crate::error::{Error, Result};
use crate::ffi::handle::TargetHandle;
use crate::ffi::lock;

/// A target: the device family that a program is compiled for.
///
/// ```
/// use migraphx::Target;
///
/// let cpu = Target::reference()?; // slow, exact, needs no GPU
/// assert_eq!(cpu.name(), "ref");
/// let error = Target::new("nosuch").unwrap_err();
/// assert!(error.to_string().contains("libmigraphx_nosuch"));
/// # Ok::<(), migraphx::Error>(())
/// ```
#[doc(alias = "migraphx_target")]
#[derive(Debug)]
pub struct Target {
    handle: TargetHandle,
    name: String,
    device: OnDevice,
}

impl Target {
    /// The target `name`: `gpu`, `ref`, `cpu` or `fpga`, where its library
    /// `libmigraphx_<name>.so` is installed.
    ///
    /// The first use of a target loads that library, and waits until no other
    /// thread is parsing, compiling or loading.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] where the name holds anything but `a-z`, `0-9`
    /// and `_` (it becomes part of a file name); [`Error::Api`] where the
    /// library is not to be had.
    #[doc(alias = "migraphx_target_create")]
    pub fn new(name: &str) -> Result<Self> {
        check_name(name)?;
        let c_name = crate::ffi::c_string("target name", name)?;
        let handle = lock::loading(&[name.to_owned()], || {
            TargetHandle::make(|out| {
                // SAFETY: the name ends with NUL and names no path (checked); the
                // first load of a target runs alone (the lock).
                unsafe { call!(migraphx_target_create(out, c_name.as_ptr())) }
            })
        })
        .map_err(|error| error.while_doing(|| format!("loading the target `{name}`")))?;
        Ok(Target {
            handle,
            name: name.to_owned(),
            device: None,
        })
    }

    /// The CPU reference target `ref`: exact and slow, in every MIGraphX.
    ///
    /// # Errors
    /// As [`new`](Target::new).
    pub fn reference() -> Result<Self> {
        Target::new("ref")
    }

    /// The GPU target, for the GPU that is current for the calling thread.
    ///
    /// # Errors
    /// As [`new`](Target::new).
    pub fn gpu() -> Result<Self> {
        Target::new("gpu")
    }

    /// The GPU target, for one GPU: whichever thread compiles, the program is
    /// made for this device and runs there.
    ///
    /// ```no_run
    /// use migraphx::{CompileOptions, Target, hip::Device, parse_onnx};
    ///
    /// let target = Target::gpu_on(Device::new(3)?)?;
    /// let program = parse_onnx("model.onnx")?.compile(&target, &CompileOptions::new())?;
    /// assert_eq!(program.device(), Some(Device::new(3)?));
    /// # Ok::<(), migraphx::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`new`](Target::new).
    #[cfg(feature = "hip")]
    pub fn gpu_on(device: crate::hip::Device) -> Result<Self> {
        let mut target = Target::new("gpu")?;
        target.device = Some(device);
        Ok(target)
    }

    /// The device that programs are compiled for; `None` for the current one.
    pub(crate) fn device(&self) -> OnDevice {
        self.device
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn handle(&self) -> &TargetHandle {
        &self.handle
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

/// Whether a target runs on the host's own memory, whatever the compile options say.
pub(crate) fn is_host(name: &str) -> bool {
    matches!(name, "ref" | "cpu")
}

pub(crate) fn check_name(name: &str) -> Result<()> {
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    if !name.is_empty() && name.chars().all(fits) {
        return Ok(());
    }
    Err(Error::InvalidArgument(format!(
        "target name {name:?}: names are made of a-z, 0-9 and _; usual ones are `gpu` and `ref`"
    )))
}
