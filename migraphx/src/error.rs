//! What can go wrong, and what to do about it.

use std::path::{Path, PathBuf};

use crate::dtype::DataType;
use crate::index_inputs::Allowed;
use crate::shape::Shape;

/// A `Result` of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error of this crate or of MIGraphX.
///
/// Each says what was asked, what was found and what to do; [`Error::Api`]
/// carries MIGraphX's own text.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// MIGraphX could not be loaded.
    #[error(transparent)]
    Load(#[from] migraphx_sys::LoadError),

    /// A call into MIGraphX failed.
    #[error(
        "{context}{}{function} failed: {}",
        if .context.is_empty() { "" } else { ": " },
        .message.as_deref().unwrap_or("MIGraphX gave no reason that could be read (look at stderr)")
    )]
    Api {
        /// The C function.
        function: &'static str,
        /// Its status: 1 for a bad parameter, 4 for nearly everything else.
        status: u32,
        /// What MIGraphX said, where its C++ library let us read it.
        message: Option<String>,
        /// What was being done, such as `parsing model.onnx`.
        context: String,
    },

    /// The loaded library is too old for what was asked, or built without it.
    #[error(
        "the loaded MIGraphX library has no function `{function}`{}; use a newer or fuller library",
        .since.map(|release| format!(" (present since ROCm {release})")).unwrap_or_default()
    )]
    Unsupported {
        /// The C function.
        function: &'static str,
        /// The first ROCm release with it, where it is younger than 5.0.
        since: Option<&'static str>,
    },

    /// The loaded library does not know a data type.
    #[error("the loaded MIGraphX library does not know the data type {dtype}; use a newer library")]
    UnsupportedDataType {
        /// The data type.
        dtype: DataType,
    },

    /// The library used a data type number that this crate does not know.
    #[error(
        "MIGraphX gave data type number {raw}, which this crate does not know; update the crate"
    )]
    UnknownDataType {
        /// The number.
        raw: u32,
    },

    /// This system lacks what a function needs.
    #[error("{what} is not available on this system; it needs {needs}")]
    Platform {
        /// What was asked.
        what: &'static str,
        /// What it needs.
        needs: &'static str,
    },

    /// An argument that can never be right.
    #[error("{0}")]
    InvalidArgument(String),

    /// Something that a graph does not take.
    #[error("{what}: {problem}")]
    Graph {
        /// What was to be added, such as ``operator `slice` ``.
        what: String,
        /// What is wrong with it.
        problem: String,
    },

    /// A shape that can never be right.
    #[error("invalid shape: {0}")]
    InvalidShape(String),

    /// The program has no parameter of this name.
    #[error("the program has no parameter `{name}`; it has {}", list(.known))]
    UnknownParameter {
        /// What was asked for.
        name: String,
        /// The names that the program has.
        known: Vec<String>,
    },

    /// A parameter was not given.
    #[error(
        "parameter `{name}` ({shape}) was not given a value; every parameter needs one, also those that the model does not use"
    )]
    MissingParameter {
        /// The parameter.
        name: String,
        /// What it takes.
        shape: Box<Shape>,
    },

    /// Data of another shape than is wanted.
    #[error("{what} takes {expected}, and was given {found}")]
    ShapeMismatch {
        /// What the data was for, such as ``parameter `images` ``.
        what: String,
        /// The shape that is wanted.
        expected: Box<Shape>,
        /// The shape that was given.
        found: Box<Shape>,
    },

    /// Data of another length than is wanted.
    #[error("{what} takes {expected} elements ({shape}), and was given {found}")]
    LengthMismatch {
        /// What the data was for.
        what: String,
        /// The shape that is wanted.
        shape: Box<Shape>,
        /// How many elements are wanted.
        expected: usize,
        /// How many were given.
        found: usize,
    },

    /// Data of another type than is wanted.
    #[error("{what} is {expected}, and was used as {found}")]
    DataTypeMismatch {
        /// What the data is.
        what: String,
        /// The type that it has.
        expected: DataType,
        /// The type that was asked for.
        found: DataType,
    },

    /// An index or a divisor that an operator of the program cannot take.
    #[error(
        "parameter `{parameter}`: element {position} is {value}, and the operator `{operator}` that it goes to takes {allowed}; give values in this range: MIGraphX does not check them"
    )]
    IndexOutOfRange {
        /// The parameter.
        parameter: String,
        /// Which of its elements, row by row.
        position: usize,
        /// What it is.
        value: i128,
        /// What the operator takes.
        allowed: Allowed,
        /// The operator, such as `gather`.
        operator: String,
    },

    /// A model without outputs, which MIGraphX takes and dies of when compiling.
    #[error("{what} holds no graph with outputs: the file is empty, cut off or not a model")]
    EmptyModel {
        /// The file, or what it was read from.
        what: String,
    },

    /// A model that MIGraphX would not survive, or would read as something else.
    #[error("{what} {problem}")]
    Model {
        /// The model, and what in it: ``model.onnx: tensor `w` ``.
        what: String,
        /// What is wrong with it, and what to do.
        problem: String,
    },

    /// A compiled program where an uncompiled one is needed.
    #[error(
        "{path} holds a program that is compiled already (for {target}); load it with `CompiledProgram::load`"
    )]
    AlreadyCompiled {
        /// The file.
        path: String,
        /// The target that it was compiled for.
        target: String,
    },

    /// An uncompiled program where a compiled one is needed.
    #[error(
        "{path} holds a program that is not compiled; load it with `Program::load` and compile it"
    )]
    NotCompiled {
        /// The file.
        path: String,
    },

    /// A `.mxr` file whose header is not one.
    #[error("{path} is not a MIGraphX program: {problem}")]
    Mxr {
        /// The file.
        path: String,
        /// What is wrong with it.
        problem: String,
    },

    /// There is not that much memory.
    #[error("{what} of {bytes} bytes does not fit into memory; check the sizes given to the model")]
    OutOfMemory {
        /// What it was for.
        what: String,
        /// How much was asked for.
        bytes: usize,
    },

    /// There is no such device.
    #[error("there is no GPU {ordinal}: {found}")]
    NoDevice {
        /// The number that was asked for.
        ordinal: usize,
        /// What there is instead, or what was looked for.
        found: String,
    },

    /// A call into HIP, the GPU's runtime library, failed.
    #[error("{context}{}{function} failed: {name} ({code})", if .context.is_empty() { "" } else { ": " })]
    Hip {
        /// The function.
        function: &'static str,
        /// HIP's number for the error.
        code: i32,
        /// HIP's own name and words for it.
        name: String,
        /// What was being done, such as `copying to GPU 3`.
        context: String,
    },

    /// A buffer, stream or event of one device, used with something of another.
    #[error(
        "{what} is on {found}, and what it is used with is on {expected}; make both on the same device"
    )]
    WrongDevice {
        /// What was given.
        what: String,
        /// The device that it has to be on.
        expected: String,
        /// The device that it is on.
        found: String,
    },

    /// There is not that much memory on a device.
    #[error(
        "{what} takes {bytes} bytes, and {device} has {free} free; use smaller batches, or free what else is on the device"
    )]
    DeviceMemory {
        /// What it was for.
        what: String,
        /// The device.
        device: String,
        /// How much was asked for.
        bytes: usize,
        /// How much was free.
        free: usize,
    },

    /// A program compiled for another kind of device.
    #[error(
        "{path} was compiled for {program}, and {device} is {found}; compile the model on this kind of device"
    )]
    Architecture {
        /// The file.
        path: String,
        /// What it was compiled for, such as `gfx90a`.
        program: String,
        /// The device.
        device: String,
        /// The device's architecture.
        found: String,
    },

    /// A program for buffers on the device where one for host buffers is
    /// needed, or the other way round.
    #[error("{what} was compiled for {found}, and this type runs on {expected}; {advice}")]
    BufferKind {
        /// The program.
        what: String,
        /// The kind of buffers that is needed here.
        expected: &'static str,
        /// The kind that the program was compiled for.
        found: &'static str,
        /// What to call instead.
        advice: &'static str,
    },

    /// Programs of two different signatures.
    #[error("the input set was made for another program: {0}")]
    ForeignInputs(String),

    /// An output that cannot be read as asked.
    #[error("output {index}: {problem}")]
    Output {
        /// The position of the output.
        index: usize,
        /// What is wrong with it.
        problem: String,
    },

    /// A file could not be read or written.
    #[error("cannot {action} {}: {error}", .path.display())]
    Io {
        /// What was tried, such as `write`.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system said. Not the `source` of this error, whose text holds it already.
        error: std::io::Error,
    },

    /// A job of a pool panicked. The worker goes on with the next.
    #[error("a job on worker {worker} panicked: {message}")]
    WorkerPanicked {
        /// The worker's number.
        worker: usize,
        /// What the panic said.
        message: String,
    },

    /// A pool was dropped before a job began.
    #[error("the pool was dropped before this job began")]
    PoolClosed,

    /// All workers of a pool were retired.
    #[error(
        "no worker of the pool is left: {}",
        .reasons.iter().map(|(worker, reason)| format!("worker {worker} was retired ({reason})"))
            .collect::<Vec<_>>().join(", ")
    )]
    NoWorkersLeft {
        /// The number of each, and why it gets no more work.
        reasons: Vec<(usize, String)>,
    },

    /// The process is exiting, and MIGraphX must not be entered any more.
    #[error("the process is exiting; MIGraphX cannot be called any more")]
    Exiting,
}

/// The same text as `Display`: this is what `unwrap` and a `main` that returns
/// an error show to people.
impl std::fmt::Debug for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{self}")
    }
}

impl Error {
    pub(crate) fn io(action: &'static str, path: impl AsRef<Path>, error: std::io::Error) -> Self {
        Error::Io {
            action,
            path: path.as_ref().to_owned(),
            error,
        }
    }

    /// Says what was being done when a call failed.
    pub(crate) fn while_doing(mut self, what: impl FnOnce() -> String) -> Self {
        if let Error::Api { context, .. } | Error::Hip { context, .. } = &mut self {
            *context = if context.is_empty() {
                what()
            } else {
                format!("{}: {context}", what())
            };
        }
        self
    }

    /// Names the parameter that there was no memory for.
    pub(crate) fn for_parameter(mut self, name: &str) -> Self {
        if let Error::OutOfMemory { what, .. } = &mut self {
            *what = format!("parameter `{name}`");
        }
        self
    }

    /// Puts the path that the user knows where C was given another.
    pub(crate) fn renaming_path(mut self, from: &str, to: &str) -> Self {
        if let Error::Api {
            message: Some(message),
            ..
        } = &mut self
        {
            *message = message.replace(from, to);
        }
        self
    }
}

impl From<migraphx_sys::MissingFunction> for Error {
    fn from(missing: migraphx_sys::MissingFunction) -> Self {
        Error::Unsupported {
            function: missing.function,
            since: missing.since(),
        }
    }
}

fn list(names: &[String]) -> String {
    match names {
        [] => "no parameters".into(),
        names => names
            .iter()
            .map(|name| format!("`{name}`"))
            .collect::<Vec<_>>()
            .join(", "),
    }
}
