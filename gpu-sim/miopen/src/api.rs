//! Statuses, and how descriptors are made and freed.

use gpu_sim_work::complain;
use std::ffi::c_int;
use std::fmt::Display;

pub(crate) const SUCCESS: c_int = 0;
pub(crate) const BAD_PARAMETER: c_int = 3;
pub(crate) const INTERNAL_ERROR: c_int = 5;
pub(crate) const NOT_IMPLEMENTED: c_int = 6;
pub(crate) const UNSUPPORTED: c_int = 8;

/// Defines the functions that make and free a kind of descriptor.
macro_rules! descriptor {
    ($create:ident($($argument:ident: $type:ty),*) -> $descriptor:ty = $value:expr, $destroy:ident, $what:literal) => {
        #[doc = concat!("Makes ", $what, ".")]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $create(out: *mut *mut $descriptor $(, $argument: $type)*) -> std::ffi::c_int {
            if out.is_null() {
                return $crate::api::BAD_PARAMETER;
            }
            // SAFETY: writable, as MIOpen demands.
            unsafe { *out = Box::into_raw(Box::new($value)) };
            $crate::api::SUCCESS
        }

        #[doc = concat!("Frees ", $what, ".")]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $destroy(descriptor: *mut $descriptor) -> std::ffi::c_int {
            if !descriptor.is_null() {
                // SAFETY: made by the library and given back once.
                drop(unsafe { Box::from_raw(descriptor) });
            }
            $crate::api::SUCCESS
        }
    };
}
pub(crate) use descriptor;

/// An array of `count` sizes; `None` for a negative one or a null array.
///
/// # Safety
/// `values` is null or has `count` entries.
pub(crate) unsafe fn sizes(values: *const c_int, count: c_int) -> Option<Vec<usize>> {
    if values.is_null() {
        return None;
    }
    let count = usize::try_from(count).ok()?;
    // SAFETY: the caller's promise.
    let values = unsafe { std::slice::from_raw_parts(values, count) };
    values.iter().map(|&v| usize::try_from(v).ok()).collect()
}

/// Ends the process: MIGraphX does not look at the status of `call` and would go on with whatever is in
/// the output.
pub(crate) fn give_up(call: &str, why: &dyn Display) -> ! {
    complain(call, why);
    eprintln!("gpu-sim: MIGraphX ignores the status of {call}: the process ends here.");
    std::process::abort()
}
