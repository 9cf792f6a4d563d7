//! What a program with kernels of its own calls when it is loaded. The kernels
//! are only remembered by name, for the message of hipLaunchKernel. Some of
//! these functions have more arguments in HIP; C callers may pass what is not
//! read.

use crate::abi::{Dim3, Handle, HipError};
use crate::state::{api, give};
use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::sync::{Mutex, PoisonError};

static NAMES: Mutex<Option<HashMap<usize, String>>> = Mutex::new(None);

/// The kernel behind a host function.
fn name_of(host: usize) -> Option<String> {
    NAMES
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .as_ref()?
        .get(&host)
        .cloned()
}

/// HIP's function of this name: the handle is the address itself.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __hipRegisterFatBinary(data: *const c_void) -> *mut *mut c_void {
    data.cast_mut().cast()
}

/// HIP's function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __hipUnregisterFatBinary(_modules: *mut *mut c_void) {}

/// HIP's function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __hipRegisterFunction(
    _modules: *mut *mut c_void,
    host: *const c_void,
    _device_name: *mut c_char,
    name: *const c_char,
    _threads: c_uint,
) {
    if name.is_null() {
        return;
    }
    // SAFETY: the compiler passes a C string.
    let name = unsafe { CStr::from_ptr(name) }
        .to_string_lossy()
        .into_owned();
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    names.get_or_insert_default().insert(host as usize, name);
}

/// HIP's function of this name: variables of kernels that cannot run.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __hipRegisterVar(_modules: *mut *mut c_void) {}

/// HIP's function of this name: variables of kernels that cannot run.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __hipRegisterManagedVar(_modules: *mut c_void) {}

type Configuration = (Dim3, Dim3, usize, usize);
thread_local!(static CONFIGURATIONS: RefCell<Vec<Configuration>> = const { RefCell::new(Vec::new()) });

/// HIP's function of this name: the `<<<…>>>` of a launch.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __hipPushCallConfiguration(
    grid: Dim3,
    block: Dim3,
    local_bytes: usize,
    stream: Handle,
) -> c_int {
    CONFIGURATIONS.with_borrow_mut(|all| all.push((grid, block, local_bytes, stream as usize)));
    0
}

/// HIP's function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __hipPopCallConfiguration(
    grid: *mut Dim3,
    block: *mut Dim3,
    local_bytes: *mut usize,
    stream: *mut Handle,
) -> c_int {
    api("__hipPopCallConfiguration", String::new, |_| {
        let last = CONFIGURATIONS
            .with_borrow_mut(Vec::pop)
            .ok_or(HipError::INVALID_VALUE)?;
        // SAFETY: the compiler's out pointers.
        unsafe {
            give(grid, last.0)?;
            give(block, last.1)?;
            give(local_bytes, last.2)?;
            give(stream, last.3 as Handle)
        }
    })
}

/// HIP's function of this name: a kernel compiled into the program. Its code
/// is for a GPU, so it cannot run; the name tells what to replace.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipLaunchKernel(
    host: *const c_void,
    _grid: Dim3,
    _block: Dim3,
    _arguments: *mut *mut c_void,
    _local_bytes: usize,
    stream: Handle,
) -> c_int {
    api(
        "hipLaunchKernel",
        || format!("{host:p} stream={stream:p}"),
        |s| {
            let name = name_of(host as usize).unwrap_or_else(|| format!("{host:p}"));
            s.note(|| format!(" {name}"));
            eprintln!("gpu-sim: kernel {name} is compiled for a GPU and cannot run here");
            Err(HipError::NO_BINARY)
        },
    )
}
