//! CUDA's functions, found when first needed.
//!
//! The program runs on the loader and the C library of MIGraphX's prefix, which
//! know nothing of the machine's folders: both libraries are opened by path.

use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::sync::OnceLock;

/// A stream, an event, a module or a function.
pub type Handle = *mut c_void;
/// What a call answers; 0 is success. HIP's numbers are the same.
pub type Status = c_int;

/// CUDA's (and HIP's) number for: no device.
pub const NO_DEVICE: Status = 100;

macro_rules! functions {
    ($(#[$meta:meta])* $table:ident { $($field:ident: $name:literal ($($arg:ty),*);)* }) => {
        $(#[$meta])*
        pub struct $table {
            $(#[doc = concat!("`", $name, "`")] pub $field: unsafe extern "C" fn($($arg),*) -> Status,)*
        }

        impl $table {
            fn of(library: Handle) -> Result<Self, String> {
                Ok($table {
                    $($field: {
                        let found = symbol(library, $name)?;
                        // SAFETY: the library's function of this name has this signature
                        // (CUDA's manual); a pointer to it is as large as any.
                        unsafe { std::mem::transmute::<Handle, unsafe extern "C" fn($($arg),*) -> Status>(found) }
                    },)*
                })
            }
        }
    };
}

functions! {
    /// Of the runtime, `libcudart`.
    Runtime {
        set_device: "cudaSetDevice"(c_int);
        get_device: "cudaGetDevice"(*mut c_int);
        device_count: "cudaGetDeviceCount"(*mut c_int);
        device_synchronize: "cudaDeviceSynchronize"();
        device_reset: "cudaDeviceReset"();
        pci_bus: "cudaDeviceGetPCIBusId"(*mut c_char, c_int, c_int);
        memory_info: "cudaMemGetInfo"(*mut usize, *mut usize);
        runtime_version: "cudaRuntimeGetVersion"(*mut c_int);
        last_error: "cudaGetLastError"();
        peek_error: "cudaPeekAtLastError"();
        malloc: "cudaMalloc"(*mut *mut c_void, usize);
        free: "cudaFree"(*mut c_void);
        host_alloc: "cudaHostAlloc"(*mut *mut c_void, usize, c_uint);
        free_host: "cudaFreeHost"(*mut c_void);
        host_register: "cudaHostRegister"(*mut c_void, usize, c_uint);
        host_unregister: "cudaHostUnregister"(*mut c_void);
        host_device_pointer: "cudaHostGetDevicePointer"(*mut *mut c_void, *mut c_void, c_uint);
        pointer_attributes: "cudaPointerGetAttributes"(*mut PointerAttributes, *const c_void);
        memcpy: "cudaMemcpy"(*mut c_void, *const c_void, usize, c_int);
        memcpy_async: "cudaMemcpyAsync"(*mut c_void, *const c_void, usize, c_int, Handle);
        memcpy_peer: "cudaMemcpyPeer"(*mut c_void, c_int, *const c_void, c_int, usize);
        memset: "cudaMemset"(*mut c_void, c_int, usize);
        memset_async: "cudaMemsetAsync"(*mut c_void, c_int, usize, Handle);
        stream_create: "cudaStreamCreateWithFlags"(*mut Handle, c_uint);
        stream_destroy: "cudaStreamDestroy"(Handle);
        stream_synchronize: "cudaStreamSynchronize"(Handle);
        stream_query: "cudaStreamQuery"(Handle);
        stream_wait_event: "cudaStreamWaitEvent"(Handle, Handle, c_uint);
        event_create: "cudaEventCreateWithFlags"(*mut Handle, c_uint);
        event_destroy: "cudaEventDestroy"(Handle);
        event_record: "cudaEventRecord"(Handle, Handle);
        event_synchronize: "cudaEventSynchronize"(Handle);
        event_query: "cudaEventQuery"(Handle);
        event_elapsed: "cudaEventElapsedTime"(*mut f32, Handle, Handle);
    }
}

functions! {
    /// Of the driver, `libcuda`: what the runtime has no simple call for.
    Driver {
        device_get: "cuDeviceGet"(*mut c_int, c_int);
        device_name: "cuDeviceGetName"(*mut c_char, c_int, c_int);
        device_memory: "cuDeviceTotalMem_v2"(*mut usize, c_int);
        module_load: "cuModuleLoadData"(*mut Handle, *const c_void);
        module_function: "cuModuleGetFunction"(*mut Handle, Handle, *const c_char);
        launch: "cuLaunchKernel"(
            Handle, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint,
            Handle, *mut *mut c_void, *mut *mut c_void
        );
    }
}

/// `cudaPointerAttributes`: the fields are CUDA's, the last is what later
/// versions keep for themselves.
#[repr(C)]
#[allow(missing_docs)]
pub struct PointerAttributes {
    pub kind: c_int,
    pub device: c_int,
    pub device_pointer: *mut c_void,
    pub host_pointer: *mut c_void,
    pub reserved: [usize; 16],
}

/// Both libraries.
pub struct Cuda {
    /// The runtime.
    pub runtime: Runtime,
    /// The driver.
    pub driver: Driver,
}

/// Where the libraries are looked for, by the names of the newest first.
const FOLDERS: [&str; 6] = [
    "/usr/local/nvidia/lib64",
    "/usr/local/cuda/lib64",
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib64",
    "/usr/lib/wsl/lib",
    "/usr/local/cuda/targets/x86_64-linux/lib",
];

/// The libraries; `None`, with the reason on stderr, where there are none.
pub fn cuda() -> Option<&'static Cuda> {
    static CUDA: OnceLock<Option<Cuda>> = OnceLock::new();
    let open = || {
        see_the_same_devices();
        let driver = open("GPU_CUDA_DRIVER", &["libcuda.so.1"])?;
        let runtime = open(
            "GPU_CUDA_RUNTIME",
            &["libcudart.so.13", "libcudart.so.12", "libcudart.so"],
        )?;
        Ok(Cuda {
            runtime: Runtime::of(runtime)?,
            driver: Driver::of(driver)?,
        })
    };
    let opened = CUDA.get_or_init(|| {
        let told = |error: String| eprintln!("gpu-sim-cuda: no CUDA: {error}");
        open().map_err(told).ok()
    });
    opened.as_ref()
}

/// HIP's choice of devices, in CUDA's words, before CUDA reads them.
fn see_the_same_devices() {
    if let Some(devices) = std::env::var_os("HIP_VISIBLE_DEVICES") {
        // SAFETY: within the first call of HIP, on which nothing else of this
        // process works yet; it is for tests.
        unsafe { std::env::set_var("CUDA_VISIBLE_DEVICES", devices) };
    }
}

/// Opens the library that `variable` names, else the first that is found.
fn open(variable: &str, names: &[&str]) -> Result<Handle, String> {
    if let Ok(path) = std::env::var(variable) {
        return dlopen(&path).map_err(|error| format!("{variable}={path}: {error}"));
    }
    let paths = names
        .iter()
        .flat_map(|name| FOLDERS.map(|folder| format!("{folder}/{name}")));
    let mut tried = String::new();
    for path in paths.filter(|path| std::path::Path::new(path).exists()) {
        match dlopen(&path) {
            Ok(library) => return Ok(library),
            Err(error) => tried += &format!("; {path}: {error}"),
        }
    }
    Err(format!(
        "no {} in {}{tried}; name it in {variable}",
        names.join(" or "),
        FOLDERS.join(", ")
    ))
}

fn dlopen(path: &str) -> Result<Handle, String> {
    let name = CString::new(path).map_err(|error| error.to_string())?;
    // SAFETY: a C string. Its initialisers are CUDA's, which may run any time. It
    // is never closed. Global, so that the runtime finds the driver.
    let library = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_GLOBAL) };
    if library.is_null() {
        return Err(last_error());
    }
    Ok(library)
}

fn symbol(library: Handle, name: &str) -> Result<Handle, String> {
    let text = CString::new(name).map_err(|error| error.to_string())?;
    // SAFETY: an open library and a C string.
    let found = unsafe { libc::dlsym(library, text.as_ptr()) };
    match found.is_null() {
        true => Err(format!("{name}: {}", last_error())),
        false => Ok(found),
    }
}

fn last_error() -> String {
    // SAFETY: gives null, or a C string that is valid until the next call of its kind.
    let text = unsafe { libc::dlerror() };
    if text.is_null() {
        return "no reason given".into();
    }
    // SAFETY: as above.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into()
}

/// A call of the runtime's, or that there is no device.
pub fn runtime(call: impl FnOnce(&Runtime) -> Status) -> Status {
    cuda().map_or(NO_DEVICE, |cuda| call(&cuda.runtime))
}
