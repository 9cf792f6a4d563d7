//! Compiled programs: what runs.

use std::cell::OnceCell;
use std::fmt;
use std::marker::PhantomData;
use std::path::Path;
use std::sync::Arc;

use crate::argument::Argument;
use crate::binding::{self, Binding};
use crate::bound::{Bound, OnDevice};
use crate::buffers::Buffers;
use crate::error::{Error, Result};
use crate::ffi::handle::{ArgumentsHandle, ProgramHandle};
use crate::ffi::run_calls::run_calls;
#[cfg(feature = "hip")]
use crate::hip::Device;
use crate::index_inputs::{self, Found, IndexInput};
use crate::inputs::Inputs;
use crate::mxr::{self, FileFormat, Loaded, Mark, save};
use crate::outputs::{Outputs, OwnedOutputs};
use crate::program;
use crate::shape::Shape;
use crate::signature::{Parameter, Signature};

/// A compiled program, ready to run on host buffers.
///
/// It moves between threads and is used by one at a time: it has one stream and
/// one scratch memory, so `run` takes `&mut self`, and there is no `Clone` (the
/// library's copies would share both). For more threads, load or compile it
/// once for each.
///
/// # On a GPU
/// The program belongs to one device: the one that was current when it was
/// compiled or loaded, or that was asked for ([`Target::gpu_on`](crate::Target),
/// [`load_on`](CompiledProgram::load_on)). It runs there whichever thread calls,
/// and every call leaves the thread's current device as it was. A run copies
/// the inputs to the device and the outputs back. `DeviceProgram` does without.
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
    handle: Bound,
    signature: Arc<Signature>,
    target: String,
    /// Whether a run has shown that the library uses the device that it should.
    #[cfg(feature = "hip")]
    device_checked: bool,
    /// Inputs that are indices.
    indices: Found,
    /// Whether runs check their values.
    checks_indices: bool,
    /// What may be done with bound slices; worked out when first needed.
    bindings: OnceCell<Arc<[Binding]>>,
    /// Not `Sync`: one stream and one scratch memory, without a lock.
    one_user: PhantomData<std::cell::Cell<()>>,
}

impl CompiledProgram {
    /// Takes a program compiled for host buffers; `name` is for errors.
    pub(crate) fn new(
        handle: Bound,
        signature: Arc<Signature>,
        target: &str,
        indices: Found,
        name: &str,
    ) -> Result<Self> {
        if signature.outputs().is_empty() {
            return Err(Error::EmptyModel { what: name.into() });
        }
        Ok(CompiledProgram {
            handle,
            signature,
            target: target.to_owned(),
            #[cfg(feature = "hip")]
            device_checked: false,
            indices,
            checks_indices: true,
            bindings: OnceCell::new(),
            one_user: PhantomData,
        })
    }

    /// Loads a program that was saved after it was compiled for host buffers.
    /// For a GPU, it is bound to the device that is current for this thread.
    ///
    /// # Errors
    /// As [`mxr::load`](crate::mxr::load), [`Error::NotCompiled`], and
    /// [`Error::BufferKind`] for a program that takes buffers on the device.
    #[doc(alias = "migraphx_load")]
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        CompiledProgram::of_file(path.as_ref(), None)
    }

    /// As [`load`](CompiledProgram::load), on a GPU.
    ///
    /// ```no_run
    /// use migraphx::{CompiledProgram, hip::Device};
    ///
    /// let programs: Vec<CompiledProgram> = Device::all()
    ///     .into_iter()
    ///     .map(|device| CompiledProgram::load_on("model.mxr", device))
    ///     .collect::<Result<_, _>>()?;
    /// # Ok::<(), migraphx::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`load`](CompiledProgram::load); [`Error::InvalidArgument`] for a
    /// program of a target that runs on the host; [`Error::DeviceMemory`] where
    /// it does not fit; [`Error::WrongDevice`] where the library binds programs
    /// to a device of its own choice.
    #[cfg(feature = "hip")]
    pub fn load_on(path: impl AsRef<Path>, device: Device) -> Result<Self> {
        CompiledProgram::of_file(path.as_ref(), Some(device))
    }

    fn of_file(path: &Path, device: OnDevice) -> Result<Self> {
        let name = path.display().to_string();
        compiled(mxr::load_on(path, FileFormat::Msgpack, device)?, name)
    }

    /// Loads a compiled program from memory.
    ///
    /// # Errors
    /// As [`load`](CompiledProgram::load); [`Error::Platform`] elsewhere than on Linux.
    pub fn load_bytes(bytes: &[u8]) -> Result<Self> {
        let name = "the program in memory".to_owned();
        compiled(mxr::load_bytes_on(bytes, FileFormat::Msgpack, None)?, name)
    }

    /// As [`load_bytes`](CompiledProgram::load_bytes), on a GPU.
    ///
    /// # Errors
    /// As [`load_on`](CompiledProgram::load_on).
    #[cfg(feature = "hip")]
    pub fn load_bytes_on(bytes: &[u8], device: Device) -> Result<Self> {
        let name = "the program in memory".to_owned();
        let device = Some(device);
        compiled(
            mxr::load_bytes_on(bytes, FileFormat::Msgpack, device)?,
            name,
        )
    }

    /// The device that the program runs on; `None` on targets of the host.
    #[cfg(feature = "hip")]
    pub fn device(&self) -> Option<Device> {
        self.handle.device()
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

    /// The inputs whose values operators use as indices or as divisors.
    pub fn index_inputs(&self) -> &[IndexInput] {
        &self.indices.inputs
    }

    /// Has runs no longer check the values of [`index_inputs`](CompiledProgram::index_inputs).
    ///
    /// The check reads each of these values once, which is little beside what
    /// the operator does with them.
    ///
    /// # Safety
    /// Every value in every later run is one that its operator takes.
    pub unsafe fn without_index_check(&mut self) {
        self.checks_indices = false;
        let inputs = std::mem::take(&mut self.indices.inputs);
        self.indices.inputs = index_inputs::unchecked(inputs);
    }

    /// A new input set, with zeroed buffers for all parameters.
    ///
    /// # Errors
    /// [`Error::Api`].
    #[doc(alias = "migraphx_program_parameters_create")]
    pub fn inputs<'b>(&self) -> Result<Inputs<'b>> {
        Inputs::new(self.signature.clone(), self.bindings()?)
    }

    pub(crate) fn handle(&self) -> &ProgramHandle {
        self.handle.handle()
    }

    fn bindings(&self) -> Result<Arc<[Binding]>> {
        if let Some(bindings) = self.bindings.get() {
            return Ok(bindings.clone());
        }
        let bindings = binding::of(self.handle.handle(), self.parameters(), &self.target)?;
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
    /// size yet; [`Error::IndexOutOfRange`] where an operator cannot take a value;
    /// [`Error::Api`] with MIGraphX's text.
    #[doc(alias = "migraphx_program_run")]
    pub fn run<'r>(&'r mut self, inputs: &'r mut Inputs<'_>) -> Result<Outputs<'r>> {
        self.run_by(inputs, |out, program, map| {
            // SAFETY: the word of `run_by`.
            unsafe { run_calls()?.run(out, program, map) }
        })
    }

    /// Runs the program once by `call`, which gets what `migraphx_program_run`
    /// takes: the program is compiled, not empty and borrowed alone; the map holds
    /// every parameter, with memory of the right type, size and alignment that
    /// outlives the outputs (both are borrowed by them).
    #[inline]
    pub(crate) fn run_by<'r>(
        &'r mut self,
        inputs: &'r mut Inputs<'_>,
        call: impl FnOnce(
            *mut migraphx_sys::migraphx_arguments_t,
            migraphx_sys::migraphx_program_t,
            migraphx_sys::migraphx_program_parameters_t,
        ) -> Result<()>,
    ) -> Result<Outputs<'r>> {
        let (map, ranges) = inputs.for_run(&self.signature, || self.bindings())?;
        if let (true, Some(checks)) = (self.checks_indices, &self.indices.checks) {
            // SAFETY: of a set that is ready for a run, and borrowed alone here.
            checks.check(|position| unsafe { Inputs::memory(ranges[position]) })?;
        }
        let program = self.handle.handle().raw();
        let call = |out: *mut migraphx_sys::migraphx_arguments_t| call(out, program, map.raw());
        // Apart, so that a run on the host, of 2 µs, does nothing for devices.
        #[cfg(feature = "hip")]
        let handle = match self.handle.device() {
            None => ArgumentsHandle::make(call)?,
            Some(device) => {
                let _current = device.enter()?;
                let handle = ArgumentsHandle::make(call)?;
                if !self.device_checked {
                    // A run leaves the program's own device current.
                    crate::bound::check_device(device, "the program")?;
                    self.device_checked = true;
                }
                handle
            }
        };
        #[cfg(not(feature = "hip"))]
        let handle = ArgumentsHandle::make(call)?;
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
        save::save(self.handle.handle(), &self.mark(), path.as_ref(), format)
    }

    /// The bytes that [`save`](CompiledProgram::save) would write.
    ///
    /// # Errors
    /// [`Error::Api`].
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        save::to_bytes(self.handle.handle(), &self.mark(), FileFormat::Msgpack)
    }

    /// What is stored beside what the library stores.
    pub(crate) fn mark(&self) -> Mark {
        Mark {
            buffers: Some(Buffers::Host),
            architecture: self.handle.architecture(),
            outputs: Vec::new(),
            index_inputs: Some(self.indices.notes()),
            key: None,
        }
    }
}

/// Takes what was loaded from `path`, if it is of this type.
pub(crate) fn compiled(loaded: Loaded, path: String) -> Result<CompiledProgram> {
    match loaded {
        Loaded::Compiled(program) => Ok(program),
        Loaded::Program(_) => Err(Error::NotCompiled { path }),
        #[cfg(feature = "hip")]
        Loaded::Device(_) => Err(Buffers::Device.refused(&path)),
    }
}

/// The instructions, one a line, as MIGraphX prints them.
impl fmt::Display for CompiledProgram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        program::display(self.handle.handle(), f)
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
