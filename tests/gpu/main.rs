//! Tests of programs on GPUs, on the virtual GPU of `gpu-sim/`: MIGraphX's own
//! `gpu` target, with our stand-ins for HIP and its libraries.
//!
//! ```text
//! cargo xtask setup --gpu-sim                            once; makes the virtual GPU
//! cargo test --features gpu-tests --test gpu             all of them
//! cargo test --features gpu-tests --test gpu -- pinned   those with `pinned` in their name
//! cargo xtask test                                       these among all others
//! ```
//! The virtual GPU is looked for in `$GPU_SIM_DIR/lib`, then `MIGRAPHX_LIB_DIR`,
//! then where set-up makes it. Without one the tests fail and say so.
//!
//! # To add a test
//! A file `tests/gpu/<subject>.rs` with a line in [`subjects`]:
//! ```ignore
//! use crate::harness::Test;
//! use crate::sim;
//!
//! pub const TESTS: &[Test] = &[
//!     Test::new("a_copy_comes_back", a_copy_comes_back),
//!     Test::new("two_small_devices", two_small_devices)
//!         .env("GPU_SIM_DEVICES", "2")
//!         .env("GPU_SIM_MEMORY", "1M"),
//! ];
//!
//! fn a_copy_comes_back() {
//!     // plain asserts; a panic is a failure
//! }
//! ```
//! Each runs in a process of its own, on its main thread, with 8 devices in
//! deferred and strict mode, no host access to device memory, kernels compiled
//! by clang, and no other `GPU_SIM_*`, `HIP_*`, `ROCR_*` or `MIGRAPHX_*`
//! variable; [`Test::env`] changes that, [`Test::seconds`] the time limit.
//!
//! When the function has returned and all it made is dropped, the virtual GPU
//! must have found no violation, and nothing may be left on any device. A test
//! of a mistake says which kinds it makes ([`Test::expects`]); each must then
//! be found, and no other.
//!
//! A test that reads its own log of HIP calls says so ([`Test::logged`], then
//! [`sim::Call::so_far`]). One that must look at a process from outside (its end) registers
//! a second function with [`Test::part`], which is not run by itself, and calls
//! [`harness::run_part`].
//!
//! [`subjects`]: subjects
//! [`Test::env`]: harness::Test::env
//! [`Test::logged`]: harness::Test::logged
//! [`Test::seconds`]: harness::Test::seconds
//! [`Test::expects`]: harness::Test::expects
//! [`Test::part`]: harness::Test::part

mod attack;
mod cache;
mod chains;
mod custom_op;
mod device_programs;
mod exit;
mod faults;
mod harness;
mod hip;
mod inspect;
mod kinds;
mod marks;
mod memory;
mod pinned;
mod pool;
mod programs;
mod quantize;
mod refused;
mod scratch_result;
mod sim;
mod simulator;
mod streams;
mod weights;
mod yolo26;

use harness::Test;
use std::process::ExitCode;

/// The files, each with its tests.
const fn subjects() -> &'static [(&'static str, &'static [Test])] {
    &[
        ("attack", attack::TESTS),
        ("cache", cache::TESTS),
        ("chains", chains::TESTS),
        ("exit", exit::TESTS),
        ("kinds", kinds::TESTS),
        ("marks", marks::TESTS),
        ("device_programs", device_programs::TESTS),
        ("faults", faults::TESTS),
        ("custom_op", custom_op::TESTS),
        ("hip_buffers", hip::buffers::TESTS),
        ("hip_current", hip::current::TESTS),
        ("hip_devices", hip::devices::TESTS),
        ("hip_in_flight", hip::in_flight::TESTS),
        ("hip_libraries", hip::libraries::TESTS),
        ("hip_processes", hip::processes::TESTS),
        ("hip_streams", hip::streams::TESTS),
        ("inspect", inspect::TESTS),
        ("memory", memory::TESTS),
        ("pinned", pinned::TESTS),
        ("pool", pool::TESTS),
        ("quantize", quantize::TESTS),
        ("refused", refused::TESTS),
        ("scratch_result", scratch_result::TESTS),
        ("simulator", simulator::TESTS),
        ("streams", streams::TESTS),
        ("weights", weights::TESTS),
        ("yolo26", yolo26::TESTS),
    ]
}

fn main() -> ExitCode {
    harness::main(subjects())
}
