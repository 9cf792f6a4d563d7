//! Being written.
/// x
pub fn is_available() -> bool { migraphx_sys::library().is_ok() }
