//! Opens the module of its first argument privately, as Python opens its
//! extensions, and calls it.

use std::ffi::{CStr, CString, c_char, c_int, c_void};

unsafe extern "C" {
    fn dlopen(path: *const c_char, flags: c_int) -> *mut c_void;
    fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
    fn dlerror() -> *const c_char;
}

const RTLD_NOW: c_int = 2;
const RTLD_LOCAL: c_int = 0;
const RTLD_DEFAULT: *mut c_void = std::ptr::null_mut();

fn main() {
    let path = CString::new(std::env::args().nth(1).expect("a path")).unwrap();
    let mut sum = [0f32; 4];
    // SAFETY: the module's initialisers are ours; its function has this type and
    // writes four floats.
    unsafe {
        let module = dlopen(path.as_ptr(), RTLD_NOW | RTLD_LOCAL);
        if module.is_null() {
            println!("error: {}", CStr::from_ptr(dlerror()).to_string_lossy());
            std::process::exit(2);
        }
        let function = dlsym(module, c"plugin_sum".as_ptr());
        assert!(!function.is_null());
        let function: unsafe extern "C" fn(*mut f32) -> c_int = std::mem::transmute(function);
        let status = function(sum.as_mut_ptr());
        assert_eq!(status, 0);
        let seen = dlsym(RTLD_DEFAULT, c"migraphx_program_run".as_ptr());
        println!("seen by the host: {}", !seen.is_null());
    }
    println!("sum: {sum:?}");
}
