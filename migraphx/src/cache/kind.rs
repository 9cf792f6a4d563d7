//! The two kinds of programs that a cache keeps.

use std::path::{Path, PathBuf};

use crate::bound::OnDevice;
use crate::compiled::{self, CompiledProgram};
#[cfg(feature = "hip")]
use crate::device_program::{self, DeviceProgram};
use crate::error::Result;
use crate::mxr::{self, Buffers, Mark, save};
use crate::program::{CompileOptions, Program};
use crate::target::Target;

pub(super) trait Kind: Sized {
    const BUFFERS: Buffers;

    fn compile(program: Program, target: &Target, options: &CompileOptions) -> Result<Self>;

    /// The entry at `path`, if it is of this key.
    fn load(path: &Path, key: &str, device: OnDevice) -> Result<Self>;

    /// Writes the entry, whole or not at all.
    fn save(&self, key: &str, path: &Path, temporary: PathBuf) -> Result<()>;
}

impl Kind for CompiledProgram {
    const BUFFERS: Buffers = Buffers::Host;

    fn compile(program: Program, target: &Target, options: &CompileOptions) -> Result<Self> {
        program.compile(target, options)
    }

    fn load(path: &Path, key: &str, device: OnDevice) -> Result<Self> {
        let loaded = mxr::load_entry(path, key, device)?;
        compiled::compiled(loaded, path.display().to_string())
    }

    fn save(&self, key: &str, path: &Path, temporary: PathBuf) -> Result<()> {
        save::save_by(temporary, self.handle(), &of_entry(self.mark(), key), path)
    }
}

#[cfg(feature = "hip")]
impl Kind for DeviceProgram {
    const BUFFERS: Buffers = Buffers::Device;

    fn compile(program: Program, target: &Target, options: &CompileOptions) -> Result<Self> {
        let device = target
            .device()
            .map_or_else(crate::hip::Device::current, Ok)?;
        program.compile_for_device(device, options)
    }

    fn load(path: &Path, key: &str, device: OnDevice) -> Result<Self> {
        let loaded = mxr::load_entry(path, key, device)?;
        device_program::of_device(loaded, path.display().to_string())
    }

    fn save(&self, key: &str, path: &Path, temporary: PathBuf) -> Result<()> {
        let program = self.bound();
        let _current = program.enter()?;
        let mark = of_entry(self.mark(), key);
        save::save_by(temporary, program.handle(), &mark, path)
    }
}

fn of_entry(mark: Mark, key: &str) -> Mark {
    let key = Some(key.to_owned());
    Mark { key, ..mark }
}
