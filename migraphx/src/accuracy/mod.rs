//! How far the outputs of one program are from those of another: what a
//! precision, a target or a compile option costs.
//!
//! [`cost`] answers "how much did INT8 cost" in one call; [`compare`] takes any
//! two compiled programs.
//!
//! ```
//! use migraphx::{Argument, OnnxOptions, Target, accuracy};
//!
//! # let weights: Vec<f32> = (0..64).map(|i| (i as f32).sin()).collect();
//! # let model = testkit::models::matmul(1, 16, 4, &weights);
//! let program = OnnxOptions::new().parse_bytes(&model)?; // y = x · w, x: float [1, 16]
//! let inputs = (0..8).map(|i| {
//!     let x = (0..16).map(|j| ((i * 16 + j) as f32).cos()).collect();
//!     Ok([("x", Argument::from_vec(x, &[1, 16])?)])
//! });
//! let report = accuracy::cost(
//!     &program,
//!     |program| program.quantize_fp16(),
//!     &Target::reference()?,
//!     inputs,
//! )?;
//! println!("{report}");
//! let output = &report.outputs()[0];
//! assert!(output.max_error > 0.0 && output.max_error < 0.02);
//! assert!(output.cosine > 0.999_99);
//! # Ok::<(), migraphx::Error>(())
//! ```

mod report;
mod values;

pub use report::{OutputAccuracy, Report};

use crate::argument::Argument;
use crate::compiled::CompiledProgram;
use crate::error::{Error, Result};
use crate::program::{CompileOptions, Program};
use crate::target::Target;

/// Runs both programs on each of `inputs` (the tensors of one run, by name) and
/// compares all outputs.
///
/// Outputs of different types are compared by their values: a model exported in
/// half precision with the one in single precision, say.
///
/// ```
/// use migraphx::{Argument, CompileOptions, OnnxOptions, Target, accuracy};
///
/// # let (relu, identity) = (testkit::models::relu(&[3]), testkit::models::identity(testkit::onnx::Elem::F32, &[3]));
/// let compile = |model: &[u8]| {
///     OnnxOptions::new().parse_bytes(model)?.compile(&Target::reference()?, &CompileOptions::new())
/// };
/// let (mut identity, mut relu) = (compile(&identity)?, compile(&relu)?);
/// let x = Argument::from_slice(&[2.0f32, 1.0, -0.5], &[3])?;
/// let report = accuracy::compare(&mut identity, &mut relu, [Ok([("x", x)])])?;
/// assert_eq!(report.outputs()[0].max_error, 0.5); // relu makes 0 of -0.5
/// # Ok::<(), migraphx::Error>(())
/// ```
///
/// # Errors
/// [`Error::InvalidArgument`] without inputs; [`Error::Output`] where the
/// programs' outputs differ in number or dimensions, or cannot be read as
/// numbers; else as [`CompiledProgram::run_once`]; the first error that `inputs` gives.
pub fn compare<'a, T>(
    reference: &mut CompiledProgram,
    candidate: &mut CompiledProgram,
    inputs: impl IntoIterator<Item = Result<T>>,
) -> Result<Report>
where
    T: AsRef<[(&'a str, Argument<'a>)]>,
{
    let count = reference.output_shapes().len();
    let found = candidate.output_shapes().len();
    if found != count {
        return Err(Error::Output {
            index: count.min(found),
            problem: format!("the reference has {count} outputs, and the candidate {found}"),
        });
    }
    let mut report = Report::new(reference.output_shapes());
    for tensors in inputs {
        let tensors = tensors?;
        let expected = reference.run_once(tensors.as_ref())?;
        let found = candidate.run_once(tensors.as_ref())?;
        for index in 0..count {
            report.add(index, &expected.get(index)?, &found.get(index)?)?;
        }
        report.count_sample();
    }
    if report.samples() == 0 {
        return Err(Error::InvalidArgument(
            "no inputs to compare the programs on; give some like those of later runs".into(),
        ));
    }
    Ok(report)
}

/// Compiles `program` as it is and as `quantize` leaves it, and compares both on
/// `inputs`.
///
/// # Errors
/// As [`compare`], [`Program::compile`], and those of `quantize`.
pub fn cost<'a, T>(
    program: &Program,
    quantize: impl FnOnce(&mut Program) -> Result<()>,
    target: &Target,
    inputs: impl IntoIterator<Item = Result<T>>,
) -> Result<Report>
where
    T: AsRef<[(&'a str, Argument<'a>)]>,
{
    let mut quantized = program.try_clone()?;
    quantize(&mut quantized)?;
    let mut candidate = quantized.compile(target, &CompileOptions::new())?;
    let mut reference = program
        .try_clone()?
        .compile(target, &CompileOptions::new())?;
    compare(&mut reference, &mut candidate, inputs)
}
