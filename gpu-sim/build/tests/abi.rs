//! The HIP stand-in as a shared library: its symbol versions, and that the
//! file's name decides which HIP it plays.

use gpu_sim_build::libraries::LIBRARIES;
use gpu_sim_build::link;
use std::ffi::{CStr, CString, c_void};
use std::path::Path;

/// Opens a library apart from any other.
fn open(path: &Path) -> *mut c_void {
    let name = CString::new(path.as_os_str().as_encoded_bytes()).unwrap();
    // SAFETY: a C string; the library's initialisers are Rust's own.
    let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    assert!(!handle.is_null(), "{}", path.display());
    handle
}

fn versioned(library: *mut c_void, name: &CStr, version: &CStr) -> bool {
    // SAFETY: an open library and two C strings.
    !unsafe { libc::dlvsym(library, name.as_ptr(), version.as_ptr()) }.is_null()
}

fn symbol(library: *mut c_void, name: &CStr) -> Option<*mut c_void> {
    // SAFETY: an open library and a C string.
    let at = unsafe { libc::dlsym(library, name.as_ptr()) };
    (!at.is_null()).then_some(at)
}

/// `hipRuntimeGetVersion` / 10^7
fn major(library: *mut c_void) -> i32 {
    let at = symbol(library, c"hipRuntimeGetVersion").unwrap();
    // SAFETY: HIP's function of this name has this type.
    let call =
        unsafe { std::mem::transmute::<*mut c_void, unsafe extern "C" fn(*mut i32) -> i32>(at) };
    let mut version = 0;
    // SAFETY: an out pointer of ours.
    assert_eq!(unsafe { call(&mut version) }, 0);
    version / 10_000_000
}

#[test]
fn hip_6_and_hip_5() {
    let out = std::env::temp_dir().join(format!("gpu-sim-abi-{}", std::process::id()));
    std::fs::create_dir_all(out.join("lib")).unwrap();
    let hip: Vec<_> = LIBRARIES
        .iter()
        .filter(|l| l.map.starts_with("hip/"))
        .collect();
    let archives = link::build_packages(&hip).unwrap();
    for library in &hip {
        link::make(library, &archives, &out).unwrap();
    }
    let six = open(&out.join("lib/libamdhip64.so.6"));
    let five = open(&out.join("lib/libgalaxyhip.so.5"));
    let linked = open(&out.join("lib/libamdhip64.so.5"));
    assert_eq!((major(six), major(five), major(linked)), (6, 5, 5));

    let launch = c"_Z24hipExtModuleLaunchKernelP18ihipModuleSymbol_tjjjjjjmP12ihipStream_tPPvS4_P11ihipEvent_tS6_j";
    for (name, version) in [
        (c"hipMalloc", c"hip_4.2"),
        (launch, c"hip_4.2"),
        (c"hipLaunchHostFunc", c"hip_5.2"),
        (c"hipGetDevicePropertiesR0600", c"hip_6.0"),
        (c"hipsim_violations", c"hip_4.2"),
    ] {
        assert!(versioned(six, name, version), "{name:?}@{version:?}");
    }
    assert!(!versioned(six, c"hipMalloc", c"hip_6.0"));
    assert!(symbol(five, c"hipGetDeviceProperties").is_some());
    assert!(
        symbol(five, c"hipGetDevicePropertiesR0600").is_none(),
        "a function of HIP 6"
    );
    // Nothing of Rust's own is seen from outside.
    assert!(
        symbol(six, c"rust_begin_unwind").is_none()
            && symbol(six, c"rust_eh_personality").is_none()
    );
    std::fs::remove_dir_all(&out).unwrap();
}
