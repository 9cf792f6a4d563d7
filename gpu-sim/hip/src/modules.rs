//! Modules: loaded code, and the kernels looked up in it.
//!
//! Read in: ROCm/clr rocm-6.2.2, `hip_module.cpp`, `hip_code_object.cpp`. A
//! module belongs to the device that was current when it was loaded; code for
//! another architecture is hipErrorNoBinaryForGpu.

use crate::abi::{Handle, HipError, HipResult};
use crate::checks::Kind;
use crate::code::{self, Code, RunKernel};
use crate::state::{Locked, State, api, give};
use std::collections::HashMap;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::sync::{Arc, Mutex, PoisonError};

/// A loaded module.
#[derive(Debug)]
pub struct Module {
    /// Its device.
    pub device: usize,
    code: Code,
    /// Host kernels share variables of their library: one runs at a time.
    gate: Arc<Mutex<()>>,
}

/// A kernel of a module.
#[derive(Debug)]
pub struct Function {
    /// Its module's handle.
    pub module: usize,
    /// Its name.
    pub name: String,
    /// What runs it, if anything can.
    pub code: Option<Kernel>,
    gate: Arc<Mutex<()>>,
}

/// A kernel that is there for the host.
#[derive(Clone, Copy, Debug)]
pub struct Kernel {
    entry: usize,
    run: RunKernel,
}

impl Kernel {
    /// Runs it over a grid. The arguments hold addresses the host can use.
    pub fn run(
        &self,
        function: &Function,
        arguments: &mut [u8],
        global: [u32; 3],
        local: [u32; 3],
    ) {
        let _one_at_a_time = function.gate.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: `run` and `entry` come from one library (see `code`), the
        // arguments are the caller's block with its pointers checked and held.
        unsafe {
            (self.run)(
                self.entry as *mut c_void,
                global.as_ptr(),
                local.as_ptr(),
                arguments.as_mut_ptr().cast(),
                arguments.len(),
            )
        };
    }
}

/// All modules, by handle.
#[derive(Debug, Default)]
pub struct Modules {
    /// Loaded modules.
    pub live: HashMap<usize, Module>,
    functions: HashMap<usize, Arc<Function>>,
}

impl State {
    /// A kernel by handle; that of an unloaded module is a violation.
    pub fn function_of(&mut self, what: &str, handle: Handle) -> HipResult<Arc<Function>> {
        if let Some(function) = self.modules.functions.get(&(handle as usize)) {
            return Ok(function.clone());
        }
        if !handle.is_null() {
            let was = if self.was_handle(handle as usize) {
                "of a module that was unloaded, or no function"
            } else {
                "no function"
            };
            self.violation(Kind::BadHandle, format!("{what}: {handle:p} is {was}"));
        }
        Err(HipError::INVALID_HANDLE)
    }
}

/// Loads a code object.
///
/// # Safety
/// As [`code::read`]; a null image is refused.
unsafe fn load(s: &mut Locked, out: *mut Handle, image: *const c_void) -> HipResult {
    if out.is_null() || image.is_null() {
        return Err(HipError::INVALID_VALUE);
    }
    let device = s.current()?;
    let arch = s.devices[device].short_architecture().to_owned();
    // Loading runs the dynamic loader: not under our lock.
    // SAFETY: the caller's promise.
    let code = s.unlocked(|| unsafe { code::read(image.cast(), &arch) })?;
    let handle = s.new_handle();
    s.modules.live.insert(
        handle,
        Module {
            device,
            code,
            gate: Arc::default(),
        },
    );
    let counters = &mut s.devices[device].counters;
    counters.modules_made += 1;
    counters.modules_live += 1;
    s.note(|| format!("= {handle:#x}"));
    // SAFETY: the caller's out pointer, as HIP asks for.
    unsafe { give(out, handle as Handle) }
}

/// HIP's function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipModuleLoadData(out: *mut Handle, image: *const c_void) -> c_int {
    // SAFETY: HIP asks the caller for a whole code object.
    api("hipModuleLoadData", String::new, |s| unsafe {
        load(s, out, image)
    })
}

/// HIP's function of this name; the compiler options have no meaning here.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipModuleLoadDataEx(
    out: *mut Handle,
    image: *const c_void,
    _options: c_uint,
    _keys: *mut c_int,
    _values: *mut *mut c_void,
) -> c_int {
    // SAFETY: HIP asks the caller for a whole code object.
    api("hipModuleLoadDataEx", String::new, |s| unsafe {
        load(s, out, image)
    })
}

/// HIP's function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipModuleLoad(out: *mut Handle, path: *const c_char) -> c_int {
    if path.is_null() {
        return api("hipModuleLoad", String::new, |_| {
            Err(HipError::INVALID_VALUE)
        });
    }
    // SAFETY: HIP asks the caller for a C string.
    let path = unsafe { CStr::from_ptr(path) }.to_string_lossy();
    api(
        "hipModuleLoad",
        || path.to_string(),
        |s| {
            let mut image = std::fs::read(&*path).map_err(|_| HipError::FILE_NOT_FOUND)?;
            // So that the marks and the NUL of `code::read` are inside.
            image.resize(image.len() + 64, 0);
            // SAFETY: the whole file.
            unsafe { load(s, out, image.as_ptr().cast()) }
        },
    )
}

/// HIP's function of this name: waits for the module's device first.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipModuleUnload(module: Handle) -> c_int {
    api(
        "hipModuleUnload",
        || format!("{module:p}"),
        |s| {
            let handle = module as usize;
            let Some(device) = s.modules.live.get(&handle).map(|m| m.device) else {
                if handle == 0 {
                    return Err(HipError::INVALID_HANDLE);
                }
                let was = if s.was_handle(handle) {
                    "was unloaded, or is no module"
                } else {
                    "is no module"
                };
                s.violation(
                    Kind::BadHandle,
                    format!("hipModuleUnload: {module:p} {was}"),
                );
                return Err(HipError::INVALID_HANDLE);
            };
            s.finish_device(device);
            s.modules.live.remove(&handle);
            s.modules.functions.retain(|_, f| f.module != handle);
            s.devices[device].counters.modules_live -= 1;
            Ok(())
        },
    )
}

/// HIP's function of this name: an unknown name is hipErrorNotFound.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipModuleGetFunction(
    out: *mut Handle,
    module: Handle,
    name: *const c_char,
) -> c_int {
    if name.is_null() {
        return api("hipModuleGetFunction", String::new, |_| {
            Err(HipError::INVALID_VALUE)
        });
    }
    // SAFETY: HIP asks the caller for a C string.
    let name = unsafe { CStr::from_ptr(name) };
    api(
        "hipModuleGetFunction",
        || format!("{module:p} {} ", name.to_string_lossy()),
        |s| {
            let found = s
                .modules
                .live
                .get(&(module as usize))
                .ok_or(HipError::INVALID_HANDLE)?;
            let text = name.to_string_lossy().into_owned();
            let code = match &found.code {
                Code::Names => None,
                Code::Amd(names) if names.contains(&text) => None,
                Code::Amd(_) => return Err(HipError::NOT_FOUND),
                Code::Host(library, run) => {
                    let entry = code::symbol(*library, name).ok_or(HipError::NOT_FOUND)?;
                    Some(Kernel { entry, run: *run })
                }
            };
            let function = Function {
                module: module as usize,
                name: text,
                code,
                gate: found.gate.clone(),
            };
            let handle = s.new_handle();
            s.modules.functions.insert(handle, Arc::new(function));
            // SAFETY: the caller's out pointer, as HIP asks for.
            unsafe { give(out, handle as Handle) }
        },
    )
}
