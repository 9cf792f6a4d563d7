//! AMD MIGraphX from Rust: compile ONNX models for AMD GPUs and Hygon DCUs,
//! store the result, and run it at the speed of C.
//!
//! ```
//! use migraphx::{Argument, CompileOptions, OnnxOptions, Target};
//!
//! # let model = testkit::models::add(&[4]);
//! let program = OnnxOptions::new().parse_bytes(&model)?; // z = x + y, float [4]
//! let mut program = program.compile(&Target::reference()?, &CompileOptions::new())?;
//!
//! let x = Argument::from_slice(&[1.0f32, 2.0, 3.0, 4.0], &[4])?;
//! let y = Argument::from_slice(&[10.0f32, 20.0, 30.0, 40.0], &[4])?;
//! let outputs = program.run_once(&[("x", x), ("y", y)])?;
//! assert_eq!(outputs.slice::<f32>(0)?, [11.0, 22.0, 33.0, 44.0]);
//! # Ok::<(), migraphx::Error>(())
//! ```
//!
//! # The way of a model
//! ```text
//! model.onnx ── OnnxOptions::parse ──▶ Program ── quantize_fp16, compile ──▶ CompiledProgram ◀─▶ model.mxr
//!                                                                               │
//!                        data ──▶ Inputs ───────────────────────── run ─────────┴──▶ Outputs
//! ```
//!
//! | to | see |
//! |---|---|
//! | read a model, fix its sizes | [`OnnxOptions`], [`parse_onnx`]; [`TfOptions`] for TensorFlow's |
//! | look at it, quantize it, compile it | [`Program`], [`CompileOptions`], [`Target`] |
//! | choose a precision, see what it costs | [`quantize`], [`Calibration`], [`accuracy`] |
//! | run it once | [`CompiledProgram::run_once`], [`Argument`] |
//! | run it many times without copies or allocations | [`Inputs`], [`CompiledProgram::run`], [`Outputs`] |
//! | use several programs or devices at once | [`Pool`] |
//! | run batches of any size | [`Buckets`], [`DynamicDim`] |
//! | build a program by hand | [`Graph`], [`Op`] |
//! | write an operator in Rust | [`custom_op`] |
//! | see its instructions, its memory, where the time goes | [`Program::instructions`], [`Listing`], [`CompiledProgram::run_trace`] |
//! | store it, load it, look into a file | [`CompiledProgram::save`], [`CompiledProgram::load`], [`mxr`] |
//! | know which inputs are indices, and are checked | [`CompiledProgram::index_inputs`], [`IndexInput`] |
//! | compile it once and find it again in the next process | [`cache`], [`Program::load_or_compile`] |
//! | know what is loaded | [`version`], [`library_path`], [`is_available`] |
//!
//! # Finding the library
//! `libmigraphx_c.so.3` is opened at the first call: the copy the process has
//! mapped, else the one in `MIGRAPHX_LIB_DIR`, else where the dynamic loader
//! finds it, else by `ROCM_PATH`, `/opt/rocm` and other usual places
//! ([`migraphx_sys::finder`] has the list). Where there is none, the first call
//! is an [`Error::Load`] that lists what was tried; building never fails for it.
//!
//! | feature | what it does |
//! |---|---|
//! | `linked` (default) | links to the library where it is installed in a place that the loader searches |
//! | `load-dynamic` | no link-time dependency; wins over `linked` |
//! | `ndarray` (default) | views of inputs and outputs as arrays |
//! | `hip` (default) | GPUs: devices, streams, memory, programs pinned to a device; HIP is opened at run time |
//!
//! # Threads
//! A [`CompiledProgram`] moves between threads and is used by one at a time.
//! For more at a time, load it once for each thread. [`Inputs`] move too, so one
//! thread can fill a set while another runs a second one. Parsing, compiling
//! and loading run beside each other, but for the first use of a target, which
//! waits for all of them. When the process exits, running calls are waited for
//! (5 s at most) and new ones do not start.
//!
//! # GPUs
//! The library binds a program to the device that is current when it is
//! compiled or loaded, and leaves that device current after each run. Here a
//! program knows its device, runs there on whatever thread, and every call
//! leaves the thread's current device as it was. Two kinds of programs, two
//! types: a [`CompiledProgram`] copies from and to the host in each run, and is
//! the same code as on `ref`; a `DeviceProgram` reads and writes the device's
//! memory, with several batches in flight, and is the fast one.
//!
//! # What is copied
//! Nothing, unless it must be: inputs are filled in place or bound, outputs are
//! read where the library left them. Outputs may lie in an input's memory, so
//! they borrow both the program and the inputs.
//!
//! # Errors
//! MIGraphX prints its reasons to C++'s `std::cerr`. While a call of this crate
//! runs on a thread, that text is collected and becomes part of the
//! [`Error`]; text of other users of the stream passes through. Warnings on
//! success go to the [`log`] facade.
//!
//! # Trust
//! Safe calls do not crash on wrong names, shapes, types or states. Values that
//! MIGraphX takes for positions in memory (`Gather`), or divides by, are checked
//! before each run where that can be done, and listed ([`IndexInput`]). Models and
//! `.mxr` files are looked at before MIGraphX reads them, and are trusted input all
//! the same: a `.mxr` holds machine code for GPUs, and MIGraphX does not survive
//! every file made to harm it. The repository's `docs/safety.md` says what is
//! guaranteed and what is left; its example `15_untrusted_model` runs a model in a
//! process of its own.
//!
//! On a GPU, MIGraphX itself ends the process where one of these calls into HIP
//! fails, in builds with assertions such as Debian's (seen on 7.1.1 with each
//! call made to fail in turn; every other failure is an [`Error`]): `hipMalloc`
//! of a weight, and `hipPointerGetAttributes`. Weights that do not fit are
//! therefore refused beforehand ([`Error::DeviceMemory`]). Faults on the device,
//! such as of a kernel that reads out of bounds, end the process too: HIP's
//! runtime does that.

#[macro_use]
mod ffi;
#[cfg(feature = "hip")]
#[macro_use]
pub mod hip;

pub mod accuracy;
mod argument;
mod argument_file;
mod binding;
mod bound;
mod buckets;
mod buffer;
mod buffers;
pub mod cache;
mod compiled;
pub mod custom_op;
#[cfg(feature = "hip")]
mod device_program;
mod dtype;
mod dynamic_dim;
mod error;
#[cfg(fuzzing)]
#[doc(hidden)]
pub mod fuzzing;
mod graph;
mod index_inputs;
mod inputs;
mod instructions;
mod listing;
pub mod mxr;
mod onnx;
mod outputs;
mod pool;
mod program;
mod protobuf;
pub mod quantize;
mod shape;
mod signature;
mod target;
mod tf;
mod trace;
mod version;

pub use argument::Argument;
pub use buckets::{BucketOutputs, BucketRun, Buckets, Padding};
pub use cache::{Cache, Recipe};
pub use compiled::CompiledProgram;
#[cfg(feature = "hip")]
pub use device_program::{DeviceBindings, DeviceProgram, PendingRun, RunTimes};
pub use dtype::{DataType, Element, Fp8E4M3Fn, Fp8E4M3FnUz, Fp8E5M2, Fp8E5M2FnUz};
pub use dynamic_dim::DynamicDim;
pub use error::{Error, Result};
pub use graph::{Attribute, Graph, Op, Submodule, Value};
pub use index_inputs::{Allowed, IndexInput};
pub use inputs::{InputId, Inputs};
pub use listing::{Instruction, Listing, onnx_operators};
pub use migraphx_sys::LoadError;
pub use onnx::{OnnxOptions, parse_onnx};
pub use outputs::{OutputRef, Outputs, OwnedOutputs};
pub use pool::{Map, OnFailure, Pending, Pool, TryMap, Worker};
pub use program::{CompileOptions, Program};
pub use quantize::Calibration;
pub use shape::Shape;
pub use signature::Parameter;
pub use target::Target;
pub use tf::{TfOptions, parse_tf};
pub use trace::TraceStep;
pub use version::{Version, is_available, library_path, load_from, version};

/// The programs of the guides and of the README are compiled, as tests.
#[cfg(doctest)]
mod guides {
    macro_rules! guides {
        ($($name:ident: $file:literal)*) => {
            $(#[doc = include_str!(concat!("../../", $file))] mod $name {})*
        };
    }
    guides! {
        readme: "README.md"
        buffers: "docs/buffers.md"
        dynamic_batch: "docs/dynamic-batch.md"
        from_python_and_cpp: "docs/from-python-and-cpp.md"
        quantization: "docs/quantization.md"
        serving: "docs/serving.md"
        streams_and_pools: "docs/streams-and-pools.md"
    }
}
