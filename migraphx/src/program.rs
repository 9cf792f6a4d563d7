//! Programs that are read and not compiled.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use crate::bound::{self, Bound};
use crate::buffers::{self, Buffers};
use crate::compiled::CompiledProgram;
use crate::error::{Error, Result};
use crate::ffi::handle::{CompileOptionsHandle, ProgramHandle};
use crate::ffi::{lock, text};
use crate::index_inputs::{self, Found, IndexInput};
use crate::instructions;
use crate::mxr::{FileFormat, Loaded, Mark, load_as, save};
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
            #[cfg(feature = "hip")]
            Loaded::Device(_) => Err(Error::AlreadyCompiled {
                path: path.display().to_string(),
                target: "gpu".to_owned(),
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

    /// The inputs whose values operators use as indices or as divisors, which
    /// MIGraphX does not check. Runs of the compiled program check what can be checked.
    ///
    /// # Errors
    /// [`Error::Api`]; [`Error::InvalidArgument`] where the index is a constant of
    /// the program, and cannot be right.
    pub fn index_inputs(&self) -> Result<Vec<IndexInput>> {
        Ok(index_inputs::of(&self.handle, self.parameters())?.inputs)
    }

    /// Compiles the program for a target.
    ///
    /// The program is used up: after a failure nothing sound is left of it.
    /// Compiling for a GPU takes minutes for large models; save the result.
    ///
    /// # Errors
    /// [`Error::Api`] with MIGraphX's text; [`Error::BufferKind`] for a GPU
    /// without `offload_copy`: see
    #[cfg_attr(
        feature = "hip",
        doc = "[`compile_for_device`](Program::compile_for_device);"
    )]
    #[cfg_attr(not(feature = "hip"), doc = "`compile_for_device` (feature `hip`);")]
    /// [`Error::DeviceMemory`] where the weights do not fit on the device;
    /// [`Error::InvalidArgument`] where a constant index is out of range, and, for a
    /// GPU, where an input has a name that
    /// MIGraphX takes for its own (`scratch`), or a value without elements is computed.
    ///
    /// What is needed beside the weights is known only when all is compiled. Where
    /// that does not fit, MIGraphX goes on with the host's memory (a warning is
    /// logged); one that was built with assertions, as Debian's, may abort.
    #[doc(alias = "migraphx_program_compile")]
    pub fn compile(self, target: &Target, options: &CompileOptions) -> Result<CompiledProgram> {
        if !options.offload_copy && !target::is_host(target.name()) {
            return Err(Buffers::Device.refused("a program without offload_copy"));
        }
        let (bound, found) = self.compiled(target, options)?;
        let signature = Signature::of(bound.handle())?;
        let found = found.in_places_of(signature.parameters());
        CompiledProgram::new(
            bound,
            signature,
            target.name(),
            found,
            "the compiled program",
        )
    }

    /// Compiles the program for a GPU and for buffers in its memory, whatever
    /// `offload_copy` says.
    ///
    /// # Errors
    /// As [`compile`](Program::compile); [`Error::InvalidArgument`] where a
    /// parameter is dynamic (its output buffers cannot be made beforehand);
    /// [`Error::Unsupported`] before ROCm 5.5, which cannot run in a stream.
    #[cfg(feature = "hip")]
    #[doc(alias = "migraphx_compile_options_set_offload_copy")]
    pub fn compile_for_device(
        self,
        device: crate::hip::Device,
        options: &CompileOptions,
    ) -> Result<crate::DeviceProgram> {
        let what = "a program for buffers on the device";
        if let Some(parameter) = self.parameters().iter().find(|p| p.shape().is_dynamic()) {
            return Err(crate::device_program::dynamic(what, parameter));
        }
        let target = Target::gpu_on(device)?;
        let known: Vec<String> = self
            .parameters()
            .iter()
            .map(|p| p.name().to_owned())
            .collect();
        let (bound, found) = self.compiled(&target, &options.clone().offload_copy(false))?;
        let signature = Signature::of(bound.handle())?;
        // What compiling has added are the buffers for outputs.
        let outputs: Vec<String> = signature
            .parameters()
            .iter()
            .map(|parameter| parameter.name().to_owned())
            .filter(|name| !known.contains(name))
            .collect();
        let target = target.name();
        crate::DeviceProgram::new(
            bound,
            signature,
            target,
            Some(&outputs),
            index_inputs::unchecked(found.inputs),
            "the compiled program",
        )
    }

    /// Also gives the index inputs: the operators that say so may be machine code
    /// after this.
    fn compiled(self, target: &Target, options: &CompileOptions) -> Result<(Bound, Found)> {
        let found = index_inputs::of(&self.handle, self.parameters())?;
        if !target::is_host(target.name()) {
            self.check_names()?;
            self.check_values()?;
        }
        let c_options = options.to_handle()?;
        let device = bound::compiling(&self.handle, target.name(), target.device(), || {
            let _reading = lock::reading();
            // SAFETY: all handles are live; the program is not compiled (by its type) and not empty.
            unsafe {
                call!(migraphx_program_compile(
                    self.handle.raw(),
                    target.handle().raw(),
                    c_options.raw()
                ))
            }
            .map_err(|error| error.while_doing(|| format!("compiling for `{target}`")))
        })?;
        Ok((Bound::new(self.handle, device), found))
    }

    /// The library adds parameters when it compiles for a GPU. It takes one of the
    /// model's with such a name for its own, and then reads no input.
    fn check_names(&self) -> Result<()> {
        let taken = |name: &str| name == "scratch" || buffers::is_output(name);
        match self.parameters().iter().find(|p| taken(p.name())) {
            None => Ok(()),
            Some(parameter) => Err(Error::InvalidArgument(format!(
                "an input is named `{}`, as MIGraphX names memory of its own on a GPU, and would not \
                 be read; rename it in the model",
                parameter.name()
            ))),
        }
    }

    /// The GPU target makes a kernel of no threads for a value without elements,
    /// and takes no result of a dynamic program that is an input; it aborts where
    /// it was built with assertions.
    fn check_values(&self) -> Result<()> {
        let Some(text) = print(&self.handle)? else {
            return Ok(());
        };
        let dynamic = self.parameters().iter().any(|p| p.shape().is_dynamic());
        if let (true, Some(name)) = (dynamic, instructions::handed_on(&text)) {
            return Err(Error::InvalidArgument(format!(
                "the model gives its input `{name}` back as a result, and MIGraphX cannot run that \
                 on a GPU while the model has sizes that are ranges; fix them when the model is \
                 read (`OnnxOptions::input_dims`), or leave the result out of the model"
            )));
        }
        match instructions::computed_empty(&text) {
            None => Ok(()),
            Some(line) => Err(Error::InvalidArgument(format!(
                "the model computes a value without elements (`{}` of `{}`, {}), and MIGraphX \
                 cannot compile that for a GPU; check the sizes given to the model, such as the \
                 number of a loop's iterations",
                line.name, line.operator, line.shape
            ))),
        }
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
        save::save(&self.handle, &Mark::default(), path.as_ref(), format)
    }

    /// The bytes that [`save`](Program::save) would write.
    ///
    /// # Errors
    /// [`Error::Api`].
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        save::to_bytes(&self.handle, &Mark::default(), FileFormat::Msgpack)
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

    /// Whether both programs print the same text: the same instructions in the
    /// same order. Of constants with more than ten elements only the shapes count.
    ///
    /// # Errors
    /// [`Error::Api`].
    #[doc(alias = "migraphx_program_equal")]
    pub fn same_text(&self, other: &Program) -> Result<bool> {
        let mut equal = false;
        // SAFETY: both programs are live; the library prints and compares them.
        unsafe {
            call!(migraphx_program_equal(
                &mut equal,
                self.handle.raw(),
                other.handle.raw()
            ))
        }?;
        Ok(equal)
    }

    /// Orders the instructions by what they need, from the outputs back, so that
    /// programs that were built in another order print the same text.
    ///
    /// # Errors
    /// [`Error::Api`].
    #[doc(alias = "migraphx_program_sort")]
    pub fn sort(&mut self) -> Result<()> {
        // SAFETY: the program is live; sorting moves instructions and removes none.
        unsafe { call!(migraphx_program_sort(self.handle.raw())) }
    }

    pub(crate) fn signature(&self) -> &Signature {
        &self.signature
    }

    pub(crate) fn shared_signature(&self) -> Arc<Signature> {
        self.signature.clone()
    }

    pub(crate) fn handle(&self) -> &ProgramHandle {
        &self.handle
    }

    /// Asks again what the program takes and gives, after a change.
    pub(crate) fn renew(&mut self) -> Result<()> {
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
