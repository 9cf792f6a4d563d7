//! Builds the stand-in libraries and makes a prefix of them and MIGraphX. The
//! program around it is `main.rs`.
//!
//! Why not a cdylib: MIGraphX asks for HIP's functions under symbol versions.
//! rustc gives a cdylib a version script of its own, and linkers refuse two. So
//! each package is a static library, and `cc` makes the shared one.

pub mod libraries;
pub mod link;
pub mod prefix;
