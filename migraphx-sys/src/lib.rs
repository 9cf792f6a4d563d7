//! Raw bindings to [AMD MIGraphX](https://github.com/ROCm/AMDMIGraphX), for its
//! C library `libmigraphx_c`.
//!
//! Most programs want the safe crate `migraphx` instead. This one holds no
//! policy: the declarations of `migraphx.h`, a [`finder`] for the library, and
//! one table of functions that is filled when the library is opened.
//!
//! # Calling
//! Functions are fields of [`Library::functions`]; each may be missing from the
//! library at hand, so that one build can serve every MIGraphX from 5.6 on.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use migraphx_sys::{migraphx_shape_datatype_t as dtype, migraphx_status as status};
//! # if migraphx_sys::library().is_err() { return Ok(()); }
//! let migraphx = migraphx_sys::library()?;
//! let create = migraphx.functions.migraphx_shape_create_scalar.get()?;
//! let destroy = migraphx.functions.migraphx_shape_destroy.get()?;
//! let mut shape = std::ptr::null_mut();
//! // SAFETY: the out pointer is valid; the raw number 4 is a type in both numberings.
//! unsafe {
//!     assert_eq!(create(&mut shape, dtype(4)), status::migraphx_status_success);
//!     destroy(shape);
//! }
//! # Ok(())
//! # }
//! ```
//!
//! # Data types
//! [`migraphx_shape_datatype_t`] has the numbers of ROCm 7.1 and newer. Older
//! libraries count differently under the same name: ask [`Library::numbering`].
//!
//! # Linking
//! | feature | what it does |
//! |---|---|
//! | `linked` (default) | adds the link-time dependency where the library is installed in a place the loader searches; the table then uses that copy |
//! | `load-dynamic` | no link-time dependency: the library is opened at the first call; wins over `linked` |
//! | `bindgen` | regenerates the bindings from the installed header at build time (needs libclang) |
//!
//! `MIGRAPHX_LINK=force` or `never` at build time overrides the choice. A
//! missing library breaks no build: the first call says what is wrong.
//!
//! # Build metadata
//! Direct dependants' build scripts see `DEP_MIGRAPHX_C_LIB_DIR`, `_INCLUDE`,
//! `_VERSION`, and `_PREFIX` where the library is the one of `cargo xtask setup`.

#![allow(non_camel_case_types, non_upper_case_globals)]

#[macro_use]
mod table;

#[allow(missing_docs, reason = "generated; documented by MIGraphX")]
#[rustfmt::skip]
#[cfg(not(feature = "bindgen"))]
mod bindings;
#[allow(missing_docs, reason = "generated; documented by MIGraphX")]
#[cfg(feature = "bindgen")]
mod bindings {
    include!(concat!(env!("OUT_DIR"), "/bindings.rs"));
}
mod by_hand;
pub mod finder;
mod library;
#[cfg(migraphx_linked)]
mod linked;
mod numbering;

pub use bindings::*;
pub use by_hand::*;
pub use library::{Library, LoadError, library, load_from};
pub use numbering::Numbering;
pub use table::{Function, MissingFunction, since};
