//! Programs that read and write the device's own memory.

mod bindings;
mod pending;
mod times;

use std::ffi::{CStr, c_void};
use std::fmt;
use std::marker::PhantomData;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

pub use bindings::DeviceBindings;
pub use pending::PendingRun;
pub use times::RunTimes;

use crate::bound::Bound;
use crate::buffers::{self, Buffers};
use crate::error::{Error, Result};
use crate::ffi::handle::ArgumentsHandle;
use crate::hip::{Device, Event, Stream, WeakStream};
use crate::index_inputs::{self, IndexInput};
use crate::mxr::{self, FileFormat, Loaded, Mark, save};
use crate::program;
use crate::shape::Shape;
use crate::signature::{Parameter, Signature};

/// The type that MIGraphX wants to be told of a HIP stream. (Not `hipStream_t`:
/// it compares with the name of the type pointed to.)
const STREAM_TYPE: &CStr = c"ihipStream_t";

/// A program compiled for buffers on a GPU, on that GPU.
///
/// A run reads its inputs from the device's memory and leaves its outputs there.
/// [`DeviceBindings`] hold both, with memory of the host beside them for what
/// comes and goes; several of them keep batches in flight, so that copies in
/// both directions run beside the computing. This is the fast way on a GPU.
///
/// It moves between threads and is used by one at a time, as
/// [`CompiledProgram`](crate::CompiledProgram). Every call leaves the thread's
/// current device as it was. Dropping it waits for its runs.
///
/// # When it helps
/// Nearly always on a GPU. A [`CompiledProgram`](crate::CompiledProgram)
/// registers its inputs with the driver and allocates its outputs in every run,
/// and does nothing beside the copies. It is simpler, needs no stream, and the
/// same code runs on `ref`.
///
/// ```no_run
/// use std::collections::VecDeque;
/// use migraphx::{DeviceProgram, hip::{Device, Stream}};
///
/// let device = Device::new(0)?;
/// let mut program = DeviceProgram::load("model.mxr", device)?;
/// let mut free = vec![
///     (program.bindings()?, Stream::new(device)?),
///     (program.bindings()?, Stream::new(device)?),
/// ];
/// let mut running = VecDeque::new();
/// # fn fill(images: &mut [f32]) -> bool { images.fill(0.0); false }
/// # fn use_results(scores: &[f32]) {}
/// loop {
///     let Some((mut set, stream)) = free.pop() else {
///         let (run, stream): (migraphx::PendingRun, Stream) = running.pop_front().unwrap();
///         let set = run.wait()?;
///         use_results(set.output::<f32>(0)?);
///         free.push((set, stream));
///         continue;
///     };
///     let images = set.id("images")?;
///     if !fill(set.input_mut::<f32>(images)?) {
///         break;
///     }
///     running.push_back((program.enqueue(set, &stream)?, stream));
/// }
/// for (run, _) in running {
///     use_results(run.wait()?.output::<f32>(0)?);
/// }
/// # Ok::<(), migraphx::Error>(())
/// ```
#[doc(alias = "migraphx_program")]
pub struct DeviceProgram {
    /// `None` only while it is dropped.
    program: Option<Bound>,
    device: Device,
    layout: Arc<Layout>,
    index_inputs: Vec<IndexInput>,
    /// Where runs were queued that may not be through. A stream that is gone
    /// has been waited for.
    streams: Vec<WeakStream>,
    /// When the last results were downloaded that lay in the program's own memory,
    /// which the next run may write.
    fetched: Option<Event>,
    /// Not `Sync`: one scratch memory, without a lock.
    one_user: PhantomData<std::cell::Cell<()>>,
}

/// What a program takes and gives, and which parameters are outputs.
#[derive(Debug)]
struct Layout {
    signature: Arc<Signature>,
    inputs: Vec<Parameter>,
    /// Positions of the inputs among all parameters.
    positions: Vec<usize>,
    /// Names of the parameters that are outputs.
    outputs: Vec<String>,
    /// From when on times count: the program's first timed run.
    start: Mutex<Option<Arc<Event>>>,
}

impl DeviceProgram {
    /// Takes a program compiled for the device. `outputs` names the parameters
    /// that are outputs, where that is known.
    pub(crate) fn new(
        program: Bound,
        signature: Arc<Signature>,
        target: &str,
        outputs: Option<&[String]>,
        index_inputs: Vec<IndexInput>,
        name: &str,
    ) -> Result<Self> {
        let Some(device) = program.device() else {
            return Err(Error::InvalidArgument(format!(
                "{name} takes buffers on the device of the target `{target}`, and this crate knows \
                 those of `gpu` only"
            )));
        };
        if signature.outputs().is_empty() {
            return Err(Error::EmptyModel { what: name.into() });
        }
        // Without it a run could not be put in a stream, and its end not be known.
        crate::ffi::library()?
            .functions
            .migraphx_program_run_async
            .get()?;
        let parameters = signature.parameters();
        if let Some(parameter) = parameters.iter().find(|p| p.shape().is_dynamic()) {
            return Err(dynamic(name, parameter));
        }
        if let Some(parameter) = parameters.iter().find(|p| !p.shape().is_standard()) {
            return Err(Error::InvalidArgument(format!(
                "parameter `{}` of {name} does not lie row-major in one piece ({}), which device \
                 buffers have to",
                parameter.name(),
                parameter.shape()
            )));
        }
        let is_output = |parameter: &Parameter| match outputs {
            Some(names) => names.iter().any(|name| name == parameter.name()),
            None => buffers::is_output(parameter.name()),
        };
        let (results, inputs): (Vec<_>, Vec<_>) = parameters
            .iter()
            .enumerate()
            .partition(|(_, parameter)| is_output(parameter));
        let layout = Layout {
            inputs: inputs.iter().map(|(_, input)| (*input).clone()).collect(),
            positions: inputs.iter().map(|(position, _)| *position).collect(),
            outputs: results.iter().map(|(_, p)| p.name().to_owned()).collect(),
            start: Mutex::new(None),
            signature: signature.clone(),
        };
        Ok(DeviceProgram {
            program: Some(program),
            device,
            layout: Arc::new(layout),
            index_inputs,
            streams: Vec::new(),
            fetched: None,
            one_user: PhantomData,
        })
    }

    /// Loads a program that was saved after it was compiled for buffers on the
    /// device.
    ///
    /// # Errors
    /// As [`mxr::load`](crate::mxr::load); [`Error::BufferKind`] for a program
    /// that takes host buffers, [`Error::NotCompiled`] for one that is not
    /// compiled; [`Error::DeviceMemory`] where it does not fit;
    /// [`Error::WrongDevice`] where the library binds programs to a device of its
    /// own choice.
    #[doc(alias = "migraphx_load")]
    pub fn load(path: impl AsRef<Path>, device: Device) -> Result<Self> {
        let path = path.as_ref();
        let loaded = mxr::load_on(path, FileFormat::Msgpack, Some(device))?;
        of_device(loaded, path.display().to_string())
    }

    /// Loads a program from memory.
    ///
    /// # Errors
    /// As [`load`](DeviceProgram::load); [`Error::Platform`] elsewhere than on Linux.
    pub fn load_bytes(bytes: &[u8], device: Device) -> Result<Self> {
        let loaded = mxr::load_bytes_on(bytes, FileFormat::Msgpack, Some(device))?;
        of_device(loaded, "the program in memory".into())
    }

    /// The inputs whose values operators use as indices or as divisors. None is
    /// checked: they lie in the device's memory when a run begins. A wrong one
    /// reads or writes other memory of the device, or ends the process.
    pub fn index_inputs(&self) -> &[IndexInput] {
        &self.index_inputs
    }

    /// The device that it runs on.
    pub fn device(&self) -> Device {
        self.device
    }

    /// The inputs, sorted by name.
    #[doc(alias = "migraphx_program_get_parameter_shapes")]
    pub fn parameters(&self) -> &[Parameter] {
        &self.layout.inputs
    }

    /// The shapes of the outputs, in the model's order.
    #[doc(alias = "migraphx_program_get_output_shapes")]
    pub fn output_shapes(&self) -> &[Shape] {
        self.layout.signature.outputs()
    }

    /// New buffers for all inputs and outputs, filled with zeros.
    ///
    /// # Errors
    /// [`Error::DeviceMemory`] where they do not fit; [`Error::Hip`].
    #[doc(alias = "migraphx_program_parameters_create")]
    pub fn bindings(&self) -> Result<DeviceBindings> {
        DeviceBindings::new(self.layout.clone(), self.device)
    }

    /// Queues a run in `stream`: the upload of the inputs that were written
    /// since the last run of the set, the run, and the download of the outputs.
    ///
    /// It returns at once, unless MIGraphX computes parts of the program on the
    /// host (an `If`, `NonMaxSuppression`). The set comes back from [`PendingRun::wait`], and
    /// cannot be read or filled before. Runs of one program follow each other,
    /// also in different streams; copies of one stream run beside the computing
    /// of another.
    ///
    /// # Errors
    /// [`Error::WrongDevice`] where the set or the stream is on another device,
    /// and [`Error::ForeignInputs`] where the set was made for a program of
    /// another signature: the library is not called then. [`Error::Api`] and
    /// [`Error::Hip`] else. The set is freed, once nothing uses it any more.
    #[doc(alias = "migraphx_program_run_async")]
    pub fn enqueue(&mut self, set: DeviceBindings, stream: &Stream) -> Result<PendingRun> {
        self.check(&set, stream)?;
        self.start(PendingRun::new(set, stream))
    }

    /// Queues what a pending run is to be.
    fn start(&mut self, mut run: PendingRun) -> Result<PendingRun> {
        let stream = &run.stream().clone();
        let queued = self.queue(&mut run, stream);
        self.streams.retain(WeakStream::is_alive);
        if !self.streams.iter().any(|known| known.is(stream)) {
            self.streams.push(stream.downgrade());
        }
        match queued {
            Ok(()) => Ok(run.complete()),
            Err(error) => {
                run.abandon(self.device);
                Err(error)
            }
        }
    }

    /// Runs once and waits: [`enqueue`](DeviceProgram::enqueue) and
    /// [`PendingRun::wait`].
    ///
    /// # Errors
    /// As for both.
    pub fn run(&mut self, set: DeviceBindings, stream: &Stream) -> Result<DeviceBindings> {
        self.enqueue(set, stream)?.wait()
    }

    fn check(&self, set: &DeviceBindings, stream: &Stream) -> Result<()> {
        for (what, device) in [
            ("the set of buffers", set.device()),
            ("the stream", stream.device()),
        ] {
            if device != self.device {
                return Err(Error::WrongDevice {
                    what: what.into(),
                    expected: self.device.to_string(),
                    found: device.to_string(),
                });
            }
        }
        if Arc::ptr_eq(&self.layout, set.layout()) || self.layout.same(set.layout()) {
            return Ok(());
        }
        Err(Error::ForeignInputs(format!(
            "the program takes {}; the set holds {}",
            self.layout.signature.describe(),
            set.layout().signature.describe()
        )))
    }

    fn queue(&mut self, run: &mut PendingRun, stream: &Stream) -> Result<()> {
        let program = self.program.as_ref().expect("it is not being dropped");
        let _current = self.device.enter()?;
        run.order(stream)?;
        let set = run.set_mut();
        set.clock_mut().queued(stream, &self.layout)?;
        set.upload(stream)?;
        set.clock_mut().uploaded(stream)?;
        if let Some(fetched) = &self.fetched {
            stream.wait_for(fetched)?;
        }
        let results = ArgumentsHandle::make(|out| {
            // The pending run keeps map, buffers and stream until the event that follows has
            // passed; the program lives until its streams were waited for.
            // SAFETY: compiled for the device, not empty, borrowed alone; the map holds every
            // parameter, with memory of its size on that device, kept as said above.
            unsafe {
                call!(migraphx_program_run_async(
                    out,
                    program.handle().raw(),
                    set.map().raw(),
                    stream.as_raw().cast::<c_void>(),
                    STREAM_TYPE.as_ptr()
                ))
            }
        })?;
        set.clock_mut().ran(stream)?;
        if set.download(&results, stream)? {
            let fetched = match self.fetched.take() {
                Some(fetched) => fetched,
                None => Event::untimed(self.device)?,
            };
            fetched.record(stream)?;
            self.fetched = Some(fetched);
        }
        set.clock_mut().done(stream)
        // Memory that was made for this run alone goes with `results`: HIP waits
        // for the device before it frees it.
    }

    /// Saves the program, to be loaded with [`DeviceProgram::load`] by the same
    /// MIGraphX on the same kind of device.
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
    /// As [`save`](DeviceProgram::save).
    pub fn save_as(&self, path: impl AsRef<Path>, format: FileFormat) -> Result<()> {
        let program = self.bound();
        let _current = program.enter()?;
        save::save(program.handle(), &self.mark(), path.as_ref(), format)
    }

    /// The bytes that [`save`](DeviceProgram::save) would write.
    ///
    /// # Errors
    /// [`Error::Api`].
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let program = self.bound();
        let _current = program.enter()?;
        save::to_bytes(program.handle(), &self.mark(), FileFormat::Msgpack)
    }

    pub(crate) fn bound(&self) -> &Bound {
        self.program.as_ref().expect("it is not being dropped")
    }

    pub(crate) fn mark(&self) -> Mark {
        Mark {
            buffers: Some(Buffers::Device),
            architecture: self.bound().architecture(),
            outputs: self.layout.outputs.clone(),
            index_inputs: Some(index_inputs::notes(&self.index_inputs).collect()),
            key: None,
        }
    }
}

impl Drop for DeviceProgram {
    fn drop(&mut self) {
        let mut streams = self.streams.drain(..).filter_map(|stream| stream.upgrade());
        let waited = streams
            .try_for_each(|stream| stream.synchronize())
            // A failure of one call is not yet one of the device.
            .or_else(|_| self.device.synchronize());
        let Some(program) = self.program.take() else {
            return;
        };
        if let Err(error) = waited {
            log::warn!(
                target: "migraphx",
                "a program is never freed, since its runs could not be waited for: {error}"
            );
            program.leak();
        }
    }
}

impl Layout {
    /// Whether buffers for one serve the other.
    fn same(&self, other: &Layout) -> bool {
        self.positions == other.positions
            && self.signature.same_inputs(&other.signature)
            && self.signature.outputs() == other.signature.outputs()
    }

    /// From when on times count; from `event` on, if nothing was timed before.
    fn start(&self, event: impl FnOnce() -> Result<Event>) -> Result<Arc<Event>> {
        let mut start = self.start.lock().unwrap_or_else(PoisonError::into_inner);
        match &*start {
            Some(start) => Ok(start.clone()),
            None => Ok(start.insert(Arc::new(event()?)).clone()),
        }
    }
}

pub(crate) fn dynamic(what: &str, parameter: &Parameter) -> Error {
    Error::InvalidArgument(format!(
        "{what}: parameter `{}` is dynamic ({}), and buffers on the device have one size; fix it \
         when the model is read (`OnnxOptions::input_dims`)",
        parameter.name(),
        parameter.shape()
    ))
}

/// Takes what was loaded from `path`, if it is of this type.
pub(crate) fn of_device(loaded: Loaded, path: String) -> Result<DeviceProgram> {
    match loaded {
        Loaded::Device(program) => Ok(program),
        Loaded::Compiled(_) => Err(Buffers::Host.refused(&path)),
        Loaded::Program(_) => Err(Error::NotCompiled { path }),
    }
}

/// The instructions, one a line, as MIGraphX prints them.
impl fmt::Display for DeviceProgram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        program::display(self.bound().handle(), f)
    }
}

impl fmt::Debug for DeviceProgram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeviceProgram")
            .field("device", &self.device)
            .field("parameters", &self.parameters())
            .field("outputs", &self.output_shapes())
            .finish()
    }
}

const _: () = {
    const fn send<T: Send>() {}
    // The library binds a program to a device, not to a thread.
    send::<DeviceProgram>();
    send::<DeviceBindings>();
    send::<PendingRun>();
};
