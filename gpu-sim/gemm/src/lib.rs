//! Matrix products and convolutions on all cores of the CPU.
//!
//! The virtual GPU's stand-ins for rocBLAS, hipBLASLt and MIOpen describe what MIGraphX asks for with
//! [`MatMul`], [`Conv`] and [`Layout`]; this crate does the arithmetic through the GEMM kernels of
//! `matrixmultiply`.
//!
//! | numbers in | summed in | numbers out |
//! |---|---|---|
//! | f32 | f32 | f32 |
//! | f16, bf16 | f32 | the same, or f32 |
//! | f64 | f64 | f64 |
//! | i8, u8 | f64 (exact for 32-bit sums) | i32 |
//!
//! Anything else is an [`Unsupported`] error when the work is described, so a value is either right or
//! not there.

mod columns;
mod conv;
mod conv_plan;
mod depthwise;
mod layout;
mod matmul;
mod number;
mod threads;

pub use conv::Conv;
pub use conv_plan::{ConvOptions, Direction};
pub use layout::{Layout, Unsupported};
pub use matmul::{MatMul, Matrix};
pub use number::{DType, read_f64, write_f64};
pub use threads::for_each;
