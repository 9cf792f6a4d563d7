//! Stand-ins for `librocblas.so.4` and `libhipblaslt.so.1`: the functions MIGraphX calls.
//!
//! One crate, two libraries: each is linked with its own list of exported names (`rocblas.map`,
//! `hipblaslt.map`). Both describe a matrix product in column-major terms; [`product`] turns that into
//! work on the caller's stream. A type that is not computed is an error status and a line on stderr.

pub mod hipblaslt;
pub mod product;
pub mod rocblas;
