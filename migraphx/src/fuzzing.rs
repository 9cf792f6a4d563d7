//! What fuzz targets call that is nobody else's: only there with `--cfg fuzzing`.

use std::ffi::CString;
use std::io::Cursor;

use crate::{Attribute, Result};

/// The text of attributes as the library is given it, a format in which `%` is doubled.
pub fn attribute_text(attributes: &[(String, Attribute)]) -> Result<Option<CString>> {
    crate::graph::format_text(attributes)
}

/// Reads all that this crate reads of a `.mxr` file in memory, in either format.
pub fn read_mxr(bytes: &[u8]) {
    crate::mxr::read_all(&mut Cursor::new(bytes));
    crate::listing::read_all(bytes);
}
