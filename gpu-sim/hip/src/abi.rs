//! What HIP's C interface fixes: error numbers, copy kinds, handles, and which
//! of the two generations of the interface this library plays.
//!
//! Read in: ROCm/clr rocm-6.2.2 (`hip_error.cpp`) and the public HIP headers.

use std::ffi::{CStr, c_int, c_void};

/// A stream, event, module or function as the caller sees it.
pub type Handle = *mut c_void;

/// A failed HIP call: the number of HIP's `hipError_t`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HipError(pub c_int);

/// What every operation of this crate gives.
pub type HipResult<T = ()> = Result<T, HipError>;

macro_rules! errors {
    ($($name:ident = $code:literal, $hip:literal, $text:literal;)*) => {
        #[allow(missing_docs)] // the names are HIP's
        impl HipError {
            $(pub const $name: Self = Self($code);)*
        }
        /// HIP's name and text of an error number.
        pub fn describe(code: c_int) -> (&'static CStr, &'static CStr) {
            match code {
                0 => (c"hipSuccess", c"no error"),
                $($code => ($hip, $text),)*
                _ => (c"hipErrorUnknown", c"unknown error"),
            }
        }
    };
}

errors! {
    INVALID_VALUE = 1, c"hipErrorInvalidValue", c"invalid argument";
    OUT_OF_MEMORY = 2, c"hipErrorOutOfMemory", c"out of memory";
    NOT_INITIALIZED = 3, c"hipErrorNotInitialized", c"initialization error";
    INVALID_CONFIGURATION = 9, c"hipErrorInvalidConfiguration", c"invalid configuration argument";
    INVALID_PITCH = 12, c"hipErrorInvalidPitchValue", c"invalid pitch argument";
    INVALID_DEVICE_POINTER = 17, c"hipErrorInvalidDevicePointer", c"invalid device pointer";
    INVALID_COPY_KIND = 21, c"hipErrorInvalidMemcpyDirection", c"invalid copy direction for memcpy";
    INVALID_FUNCTION = 98, c"hipErrorInvalidDeviceFunction", c"invalid device function";
    NO_DEVICE = 100, c"hipErrorNoDevice", c"no ROCm-capable device is detected";
    INVALID_DEVICE = 101, c"hipErrorInvalidDevice", c"invalid device ordinal";
    INVALID_IMAGE = 200, c"hipErrorInvalidImage", c"device kernel image is invalid";
    NO_BINARY = 209, c"hipErrorNoBinaryForGpu", c"no kernel image is available for execution on the device";
    PEER_UNSUPPORTED = 217, c"hipErrorPeerAccessUnsupported", c"peer access is not supported between these two devices";
    FILE_NOT_FOUND = 301, c"hipErrorFileNotFound", c"file not found";
    INVALID_HANDLE = 400, c"hipErrorInvalidHandle", c"invalid resource handle";
    NOT_FOUND = 500, c"hipErrorNotFound", c"named symbol not found";
    NOT_READY = 600, c"hipErrorNotReady", c"device not ready";
    ILLEGAL_ADDRESS = 700, c"hipErrorIllegalAddress", c"an illegal memory access was encountered";
    PEER_ENABLED = 704, c"hipErrorPeerAccessAlreadyEnabled", c"peer access is already enabled";
    PEER_NOT_ENABLED = 705, c"hipErrorPeerAccessNotEnabled", c"peer access has not been enabled";
    CONTEXT_DESTROYED = 709, c"hipErrorContextIsDestroyed", c"context is destroyed";
    ALREADY_REGISTERED = 712, c"hipErrorHostMemoryAlreadyRegistered", c"part or all of the requested memory range is already mapped";
    NOT_REGISTERED = 713, c"hipErrorHostMemoryNotRegistered", c"pointer does not correspond to a registered memory region";
    LAUNCH_FAILURE = 719, c"hipErrorLaunchFailure", c"unspecified launch failure";
    NOT_SUPPORTED = 801, c"hipErrorNotSupported", c"operation not supported";
    UNKNOWN = 999, c"hipErrorUnknown", c"unknown error";
}

/// `hipMemcpyKind`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyKind {
    /// `hipMemcpyHostToHost`
    HostToHost,
    /// `hipMemcpyHostToDevice`
    HostToDevice,
    /// `hipMemcpyDeviceToHost`
    DeviceToHost,
    /// `hipMemcpyDeviceToDevice`
    DeviceToDevice,
    /// `hipMemcpyDefault`: worked out from the pointers
    Default,
}

impl CopyKind {
    /// clr `ihipMemcpy_validate`: another number is hipErrorInvalidMemcpyDirection.
    pub fn from_raw(kind: c_int) -> HipResult<Self> {
        Ok(match kind {
            0 => Self::HostToHost,
            1 => Self::HostToDevice,
            2 => Self::DeviceToHost,
            3 => Self::DeviceToDevice,
            4 => Self::Default,
            _ => return Err(HipError::INVALID_COPY_KIND),
        })
    }
}

/// The generation of the interface. The same code serves both: a library
/// opened under DTK's name is HIP 5, any other is HIP 6.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Generation {
    /// `libgalaxyhip.so.5`, `libamdhip64.so.5`: Hygon's DTK and ROCm 5
    Hip5,
    /// `libamdhip64.so.6`
    Hip6,
}

impl Generation {
    /// Reads the name of the file this code was loaded from.
    pub fn of_this_library() -> Self {
        // SAFETY: Dl_info is plain data, all zero is a valid value.
        let mut info: libc::Dl_info = unsafe { std::mem::zeroed() };
        let here = Self::of_this_library as *const c_void;
        // SAFETY: `here` is an address in this library, `info` is ours to write.
        let found = unsafe { libc::dladdr(here, &mut info) };
        if found == 0 || info.dli_fname.is_null() {
            return Self::Hip6;
        }
        // SAFETY: dladdr gave a NUL-terminated name that lives as long as the library.
        Self::of_file(&unsafe { CStr::from_ptr(info.dli_fname) }.to_string_lossy())
    }

    /// The generation that a file of this name plays.
    pub fn of_file(path: &str) -> Self {
        let file = path.rsplit('/').next().unwrap_or(path);
        let old = ["libgalaxyhip.so", "libamdhip64.so.5", "libamdhip64.so.4"];
        if old.iter().any(|name| file.starts_with(name)) {
            Self::Hip5
        } else {
            Self::Hip6
        }
    }
}

/// `dim3`, passed by value in launches.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)] // the fields are HIP's
pub struct Dim3 {
    pub x: u32,
    pub y: u32,
    pub z: u32,
}
