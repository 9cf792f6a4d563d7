//! Compiled programs: what runs.

use std::cell::OnceCell;
use std::fmt;
use std::marker::PhantomData;
use std::path::Path;
use std::sync::Arc;

use crate::argument::Argument;
use crate::binding::{self, Binding};
use crate::error::{Error, Result};
use crate::ffi::handle::{ArgumentsHandle, ProgramHandle};
use crate::ffi::run_calls::run_calls;
use crate::inputs::Inputs;
use crate::mxr::{FileFormat, Loaded, load_as, load_bytes, save};
use crate::outputs::{Outputs, OwnedOutputs};
use crate::shape::Shape;
use crate::signature::{Parameter, Signature};
use crate::{program, target};

/// A compiled program, ready to run on host buffers.
///
/// It moves between threads and is used by one at a time: it has one stream and
/// one scratch memory, so `run` takes `&mut self`, and there is no `Clone` (the
/// library's copies would share both). For more threads, load or compile it
/// once for each.
///
/// ```
/// use migraphx::{CompileOptions, OnnxOptions, Target};
///
/// # let model = testkit::models::add(&[4]);
/// let program = OnnxOptions::new().parse_bytes(&model)?; // z = x + y, float [4]
/// let mut program = program.compile(&Target::reference()?, &CompileOptions::new())?;
///
/// let mut inputs = program.inputs()?; // once
/// let (x, y) = (inputs.id("x")?, inputs.id("y")?);
/// for step in 0..2 {
///     inputs.slice_mut::<f32>(x)?.copy_from_slice(&[1.0, 2.0, 3.0, 4.0]);
///     inputs.slice_mut::<f32>(y)?.fill(step as f32);
///     let outputs = program.run(&mut inputs)?;
///     println!("{:?}", outputs.slice::<f32>(0)?);
/// }
/// # Ok::<(), migraphx::Error>(())
/// ```
#[doc(alias = "migraphx_program")]
pub struct CompiledProgram {
    handle: ProgramHandle,
    signature: Arc<Signature>,
    target: String,
    /// What may be done with bound slices; worked out when first needed.
    bindings: OnceCell<Arc<[Binding]>>,
    /// Not `Sync`: one stream and one scratch memory, without a lock.
    one_user: PhantomData<std::cell::Cell<()>>,
}

impl CompiledProgram {
    /// Takes a compiled program of the library; `name` is for errors.
    pub(crate) fn new(handle: ProgramHandle, name: &str, target: &str) -> Result<Self> {
        let signature = Signature::of(&handle)?;
        if signature.outputs().is_empty() {
            return Err(Error::EmptyModel { what: name.into() });
        }
        let program = CompiledProgram {
            handle,
            signature,
            target: target.to_owned(),
            bindings: OnceCell::new(),
            one_user: PhantomData,
        };
        program.check_buffers(name)?;
        Ok(program)
    }

    /// Loads a program that was saved after it was compiled. For a GPU, it is
    /// bound to the device that is current for this thread.
    ///
    /// # Errors
    /// As [`mxr::load`](crate::mxr::load), and [`Error::NotCompiled`].
    #[doc(alias = "migraphx_load")]
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        compiled(load_as(path, FileFormat::Msgpack)?, || {
            path.display().to_string()
        })
    }

    /// Loads a compiled program from memory.
    ///
    /// # Errors
    /// As [`load`](CompiledProgram::load); [`Error::Platform`] elsewhere than on Linux.
    pub fn load_bytes(bytes: &[u8]) -> Result<Self> {
        compiled(load_bytes(bytes, FileFormat::Msgpack)?, || {
            "the program in memory".into()
        })
    }

    /// The inputs, sorted by name.
    #[doc(alias = "migraphx_program_get_parameter_shapes")]
    pub fn parameters(&self) -> &[Parameter] {
        self.signature.parameters()
    }

    /// The shapes of the outputs, in the model's order.
    #[doc(alias = "migraphx_program_get_output_shapes")]
    pub fn output_shapes(&self) -> &[Shape] {
        self.signature.outputs()
    }

    /// The name of the target that it is compiled for.
    pub fn target(&self) -> &str {
        &self.target
    }

    /// A new input set, with zeroed buffers for all parameters.
    ///
    /// # Errors
    /// [`Error::Api`].
    #[doc(alias = "migraphx_program_parameters_create")]
    pub fn inputs<'b>(&self) -> Result<Inputs<'b>> {
        Inputs::new(self.signature.clone(), self.bindings()?)
    }

    fn bindings(&self) -> Result<Arc<[Binding]>> {
        if let Some(bindings) = self.bindings.get() {
            return Ok(bindings.clone());
        }
        let bindings = binding::of(&self.handle, self.parameters(), &self.target)?;
        Ok(self.bindings.get_or_init(|| bindings).clone())
    }

    /// Runs the program once.
    ///
    /// The outputs may lie in the inputs' own memory, so both stay borrowed
    /// until the outputs are dropped. No memory is allocated by this crate.
    ///
    /// # Errors
    /// [`Error::ForeignInputs`] where the set was made for a program of another
    /// signature; [`Error::InvalidArgument`] where a dynamic parameter has no
    /// size yet; [`Error::Api`] with MIGraphX's text.
    #[doc(alias = "migraphx_program_run")]
    pub fn run<'r>(&'r mut self, inputs: &'r mut Inputs<'_>) -> Result<Outputs<'r>> {
        let (map, ranges) = inputs.for_run(&self.signature, || self.bindings())?;
        let handle = ArgumentsHandle::make(|out| {
            // SAFETY: the program is compiled, not empty and borrowed alone; the map
            // holds every parameter, with memory of the right type, size and
            // alignment that outlives the outputs (both are borrowed by them).
            unsafe { run_calls()?.run(out, self.handle.raw(), map.raw()) }
        })?;
        Ok(Outputs::new(handle, &self.signature, ranges))
    }

    /// Runs the program once on tensors given by name: the convenience. It makes
    /// an input set, copies each tensor and gives owned outputs; loops do better
    /// with [`inputs`](CompiledProgram::inputs) and [`run`](CompiledProgram::run).
    ///
    /// # Errors
    /// [`Error::UnknownParameter`], [`Error::MissingParameter`] and
    /// [`Error::ShapeMismatch`] where the tensors are not what the program
    /// takes; else as [`run`](CompiledProgram::run).
    pub fn run_once(&mut self, tensors: &[(&str, Argument<'_>)]) -> Result<OwnedOutputs> {
        let mut inputs = self.inputs()?;
        for (index, (name, tensor)) in tensors.iter().enumerate() {
            if tensors[..index].iter().any(|(former, _)| former == name) {
                let text = format!("parameter `{name}` is given twice; give each once");
                return Err(Error::InvalidArgument(text));
            }
            inputs.set(inputs.id(name)?, tensor)?;
        }
        let given =
            |parameter: &&Parameter| !tensors.iter().any(|(name, _)| *name == parameter.name());
        if let Some(missing) = self.parameters().iter().find(given) {
            return Err(Error::MissingParameter {
                name: missing.name().to_owned(),
                shape: Box::new(missing.shape().clone()),
            });
        }
        self.run(&mut inputs)?.into_owned()
    }

    /// Saves the program, to be loaded with [`CompiledProgram::load`] by the
    /// same MIGraphX on the same kind of device.
    ///
    /// MIGraphX 7.1 does not store all of a `Loop`: such a program loads, and
    /// each run is an [`Error::Api`].
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
    /// As [`save`](CompiledProgram::save).
    pub fn save_as(&self, path: impl AsRef<Path>, format: FileFormat) -> Result<()> {
        save::save(&self.handle, path.as_ref(), format)
    }

    /// The bytes that [`save`](CompiledProgram::save) would write.
    ///
    /// # Errors
    /// [`Error::Api`].
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        save::to_bytes(&self.handle, FileFormat::Msgpack)
    }

    /// A program compiled without `offload_copy` takes device memory, and would
    /// read host buffers as such. The C API does not tell; parameters for
    /// outputs and missing copies do.
    fn check_buffers(&self, name: &str) -> Result<()> {
        if target::is_host(&self.target) {
            return Ok(());
        }
        let output = |parameter: &Parameter| parameter.name().contains("#output_");
        let for_device = self.parameters().iter().any(output)
            || program::print(&self.handle)?
                .is_none_or(|text| !text.contains("hip::copy_from_gpu"));
        if !for_device {
            return Ok(());
        }
        Err(Error::InvalidArgument(format!(
            "{name} was compiled for `{}` without offload_copy: it takes buffers on the device, \
             and this type runs on host buffers; compile the model again with offload_copy on",
            self.target
        )))
    }
}

fn compiled(loaded: Loaded, name: impl FnOnce() -> String) -> Result<CompiledProgram> {
    match loaded {
        Loaded::Compiled(program) => Ok(program),
        Loaded::Program(_) => Err(Error::NotCompiled { path: name() }),
    }
}

/// The instructions, one a line, as MIGraphX prints them.
impl fmt::Display for CompiledProgram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        program::display(&self.handle, f)
    }
}

impl fmt::Debug for CompiledProgram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CompiledProgram")
            .field("target", &self.target)
            .field("parameters", &self.parameters())
            .field("outputs", &self.output_shapes())
            .finish()
    }
}

const _: () = {
    const fn send<T: Send>() {}
    // A program may move to the thread that will run it: the library binds none to a thread.
    send::<CompiledProgram>();
    send::<crate::Program>();
    send::<Inputs<'static>>();
    send::<Outputs<'static>>();
    const fn shared<T: Send + Sync>() {}
    shared::<OwnedOutputs>();
    shared::<crate::Target>();
    shared::<Argument<'static>>();
    shared::<crate::Error>();
};
