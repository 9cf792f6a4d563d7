//! What the virtual GPU tells a test about itself, and what a test sets.

// Each subject uses a part of it.
#![allow(dead_code)]

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::PathBuf;
use std::sync::OnceLock;

/// The HIP library's file name.
pub const HIP: &str = "libamdhip64.so.6";

// What it is built with, itself.
#[path = "../../gpu-sim/hip/src/counters.rs"]
mod counters;
#[allow(clippy::enum_variant_names, reason = "the stand-in's names")]
#[path = "../../gpu-sim/hip/src/kind.rs"]
mod kind;

pub use counters::Counters;
pub use kind::Kind;

macro_rules! functions {
    ($($name:ident: fn($($argument:ty),*) -> $result:ty,)*) => {
        #[allow(non_snake_case, reason = "HIP's names")]
        struct Functions {
            $($name: unsafe extern "C" fn($($argument),*) -> $result,)*
        }

        impl Functions {
            /// From the library that is loaded, or the one that MIGraphX would load.
            fn open(load: bool) -> Option<Functions> {
                use libloading::os::unix::{Library, RTLD_LAZY, RTLD_NOW};
                const RTLD_NOLOAD: c_int = 4;
                // SAFETY: with RTLD_NOLOAD no code is loaded or run; else the library is ours, and its
                // start-up code reads GPU_SIM_* only. The types are those of HIP's header and of
                // gpu-sim/hip/src/control.rs.
                unsafe {
                    let library = match Library::open(Some(HIP), RTLD_NOW | RTLD_NOLOAD) {
                        Ok(library) => library,
                        Err(_) if load => {
                            let folder = PathBuf::from(std::env::var_os("MIGRAPHX_LIB_DIR")?);
                            Library::open(Some(folder.join(HIP)), RTLD_LAZY).ok()?
                        }
                        Err(_) => return None,
                    };
                    let functions = Functions {
                        $($name: *library
                            .get(stringify!($name).as_bytes())
                            .unwrap_or_else(|e| panic!("{HIP} is not the virtual GPU's: {e}")),)*
                    };
                    // Never unloaded: MIGraphX uses it to the end of the process.
                    std::mem::forget(library);
                    Some(functions)
                }
            }
        }
    };
}
functions! {
    hipsim_violations: fn(c_int) -> u64,
    hipsim_violation_text: fn(usize, *mut c_char, usize) -> c_int,
    hipsim_live: fn(c_int) -> usize,
    hipsim_get: fn(c_int, *mut Counters) -> c_int,
    hipsim_check_leaks: fn(c_int) -> usize,
    hipsim_reset: fn() -> (),
    hipsim_set_option: fn(*const c_char, *const c_char) -> c_int,
    hipGetDevice: fn(*mut c_int) -> c_int,
    hipSetDevice: fn(c_int) -> c_int,
    hipGetLastError: fn() -> c_int,
    hipStreamCreateWithFlags: fn(*mut *mut c_void, u32) -> c_int,
    hipStreamDestroy: fn(*mut c_void) -> c_int,
    hipMalloc: fn(*mut *mut c_void, usize) -> c_int,
    hipFree: fn(*mut c_void) -> c_int,
}

static FUNCTIONS: OnceLock<Functions> = OnceLock::new();

fn functions() -> &'static Functions {
    FUNCTIONS
        .get_or_init(|| Functions::open(true).expect("the virtual GPU's HIP library can be loaded"))
}

/// Has anything in this process loaded the HIP library?
pub fn is_loaded() -> bool {
    FUNCTIONS.get().is_some() || Functions::open(false).is_some()
}

/// How many violations of a kind there were.
pub fn violations(kind: Kind) -> u64 {
    // SAFETY: takes any number.
    unsafe { (functions().hipsim_violations)(kind as c_int) }
}

/// How many violations there were.
pub fn all_violations() -> u64 {
    // SAFETY: as above; 0 counts all.
    unsafe { (functions().hipsim_violations)(0) }
}

/// What they were, in order.
pub fn texts() -> Vec<String> {
    let mut texts = Vec::new();
    let mut text: [c_char; 1024] = [0; 1024];
    // SAFETY: the buffer has the length given; the text ends with a NUL.
    while unsafe { (functions().hipsim_violation_text)(texts.len(), text.as_mut_ptr(), text.len()) }
        == 1
    {
        // SAFETY: written just now, with its NUL.
        let found = unsafe { CStr::from_ptr(text.as_ptr()) };
        texts.push(found.to_string_lossy().into_owned());
    }
    texts
}

/// Live allocations on a device, pinned host memory included; `None` is all devices.
pub fn live(device: Option<usize>) -> usize {
    // SAFETY: takes any number; -1 means all.
    unsafe { (functions().hipsim_live)(device.map_or(-1, |device| device as c_int)) }
}

/// Panics where there is no such device.
pub fn counters(device: usize) -> Counters {
    let mut counters = Counters::default();
    // SAFETY: the out pointer is valid and has the stand-in's layout.
    let found = unsafe { (functions().hipsim_get)(device as c_int, &mut counters) };
    assert_eq!(found, 1, "there is no device {device}");
    counters
}

/// Counts all that is live as leaks (violations), and says how many. Done by
/// the harness when a test has ended.
pub fn check_leaks() -> usize {
    // SAFETY: takes any number; -1 means all devices.
    unsafe { (functions().hipsim_check_leaks)(-1) }
}

/// Forgets violations and counts; what is live stays.
pub fn reset() {
    // SAFETY: has no arguments.
    unsafe { (functions().hipsim_reset)() }
}

/// `deferred`, `strict`, `poison`, `abort`, `fail` (`hipMalloc:3:2`, counted
/// from here on; empty for none) or `memory`, from here on.
pub fn set_option(name: &str, value: &str) {
    let [name_c, value_c] = [name, value].map(|text| CString::new(text).expect("no NUL"));
    // SAFETY: both are C strings.
    let done = unsafe { (functions().hipsim_set_option)(name_c.as_ptr(), value_c.as_ptr()) };
    assert_eq!(done, 1, "no option {name} with a value {value}");
}

/// The calling thread's current device, asked of HIP itself.
pub fn current_device() -> usize {
    let mut device = -1;
    // SAFETY: the out pointer is valid.
    let status = unsafe { (functions().hipGetDevice)(&mut device) };
    assert_eq!(status, 0, "hipGetDevice");
    device as usize
}

/// Makes a device the calling thread's current one, past our crate.
pub fn set_current_device(device: usize) {
    // SAFETY: takes any number.
    let status = unsafe { (functions().hipSetDevice)(device as c_int) };
    assert_eq!(status, 0, "hipSetDevice({device})");
}

/// The error that HIP keeps for the calling thread (0 is none), which is forgotten then.
pub fn last_error() -> i32 {
    // SAFETY: has no arguments.
    unsafe { (functions().hipGetLastError)() }
}

/// A stream of somebody else, on the current device; destroyed with it.
pub struct ForeignStream(pub *mut c_void);

impl ForeignStream {
    pub fn new() -> Self {
        let mut stream = std::ptr::null_mut();
        // SAFETY: the out pointer is valid.
        let status = unsafe { (functions().hipStreamCreateWithFlags)(&mut stream, 1) };
        assert_eq!(status, 0, "hipStreamCreateWithFlags");
        ForeignStream(stream)
    }
}

impl Drop for ForeignStream {
    fn drop(&mut self) {
        // SAFETY: made in `new`, destroyed once.
        unsafe { (functions().hipStreamDestroy)(self.0) };
    }
}

/// Device memory of somebody else, on the current device; freed with it.
pub struct ForeignMemory(pub *mut c_void);

impl ForeignMemory {
    pub fn new(bytes: usize) -> Self {
        let mut at = std::ptr::null_mut();
        // SAFETY: the out pointer is valid.
        let status = unsafe { (functions().hipMalloc)(&mut at, bytes) };
        assert_eq!(status, 0, "hipMalloc");
        ForeignMemory(at)
    }
}

impl Drop for ForeignMemory {
    fn drop(&mut self) {
        // SAFETY: allocated in `new`, freed once.
        unsafe { (functions().hipFree)(self.0) };
    }
}

/// A line of the log (`GPU_SIM_LOG`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    pub thread: u64,
    /// Current when the call was made.
    pub device: usize,
    /// The function, such as `hipMalloc`.
    pub name: String,
    /// The rest of the line: arguments and status, or a violation's text.
    pub rest: String,
}

impl Call {
    /// All lines of a log.
    pub fn all(log: &str) -> Vec<Call> {
        log.lines().map(Call::parse).collect()
    }

    /// The log that this process writes, up to here. `GPU_SIM_LOG` must name a file.
    pub fn so_far() -> Vec<Call> {
        let file = std::env::var("GPU_SIM_LOG").expect("GPU_SIM_LOG names a file");
        Call::all(&std::fs::read_to_string(&file).unwrap_or_default())
    }

    fn parse(line: &str) -> Call {
        let parts = || {
            let mut words = line.splitn(4, ' ').skip(1);
            let thread = words.next()?.strip_prefix("tid=")?.parse().ok()?;
            let device = words.next()?.strip_prefix("dev=")?.parse().ok()?;
            let text = words.next()?;
            let end = text.find(['(', ' ', ':']).unwrap_or(text.len());
            let (name, rest) = text.split_at(end);
            Some((thread, device, name.to_owned(), rest.to_owned()))
        };
        let (thread, device, name, rest) =
            parts().unwrap_or_else(|| panic!("not a line of the log: {line}"));
        Call {
            thread,
            device,
            name,
            rest,
        }
    }
}
