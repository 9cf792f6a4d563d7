//! HIP's functions, and the one way to call them.
//!
//! Only functions that HIP 5, 6 and 7 have in the same form, and none that
//! takes a struct: HIP 6 changed their layouts.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::error::{Error, Result};
use crate::ffi::gate;

/// Calls a HIP function and gives `Result<()>`. Needs an unsafe block around it.
///
/// ```text
/// // SAFETY: …
/// unsafe { hip!(hipFree(pointer)) }?;
/// ```
macro_rules! hip {
    ($name:ident($($argument:expr),* $(,)?)) => {
        match hip_status!($name($($argument),*)) {
            Ok(0) => Ok(()),
            Ok(code) => Err($crate::hip::functions::failure(stringify!($name), code)),
            Err(error) => Err(error),
        }
    };
}

/// As [`hip!`], and gives `Result` of HIP's number for the error (0 for none).
macro_rules! hip_status {
    ($name:ident($($argument:expr),* $(,)?)) => {
        match $crate::hip::library::library() {
            Ok(library) => {
                static RETURNS: ::std::sync::atomic::AtomicU32 =
                    ::std::sync::atomic::AtomicU32::new(0);
                library
                    .functions
                    .status(&RETURNS, || (library.functions.$name)($($argument),*))
            }
            Err(error) => Err(error),
        }
    };
}

/// A stream or an event; null is the null stream.
pub(crate) type Handle = *mut c_void;
/// The old and the new form fill a struct of a layout of their own.
pub(crate) type GetProperties = unsafe extern "C" fn(*mut c_void, c_int) -> c_int;
pub(crate) type GetText = unsafe extern "C" fn(*mut c_char, c_int, c_int) -> c_int;

pub(crate) const OUT_OF_MEMORY: c_int = 2;
pub(crate) const NO_DEVICE: c_int = 100;
pub(crate) const NOT_READY: c_int = 600;

macro_rules! functions {
    ($($name:ident($($argument:ty),*) -> $result:ty;)*) => {
        #[allow(non_snake_case)]
        pub(crate) struct Functions {
            $(pub(crate) $name: unsafe extern "C" fn($($argument),*) -> $result,)*
            /// Under its HIP 6 name, else under that of HIP 5.
            pub(crate) properties: Option<GetProperties>,
            pub(crate) pci_bus_id: Option<GetText>,
        }

        impl Functions {
            /// Fails with the name of the first function that is missing.
            ///
            /// # Safety
            /// `library` is HIP.
            pub(crate) unsafe fn look_up(
                library: &libloading::Library,
            ) -> Result<Self, &'static str> {
                // SAFETY: the types are those of HIP's documentation for these names.
                unsafe {
                    Ok(Functions {
                        $($name: *library
                            .get(concat!(stringify!($name), "\0").as_bytes())
                            .map_err(|_| stringify!($name))?,)*
                        properties: library
                            .get(b"hipGetDevicePropertiesR0600\0")
                            .or_else(|_| library.get(b"hipGetDeviceProperties\0"))
                            .ok()
                            .map(|function| *function),
                        pci_bus_id: library
                            .get(b"hipDeviceGetPCIBusId\0")
                            .ok()
                            .map(|function| *function),
                    })
                }
            }
        }
    };
}

functions! {
    hipGetErrorName(c_int) -> *const c_char;
    hipGetErrorString(c_int) -> *const c_char;
    hipGetLastError() -> c_int;
    hipRuntimeGetVersion(*mut c_int) -> c_int;

    hipGetDeviceCount(*mut c_int) -> c_int;
    hipGetDevice(*mut c_int) -> c_int;
    hipSetDevice(c_int) -> c_int;
    hipDeviceGetName(*mut c_char, c_int, c_int) -> c_int;
    hipDeviceSynchronize() -> c_int;
    hipMemGetInfo(*mut usize, *mut usize) -> c_int;

    hipMalloc(*mut *mut c_void, usize) -> c_int;
    hipFree(*mut c_void) -> c_int;
    hipHostMalloc(*mut *mut c_void, usize, c_uint) -> c_int;
    hipHostFree(*mut c_void) -> c_int;
    hipMemset(*mut c_void, c_int, usize) -> c_int;
    hipMemcpy(*mut c_void, *const c_void, usize, c_int) -> c_int;
    hipMemcpyAsync(*mut c_void, *const c_void, usize, c_int, Handle) -> c_int;
    hipMemcpyPeer(*mut c_void, c_int, *const c_void, c_int, usize) -> c_int;

    hipStreamCreateWithFlags(*mut Handle, c_uint) -> c_int;
    hipStreamDestroy(Handle) -> c_int;
    hipStreamSynchronize(Handle) -> c_int;
    hipStreamQuery(Handle) -> c_int;
    hipStreamWaitEvent(Handle, Handle, c_uint) -> c_int;

    hipEventCreateWithFlags(*mut Handle, c_uint) -> c_int;
    hipEventDestroy(Handle) -> c_int;
    hipEventRecord(Handle, Handle) -> c_int;
    hipEventSynchronize(Handle) -> c_int;
    hipEventQuery(Handle) -> c_int;
    hipEventElapsedTime(*mut f32, Handle, Handle) -> c_int;
}

impl Functions {
    /// Runs `f`, a call of one of these functions.
    #[inline]
    pub(crate) fn status(&self, returns: &AtomicU32, f: impl FnOnce() -> c_int) -> Result<c_int> {
        let _inside = gate::enter()?;
        let code = f();
        if returns.load(Ordering::Relaxed) < gate::LAST_RENEWAL {
            gate::renew(returns);
        }
        if code != 0 {
            // HIP keeps it for the thread (HIP 7 until it is asked for), and
            // MIGraphX would take it for its own.
            // SAFETY: no arguments.
            unsafe { (self.hipGetLastError)() };
        }
        Ok(code)
    }

    /// HIP's name and words for an error.
    fn text_of(&self, code: c_int) -> String {
        let text = |pointer: *const c_char| {
            // SAFETY: HIP gives a static string, for numbers it does not know too.
            let text = (!pointer.is_null()).then(|| unsafe { CStr::from_ptr(pointer) });
            text.map(|text| text.to_string_lossy().into_owned())
                .unwrap_or_default()
        };
        // SAFETY: every number is allowed.
        let (name, words) = unsafe {
            (
                text((self.hipGetErrorName)(code)),
                text((self.hipGetErrorString)(code)),
            )
        };
        match (name.is_empty(), words.is_empty() || words == name) {
            (true, true) => "an error without a name".into(),
            (true, false) => words,
            (false, true) => name,
            (false, false) => format!("{name}, {words}"),
        }
    }
}

/// The error of a call that gave `code`.
#[cold]
pub(crate) fn failure(function: &'static str, code: c_int) -> Error {
    let library = match crate::hip::library::library() {
        Ok(library) => library,
        Err(error) => return error,
    };
    if code == NO_DEVICE {
        return Error::NoDevice {
            ordinal: 0,
            found: library.sees_none(),
        };
    }
    Error::Hip {
        function,
        code,
        name: library.functions.text_of(code),
        context: String::new(),
    }
}
