//! A stand-in for AMD's HIP runtime on a machine with NVIDIA cards: memory,
//! copies, streams, events and devices are those of the CUDA runtime, one HIP
//! call to one CUDA call of the same name. So what a program does with pinned
//! memory, streams and several devices can be measured on hardware.
//!
//! AMD's kernels cannot run there. A kernel, or host work that plays one, becomes
//! a kernel that waits on the card for `GPU_CUDA_KERNEL_US` microseconds
//! (default 100): **outputs hold no results**. Copies are real, both ways.
//!
//! The CUDA libraries are opened when first needed (`cuda.rs`), so this builds
//! and links anywhere.
//!
//! Read in: the CUDA 13 runtime's and driver's public manuals; HIP's rules as in
//! `../hip`. Errors have the same numbers in both, where both have them.
//!
//! - [`cuda`]: CUDA's functions
//! - [`devices`], [`memory`], [`streams`], [`kernels`], [`errors`]: HIP's
//!
//! # Safety of the exported functions
//! They are C functions: pointers must be what the HIP manual asks for.

// The promise is the same for all of them, and stands above.
#![allow(clippy::missing_safety_doc)]
// HIP's functions have the names and the arguments HIP gives them.
#![allow(non_snake_case, clippy::too_many_arguments)]

pub mod cuda;
pub mod devices;
pub mod errors;
pub mod kernels;
pub mod memory;
pub mod streams;
