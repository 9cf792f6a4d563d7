//! Host work queued on a stream of the virtual GPU.
//!
//! rocBLAS, hipBLASLt and MIOpen run kernels on a stream; their stand-ins put a closure there. The HIP
//! stand-in checks what the closure will touch (device, freed memory, bounds, races) and runs it when
//! the stream gets there. Its functions are C symbols of `libamdhip64.so.6`.

use std::ffi::{CString, c_char, c_int, c_uint, c_void};

/// Memory that queued work touches.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Use {
    pointer: *const c_void,
    bytes: usize,
    write: c_uint,
}

impl Use {
    /// `bytes` bytes are read.
    pub fn read(pointer: *const c_void, bytes: usize) -> Self {
        Self {
            pointer,
            bytes,
            write: 0,
        }
    }

    /// `bytes` bytes are written.
    pub fn write(pointer: *const c_void, bytes: usize) -> Self {
        Self {
            pointer,
            bytes,
            write: 1,
        }
    }
}

unsafe extern "C" {
    fn hipsim_enqueue(
        stream: *mut c_void,
        name: *const c_char,
        run: extern "C" fn(*mut c_void),
        data: *mut c_void,
        drop: extern "C" fn(*mut c_void),
        uses: *const Use,
        count: usize,
    ) -> c_int;
    fn hipsim_host(pointer: *const c_void) -> *mut c_void;
}

/// Device pointers on their way to the closure that uses them.
#[derive(Clone, Copy, Debug)]
pub struct Device(pub *const c_void);

// SAFETY: an address; what it points to is asked for by `host` where the work runs.
unsafe impl Send for Device {}
// SAFETY: as for Send.
unsafe impl Sync for Device {}

impl Device {
    /// The bytes behind it, which the host may touch. To be asked inside queued work only.
    pub fn host(self) -> *mut u8 {
        // SAFETY: any pointer may be asked for; null and host pointers come back as they are.
        unsafe { hipsim_host(self.0) }.cast()
    }
}

type Work = Option<Box<dyn FnOnce() + Send>>;

extern "C" fn run(data: *mut c_void) {
    // SAFETY: `data` is the box of `enqueue`, alive until `release`.
    let work = unsafe { &mut *data.cast::<Work>() };
    if let Some(work) = work.take() {
        work();
    }
}

extern "C" fn release(data: *mut c_void) {
    // SAFETY: the box of `enqueue`; the HIP stand-in calls this exactly once.
    drop(unsafe { Box::from_raw(data.cast::<Work>()) });
}

/// Queues work that touches `uses` on a stream, as a kernel called `name`.
///
/// # Errors
/// The `hipError_t` with which the HIP stand-in refused it; the work never runs then.
///
/// # Safety
/// `stream` is a stream handle or null. `uses` covers all device memory that `work` touches.
pub unsafe fn enqueue(
    stream: *mut c_void,
    name: &str,
    uses: &[Use],
    work: impl FnOnce() + Send + 'static,
) -> Result<(), c_int> {
    let name = CString::new(name).unwrap_or_default();
    let work: Work = Some(Box::new(work));
    let data = Box::into_raw(Box::new(work)).cast();
    // SAFETY: run and release take `data` as what it is; the arrays outlive the call.
    let status = unsafe {
        hipsim_enqueue(
            stream,
            name.as_ptr(),
            run,
            data,
            release,
            uses.as_ptr(),
            uses.len(),
        )
    };
    if status == 0 { Ok(()) } else { Err(status) }
}

/// Says on stderr what a library was asked for and cannot do, before it returns an error status.
pub fn complain(call: &str, why: &dyn std::fmt::Display) {
    eprintln!("gpu-sim: {call}: {why}");
}
