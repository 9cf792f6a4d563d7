//! The link-time dependency.

use crate::bindings::{migraphx_program_t, migraphx_status};

unsafe extern "C" {
    fn migraphx_program_destroy(program: migraphx_program_t) -> migraphx_status;
}

/// Keeps the linker from dropping a library that nothing else names: calls go
/// through the table.
pub(crate) fn keep() {
    std::hint::black_box(migraphx_program_destroy as *const ());
}
