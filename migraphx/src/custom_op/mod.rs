//! Operators written in Rust.
//!
//! A type that implements [`CustomOp`] says what shape its output has and
//! computes it. [`register`] makes it known to MIGraphX under its name, once a
//! process and for good. From then on
//!
//! - [`Graph::add`](crate::Graph::add) takes it by its name;
//! - [`program`] makes a program of it alone;
//! - `.mxr` files with it, compiled or not, can be loaded. They hold its name
//!   alone: register the same operator first, or loading says `Operator not
//!   found`.
//!
//! ONNX and TensorFlow files cannot use it (MIGraphX 7.1): their parsers know
//! only their own operators. To put it behind such a model, make a program of it
//! alone; on a GPU, `PendingRun::then` hands the results on without a copy
//! through the host.
//!
//! ```
//! use migraphx::{Argument, CompileOptions, DataType, Shape, Target};
//! use migraphx::custom_op::{self, CustomOp, Input, OpResult, Output};
//!
//! /// How far each element is from the one before it.
//! struct Steps;
//!
//! impl CustomOp for Steps {
//!     fn name(&self) -> &str {
//!         "doc_steps"
//!     }
//!
//!     fn shape(&self, inputs: &[Shape]) -> OpResult<Shape> {
//!         let [x] = inputs else { return Err("one input, please".into()) };
//!         Ok(Shape::new(x.dtype(), &[x.elements().saturating_sub(1)])?)
//!     }
//!
//!     fn compute(&self, inputs: &[Input], output: &mut Output) -> OpResult {
//!         let x = inputs[0].slice::<f32>()?;
//!         for (step, pair) in output.slice_mut::<f32>()?.iter_mut().zip(x.windows(2)) {
//!             *step = pair[1] - pair[0];
//!         }
//!         Ok(())
//!     }
//! }
//!
//! custom_op::register(Steps)?;
//! let program = custom_op::program("doc_steps", &[("x", Shape::new(DataType::Float, &[4])?)])?;
//! let mut program = program.compile(&Target::reference()?, &CompileOptions::new())?;
//! let x = Argument::from_slice(&[1.0f32, 4.0, 9.0, 16.0], &[4])?;
//! let outputs = program.run_once(&[("x", x)])?;
//! assert_eq!(outputs.slice::<f32>(0)?, [3.0, 5.0, 7.0]);
//! # Ok::<(), migraphx::Error>(())
//! ```
//!
//! # Where it runs
//! [`compute`](CustomOp::compute) works in host memory. In a program for a GPU
//! the stream is waited for, the inputs are copied to the host, and the output
//! back (by the feature `hip`): right, and slow. An operator that says
//! [`runs_on_device`](CustomOp::runs_on_device) is given the memory on the GPU
//! and the program's stream instead, in
//! [`compute_on_device`](CustomOp::compute_on_device). On `ref` its `compute` is
//! called all the same, so that both can be compared.
//!
//! # What holds
//! - Inputs are row-major; where a program has a view, a copy is put before the
//!   operator. Sizes are fixed: a dynamic input is an error.
//! - It has one output. It has no attributes: what else it needs comes as a
//!   literal input, or stands in the object (registered under a name of its own).
//! - It is compiled into a program without being run, also where its inputs are
//!   constant, and is left out where nothing uses its output. Two uses with equal
//!   inputs may become one.
//! - It may be called by several threads at once, and may call MIGraphX itself;
//!   only [`register`] and the first use of a target are errors in
//!   [`shape`](CustomOp::shape) while a program is built, compiled or loaded.
//! - Errors come back as an [`Error::Api`] of the call that
//!   ran it, with its text; a panic too, as `panicked: …` (unless panics abort
//!   the process).
//! - In a program that is quantized as a whole it is given half precision too; it
//!   can refuse that in [`shape`](CustomOp::shape), and then quantizing fails.
//!   Quantizing [by operator names](crate::Program::quantize_fp16_ops) leaves it alone.
//! - The GPU target turns double, and integers other than int8, uint8 and int32,
//!   into float before every operator (MIGraphX 7.1): there, an operator that
//!   takes or gives one of these is an error when the program is compiled.

mod build;
mod callbacks;
mod compute;
mod device;
mod guard;
mod op;
mod sizes;
mod tensors;

use std::collections::BTreeMap;
use std::ffi::CString;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::error::{Error, Result};
use crate::ffi::lock;
use crate::program::Program;
use crate::shape::Shape;

pub(crate) use build::{Allocations, add};
pub use device::{DeviceCall, DeviceInput, DeviceOutput};
pub(crate) use guard::unabridged;
pub use op::{CustomOp, OpResult};
pub use tensors::{Input, Output};

/// A registered operator; the library holds counted pointers to it.
pub(crate) struct Entry {
    op: Box<dyn CustomOp>,
    name: String,
    in_place: bool,
    on_device: bool,
}

/// Keeps each operator for ever, so that nothing of the user's is dropped by the
/// library's exit handlers.
static REGISTERED: Mutex<BTreeMap<String, Arc<Entry>>> = Mutex::new(BTreeMap::new());

fn registered() -> MutexGuard<'static, BTreeMap<String, Arc<Entry>>> {
    REGISTERED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Registers an operator under its name, for the rest of the process.
///
/// Waits until no other thread parses, compiles or loads a program.
///
/// # Errors
/// [`Error::InvalidArgument`] for a name that is taken, by another registration
/// or by MIGraphX itself, or that is none; also inside
/// [`shape`](CustomOp::shape). [`Error::Unsupported`] before ROCm 5.4.
#[doc(alias = "migraphx_experimental_custom_op_create")]
#[doc(alias = "migraphx_experimental_custom_op_register")]
pub fn register(op: impl CustomOp) -> Result<()> {
    let entry = Arc::new(Entry::of(op));
    check_name(&entry.name)?;
    let functions = &crate::ffi::library()?.functions;
    // Its callbacks took other arguments before 5.3; the youngest function is of 5.4.
    functions
        .migraphx_experimental_custom_op_set_output_alias
        .get()?;
    lock::registering(|| {
        let name = &entry.name;
        if !registered().contains_key(sizes::NAME) {
            let sizes = Arc::new(Entry::of(sizes::Sizes));
            build::register(&sizes)?;
            registered().insert(sizes::NAME.into(), sizes);
        }
        if registered().contains_key(name) {
            return Err(Error::InvalidArgument(format!(
                "an operator `{name}` is registered already; register each once a process"
            )));
        }
        if build::operation(name).is_ok() {
            return Err(Error::InvalidArgument(format!(
                "MIGraphX itself has an operator `{name}`; choose another name"
            )));
        }
        build::register(&entry)?;
        registered().insert(name.clone(), entry.clone());
        Ok(())
    })
}

/// A program of one operator: the parameters are its inputs, in this order, and
/// its output is the program's. To try an operator, or to put it behind a model:
/// on a GPU, the one's output buffers can be the other's inputs.
///
/// # Errors
/// [`Error::InvalidArgument`] for an operator that is not registered, and for
/// parameters without a name of their own; [`Error::Api`] with what the operator
/// says to these shapes.
pub fn program(name: &str, parameters: &[(&str, Shape)]) -> Result<Program> {
    let entry = find(name).filter(|entry| entry.name != sizes::NAME);
    let entry = entry.ok_or_else(|| {
        Error::InvalidArgument(format!(
            "no operator `{name}` is registered; there are {:?}",
            names()
        ))
    })?;
    let _reading = lock::reading();
    build::program(&entry, parameters)
}

/// The names of all registered operators, sorted.
pub fn names() -> Vec<String> {
    let ours = |name: &&String| *name != sizes::NAME;
    registered().keys().filter(ours).cloned().collect()
}

/// How many copies of an operator the library holds in programs (copies of one
/// program may share one): 0 once all are dropped. `None` where there is no such operator.
pub fn copies(name: &str) -> Option<usize> {
    // One is ours, one the library's, to copy from.
    find(name).map(|entry| Arc::strong_count(&entry) - 3)
}

/// A registered operator.
pub(crate) fn find(name: &str) -> Option<Arc<Entry>> {
    registered().get(name).cloned()
}

/// Whether an operator works in place; `None` for one that is not registered here.
pub(crate) fn works_in_place(name: &str) -> Option<bool> {
    find(name).map(|entry| entry.in_place)
}

impl Entry {
    pub(crate) fn works_in_place(&self) -> bool {
        self.in_place
    }

    fn of(op: impl CustomOp) -> Self {
        Entry {
            name: op.name().to_owned(),
            in_place: op.in_place(),
            on_device: op.runs_on_device(),
            op: Box::new(op),
        }
    }

    /// The name for C, which keeps the pointer for ever.
    fn c_name(&self) -> Result<&'static std::ffi::CStr> {
        let name = crate::ffi::c_string("operator name", &self.name)?;
        Ok(Box::leak(CString::into_boxed_c_str(name)))
    }
}

fn check_name(name: &str) -> Result<()> {
    let first = name.chars().next();
    let problem = if first.is_none() {
        "is empty"
    } else if name.len() > 200 {
        "is longer than 200 bytes"
    } else if first.is_some_and(|c| c.is_ascii_digit()) {
        "begins with a digit"
    } else if !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
        "holds something else than letters, digits and `_`"
    } else {
        return Ok(());
    };
    let shown: String = name.chars().take(200).collect();
    Err(Error::InvalidArgument(format!(
        "operator name {shown:?} {problem}; give it a name such as `my_operator`"
    )))
}

#[cfg(test)]
mod tests {
    use super::check_name;

    #[test]
    fn names_are_plain() {
        for name in ["nms", "_x", "My_op2", &"x".repeat(200)] {
            check_name(name).unwrap();
        }
        let names = [
            "",
            "2d",
            "a b",
            "a\0b",
            "@param",
            "gpu::gemm",
            "unknown:x",
            "größe",
            "a-b",
            "a(b)",
            "a%s",
        ];
        for name in names {
            assert!(check_name(name).is_err(), "{name:?}");
        }
        assert!(check_name(&"x".repeat(201)).is_err());
    }
}
