//! Reading ONNX models.

mod check;
mod handle;
mod model;

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use check::{Folders, Seen};

use crate::dynamic_dim::DynamicDim;
use crate::error::{Error, Result};
use crate::ffi::handle::ProgramHandle;
use crate::ffi::{self, lock};
use crate::program::Program;

/// One byte more than the library takes.
const MOST: u64 = i32::MAX as u64 + 1;

const IN_MEMORY: &str = "the model in memory";

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
    unchecked: bool,
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

    /// Leaves out the check of the model, for one that is known to be well made:
    /// see [`parse`](OnnxOptions::parse) for what is checked.
    ///
    /// # Safety
    /// The caller knows that the model is one that MIGraphX reads without harm,
    /// such as one that was checked before and not changed since.
    pub unsafe fn without_check(mut self) -> Self {
        self.unchecked = true;
        self
    }

    /// Reads a model file.
    ///
    /// MIGraphX's parser does not survive every file, damaged or made to harm it.
    /// So the file is read once and checked here, and the library gets the very
    /// bytes that were checked. Refused is what was seen to stop or corrupt the
    /// process, or is taken for something else, in MIGraphX 7.1.1:
    ///
    /// - what is no Protocol Buffer of this kind, is cut off, has no outputs, or
    ///   has graphs inside graphs deeper than 33;
    /// - tensors, also in attributes and inner graphs, whose values are more or
    ///   fewer than their dimensions take; dimensions that are negative or larger
    ///   than memory; 4-bit integers with an odd last dimension, and 4-bit floats;
    /// - external data outside the folder of the model (or
    ///   [`external_data_dir`](OnnxOptions::external_data_dir)), also through `..` and
    ///   symbolic links; files that are too short; entries that are not in the order
    ///   location, offset, length, which is how they are read;
    /// - nodes with fewer inputs than their operator takes; loops whose body takes
    ///   or gives too few values; too few dimensions for a convolution, a pool,
    ///   `InstanceNormalization`, `Trilu`, `DepthToSpace` or `SpaceToDepth`;
    /// - strides of 0, odd pads, no group or head to divide by, integer division by a
    ///   constant 0, slices in steps of 0, empty ranges, parts of a negative size,
    ///   constant sizes larger than memory;
    /// - constant indices outside a dimension that is known (of an input or a
    ///   constant), `TopK` of more than there are, and names with a NUL.
    ///
    /// Sizes that only shape inference gives are not known to the check, and the
    /// values of inputs only a run knows: a model made to harm can still do so. Files
    /// of external data are looked at before the library opens them, by name.
    ///
    /// # Errors
    /// [`Error::Io`] where the file cannot be read; [`Error::EmptyModel`] where
    /// it holds no graph with outputs; [`Error::Model`] where it is damaged, or has
    /// what MIGraphX would not survive; [`Error::Api`] with MIGraphX's text where it
    /// uses what MIGraphX does not have; [`Error::UnknownParameter`]
    /// where an option names an input that the model does not have;
    /// [`Error::InvalidArgument`] where sizes are given both fixed and as ranges, or
    /// the file has more than the 2 GiB of a Protocol Buffer.
    #[doc(alias = "migraphx_parse_onnx")]
    pub fn parse(&self, path: impl AsRef<Path>) -> Result<Program> {
        let path = path.as_ref();
        let name = path.display().to_string();
        if self.unchecked {
            check_kind(&read(path, 64)?, &name)?;
            return self.parse_file(path, &name);
        }
        let model = read(path, MOST)?;
        let folder = path.parent().unwrap_or(Path::new(""));
        let seen = self.check_named(&model, &name, folder, Some(path))?;
        if !seen.external {
            return self.parse_buffer(&model, &name, None);
        }
        let folder = self.external_data_dir.as_deref().unwrap_or(folder);
        match self.parse_buffer(&model, &name, Some(folder)) {
            // Before ROCm 6.2 only the path of the model says where its data is.
            Err(Error::Unsupported { .. }) => self.parse_file(path, &name),
            result => result,
        }
    }

    /// Reads a model from memory.
    ///
    /// # Errors
    /// As [`parse`](OnnxOptions::parse).
    #[doc(alias = "migraphx_parse_onnx_buffer")]
    pub fn parse_bytes(&self, model: &[u8]) -> Result<Program> {
        let name = IN_MEMORY;
        match self.unchecked {
            true => {
                check_kind(model, name)?;
                check_length(model, name)?;
            }
            false => {
                self.check_named(model, name, Path::new(""), None)?;
            }
        }
        self.parse_buffer(model, name, self.external_data_dir.as_deref())
    }

    /// Reads a model from a reader, to its end.
    ///
    /// # Errors
    /// As [`parse_bytes`](OnnxOptions::parse_bytes), and [`Error::Io`].
    pub fn parse_reader(&self, reader: impl Read) -> Result<Program> {
        let mut model = Vec::new();
        // One byte more than is allowed is enough to refuse it.
        reader
            .take(MOST)
            .read_to_end(&mut model)
            .map_err(|error| Error::io("read", "the model", error))?;
        self.parse_bytes(&model)
    }

    /// Checks a model in memory as [`parse_bytes`](OnnxOptions::parse_bytes)
    /// does, and no more: MIGraphX is not needed.
    ///
    /// # Errors
    /// As [`parse`](OnnxOptions::parse), without [`Error::Api`].
    pub fn check_bytes(&self, model: &[u8]) -> Result<()> {
        self.check_named(model, IN_MEMORY, Path::new(""), None)
            .map(drop)
    }

    fn check_named(
        &self,
        model: &[u8],
        name: &str,
        folder: &Path,
        path: Option<&Path>,
    ) -> Result<Seen> {
        check_kind(model, name)?;
        check_length(model, name)?;
        let folder = self.external_data_dir.as_deref().unwrap_or(folder);
        check::check(model, name, self, Folders::new(folder, path))
    }

    /// Gives the library the very bytes that were checked.
    fn parse_buffer(&self, model: &[u8], name: &str, folder: Option<&Path>) -> Result<Program> {
        self.run(name, folder, |out, options| {
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

    fn parse_file(&self, path: &Path, name: &str) -> Result<Program> {
        let c_path = ffi::c_path(path)?;
        self.run(name, self.external_data_dir.as_deref(), |out, options| {
            // SAFETY: the path ends with NUL, the options are live.
            unsafe { call!(migraphx_parse_onnx(out, c_path.as_ptr(), options)) }
        })
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
        folder: Option<&Path>,
        parse: impl FnOnce(
            *mut migraphx_sys::migraphx_program_t,
            migraphx_sys::migraphx_onnx_options_t,
        ) -> Result<()>,
    ) -> Result<Program> {
        let options = self.to_handle()?;
        if let Some(folder) = folder.filter(|folder| !folder.as_os_str().is_empty()) {
            options.set_external_data_dir(folder)?;
        }
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
}

/// The start of a file, at most so many bytes.
fn read(path: &Path, most: u64) -> Result<Vec<u8>> {
    let file = File::open(path).map_err(|error| Error::io("open", path, error))?;
    let failed = |error| Error::io("read", path, error);
    let length = file.metadata().map_err(failed)?.len();
    let mut bytes = Vec::new();
    // Checked, since the length is the file system's word.
    let reserved = bytes.try_reserve_exact(length.min(most) as usize + 1);
    reserved.map_err(|_| failed(std::io::ErrorKind::OutOfMemory.into()))?;
    file.take(most).read_to_end(&mut bytes).map_err(failed)?;
    Ok(bytes)
}

fn check_length(model: &[u8], name: &str) -> Result<()> {
    if model.len() as u64 >= MOST {
        return Err(Error::InvalidArgument(format!(
            "{name} has {} bytes or more, and a Protocol Buffer has at most {}: save it with \
             its weights as external data",
            model.len(),
            i32::MAX
        )));
    }
    Ok(())
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
