//! What a program consists of.

mod decode;
mod instruction;
mod operators;

use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io::{BufRead, BufReader, Seek, SeekFrom};
use std::path::Path;

pub use instruction::Instruction;
pub use operators::onnx_operators;

use crate::compiled::CompiledProgram;
use crate::error::{Error, Result};
use crate::ffi::handle::ProgramHandle;
use crate::mxr::{self, FileFormat};
use crate::program::Program;

/// The instructions of a program, in the order in which they run.
///
/// [`Program::instructions`] and [`CompiledProgram::instructions`] make it, and
/// [`read`](Listing::read) makes it of a `.mxr` file. It is a copy: it holds
/// names and shapes and none of the weights.
///
/// ```
/// use migraphx::OnnxOptions;
///
/// # let model = testkit::models::matmul(1, 4, 2, &[0.5; 8]);
/// let program = OnnxOptions::new().parse_bytes(&model)?; // y = x · w, w in the model
/// let listing = program.instructions()?;
/// for (operator, count) in listing.operators() {
///     println!("{count:>6} {operator}");
/// }
/// let dot = listing.with_operator("dot").next().unwrap();
/// assert_eq!((dot.inputs()[0].as_str(), dot.shape().dims()), ("x", &[1, 2][..]));
/// assert_eq!(listing.find(&dot.inputs()[1]).unwrap().operator(), "@literal");
/// assert_eq!(listing.literal_bytes(), 4 * 2 * 4); // w
/// assert_eq!(listing.parameter_bytes(), 4 * 4); // x
/// # Ok::<(), migraphx::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listing {
    modules: Vec<String>,
    instructions: Vec<Instruction>,
}

impl Listing {
    /// The instructions of the program in a `.mxr` file. The file is read by
    /// this crate, weights are passed over, and no library is needed.
    ///
    /// # Errors
    /// [`Error::Io`] where the file cannot be read; [`Error::Mxr`] where it is
    /// none, is damaged, or is written as JSON.
    pub fn read(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        mxr::inspect(path)?;
        let file = File::open(path).map_err(|error| Error::io("open", path, error))?;
        let mut file = BufReader::new(file);
        let start = file
            .fill_buf()
            .map_err(|error| Error::io("read", path, error))?;
        let listing = match start.first() {
            Some(b'{') => Err("it is JSON, and only MessagePack is read here".into()),
            _ => decode::listing(file),
        };
        listing.map_err(|problem| Error::Mxr {
            path: path.display().to_string(),
            problem,
        })
    }

    /// All instructions: those of the main module, then those of the others.
    pub fn iter(&self) -> std::slice::Iter<'_, Instruction> {
        self.instructions.iter()
    }

    /// How many instructions there are, parameters, literals and returns included.
    pub fn len(&self) -> usize {
        self.instructions.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.instructions.is_empty()
    }

    /// The names of the modules: `main`, and those that an `if` or `loop` runs.
    pub fn modules(&self) -> &[String] {
        &self.modules
    }

    /// The instruction whose result has this name.
    pub fn find(&self, name: &str) -> Option<&Instruction> {
        self.iter().find(|instruction| instruction.name == name)
    }

    /// The instructions with this operator.
    pub fn with_operator(&self, operator: &str) -> impl Iterator<Item = &Instruction> {
        self.iter()
            .filter(move |instruction| instruction.operator == operator)
    }

    /// How often each operator occurs, by name.
    pub fn operators(&self) -> BTreeMap<&str, usize> {
        let mut counts = BTreeMap::new();
        for instruction in self {
            *counts.entry(instruction.operator()).or_insert(0) += 1;
        }
        counts
    }

    /// Bytes of constant data: weights, and other literals.
    pub fn literal_bytes(&self) -> usize {
        self.iter().map(Instruction::literal_bytes).sum()
    }

    /// Bytes of what a run is given: all parameters, at their largest where they
    /// are dynamic. In a program for buffers on the device, its outputs are
    /// among them.
    pub fn parameter_bytes(&self) -> usize {
        let parameters = self.with_operator("@param");
        parameters
            .filter(|parameter| parameter.module == "main")
            .map(Instruction::result_bytes)
            .fold(0, usize::saturating_add)
    }

    /// Bytes of device memory that a program compiled for a GPU keeps for
    /// results in between. 0 for other targets, which allocate as they run, and
    /// for programs that are not compiled.
    pub fn scratch_bytes(&self) -> usize {
        const ALLOCATIONS: [&str; 2] = ["hip::allocate", "hip::hip_allocate_memory"];
        let allocations = self
            .iter()
            .filter(|instruction| ALLOCATIONS.contains(&instruction.operator()));
        allocations.map(Instruction::result_bytes).sum()
    }

    /// Bytes of machine code for a GPU.
    pub fn code_bytes(&self) -> usize {
        self.iter().map(Instruction::code_bytes).sum()
    }
}

impl<'a> IntoIterator for &'a Listing {
    type Item = &'a Instruction;
    type IntoIter = std::slice::Iter<'a, Instruction>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// An instruction a line, each module under its name.
impl fmt::Display for Listing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut module = None;
        for (index, instruction) in self.iter().enumerate() {
            let line_break = if index > 0 { "\n" } else { "" };
            if module != Some(instruction.module()) && self.modules.len() > 1 {
                write!(
                    f,
                    "{line_break}module {}:\n{instruction}",
                    instruction.module()
                )?;
            } else {
                write!(f, "{line_break}{instruction}")?;
            }
            module = Some(instruction.module());
        }
        Ok(())
    }
}

/// The listing of a program of the library.
///
/// The library writes the whole program into a file in memory, weights too,
/// which is gone when the listing is made. (What it prints is shorter, and not
/// to be read for sure: names may hold any characters.)
pub(crate) fn of(program: &ProgramHandle) -> Result<Listing> {
    let name = Path::new("the program's instructions");
    let file = mxr::save::written(program, name, FileFormat::Msgpack)?;
    decode::listing(BufReader::new(file)).map_err(|problem| Error::Mxr {
        path: name.display().to_string(),
        problem,
    })
}

/// The listing of the program in an open MessagePack file, or what is wrong with it.
pub(crate) fn in_file(mut file: &File) -> std::result::Result<Listing, String> {
    let text = |error: std::io::Error| error.to_string();
    file.seek(SeekFrom::Start(0)).map_err(text)?;
    let listing = decode::listing(BufReader::new(file));
    file.seek(SeekFrom::Start(0)).map_err(text)?;
    listing
}

/// For the fuzz target.
#[cfg(fuzzing)]
pub(crate) fn read_all(bytes: &[u8]) {
    let _ = decode::listing(bytes);
}

impl Program {
    /// The instructions of the program as they are now: quantizing and compiling
    /// change them.
    ///
    /// # Errors
    /// [`Error::Api`]; [`Error::Platform`] elsewhere than on Linux.
    pub fn instructions(&self) -> Result<Listing> {
        of(self.handle())
    }
}

impl CompiledProgram {
    /// The instructions that a run goes through.
    ///
    /// # Errors
    /// [`Error::Api`]; [`Error::Platform`] elsewhere than on Linux.
    pub fn instructions(&self) -> Result<Listing> {
        of(self.handle())
    }
}

#[cfg(feature = "hip")]
impl crate::DeviceProgram {
    /// The instructions that a run goes through.
    ///
    /// # Errors
    /// [`Error::Api`]; [`Error::Platform`] elsewhere than on Linux.
    pub fn instructions(&self) -> Result<Listing> {
        of(self.bound().handle())
    }
}
