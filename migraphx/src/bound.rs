//! Compiled programs, and the device that each is bound to.
//!
//! MIGraphX's C API knows no devices: a program is bound to the device that is
//! current for the thread that compiles or loads it, and running it leaves that
//! device current. So every such call is made with the program's device current,
//! and the caller's is put back after it.

use std::fs::File;
use std::mem::ManuallyDrop;

use crate::error::{Error, Result};
use crate::ffi::handle::ProgramHandle;

/// The device that a program is bound to. `None` on the host's targets.
#[cfg(feature = "hip")]
pub(crate) type OnDevice = Option<crate::hip::Device>;
/// The device that a program is bound to: nobody knows without HIP.
#[cfg(not(feature = "hip"))]
pub(crate) type OnDevice = Option<std::convert::Infallible>;

/// While this lives, the program's device is current.
#[cfg(feature = "hip")]
pub(crate) type Current = Option<crate::hip::Guard>;
/// While this lives, nothing is different.
#[cfg(not(feature = "hip"))]
pub(crate) struct Current;

/// A compiled program of the library, on its device.
#[derive(Debug)]
pub(crate) struct Bound {
    handle: ManuallyDrop<ProgramHandle>,
    #[cfg_attr(not(feature = "hip"), allow(dead_code))]
    device: OnDevice,
}

impl Bound {
    pub(crate) fn new(handle: ProgramHandle, device: OnDevice) -> Self {
        Bound {
            handle: ManuallyDrop::new(handle),
            device,
        }
    }

    #[inline]
    pub(crate) fn handle(&self) -> &ProgramHandle {
        &self.handle
    }

    /// Of a program that is not compiled.
    pub(crate) fn into_handle(self) -> ProgramHandle {
        let mut bound = ManuallyDrop::new(self);
        // SAFETY: taken once; `bound` is not dropped.
        unsafe { ManuallyDrop::take(&mut bound.handle) }
    }

    #[cfg(feature = "hip")]
    pub(crate) fn device(&self) -> OnDevice {
        self.device
    }

    /// Makes the program's device current.
    #[inline]
    pub(crate) fn enter(&self) -> Result<Current> {
        #[cfg(feature = "hip")]
        return self.device.map(|device| device.enter()).transpose();
        #[cfg(not(feature = "hip"))]
        Ok(Current)
    }

    /// The architecture of the device, for the file.
    pub(crate) fn architecture(&self) -> Option<String> {
        #[cfg(feature = "hip")]
        return self.device?.architecture().ok();
        #[cfg(not(feature = "hip"))]
        None
    }

    /// Never destroys the program: something on the device may still use it.
    #[cfg(feature = "hip")]
    pub(crate) fn leak(self) {
        std::mem::forget(self);
    }
}

impl Drop for Bound {
    fn drop(&mut self) {
        // The library frees what the program has on its device, and may make it current.
        let current = self.enter();
        // SAFETY: dropped once, here.
        unsafe { ManuallyDrop::drop(&mut self.handle) };
        match current {
            Ok(_) | Err(Error::Exiting) => {}
            Err(error) => log::warn!(target: "migraphx", "dropping a program: {error}"),
        }
    }
}

/// What a program is known to take on its device, in bytes.
#[cfg_attr(not(feature = "hip"), allow(dead_code))]
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Needs {
    /// Constants. MIGraphX aborts where it gets no memory of the device for them.
    pub(crate) weights: u64,
    /// For results in between; taken first. MIGraphX goes on with the host's memory.
    pub(crate) scratch: u64,
}

/// Compiles by `make`, which needs `program` and takes the device that is current.
#[cfg_attr(not(feature = "hip"), allow(unused_variables))]
pub(crate) fn compiling(
    program: &ProgramHandle,
    target: &str,
    device: OnDevice,
    make: impl FnOnce() -> Result<()>,
) -> Result<OnDevice> {
    #[cfg(feature = "hip")]
    if let Some(device) = on_device::of(target, device)? {
        let needs = Needs {
            weights: on_device::weights_of(program),
            scratch: 0,
        };
        on_device::with(device, needs, "the program's weights", || {
            make()?;
            Ok(((), on_device::taken(program)))
        })?;
        return Ok(Some(device));
    }
    make()?;
    Ok(None)
}

/// Loads by `make`, which takes the device that is current. `needs` and
/// `architecture` are what is known beforehand: what the program takes at least,
/// and what it was compiled for.
#[cfg_attr(not(feature = "hip"), allow(unused_variables))]
pub(crate) fn loading(
    file: &File,
    needs: Needs,
    target: &str,
    architecture: Option<&str>,
    device: OnDevice,
    name: &str,
    make: impl FnOnce() -> Result<ProgramHandle>,
) -> Result<Bound> {
    #[cfg(feature = "hip")]
    if let Some(device) = on_device::of(target, device)? {
        if let Some(architecture) = architecture {
            on_device::check_architecture(architecture, device, name)?;
        }
        let handle = on_device::with(device, needs, name, || {
            let handle = make().map_err(|error| on_device::explain(error, file, device, name))?;
            let taken = on_device::taken(&handle);
            Ok((handle, taken))
        })?;
        return Ok(Bound::new(handle, Some(device)));
    }
    Ok(Bound::new(make()?, None))
}

#[cfg(feature = "hip")]
pub(crate) use on_device::check_device;

#[cfg(feature = "hip")]
mod on_device {
    use std::collections::HashMap;
    use std::fs::File;
    use std::io::{Read, Seek, SeekFrom};

    use super::Needs;
    use crate::dtype::DataType;
    use crate::error::{Error, Result};
    use crate::ffi::handle::ProgramHandle;
    use crate::hip::Device;
    use crate::instructions::lines;
    use crate::{program, target};

    /// The driver hands out memory in pieces, so that what is free does not change
    /// with each small allocation.
    const PIECES: u64 = 16 << 20;

    /// The device to bind to: the one asked for, or the current one.
    pub(super) fn of(target: &str, device: Option<Device>) -> Result<Option<Device>> {
        match device {
            Some(device) if target::is_host(target) => Err(Error::InvalidArgument(format!(
                "a program for the target `{target}` runs on the host, and was to be put on {device}"
            ))),
            Some(device) => Ok(Some(device)),
            None if target == "gpu" => match Device::current() {
                Ok(device) => Ok(Some(device)),
                // The library says better what is wrong.
                Err(Error::NoDevice { .. }) => Ok(None),
                Err(error) => Err(error),
            },
            None => Ok(None),
        }
    }

    /// Runs `f` with `device` current. `needs` is what `what` is known to take
    /// there; `f` also gives what it took in the end, as far as that is known.
    pub(super) fn with<R>(
        device: Device,
        needs: Needs,
        what: &str,
        f: impl FnOnce() -> Result<(R, Option<u64>)>,
    ) -> Result<R> {
        let _current = device.enter()?;
        let before = device.memory()?.free;
        if let Some(bytes) = too_much(needs, before as u64) {
            return Err(Error::DeviceMemory {
                what: what.to_owned(),
                device: device.to_string(),
                bytes: usize::try_from(bytes).unwrap_or(usize::MAX),
                free: before,
            });
        }
        let (result, took) = f()?;
        check_device(device, what)?;
        let less = before.saturating_sub(device.memory()?.free) as u64;
        if let Some(took) = took.filter(|took| *took > less.saturating_add(PIECES)) {
            log::warn!(
                target: "migraphx",
                "{what} takes {took} bytes on {device}, and only {less} bytes less are free there: \
                 MIGraphX seems to have taken the host's memory for the rest (slow), or something \
                 else was freed meanwhile; {before} bytes were free before"
            );
        }
        Ok(result)
    }

    /// What does not fit, where the weights would not get memory of the device.
    fn too_much(needs: Needs, free: u64) -> Option<u64> {
        let Needs { weights, scratch } = needs;
        // Scratch that does not fit leaves the device to the weights.
        let scratch = if scratch <= free { scratch } else { 0 };
        let all = weights.saturating_add(scratch);
        (weights > 0 && all > free).then_some(all)
    }

    /// Whether the library left `device` current, as it does where it took that one.
    pub(crate) fn check_device(device: Device, what: &str) -> Result<()> {
        let now = Device::current()?;
        if now == device {
            return Ok(());
        }
        Err(Error::WrongDevice {
            what: format!(
                "{what} (this MIGraphX binds programs to a device of its own choice; run one \
                 process for each device, see `hip::Device::pin_child`)"
            ),
            expected: device.to_string(),
            found: now.to_string(),
        })
    }

    pub(super) fn check_architecture(program: &str, device: Device, name: &str) -> Result<()> {
        let found = device.architecture()?;
        if base(program) == base(&found) {
            return Ok(());
        }
        Err(Error::Architecture {
            path: name.to_owned(),
            program: program.to_owned(),
            device: device.to_string(),
            found,
        })
    }

    /// `gfx90a` of `gfx90a:sramecc+:xnack-`.
    fn base(architecture: &str) -> &str {
        architecture.split(':').next().unwrap_or(architecture)
    }

    /// Says what a file was compiled for where the library failed to load it.
    pub(super) fn explain(error: Error, file: &File, device: Device, name: &str) -> Error {
        let Ok(found) = device.architecture() else {
            return error;
        };
        let targets = architectures_in(file).unwrap_or_default();
        if targets.is_empty() || targets.iter().any(|target| base(target) == base(&found)) {
            return error;
        }
        log::warn!(target: "migraphx", "{error}");
        Error::Architecture {
            path: name.to_owned(),
            program: targets.join(" and "),
            device: device.to_string(),
            found,
        }
    }

    /// What the code objects in a file were compiled for, by the text that the
    /// compiler leaves in each (LLVM's AMDGPU documentation, "target ID").
    fn architectures_in(mut file: &File) -> std::io::Result<Vec<String>> {
        const MARK: &[u8] = b"amdgcn-amd-amdhsa--";
        let mut bytes = Vec::new();
        file.seek(SeekFrom::Start(0))?;
        file.read_to_end(&mut bytes)?;
        let mut found: Vec<String> = bytes
            .windows(MARK.len())
            .enumerate()
            .filter(|(_, window)| *window == MARK)
            .map(|(at, _)| {
                let rest = &bytes[at + MARK.len()..];
                let name = rest
                    .iter()
                    .take(64)
                    .take_while(|byte| byte.is_ascii_alphanumeric() || b":+-".contains(byte));
                name.map(|byte| char::from(*byte)).collect()
            })
            .filter(|name: &String| name.starts_with("gfx"))
            .collect();
        found.sort();
        found.dedup();
        Ok(found)
    }

    /// The bytes that a program's constants take at least once it is compiled.
    pub(super) fn weights_of(program: &ProgramHandle) -> u64 {
        let text = program::print(program).ok().flatten();
        weights(text.as_deref().unwrap_or_default())
    }

    /// What is computed of constants alone is computed when compiling, and may be
    /// smaller than they are: weights converted to half precision.
    fn weights(text: &str) -> u64 {
        let (mut all, mut used) = (0u64, 0u64);
        // What is constant: its bytes, until something that is not takes it.
        let mut constants = HashMap::<&str, u64>::new();
        for line in lines(text) {
            let bytes = bytes_of(line.shape);
            if line.operator == "@literal" {
                all = all.saturating_add(bytes.unwrap_or(0));
                constants.insert(line.name, bytes.unwrap_or(0));
                continue;
            }
            let mut of_constants = 0u64;
            let constant = line.inputs().next().is_some()
                && line.operator != "@return"
                && line.inputs().all(|name| {
                    let of = constants.get(name);
                    of_constants = of_constants.saturating_add(of.copied().unwrap_or(0));
                    of.is_some()
                });
            if constant {
                let least = bytes.unwrap_or(of_constants).min(of_constants);
                constants.insert(line.name, least);
                continue;
            }
            for name in line.inputs() {
                if let Some(bytes) = constants.get_mut(name) {
                    used = used.saturating_add(std::mem::take(bytes));
                }
            }
        }
        all.min(used)
    }

    /// What a compiled program has taken on its device.
    pub(super) fn taken(program: &ProgramHandle) -> Option<u64> {
        let text = program::print(program).ok().flatten()?;
        let took = ["hip::hip_copy_literal", "hip::hip_allocate_memory"];
        Some(sum(&text, &took))
    }

    /// The bytes of the results of some operators, in the text of a program.
    fn sum(text: &str, operators: &[&str]) -> u64 {
        lines(text)
            .filter(|line| operators.contains(&line.operator))
            .filter_map(|line| bytes_of(line.shape))
            .fold(0, u64::saturating_add)
    }

    /// Of `float_type, {64, 3}, {3, 1}, target_id=0`.
    fn bytes_of(shape: &str) -> Option<u64> {
        let (dtype, rest) = shape.split_once("_type, {")?;
        let size = DataType::ALL
            .iter()
            .find(|known| known.name() == dtype)?
            .size();
        rest.split('}')
            .next()?
            .split(',')
            .map(|dim| dim.trim().parse::<u64>().ok())
            .try_fold(size as u64, |product, dim| product.checked_mul(dim?))
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn sizes_are_read_from_the_text() {
            let text = "module: \"main\"\n@0 = @literal{1, 2} -> float_type, {2, 3}, {3, 1}\n\
                x = @param:x -> float_type, {100}, {1}\n\
                @2 = @literal{ ... } -> half_type, {1}, {0}, target_id=0\n\
                @3 = hip::hip_allocate_memory[shape=int8_type, {64}, {1},id=main:scratch] -> int8_type, {64}, {1}\n";
            assert_eq!(sum(text, &["@literal"]), 24 + 2);
            assert_eq!(sum(text, &["hip::hip_allocate_memory"]), 64);
        }

        #[test]
        fn weights_count_as_what_compiling_makes_of_them() {
            let text = "module: \"main\"\n\
                @0 = @literal{ ... } -> float_type, {10, 10}, {10, 1}\n\
                @1 = @literal{ ... } -> float_type, {100}, {1}\n\
                @2 = @literal{ ... } -> float_type, {7}, {1}\n\
                x = @param:x -> half_type, {1, 10}, {10, 1}\n\
                @4 = convert[target_type=half_type](@0) -> half_type, {10, 10}, {10, 1}\n\
                @5 = dot(x,@4) -> half_type, {1, 10}, {10, 1}\n";
            assert_eq!(weights(text), 200);
            // No more than the constants themselves, however often they are spread.
            let spread = "@6 = multibroadcast[out_lens={9, 100}](@1) -> float_type, {9, 100}, {0, 1}\n\
                @7 = add(@6,@5) -> float_type, {9, 100}, {100, 1}\n\
                @8 = @return(@7)\n";
            assert_eq!(weights(&format!("{text}{spread}")), 200 + 400);
            assert_eq!(weights(""), 0);
        }

        #[test]
        fn scratch_that_does_not_fit_is_no_error() {
            let needs = |weights, scratch| Needs { weights, scratch };
            assert_eq!(too_much(needs(60, 40), 100), None);
            assert_eq!(too_much(needs(61, 40), 100), Some(101));
            assert_eq!(too_much(needs(61, 101), 100), None);
            assert_eq!(too_much(needs(101, 0), 100), Some(101));
            assert_eq!(too_much(needs(0, 1000), 100), None);
        }

        #[test]
        fn features_do_not_make_another_architecture() {
            assert_eq!(base("gfx90a:sramecc+:xnack-"), "gfx90a");
            assert_eq!(base("gfx942"), "gfx942");
        }
    }
}
