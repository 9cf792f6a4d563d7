//! Reading ONNX models.

use std::io::Read;
use std::path::{Path, PathBuf};

use crate::dynamic_dim::{self, DynamicDim};
use crate::error::{Error, Result};
use crate::ffi::handle::{OnnxOptionsHandle, ProgramHandle};
use crate::ffi::{self, lock};
use crate::program::Program;

/// Reads an ONNX model with default options.
///
/// # Errors
/// As [`OnnxOptions::parse`].
#[doc(alias = "migraphx_parse_onnx")]
pub fn parse_onnx(path: impl AsRef<Path>) -> Result<Program> {
    OnnxOptions::new().parse(path)
}

/// How to read an ONNX model, and the calls that read it.
///
/// Sizes left open in a model (a symbolic batch, say) become
/// [`default_dim`](OnnxOptions::default_dim), 1 unless told otherwise; a fixed
/// size for one input is [`input_dims`](OnnxOptions::input_dims).
///
/// ```no_run
/// use migraphx::OnnxOptions;
///
/// let program = OnnxOptions::new()
///     .input_dims("images", &[64, 3, 640, 640])
///     .parse("yolo26s.onnx")?;
/// # Ok::<(), migraphx::Error>(())
/// ```
#[doc(alias = "migraphx_onnx_options")]
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[must_use = "options do nothing until one of the parse calls"]
pub struct OnnxOptions {
    dims: Vec<(String, Vec<usize>)>,
    dynamic_dims: Vec<(String, Vec<DynamicDim>)>,
    default_dim: Option<usize>,
    default_dynamic_dim: Option<DynamicDim>,
    default_loop_iterations: Option<i64>,
    limit_loop_iterations: Option<i64>,
    external_data_dir: Option<PathBuf>,
}

impl OnnxOptions {
    /// The library's defaults.
    pub fn new() -> Self {
        OnnxOptions::default()
    }

    /// Fixes the sizes of one input, whatever the model says.
    #[doc(alias = "migraphx_onnx_options_set_input_parameter_shape")]
    pub fn input_dims(mut self, input: &str, dims: &[usize]) -> Self {
        self.dims.push((input.to_owned(), dims.to_vec()));
        self
    }

    /// Gives one input ranges of sizes (since ROCm 5.6). Not together with
    /// [`input_dims`](OnnxOptions::input_dims).
    #[doc(alias = "migraphx_onnx_options_set_dyn_input_parameter_shape")]
    pub fn input_dynamic_dims(mut self, input: &str, dims: &[DynamicDim]) -> Self {
        self.dynamic_dims.push((input.to_owned(), dims.to_vec()));
        self
    }

    /// The size of every dimension that the model leaves open. Default: 1.
    #[doc(alias = "migraphx_onnx_options_set_default_dim_value")]
    pub fn default_dim(mut self, size: usize) -> Self {
        self.default_dim = Some(size);
        self
    }

    /// The range of every dimension that the model leaves open (since ROCm 5.6).
    /// Not together with [`default_dim`](OnnxOptions::default_dim).
    #[doc(alias = "migraphx_onnx_options_set_default_dyn_dim_value")]
    pub fn default_dynamic_dim(mut self, range: DynamicDim) -> Self {
        self.default_dynamic_dim = Some(range);
        self
    }

    /// Rounds of a `Loop` whose trip count is not known. Default of the library: 10.
    #[doc(alias = "migraphx_onnx_options_set_default_loop_iterations")]
    pub fn default_loop_iterations(mut self, iterations: i64) -> Self {
        self.default_loop_iterations = Some(iterations);
        self
    }

    /// Most rounds of any `Loop` (since ROCm 6.1): outputs are made this long.
    /// Default of the library: 65,535.
    #[doc(alias = "migraphx_onnx_options_set_limit_loop_iterations")]
    pub fn limit_loop_iterations(mut self, iterations: i64) -> Self {
        self.limit_loop_iterations = Some(iterations);
        self
    }

    /// Where weights lie that the model keeps in files of their own (since ROCm
    /// 6.2). Default: the model's folder; for a model from memory, the working
    /// directory.
    #[doc(alias = "migraphx_onnx_options_set_external_data_path")]
    pub fn external_data_dir(mut self, directory: impl Into<PathBuf>) -> Self {
        self.external_data_dir = Some(directory.into());
        self
    }

    /// Reads a model file.
    ///
    /// Models are trusted input: MIGraphX's parser does not survive every file
    /// made to harm it.
    ///
    /// # Errors
    /// [`Error::Io`] where the file cannot be read; [`Error::EmptyModel`] where
    /// it holds no graph; [`Error::Api`] with MIGraphX's text where the model is
    /// damaged or uses what MIGraphX does not have; [`Error::UnknownParameter`]
    /// where an option names an input that the model does not have;
    /// [`Error::InvalidArgument`] where sizes are given both fixed and as ranges.
    #[doc(alias = "migraphx_parse_onnx")]
    pub fn parse(&self, path: impl AsRef<Path>) -> Result<Program> {
        let path = path.as_ref();
        let name = path.display().to_string();
        let file = std::fs::File::open(path).map_err(|error| Error::io("open", path, error))?;
        let metadata = file
            .metadata()
            .map_err(|error| Error::io("read", path, error))?;
        if metadata.is_dir() {
            let error = std::io::Error::from(std::io::ErrorKind::IsADirectory);
            return Err(Error::io("read", path, error));
        }
        let mut start = Vec::new();
        file.take(64)
            .read_to_end(&mut start)
            .map_err(|error| Error::io("read", path, error))?;
        check_kind(&start, &name)?;
        let c_path = ffi::c_path(path)?;
        self.run(&name, |out, options| {
            // SAFETY: the path ends with NUL, the options are live.
            unsafe { call!(migraphx_parse_onnx(out, c_path.as_ptr(), options)) }
        })
    }

    /// Reads a model from memory.
    ///
    /// # Errors
    /// As [`parse`](OnnxOptions::parse), and [`Error::InvalidArgument`] for more
    /// than 2 GiB, which the library would cut.
    #[doc(alias = "migraphx_parse_onnx_buffer")]
    pub fn parse_bytes(&self, model: &[u8]) -> Result<Program> {
        check_kind(model, "the model in memory")?;
        if model.len() > i32::MAX as usize {
            return Err(Error::InvalidArgument(format!(
                "a model of {} bytes or more in memory; the library reads at most {}: save it \
                 with its weights as external data, or read it from its file",
                model.len(),
                i32::MAX
            )));
        }
        self.run("the model in memory", |out, options| {
            // SAFETY: the buffer is not empty and has as many bytes as said, the options are live.
            unsafe {
                call!(migraphx_parse_onnx_buffer(
                    out,
                    model.as_ptr().cast(),
                    model.len(),
                    options
                ))
            }
        })
    }

    /// Reads a model from a reader, to its end.
    ///
    /// # Errors
    /// As [`parse_bytes`](OnnxOptions::parse_bytes), and [`Error::Io`].
    pub fn parse_reader(&self, reader: impl Read) -> Result<Program> {
        let mut model = Vec::new();
        // One byte more than is allowed is enough to refuse it.
        reader
            .take(i32::MAX as u64 + 1)
            .read_to_end(&mut model)
            .map_err(|error| Error::io("read", "the model", error))?;
        self.parse_bytes(&model)
    }

    /// All that changes the program, as text; but not the external data.
    pub(crate) fn key(&self) -> String {
        let options = OnnxOptions {
            external_data_dir: None,
            ..self.clone()
        };
        format!("{options:?}")
    }

    /// Where external data of the model at `model` lies.
    pub(crate) fn external_data_of(&self, model: &Path) -> PathBuf {
        let own = self.external_data_dir.as_deref();
        own.or(model.parent()).unwrap_or(Path::new("")).to_owned()
    }

    fn run(
        &self,
        name: &str,
        parse: impl FnOnce(
            *mut migraphx_sys::migraphx_program_t,
            migraphx_sys::migraphx_onnx_options_t,
        ) -> Result<()>,
    ) -> Result<Program> {
        let options = self.to_handle()?;
        let _reading = lock::reading();
        let handle = ProgramHandle::make(|out| parse(out, options.raw()))
            .map_err(|error| error.while_doing(|| format!("parsing {name}")))?;
        let program = Program::new(handle, name)?;
        // The library ignores what it does not know.
        let named = self.dims.iter().map(|(name, _)| name);
        for input in named.chain(self.dynamic_dims.iter().map(|(name, _)| name)) {
            program.signature().position(input)?;
        }
        Ok(program)
    }

    /// The library takes fixed sizes or ranges, of named inputs and of the rest.
    fn check_sizes(&self) -> Result<()> {
        if let (Some((fixed, _)), Some((ranged, _))) =
            (self.dims.first(), self.dynamic_dims.first())
        {
            return Err(Error::InvalidArgument(format!(
                "`input_dims` for `{fixed}` and `input_dynamic_dims` for `{ranged}`: the library \
                 takes one or the other; give `{fixed}` ranges of one size \
                 (`DynamicDim::fixed`)"
            )));
        }
        match (self.default_dim, &self.default_dynamic_dim) {
            (Some(size), Some(range)) => Err(Error::InvalidArgument(format!(
                "`default_dim` {size} and `default_dynamic_dim` {range}: a dimension that the \
                 model leaves open becomes one or the other; give only one of them"
            ))),
            _ => Ok(()),
        }
    }

    fn to_handle(&self) -> Result<OnnxOptionsHandle> {
        self.check_sizes()?;
        let options = OnnxOptionsHandle::make(|out| {
            // SAFETY: the out pointer is valid.
            unsafe { call!(migraphx_onnx_options_create(out)) }
        })?;
        for (input, dims) in &self.dims {
            crate::shape::count(dims).ok_or_else(|| {
                Error::InvalidShape(format!(
                    "{dims:?} for input `{input}` is larger than memory"
                ))
            })?;
            let name = ffi::c_string("input name", input)?;
            // SAFETY: C copies the name and as many sizes as are said.
            unsafe {
                call!(migraphx_onnx_options_set_input_parameter_shape(
                    options.raw(),
                    name.as_ptr(),
                    dims.as_ptr().cast_mut(),
                    dims.len()
                ))
            }?;
        }
        for (input, dims) in &self.dynamic_dims {
            let name = ffi::c_string("input name", input)?;
            let dims = dynamic_dim::list_of(dims)?;
            // SAFETY: C copies the name and the list.
            unsafe {
                call!(migraphx_onnx_options_set_dyn_input_parameter_shape(
                    options.raw(),
                    name.as_ptr(),
                    dims.raw()
                ))
            }?;
        }
        if let Some(size) = self.default_dim {
            // SAFETY: the options are live.
            unsafe {
                call!(migraphx_onnx_options_set_default_dim_value(
                    options.raw(),
                    size
                ))
            }?;
        }
        if let Some(range) = &self.default_dynamic_dim {
            let range = range.to_handle()?;
            // SAFETY: both handles are live; C copies the range.
            unsafe {
                call!(migraphx_onnx_options_set_default_dyn_dim_value(
                    options.raw(),
                    range.raw()
                ))
            }?;
        }
        if let Some(iterations) = self.default_loop_iterations {
            // SAFETY: the options are live.
            unsafe {
                call!(migraphx_onnx_options_set_default_loop_iterations(
                    options.raw(),
                    iterations
                ))
            }?;
        }
        if let Some(iterations) = self.limit_loop_iterations {
            // SAFETY: the options are live.
            unsafe {
                call!(migraphx_onnx_options_set_limit_loop_iterations(
                    options.raw(),
                    iterations
                ))
            }?;
        }
        if let Some(directory) = &self.external_data_dir {
            let directory = ffi::c_path(directory)?;
            // SAFETY: C copies the path.
            unsafe {
                call!(migraphx_onnx_options_set_external_data_path(
                    options.raw(),
                    directory.as_ptr()
                ))
            }?;
        }
        Ok(options)
    }
}

/// Refuses what the parser would take for an empty model, and says what a file
/// is that is plainly something else.
fn check_kind(start: &[u8], name: &str) -> Result<()> {
    if start.is_empty() {
        return Err(Error::EmptyModel { what: name.into() });
    }
    if crate::mxr::looks_like_mxr(start) {
        return Err(Error::InvalidArgument(format!(
            "{name} is a MIGraphX program (.mxr), not an ONNX model; load it with \
             `CompiledProgram::load` or `mxr::load`"
        )));
    }
    Ok(())
}
