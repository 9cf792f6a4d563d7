//! The ONNX operators that the library reads.

use std::ffi::{CStr, c_char};
use std::sync::atomic::AtomicU32;

use crate::error::Result;
use crate::ffi::call;

/// The names of the ONNX operators that the loaded library reads, sorted (since
/// ROCm 7.2).
///
/// ```
/// use migraphx::{Error, onnx_operators};
///
/// match onnx_operators() {
///     Ok(names) => assert!(names.contains(&"Conv".to_owned())),
///     Err(Error::Unsupported { since, .. }) => assert_eq!(since, Some("7.2")),
///     Err(error) => return Err(error),
/// }
/// # Ok::<(), migraphx::Error>(())
/// ```
///
/// # Errors
/// [`Error::Unsupported`](crate::Error::Unsupported) before ROCm 7.2.
#[doc(alias = "migraphx_get_onnx_operators_size")]
#[doc(alias = "migraphx_get_onnx_operator_name_at_index")]
pub fn onnx_operators() -> Result<Vec<String>> {
    static RETURNS: [AtomicU32; 2] = [AtomicU32::new(0), AtomicU32::new(0)];
    let functions = &crate::ffi::library()?.by_hand;
    let size = functions.migraphx_get_onnx_operators_size.get()?;
    let name_at = functions.migraphx_get_onnx_operator_name_at_index.get()?;
    let mut count = 0;
    call::checked("migraphx_get_onnx_operators_size", &RETURNS[0], || {
        // SAFETY: the out pointer is valid.
        unsafe { size(&mut count) }
    })?;
    let mut names = Vec::new();
    for index in 0..count {
        let mut name: *mut c_char = std::ptr::null_mut();
        call::checked(
            "migraphx_get_onnx_operator_name_at_index",
            &RETURNS[1],
            || {
                // SAFETY: the out pointer is valid, and C checks the index.
                unsafe { name_at(&mut name, index) }
            },
        )?;
        if !name.is_null() {
            // SAFETY: C gives a text that ends with NUL, of a list that it never frees.
            let name = unsafe { CStr::from_ptr(name) };
            names.push(name.to_string_lossy().into_owned());
        }
    }
    names.sort_unstable();
    names.dedup();
    Ok(names)
}
