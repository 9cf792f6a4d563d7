//! A dozen functions of HIP and of its stand-in, from the library that MIGraphX has loaded.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::ptr::null_mut;

pub type Outcome<T> = Result<T, String>;

macro_rules! functions {
    ($($name:ident: fn($($argument:ty),*) -> $result:ty,)*) => {
        /// Functions of the HIP stand-in.
        #[allow(non_snake_case, reason = "HIP's names")]
        pub struct Hip {
            $($name: unsafe extern "C" fn($($argument),*) -> $result,)*
        }

        impl Hip {
            /// Of the library that MIGraphX's gpu target has loaded: make the target first.
            pub fn loaded() -> Outcome<Self> {
                use libloading::os::unix::{Library, RTLD_NOW};
                const RTLD_NOLOAD: c_int = 4;
                let open = || {
                    // SAFETY: with RTLD_NOLOAD no code is loaded or run; the types are those of
                    // HIP's header and of the stand-in's control.rs.
                    unsafe {
                        let library = Library::open(Some("libamdhip64.so.6"), RTLD_NOW | RTLD_NOLOAD)?;
                        let hip = Hip { $($name: *library.get(stringify!($name).as_bytes())?),* };
                        // Never unloaded: MIGraphX uses it to the end of the process.
                        std::mem::forget(library);
                        Ok::<_, libloading::Error>(hip)
                    }
                };
                open().map_err(|e| format!("libamdhip64.so.6 as loaded by MIGraphX: {e}"))
            }
        }
    };
}
functions! {
    hipMalloc: fn(*mut *mut c_void, usize) -> c_int,
    hipFree: fn(*mut c_void) -> c_int,
    hipHostMalloc: fn(*mut *mut c_void, usize, c_uint) -> c_int,
    hipHostFree: fn(*mut c_void) -> c_int,
    hipMemcpyAsync: fn(*mut c_void, *const c_void, usize, c_int, *mut c_void) -> c_int,
    hipStreamCreate: fn(*mut *mut c_void) -> c_int,
    hipStreamSynchronize: fn(*mut c_void) -> c_int,
    hipStreamDestroy: fn(*mut c_void) -> c_int,
    hipSetDevice: fn(c_int) -> c_int,
    hipGetDeviceCount: fn(*mut c_int) -> c_int,
    hipsim_violations: fn(c_int) -> u64,
    hipsim_violation_text: fn(usize, *mut c_char, usize) -> c_int,
    hipsim_check_leaks: fn(c_int) -> usize,
    hipsim_live: fn(c_int) -> usize,
}

const HOST_TO_DEVICE: c_int = 1;
const DEVICE_TO_HOST: c_int = 2;

pub fn checked(what: &str, status: c_int) -> Outcome<()> {
    match status {
        0 => Ok(()),
        status => Err(format!("{what}: status {status}")),
    }
}

impl Hip {
    /// Makes a device current for this thread.
    pub fn set_device(&self, device: usize) -> Outcome<()> {
        // SAFETY: any number is allowed; one that is no device is an error status.
        checked("hipSetDevice", unsafe {
            (self.hipSetDevice)(device as c_int)
        })
    }

    /// How many devices there are.
    pub fn devices(&self) -> Outcome<usize> {
        let mut count = 0;
        // SAFETY: the out pointer is valid.
        checked("hipGetDeviceCount", unsafe {
            (self.hipGetDeviceCount)(&mut count)
        })?;
        usize::try_from(count).map_err(|e| e.to_string())
    }

    /// What the stand-in has found so far, as text.
    pub fn violations(&self) -> Vec<String> {
        let mut texts = Vec::new();
        let mut text: [c_char; 1024] = [0; 1024];
        // SAFETY: the buffer has the length given; the text ends with a NUL.
        while unsafe { (self.hipsim_violation_text)(texts.len(), text.as_mut_ptr(), text.len()) }
            == 1
        {
            // SAFETY: as above.
            let found = unsafe { CStr::from_ptr(text.as_ptr()) };
            texts.push(found.to_string_lossy().into_owned());
        }
        // SAFETY: takes any number; 0 counts all kinds.
        let count = unsafe { (self.hipsim_violations)(0) };
        if count > texts.len() as u64 {
            texts.push(format!("{count} violations in all"));
        }
        texts
    }

    /// For the end, when all is dropped: no violation was found, and nothing is left on any device.
    pub fn clean(&self) -> Outcome<()> {
        // SAFETY: takes any number; -1 means all devices.
        let (live, leaks) = unsafe { ((self.hipsim_live)(-1), (self.hipsim_check_leaks)(-1)) };
        // Leaks are among the violations from here on.
        let mut texts = self.violations();
        if texts.is_empty() && live + leaks == 0 {
            return Ok(());
        }
        let more = texts.len().saturating_sub(8);
        texts.truncate(8);
        Err(format!(
            "{live} live allocations, {leaks} leaks; {}{}",
            texts.join("; "),
            match more {
                0 => String::new(),
                n => format!("; {n} more"),
            }
        ))
    }
}

/// Device memory of the device that was current.
pub struct Buffer<'h> {
    hip: &'h Hip,
    pub at: *mut c_void,
    pub bytes: usize,
}

impl<'h> Buffer<'h> {
    pub fn new(hip: &'h Hip, bytes: usize) -> Outcome<Self> {
        let mut at = null_mut();
        // SAFETY: the out pointer is valid.
        checked("hipMalloc", unsafe { (hip.hipMalloc)(&mut at, bytes) })?;
        Ok(Buffer { hip, at, bytes })
    }
}

impl Drop for Buffer<'_> {
    fn drop(&mut self) {
        // SAFETY: allocated in `new`, freed once. A failure is a violation, which `clean` tells.
        unsafe { (self.hip.hipFree)(self.at) };
    }
}

/// Pinned host memory. A copy into it does not wait, as one into plain memory does: who reads too early
/// reads what was there before.
pub struct Pinned<'h> {
    hip: &'h Hip,
    at: *mut c_void,
    bytes: usize,
}

impl<'h> Pinned<'h> {
    /// Filled with a pattern.
    pub fn new(hip: &'h Hip, bytes: usize) -> Outcome<Self> {
        let mut at = null_mut();
        // SAFETY: the out pointer is valid; the host may touch the new memory.
        unsafe {
            checked("hipHostMalloc", (hip.hipHostMalloc)(&mut at, bytes, 0))?;
            at.cast::<u8>().write_bytes(0x5A, bytes);
        }
        Ok(Pinned { hip, at, bytes })
    }

    /// # Safety
    /// The copy into it was waited for.
    pub unsafe fn bytes(&self) -> &[u8] {
        // SAFETY: live memory of that length, filled in `new`; nothing writes it now.
        unsafe { std::slice::from_raw_parts(self.at.cast(), self.bytes) }
    }
}

impl Drop for Pinned<'_> {
    fn drop(&mut self) {
        // SAFETY: allocated in `new`, freed once. A failure is a violation, which `clean` tells.
        unsafe { (self.hip.hipHostFree)(self.at) };
    }
}

/// A stream of the device that was current.
pub struct Stream<'h> {
    pub hip: &'h Hip,
    pub raw: *mut c_void,
}

impl<'h> Stream<'h> {
    pub fn new(hip: &'h Hip) -> Outcome<Self> {
        let mut raw = null_mut();
        // SAFETY: the out pointer is valid.
        checked("hipStreamCreate", unsafe {
            (hip.hipStreamCreate)(&mut raw)
        })?;
        Ok(Stream { hip, raw })
    }

    pub fn synchronize(&self) -> Outcome<()> {
        // SAFETY: the stream is live.
        checked("hipStreamSynchronize", unsafe {
            (self.hip.hipStreamSynchronize)(self.raw)
        })
    }

    /// Queues a copy into device memory.
    ///
    /// # Safety
    /// The bytes stay until the stream was waited for.
    pub unsafe fn upload(&self, to: &Buffer<'_>, from: &[u8]) -> Outcome<()> {
        if from.len() != to.bytes {
            return Err(format!("{} bytes for {}", from.len(), to.bytes));
        }
        // SAFETY: both have the length; the bytes stay by the caller's promise.
        checked("hipMemcpyAsync to the device", unsafe {
            let from = from.as_ptr().cast();
            (self.hip.hipMemcpyAsync)(to.at, from, to.bytes, HOST_TO_DEVICE, self.raw)
        })
    }

    /// Queues a copy out of device memory.
    ///
    /// # Safety
    /// The pinned memory stays until the stream was waited for.
    pub unsafe fn download(&self, to: &Pinned<'_>, from: *const c_void) -> Outcome<()> {
        // SAFETY: the memory has the length; the device's side is checked by the stand-in.
        checked("hipMemcpyAsync from the device", unsafe {
            (self.hip.hipMemcpyAsync)(to.at, from, to.bytes, DEVICE_TO_HOST, self.raw)
        })
    }
}

impl Drop for Stream<'_> {
    fn drop(&mut self) {
        // SAFETY: created in `new`, destroyed once.
        unsafe { (self.hip.hipStreamDestroy)(self.raw) };
    }
}
