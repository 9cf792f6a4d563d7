//! Kernel launches.
//!
//! Read in: ROCm/clr rocm-6.2.2, `hip_module.cpp`: `ihipModuleLaunchKernel`,
//! `ihipLaunchKernel_validate`. A stream that is not valid is
//! hipErrorInvalidValue, a kernel without code for the stream's device
//! hipErrorInvalidDevice, an empty grid or block hipErrorInvalidConfiguration.
//! The current device does not matter.
//!
//! Arguments come packed (`extra`); the other form, `kernelParams`, needs the
//! kernel's own table of argument sizes and is refused as not supported.

use crate::abi::{Handle, HipError, HipResult};
use crate::allocations::Found;
use crate::checks::{Kind, Use};
use crate::events;
use crate::state::{Locked, api, give};
use crate::work::Work;
use std::ffi::{c_int, c_uint, c_void};

const LARGEST_BLOCK: u64 = 1024;
/// The markers of HIP's `extra` list.
const BUFFER: usize = 1;
const SIZE: usize = 2;
const END: usize = 3;

struct Launch {
    function: Handle,
    global: [u32; 3],
    local: [u32; 3],
    stream: Handle,
    parameters: *mut *mut c_void,
    extra: *mut *mut c_void,
    start: Handle,
    stop: Handle,
}

/// Copies the packed arguments out of an `extra` list.
///
/// # Safety
/// `extra` is null, or a list as HIP asks for.
unsafe fn packed(extra: *mut *mut c_void) -> HipResult<Vec<u8>> {
    if extra.is_null() {
        return Ok(Vec::new());
    }
    // SAFETY: the list has five entries if it follows HIP; each is looked at
    // only after the one before was right.
    unsafe {
        let entry = |i: usize| *extra.add(i) as usize;
        if entry(0) != BUFFER || entry(2) != SIZE || entry(4) != END {
            return Err(HipError::INVALID_VALUE);
        }
        let size = *(entry(3) as *const usize);
        Ok(std::slice::from_raw_parts(entry(1) as *const u8, size).to_vec())
    }
}

/// The memory a kernel is given: each aligned 8-byte word that points into
/// memory of HIP. Which it writes is not known; MIGraphX puts the result last,
/// so the last counts as written, for the search for races.
fn uses(s: &Locked, arguments: &[u8]) -> Vec<Use> {
    let words = arguments
        .chunks_exact(8)
        .map(|w| usize::from_ne_bytes(w.try_into().expect("eight bytes")));
    let mut uses: Vec<_> = words
        .filter(|at| !matches!(s.memory.find(*at), Found::Nothing))
        .map(|at| Use {
            at,
            bytes: 0,
            write: false,
        })
        .collect();
    if let Some(last) = uses.last_mut() {
        last.write = true;
    }
    uses
}

fn launch(s: &mut Locked, what: &str, launch: &Launch) -> HipResult {
    let id = s
        .stream_of(what, launch.stream)
        .map_err(|_| HipError::INVALID_VALUE)?;
    let function = s.function_of(what, launch.function)?;
    if !launch.parameters.is_null() && !launch.extra.is_null() {
        return Err(HipError::INVALID_VALUE);
    }
    if launch.global.contains(&0) || launch.local.contains(&0) {
        return Err(HipError::INVALID_CONFIGURATION);
    }
    if launch.local.iter().map(|n| u64::from(*n)).product::<u64>() > LARGEST_BLOCK {
        return Err(HipError::INVALID_VALUE);
    }
    if !launch.parameters.is_null() {
        return Err(HipError::NOT_SUPPORTED);
    }
    let device = s.streams[&id].device;
    let module_device = s
        .modules
        .live
        .get(&function.module)
        .map_or(device, |m| m.device);
    if module_device != device {
        let text = format!(
            "{what}: kernel {} was loaded on device {module_device}, stream {id} is of device {device}",
            function.name
        );
        s.violation(Kind::WrongDevice, text);
        return Err(HipError::INVALID_DEVICE);
    }
    if s.current()? != device {
        s.devices[device].counters.cross_launches += 1;
        if s.options.strict {
            let text = format!(
                "{what}: a stream of device {device} while device {} is current",
                s.current()?
            );
            s.violation(Kind::WrongDevice, text);
            return Err(HipError::INVALID_HANDLE);
        }
    }
    // SAFETY: the caller's list, as HIP asks for.
    let arguments = unsafe { packed(launch.extra) }?;
    let uses = uses(s, &arguments);
    for used in &uses {
        s.check_kernel_use(&format!("kernel {}", function.name), id, *used)?;
    }
    s.devices[device].counters.launches += 1;
    if !launch.start.is_null() {
        events::record(s, what, launch.start, id)?;
    }
    let name = function.name.clone();
    let work = Work::Kernel {
        function,
        arguments,
        global: launch.global,
        local: launch.local,
    };
    s.submit(id, &name, work, &uses)?;
    if !launch.stop.is_null() {
        events::record(s, what, launch.stop, id)?;
    }
    Ok(())
}

fn call(name: &'static str, what: Launch) -> c_int {
    let arguments = || {
        format!(
            "function={:p} global={:?} local={:?} stream={:p}",
            what.function, what.global, what.local, what.stream
        )
    };
    api(name, arguments, |s| {
        if s.log.enabled()
            && let Ok(function) = s.function_of(name, what.function)
        {
            s.note(|| format!(" {}", function.name));
        }
        launch(s, name, &what)
    })
}

/// HIP's function of this name: the grid is in blocks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipModuleLaunchKernel(
    function: Handle,
    grid_x: c_uint,
    grid_y: c_uint,
    grid_z: c_uint,
    block_x: c_uint,
    block_y: c_uint,
    block_z: c_uint,
    _local_bytes: c_uint,
    stream: Handle,
    parameters: *mut *mut c_void,
    extra: *mut *mut c_void,
) -> c_int {
    let local = [block_x, block_y, block_z];
    let global = std::array::from_fn(|i| [grid_x, grid_y, grid_z][i].saturating_mul(local[i]));
    let null = std::ptr::null_mut();
    call(
        "hipModuleLaunchKernel",
        Launch {
            function,
            global,
            local,
            stream,
            parameters,
            extra,
            start: null,
            stop: null,
        },
    )
}

/// HIP's function of this name: the grid is in work-items, and two events may
/// be put around the kernel.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipExtModuleLaunchKernel(
    function: Handle,
    global_x: u32,
    global_y: u32,
    global_z: u32,
    local_x: u32,
    local_y: u32,
    local_z: u32,
    _local_bytes: usize,
    stream: Handle,
    parameters: *mut *mut c_void,
    extra: *mut *mut c_void,
    start: Handle,
    stop: Handle,
    _flags: u32,
) -> c_int {
    let (global, local) = ([global_x, global_y, global_z], [local_x, local_y, local_z]);
    call(
        "hipExtModuleLaunchKernel",
        Launch {
            function,
            global,
            local,
            stream,
            parameters,
            extra,
            start,
            stop,
        },
    )
}

/// The same under its C++ name: the header MIGraphX uses declares it without
/// `extern "C"`.
#[unsafe(export_name = "_Z24hipExtModuleLaunchKernelP18ihipModuleSymbol_tjjjjjjmP12ihipStream_tPPvS4_P11ihipEvent_tS6_j")]
pub unsafe extern "C" fn hip_ext_module_launch_kernel_cxx(
    function: Handle,
    global_x: u32,
    global_y: u32,
    global_z: u32,
    local_x: u32,
    local_y: u32,
    local_z: u32,
    local_bytes: usize,
    stream: Handle,
    parameters: *mut *mut c_void,
    extra: *mut *mut c_void,
    start: Handle,
    stop: Handle,
    flags: u32,
) -> c_int {
    // SAFETY: the same function, the same promises.
    unsafe {
        hipExtModuleLaunchKernel(
            function,
            global_x,
            global_y,
            global_z,
            local_x,
            local_y,
            local_z,
            local_bytes,
            stream,
            parameters,
            extra,
            start,
            stop,
            flags,
        )
    }
}

/// HIP's function of this name. Blocks that wait for each other are not
/// modelled, so it is refused.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipModuleLaunchCooperativeKernel(function: Handle) -> c_int {
    api(
        "hipModuleLaunchCooperativeKernel",
        || format!("function={function:p}"),
        |_| Err(HipError::NOT_SUPPORTED),
    )
}

/// HIP's function of this name: two blocks a unit, whatever they use.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(
    out: *mut c_int,
    function: Handle,
    _block: c_int,
    _local_bytes: usize,
) -> c_int {
    api(
        "hipModuleOccupancyMaxActiveBlocksPerMultiprocessor",
        || format!("function={function:p}"),
        |s| {
            s.function_of(
                "hipModuleOccupancyMaxActiveBlocksPerMultiprocessor",
                function,
            )?;
            // SAFETY: the caller's out pointer, as HIP asks for.
            unsafe { give(out, 2) }
        },
    )
}
