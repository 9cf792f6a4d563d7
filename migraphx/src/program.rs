//! Programs that are read and not compiled.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use crate::compiled::CompiledProgram;
use crate::error::{Error, Result};
use crate::ffi::handle::{CompileOptionsHandle, ProgramHandle};
use crate::ffi::{lock, text};
use crate::mxr::{FileFormat, Loaded, load_as, save};
use crate::shape::Shape;
use crate::signature::{Parameter, Signature};
use crate::target::{self, Target};

/// A program that is read and not compiled: it can be looked at, quantized,
/// saved and compiled, and not run.
///
/// [`compile`](Program::compile) makes a [`CompiledProgram`] of it.
///
/// ```
/// use migraphx::{CompileOptions, OnnxOptions, Target};
///
/// # let model = testkit::models::add(&[4]);
/// let mut program = OnnxOptions::new().parse_bytes(&model)?;
/// for parameter in program.parameters() {
///     println!("{}: {}", parameter.name(), parameter.shape());
/// }
/// program.quantize_fp16()?;
/// let compiled = program.compile(&Target::reference()?, &CompileOptions::new())?;
/// # assert_eq!(compiled.output_shapes()[0].dims(), [4]);
/// # Ok::<(), migraphx::Error>(())
/// ```
#[doc(alias = "migraphx_program")]
pub struct Program {
    handle: ProgramHandle,
    signature: Arc<Signature>,
}

impl Program {
    /// Takes a program of the library that is not compiled; `name` is for errors.
    pub(crate) fn new(handle: ProgramHandle, name: &str) -> Result<Self> {
        let signature = Signature::of(&handle)?;
        // The library reads an empty file as an empty program, and dies of compiling it.
        if signature.outputs().is_empty() {
            return Err(Error::EmptyModel { what: name.into() });
        }
        Ok(Program { handle, signature })
    }

    /// Loads a program that was saved before it was compiled.
    ///
    /// # Errors
    /// As [`mxr::load`](crate::mxr::load), and [`Error::AlreadyCompiled`].
    #[doc(alias = "migraphx_load")]
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        match load_as(path, FileFormat::Msgpack)? {
            Loaded::Program(program) => Ok(program),
            Loaded::Compiled(compiled) => Err(Error::AlreadyCompiled {
                path: path.display().to_string(),
                target: compiled.target().to_owned(),
            }),
        }
    }

    /// The inputs, sorted by name.
    #[doc(alias = "migraphx_program_get_parameter_shapes")]
    pub fn parameters(&self) -> &[Parameter] {
        self.signature.parameters()
    }

    /// The shapes of the outputs, in the model's order. Compiling may change
    /// their strides.
    #[doc(alias = "migraphx_program_get_output_shapes")]
    pub fn output_shapes(&self) -> &[Shape] {
        self.signature.outputs()
    }

    /// Turns the whole program to half precision. Inputs and outputs keep their types.
    ///
    /// Takes time in proportion to the weights: 45 s for a YOLO26n on `ref`,
    /// where a model exported in half precision is read in no time.
    ///
    /// # Errors
    /// [`Error::Api`].
    #[doc(alias = "migraphx_quantize_fp16")]
    pub fn quantize_fp16(&mut self) -> Result<()> {
        crate::quantize::fp16(&self.handle)?;
        self.renew()
    }

    /// Turns the operators of these names to half precision, such as `dot` and
    /// `convolution`. A name that does not occur changes nothing.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for an empty list; [`Error::Api`].
    #[doc(alias = "migraphx_quantize_fp16_with_op_names")]
    pub fn quantize_fp16_ops(&mut self, operators: &[&str]) -> Result<()> {
        crate::quantize::fp16_ops(&self.handle, operators)?;
        self.renew()
    }

    /// Turns the whole program to bfloat16 (since ROCm 7.0).
    ///
    /// # Errors
    /// [`Error::Unsupported`] before ROCm 7.0; [`Error::Api`].
    #[doc(alias = "migraphx_quantize_bf16")]
    pub fn quantize_bf16(&mut self) -> Result<()> {
        crate::quantize::bf16(&self.handle)?;
        self.renew()
    }

    /// Turns the operators of these names to bfloat16 (since ROCm 7.0).
    ///
    /// # Errors
    /// [`Error::Unsupported`] before ROCm 7.0; [`Error::InvalidArgument`] for an
    /// empty list; [`Error::Api`].
    #[doc(alias = "migraphx_quantize_bf16_with_op_names")]
    pub fn quantize_bf16_ops(&mut self, operators: &[&str]) -> Result<()> {
        crate::quantize::bf16_ops(&self.handle, operators)?;
        self.renew()
    }

    /// Compiles the program for a target.
    ///
    /// The program is used up: after a failure nothing sound is left of it.
    /// Compiling for a GPU takes minutes for large models; save the result.
    ///
    /// # Errors
    /// [`Error::Api`] with MIGraphX's text;
    /// [`Error::InvalidArgument`] for a GPU without `offload_copy`, whose
    /// programs would read host buffers as device memory.
    #[doc(alias = "migraphx_program_compile")]
    pub fn compile(self, target: &Target, options: &CompileOptions) -> Result<CompiledProgram> {
        if !options.offload_copy && !target::is_host(target.name()) {
            return Err(Error::InvalidArgument(format!(
                "compiling for `{target}` without offload_copy makes a program for buffers on the \
                 device, and this type runs on host buffers; leave offload_copy on"
            )));
        }
        let c_options = options.to_handle()?;
        let reading = lock::reading();
        // SAFETY: all handles are live; the program is not compiled (by its type) and not empty.
        unsafe {
            call!(migraphx_program_compile(
                self.handle.raw(),
                target.handle().raw(),
                c_options.raw()
            ))
        }
        .map_err(|error| error.while_doing(|| format!("compiling for `{target}`")))?;
        drop(reading);
        CompiledProgram::new(self.handle, "the compiled program", target.name())
    }

    /// Saves the program, to be loaded with [`Program::load`].
    ///
    /// # Errors
    /// [`Error::Io`] where the file cannot be written; what was there then stays.
    #[doc(alias = "migraphx_save")]
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        self.save_as(path, FileFormat::Msgpack)
    }

    /// Saves the program in a given format.
    ///
    /// # Errors
    /// As [`save`](Program::save).
    pub fn save_as(&self, path: impl AsRef<Path>, format: FileFormat) -> Result<()> {
        save::save(&self.handle, path.as_ref(), format)
    }

    /// The bytes that [`save`](Program::save) would write.
    ///
    /// # Errors
    /// [`Error::Api`].
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        save::to_bytes(&self.handle, FileFormat::Msgpack)
    }

    /// A copy of the program, to be changed or compiled on its own (since ROCm 5.2).
    ///
    /// # Errors
    /// [`Error::Api`].
    #[doc(alias = "migraphx_program_assign_to")]
    pub fn try_clone(&self) -> Result<Self> {
        let handle = ProgramHandle::make(|out| {
            // SAFETY: the out pointer is valid.
            unsafe { call!(migraphx_program_create(out)) }
        })?;
        // SAFETY: both programs are live; C copies modules and instructions.
        unsafe { call!(migraphx_program_assign_to(handle.raw(), self.handle.raw())) }?;
        Program::new(handle, "the copied program")
    }

    pub(crate) fn signature(&self) -> &Signature {
        &self.signature
    }

    /// Asks again what the program takes and gives, after a change.
    fn renew(&mut self) -> Result<()> {
        self.signature = Signature::of(&self.handle)?;
        Ok(())
    }
}

/// The text of a program, an instruction a line.
pub(crate) fn print(handle: &ProgramHandle) -> Result<Option<String>> {
    text::output_of(|| {
        // SAFETY: the program is live; printing only reads it.
        unsafe { call!(migraphx_program_print(handle.raw())) }
    })
}

pub(crate) fn display(handle: &ProgramHandle, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match print(handle) {
        Ok(Some(text)) => f.write_str(text.trim_end()),
        Ok(None) => f.write_str("(the text of the program cannot be read from this C++ library)"),
        Err(error) => write!(f, "({error})"),
    }
}

/// The instructions, one a line, as MIGraphX prints them.
impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        display(&self.handle, f)
    }
}

impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Program")
            .field("parameters", &self.parameters())
            .field("outputs", &self.output_shapes())
            .finish()
    }
}

/// How to compile.
#[doc(alias = "migraphx_compile_options")]
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "options do nothing until they are given to `compile`"]
pub struct CompileOptions {
    offload_copy: bool,
    fast_math: bool,
    exhaustive_tune: bool,
}

impl CompileOptions {
    /// Copies to and from the device inside a run, fast math, no exhaustive tuning.
    ///
    /// (The library's own default is not to copy, and then reads host memory as
    /// device memory.)
    pub fn new() -> Self {
        CompileOptions {
            offload_copy: true,
            fast_math: true,
            exhaustive_tune: false,
        }
    }

    /// Whether a run copies its inputs to the device and its outputs back.
    #[doc(alias = "migraphx_compile_options_set_offload_copy")]
    pub fn offload_copy(mut self, value: bool) -> Self {
        self.offload_copy = value;
        self
    }

    /// Whether approximations are allowed, such as for GELU.
    #[doc(alias = "migraphx_compile_options_set_fast_math")]
    pub fn fast_math(mut self, value: bool) -> Self {
        self.fast_math = value;
        self
    }

    /// Whether to try every way to run each operator (since ROCm 5.6): compiling
    /// takes many times longer.
    #[doc(alias = "migraphx_compile_options_set_exhaustive_tune_flag")]
    pub fn exhaustive_tune(mut self, value: bool) -> Self {
        self.exhaustive_tune = value;
        self
    }

    fn to_handle(&self) -> Result<CompileOptionsHandle> {
        let options = CompileOptionsHandle::make(|out| {
            // SAFETY: the out pointer is valid.
            unsafe { call!(migraphx_compile_options_create(out)) }
        })?;
        let raw = options.raw();
        // SAFETY: the options are live.
        unsafe {
            call!(migraphx_compile_options_set_offload_copy(
                raw,
                self.offload_copy
            ))?;
            call!(migraphx_compile_options_set_fast_math(raw, self.fast_math))?;
            if self.exhaustive_tune {
                call!(migraphx_compile_options_set_exhaustive_tune_flag(raw, true))?;
            }
        }
        Ok(options)
    }
}

impl Default for CompileOptions {
    fn default() -> Self {
        CompileOptions::new()
    }
}
