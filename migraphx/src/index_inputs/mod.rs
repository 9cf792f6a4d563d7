//! Inputs whose values MIGraphX takes for positions in memory, and for divisors.
//!
//! `gather` and its like do not check their indices: a wrong one reads or writes
//! beyond the tensor, or ends the process. Which parameters reach such an operator
//! is found from the text of the program; what can be checked is checked before
//! each run, and all of it is listed.

mod check;
mod elements;
mod find;
mod note;
mod operators;
mod source;

use std::fmt;
use std::ops::RangeInclusive;

use crate::error::Result;
use crate::ffi::handle::ProgramHandle;
use crate::signature::Parameter;
use crate::target;

pub(crate) use check::Checks;
#[cfg(feature = "hip")]
pub(crate) use note::notes;

/// An input whose values an operator uses as indices or as divisors.
///
/// MIGraphX does not check these. Where [`is_checked`](IndexInput::is_checked)
/// holds, each run does, and gives [`Error::IndexOutOfRange`](crate::Error::IndexOutOfRange);
/// of the others the caller has to be sure.
///
/// ```
/// use migraphx::{Argument, CompileOptions, Error, OnnxOptions, Target};
///
/// # let model = testkit::models::gather(3, 2, 2);
/// let program = OnnxOptions::new().parse_bytes(&model)?; // y = data[indices], data: float [3, 2]
/// let mut program = program.compile(&Target::reference()?, &CompileOptions::new())?;
/// let [indices] = program.index_inputs() else { panic!() };
/// assert_eq!((indices.parameter(), indices.operator()), ("indices", "gather"));
/// assert_eq!(indices.allowed()[0].to_string(), "-3 to 2");
/// assert!(indices.is_checked());
///
/// let data = || Argument::from_slice(&[0.0f32, 0.1, 1.0, 1.1, 2.0, 2.1], &[3, 2]);
/// let rows = |rows: [i64; 2]| Argument::from_vec(rows.to_vec(), &[2]);
/// let outputs = program.run_once(&[("data", data()?), ("indices", rows([2, -3])?)])?;
/// assert_eq!(outputs.slice::<f32>(0)?, [2.0, 2.1, 0.0, 0.1]);
/// let refused = program.run_once(&[("data", data()?), ("indices", rows([0, 3])?)]);
/// assert!(matches!(refused, Err(Error::IndexOutOfRange { position: 1, value: 3, .. })));
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexInput {
    parameter: String,
    operator: String,
    allowed: Vec<Allowed>,
    checked: bool,
}

impl IndexInput {
    /// The name of the parameter.
    pub fn parameter(&self) -> &str {
        &self.parameter
    }

    /// The operator that uses the values, by MIGraphX's name: `gather`, `div`.
    pub fn operator(&self) -> &str {
        &self.operator
    }

    /// What the operator takes: one entry for all values; or one for each
    /// component of an index, in turn, for operators such as `gathernd`. Empty
    /// where it is not known, or where the values are computed from the
    /// parameter's by arithmetic.
    pub fn allowed(&self) -> &[Allowed] {
        &self.allowed
    }

    /// Whether a run checks the values.
    pub fn is_checked(&self) -> bool {
        self.checked
    }
}

/// As in ``parameter `ids`: gather takes -8 to 7 (checked)``.
impl fmt::Display for IndexInput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let allowed: Vec<String> = self.allowed.iter().map(Allowed::to_string).collect();
        write!(
            f,
            "parameter `{}`: {} takes {} ({})",
            self.parameter,
            self.operator,
            match allowed.is_empty() {
                true => "a range that is not known".to_owned(),
                false => allowed.join(", "),
            },
            match self.checked {
                true => "checked",
                false => "not checked",
            }
        )
    }
}

/// The values that an operator takes.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Allowed {
    /// These.
    Range(RangeInclusive<i64>),
    /// All but zero.
    NotZero,
}

impl Allowed {
    fn holds(&self, value: i128) -> bool {
        match self {
            Allowed::Range(range) => {
                (i128::from(*range.start())..=i128::from(*range.end())).contains(&value)
            }
            Allowed::NotZero => value != 0,
        }
    }
}

/// As in `-8 to 7`.
impl fmt::Display for Allowed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Allowed::Range(range) => write!(f, "{} to {}", range.start(), range.end()),
            Allowed::NotZero => f.write_str("all but 0"),
        }
    }
}

/// What was found in a program.
#[derive(Debug, Clone, Default)]
pub(crate) struct Found {
    pub(crate) inputs: Vec<IndexInput>,
    /// `None` where there is nothing to check.
    pub(crate) checks: Option<Checks>,
}

impl Found {
    /// The same of a program whose parameters have other positions: compiling may
    /// add some, and leave out those that nothing needs.
    pub(crate) fn in_places_of(mut self, parameters: &[Parameter]) -> Self {
        self.checks = self
            .checks
            .and_then(|checks| checks.in_places_of(parameters));
        self
    }
}

/// The same of a program whose runs check nothing.
pub(crate) fn unchecked(inputs: Vec<IndexInput>) -> Vec<IndexInput> {
    let unchecked = |input| IndexInput {
        checked: false,
        ..input
    };
    inputs.into_iter().map(unchecked).collect()
}

/// Looks through a program.
///
/// # Errors
/// [`Error::InvalidArgument`](crate::Error::InvalidArgument) where a constant is
/// out of the range of the operator that takes it.
pub(crate) fn of(program: &ProgramHandle, parameters: &[Parameter]) -> Result<Found> {
    match crate::program::print(program)? {
        Some(text) => find::in_text(&text, parameters),
        None => Ok(find::unknown(parameters)),
    }
}

/// Looks through a compiled program of a file, or believes the file's notes where
/// the program is machine code.
pub(crate) fn of_file(
    program: &ProgramHandle,
    parameters: &[Parameter],
    target: &str,
    notes: Option<&[String]>,
) -> Result<Found> {
    if target::is_host(target) {
        return of(program, parameters);
    }
    let noted = notes.and_then(|notes| Found::of_notes(notes, parameters));
    Ok(noted.unwrap_or_else(|| find::unknown(parameters)))
}
