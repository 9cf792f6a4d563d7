//! Stand-in for `libMIOpen.so.1`: the 51 functions MIGraphX calls.
//!
//! | part | file |
//! |---|---|
//! | statuses, handles, how descriptors are made and freed | `api.rs` |
//! | handles and tensor descriptors | `tensor.rs` |
//! | convolution: descriptor | `convolution.rs` |
//! | convolution: problem, finding a solution | `problem.rs` |
//! | convolution: the solution saved and loaded | `solution.rs` |
//! | convolution: running it | `run.rs` |
//! | pooling | `pooling.rs` |
//! | activations | `activation.rs` |
//! | local response normalisation | `lrn.rs` |
//! | fusion plans: described, never compiled, so MIGraphX keeps the single operations | `fusion.rs` |
//!
//! Numbers are those of `miopen.h` (MIOpen 3). Convolutions go through `gpu-sim-gemm`. What is not
//! computed is an error status and a line on stderr; where MIGraphX ignores the status (pooling,
//! activation, LRN) the process ends, since wrong values would follow.

#![allow(
    non_snake_case,
    clippy::missing_safety_doc,
    reason = "MIOpen's own interface: names, and pointers as its documentation says"
)]

mod api;

pub mod activation;
pub mod convolution;
pub mod fusion;
pub mod lrn;
pub mod pooling;
pub mod problem;
pub mod run;
pub mod solution;
pub mod tensor;
