//! How a program is made of a model, as data that can be compared.

use std::fmt;
use std::path::Path;

use super::digest::Digest;
use crate::error::Result;
use crate::onnx::OnnxOptions;
use crate::program::{CompileOptions, Program};
use crate::quantize::Calibration;
use crate::target::Target;

/// How a program is made of a model: how it is read, what is done to it before it
/// is compiled, and how it is compiled. The steps are done in the order of the calls.
///
/// ```
/// use migraphx::{CompileOptions, OnnxOptions, Recipe};
///
/// let recipe = Recipe::new()
///     .onnx(OnnxOptions::new().input_dims("images", &[8, 3, 224, 224]))
///     .quantize_fp16_ops(&["dot", "convolution"])
///     .compile(CompileOptions::new().exhaustive_tune(true));
/// ```
#[derive(Debug, Default)]
#[must_use = "a recipe does nothing until a program is made by it"]
pub struct Recipe<'a> {
    onnx: OnnxOptions,
    steps: Vec<Step<'a>>,
    options: CompileOptions,
}

enum Step<'a> {
    Fp16,
    Fp16Ops(Vec<String>),
    Bf16,
    Bf16Ops(Vec<String>),
    Int8(&'a Calibration),
    Int8Ops(Vec<String>, &'a Calibration),
    Fp8(&'a Calibration),
    Named(String, Box<Run<'a>>),
}

type Run<'a> = dyn Fn(&mut Program, &Target) -> Result<()> + Send + Sync + 'a;

impl<'a> Recipe<'a> {
    /// Reads and compiles with default options, in the model's own precision.
    pub fn new() -> Self {
        Recipe::default()
    }

    /// How the model is read.
    pub fn onnx(mut self, options: OnnxOptions) -> Self {
        self.onnx = options;
        self
    }

    /// How the program is compiled.
    pub fn compile(mut self, options: CompileOptions) -> Self {
        self.options = options;
        self
    }

    /// [`Program::quantize_fp16`].
    pub fn quantize_fp16(self) -> Self {
        self.then(Step::Fp16)
    }

    /// [`Program::quantize_fp16_ops`].
    pub fn quantize_fp16_ops(self, operators: &[&str]) -> Self {
        self.then(Step::Fp16Ops(owned(operators)))
    }

    /// [`Program::quantize_bf16`].
    pub fn quantize_bf16(self) -> Self {
        self.then(Step::Bf16)
    }

    /// [`Program::quantize_bf16_ops`].
    pub fn quantize_bf16_ops(self, operators: &[&str]) -> Self {
        self.then(Step::Bf16Ops(owned(operators)))
    }

    /// [`Program::quantize_int8`], for the target that is compiled for. The samples
    /// are part of the cache's key, each of their bytes. To make them only where
    /// the program is not in the cache, use [`step`](Recipe::step).
    pub fn quantize_int8(self, calibration: &'a Calibration) -> Self {
        self.then(Step::Int8(calibration))
    }

    /// [`Program::quantize_int8_ops`]; as [`quantize_int8`](Recipe::quantize_int8).
    pub fn quantize_int8_ops(self, operators: &[&str], calibration: &'a Calibration) -> Self {
        self.then(Step::Int8Ops(owned(operators), calibration))
    }

    /// [`Program::quantize_fp8`]; as [`quantize_int8`](Recipe::quantize_int8).
    pub fn quantize_fp8(self, calibration: &'a Calibration) -> Self {
        self.then(Step::Fp8(calibration))
    }

    /// Any other step. A cache cannot look into `run` and takes it for the same as
    /// long as `name` is: name all that its effect depends on, and count up
    /// a version when you change it, or the cache gives programs of the former one.
    /// It must not ask the cache for the program that it is a step of.
    ///
    /// ```
    /// use migraphx::{Calibration, Recipe};
    ///
    /// # fn read_samples(_: &mut Calibration) -> migraphx::Result<()> { Ok(()) }
    /// // Samples are read only where the program has to be made.
    /// let recipe = Recipe::new().step("int8 by photos-2024, v1", |program, target| {
    ///     let mut calibration = Calibration::new(program)?;
    ///     read_samples(&mut calibration)?;
    ///     program.quantize_int8(target, &calibration)
    /// });
    /// ```
    pub fn step(
        self,
        name: &str,
        run: impl Fn(&mut Program, &Target) -> Result<()> + Send + Sync + 'a,
    ) -> Self {
        self.then(Step::Named(name.to_owned(), Box::new(run)))
    }

    fn then(mut self, step: Step<'a>) -> Self {
        self.steps.push(step);
        self
    }

    /// The program, before it is compiled for `target`.
    pub(super) fn read(&self, model: &Path, target: &Target) -> Result<Program> {
        let mut program = self.onnx.parse(model)?;
        for step in &self.steps {
            step.run(&mut program, target)?;
        }
        Ok(program)
    }

    pub(super) fn onnx_options(&self) -> &OnnxOptions {
        &self.onnx
    }

    pub(super) fn options(&self) -> &CompileOptions {
        &self.options
    }

    /// All that the recipe is, one thing a line.
    pub(super) fn key(&self) -> String {
        let Recipe {
            onnx,
            steps,
            options,
        } = self;
        let mut text = format!("onnx {}\ncompile {options:?}\n", onnx.key());
        for step in steps {
            text += &format!("step {step:?}\n");
        }
        text
    }
}

impl Step<'_> {
    fn run(&self, program: &mut Program, target: &Target) -> Result<()> {
        match self {
            Step::Fp16 => program.quantize_fp16(),
            Step::Fp16Ops(operators) => program.quantize_fp16_ops(&borrowed(operators)),
            Step::Bf16 => program.quantize_bf16(),
            Step::Bf16Ops(operators) => program.quantize_bf16_ops(&borrowed(operators)),
            Step::Int8(calibration) => program.quantize_int8(target, calibration),
            Step::Int8Ops(operators, calibration) => {
                program.quantize_int8_ops(&borrowed(operators), target, calibration)
            }
            Step::Fp8(calibration) => program.quantize_fp8(target, calibration),
            Step::Named(_, run) => run(program, target),
        }
    }
}

/// All that a step does: the cache's key is made of it.
impl fmt::Debug for Step<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Step::Fp16 => write!(f, "fp16"),
            Step::Fp16Ops(operators) => write!(f, "fp16 {operators:?}"),
            Step::Bf16 => write!(f, "bf16"),
            Step::Bf16Ops(operators) => write!(f, "bf16 {operators:?}"),
            Step::Int8(calibration) => write!(f, "int8 by {}", digest(calibration)),
            Step::Int8Ops(operators, calibration) => {
                write!(f, "int8 {operators:?} by {}", digest(calibration))
            }
            Step::Fp8(calibration) => write!(f, "fp8 by {}", digest(calibration)),
            Step::Named(name, _) => write!(f, "named {name:?}"),
        }
    }
}

fn digest(calibration: &Calibration) -> String {
    let mut digest = Digest::default();
    let (signature, buffers) = calibration.contents();
    digest.add_part(signature.as_bytes());
    for buffer in buffers {
        digest.add_part(buffer);
    }
    digest.text()
}

fn owned(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn borrowed(names: &[String]) -> Vec<&str> {
    names.iter().map(String::as_str).collect()
}
