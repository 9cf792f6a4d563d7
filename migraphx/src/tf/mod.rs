//! Reading TensorFlow's frozen graphs.

mod check;
mod graph_def;
mod operators;
mod tables;

use std::io::Read;
use std::path::Path;

use crate::error::{Error, Result};
use crate::ffi::handle::{ProgramHandle, TfOptionsHandle};
use crate::ffi::{self, lock};
use crate::program::Program;

/// Reads a frozen TensorFlow graph with default options.
///
/// # Errors
/// As [`TfOptions::parse`].
#[doc(alias = "migraphx_parse_tf")]
pub fn parse_tf(path: impl AsRef<Path>) -> Result<Program> {
    TfOptions::new().parse(path)
}

/// How to read a frozen TensorFlow graph (`.pb`), and the calls that read it.
///
/// A frozen graph is one GraphDef with its weights as constants; a SavedModel has
/// to be frozen first. MIGraphX knows about 50 operators of TensorFlow 1; newer
/// models do better as ONNX.
///
/// # Layout
/// TensorFlow's usual layout is NHWC, and a graph in it is read so unless
/// [`nhwc`](TfOptions::nhwc) says otherwise. The *program* works in NCHW all the
/// same: its inputs and outputs of four dimensions are `[N, C, H, W]`.
///
/// ```
/// use migraphx::TfOptions;
///
/// # let graph = testkit::tf::models::conv(-1, 8);
/// let program = TfOptions::new() // images: float [batch, 8, 8, 2] in the graph
///     .default_dim(4)
///     .output_names(&["features"])
///     .parse_bytes(&graph)?;
/// assert_eq!(program.parameters()[0].shape().dims(), [4, 2, 8, 8]);
/// assert_eq!(program.output_shapes()[0].dims(), [4, 3, 7, 7]);
/// # Ok::<(), migraphx::Error>(())
/// ```
#[doc(alias = "migraphx_tf_options")]
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "options do nothing until one of the parse calls"]
pub struct TfOptions {
    nhwc: bool,
    dims: Vec<(String, Vec<usize>)>,
    default_dim: Option<usize>,
    outputs: Vec<String>,
}

impl Default for TfOptions {
    fn default() -> Self {
        TfOptions::new()
    }
}

impl TfOptions {
    /// A graph in NHWC; open sizes are 1; the outputs are the values that nothing uses.
    ///
    /// (The C API's own default is NCHW; that of MIGraphX's Python module and
    /// command line is NHWC.)
    pub fn new() -> Self {
        TfOptions {
            nhwc: true,
            dims: Vec::new(),
            default_dim: None,
            outputs: Vec::new(),
        }
    }

    /// Whether the graph works on NHWC tensors; see [Layout](TfOptions#layout).
    #[doc(alias = "migraphx_tf_options_set_nhwc")]
    pub fn nhwc(mut self, value: bool) -> Self {
        self.nhwc = value;
        self
    }

    /// Fixes the sizes of one input, whatever the graph says, in the program's
    /// order: `[N, C, H, W]` for images.
    #[doc(alias = "migraphx_tf_options_set_input_parameter_shape")]
    pub fn input_dims(mut self, input: &str, dims: &[usize]) -> Self {
        self.dims.push((plain(input), dims.to_vec()));
        self
    }

    /// The size of every dimension that the graph leaves open. Default: 1.
    #[doc(alias = "migraphx_tf_options_set_default_dim_value")]
    pub fn default_dim(mut self, size: usize) -> Self {
        self.default_dim = Some(size);
        self
    }

    /// The nodes whose results are the program's outputs, in this order. Without
    /// it they are all values that nothing uses, sorted by name. `scores:0` is
    /// `scores`; `split:1` is the second result of `split`.
    #[doc(alias = "migraphx_tf_options_set_output_names")]
    pub fn output_names(mut self, names: &[&str]) -> Self {
        self.outputs = names.iter().map(|name| plain(name)).collect();
        self
    }

    /// Reads a graph file.
    ///
    /// Graphs are trusted input: MIGraphX's parser does not survive every file
    /// made to harm it. What can be seen in the file without working out shapes is
    /// checked first.
    ///
    /// # Errors
    /// [`Error::Io`] where the file cannot be read; [`Error::EmptyModel`] where
    /// it holds no graph with outputs; [`Error::InvalidArgument`] where it is
    /// damaged, or has what MIGraphX would not survive or take for something else;
    /// [`Error::Api`] with MIGraphX's text for the rest;
    /// [`Error::UnknownParameter`] where an option names an input that the graph
    /// does not have.
    #[doc(alias = "migraphx_parse_tf")]
    pub fn parse(&self, path: impl AsRef<Path>) -> Result<Program> {
        let path = path.as_ref();
        let graph = std::fs::read(path).map_err(|error| Error::io("read", path, error))?;
        self.parse_named(&graph, &path.display().to_string())
    }

    /// Reads a graph from memory.
    ///
    /// # Errors
    /// As [`parse`](TfOptions::parse); [`Error::InvalidArgument`] for more than
    /// 2 GiB, which Protocol Buffers cannot hold.
    #[doc(alias = "migraphx_parse_tf_buffer")]
    pub fn parse_bytes(&self, graph: &[u8]) -> Result<Program> {
        self.parse_named(graph, "the graph in memory")
    }

    /// Reads a graph from a reader, to its end.
    ///
    /// # Errors
    /// As [`parse_bytes`](TfOptions::parse_bytes), and [`Error::Io`].
    pub fn parse_reader(&self, reader: impl Read) -> Result<Program> {
        let mut graph = Vec::new();
        // One byte more than is allowed is enough to refuse it.
        reader
            .take(i32::MAX as u64 + 1)
            .read_to_end(&mut graph)
            .map_err(|error| Error::io("read", "the graph", error))?;
        self.parse_bytes(&graph)
    }

    fn parse_named(&self, graph: &[u8], name: &str) -> Result<Program> {
        if crate::mxr::looks_like_mxr(graph) {
            return Err(Error::InvalidArgument(format!(
                "{name} is a MIGraphX program (.mxr), not a TensorFlow graph; load it with \
                 `CompiledProgram::load` or `mxr::load`"
            )));
        }
        if graph.len() > i32::MAX as usize {
            return Err(Error::InvalidArgument(format!(
                "{name} has {} bytes or more, and a Protocol Buffer has at most {}",
                graph.len(),
                i32::MAX
            )));
        }
        self.check()?;
        let given: Vec<&str> = self.dims.iter().map(|(input, _)| &**input).collect();
        let depth = check::check(graph, name, &given)?;
        let handle = self
            .read_with_stack(graph, depth)
            .map_err(|error| explain(error).while_doing(|| format!("parsing {name}")))?;
        let program = Program::new(handle, name)?;
        // The library ignores what it does not know.
        for input in given {
            program.signature().position(input)?;
        }
        operators::check(&program, name)?;
        Ok(program)
    }

    fn check(&self) -> Result<()> {
        if let Some(size) = self.default_dim.filter(|size| *size > i32::MAX as usize) {
            return Err(Error::InvalidArgument(format!(
                "default_dim is {size}; MIGraphX takes sizes up to {}",
                i32::MAX
            )));
        }
        for (input, dims) in &self.dims {
            if dims.is_empty() || crate::shape::count(dims).is_none() {
                return Err(Error::InvalidShape(format!(
                    "{dims:?} for input `{input}` has no dimensions or is larger than memory; a \
                     scalar is [1] here"
                )));
            }
        }
        Ok(())
    }

    /// The parser calls itself for each node of a chain.
    fn read_with_stack(&self, graph: &[u8], depth: usize) -> Result<ProgramHandle> {
        /// Fits any thread (2 MiB) four times.
        const SHALLOW: usize = 1000;
        /// Five times what the library's frames were seen to take.
        const BYTES_A_NODE: usize = 2048;
        let _reading = lock::reading();
        if depth <= SHALLOW {
            return self.read(graph);
        }
        std::thread::scope(|scope| {
            let thread = std::thread::Builder::new()
                .stack_size((2 << 20) + depth * BYTES_A_NODE)
                .spawn_scoped(scope, || self.read(graph))
                .map_err(|error| Error::io("start a thread to read", "the graph", error))?;
            thread
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    fn read(&self, graph: &[u8]) -> Result<ProgramHandle> {
        let options = self.to_handle()?;
        let from_memory = ProgramHandle::make(|out| {
            // SAFETY: the buffer has as many bytes as said, the options are live.
            unsafe {
                call!(migraphx_parse_tf_buffer(
                    out,
                    graph.as_ptr().cast(),
                    graph.len(),
                    options.raw()
                ))
            }
        });
        match from_memory {
            // Before ROCm 7.0.
            Err(Error::Unsupported { function, since }) => {
                through_file(graph, &options, Error::Unsupported { function, since })
            }
            other => other,
        }
    }

    fn to_handle(&self) -> Result<TfOptionsHandle> {
        let options = TfOptionsHandle::make(|out| {
            // SAFETY: the out pointer is valid.
            unsafe { call!(migraphx_tf_options_create(out)) }
        })?;
        // SAFETY: the options are live.
        unsafe { call!(migraphx_tf_options_set_nhwc(options.raw(), self.nhwc)) }?;
        for (input, dims) in &self.dims {
            let name = ffi::c_string("input name", input)?;
            // SAFETY: C copies the name and as many sizes as are said.
            unsafe {
                call!(migraphx_tf_options_set_input_parameter_shape(
                    options.raw(),
                    name.as_ptr(),
                    dims.as_ptr().cast_mut(),
                    dims.len()
                ))
            }?;
        }
        if let Some(size) = self.default_dim {
            // SAFETY: the options are live.
            unsafe {
                call!(migraphx_tf_options_set_default_dim_value(
                    options.raw(),
                    size
                ))
            }?;
        }
        if !self.outputs.is_empty() {
            let names = self.outputs.iter();
            let names = names
                .map(|name| ffi::c_string("output name", name))
                .collect::<Result<Vec<_>>>()?;
            let mut pointers: Vec<_> = names.iter().map(|name| name.as_ptr()).collect();
            // SAFETY: as many names as said, each ending with NUL; C copies them.
            unsafe {
                call!(migraphx_tf_options_set_output_names(
                    options.raw(),
                    pointers.as_mut_ptr(),
                    pointers.len()
                ))
            }?;
        }
        Ok(options)
    }
}

/// The node of a result's name: `scores` of `scores:0`.
fn plain(name: &str) -> String {
    name.strip_suffix(":0").unwrap_or(name).to_owned()
}

/// For a library that reads only files: one in memory.
#[cfg(target_os = "linux")]
fn through_file(graph: &[u8], options: &TfOptionsHandle, _: Error) -> Result<ProgramHandle> {
    let file = crate::ffi::memory_file::holding(graph)?;
    let path = crate::ffi::memory_file::path_of(&file);
    ProgramHandle::make(|out| {
        // SAFETY: the path ends with NUL, the options are live.
        unsafe { call!(migraphx_parse_tf(out, path.as_ptr(), options.raw())) }
    })
}

#[cfg(not(target_os = "linux"))]
fn through_file(_: &[u8], _: &TfOptionsHandle, unsupported: Error) -> Result<ProgramHandle> {
    Err(unsupported)
}

/// Says what the library means where it says nothing.
fn explain(error: Error) -> Error {
    let Error::Api {
        message: Some(message),
        ..
    } = &error
    else {
        return error;
    };
    if !message.contains("map::at") && !message.contains("_Map_base::at") {
        return error;
    }
    error.while_doing(|| {
        "a node lacks an attribute that MIGraphX needs, or takes a later result (`name:1`) of a \
         node that sorts after it by name, which MIGraphX reads only in the order of names"
            .into()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn a_library_that_reads_only_files_reads_the_same() {
        let graph = testkit::tf::models::conv(2, 4);
        let options = TfOptions::new().to_handle().unwrap();
        let unsupported = Error::Exiting;
        let handle = through_file(&graph, &options, unsupported).unwrap();
        let program = Program::new(handle, "the graph").unwrap();
        let direct = TfOptions::new().parse_bytes(&graph).unwrap();
        assert_eq!(program.to_string(), direct.to_string());
    }
}
