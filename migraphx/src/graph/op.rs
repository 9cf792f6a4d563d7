//! Operators with their attributes, before they are put into a graph.

use std::ffi::{CStr, c_char};
use std::fmt;
use std::sync::atomic::AtomicU32;

use crate::error::{Error, Result};
use crate::ffi::handle::OperationHandle;
use crate::ffi::{self, call, lock};
use crate::graph::attribute::{Attribute, format_text};
use crate::graph::operators::{self, Operator};

/// An operator and its attributes, for [`Graph::add`](crate::Graph::add).
///
/// The names are MIGraphX's own, which are not ONNX's: `convolution`, `dot`,
/// `reduce_mean`. [`Op::known`] lists those that `add` takes.
///
/// ```
/// use migraphx::{DataType, Op};
///
/// let conv = Op::new("convolution").attr("padding", [1, 1]).attr("stride", [2, 2]);
/// assert_eq!(conv.to_string(), "convolution[padding: [1, 1], stride: [2, 2]]");
/// let to_half = Op::new("convert").attr("target_type", DataType::Half);
/// to_half.check()?;
/// # Ok::<(), migraphx::Error>(())
/// ```
#[doc(alias = "migraphx_operation")]
#[derive(Debug, Clone, PartialEq)]
#[must_use = "an operator does nothing until it is added to a graph"]
pub struct Op {
    name: String,
    attributes: Vec<(String, Attribute)>,
}

impl Op {
    /// An operator with the library's defaults for its attributes.
    pub fn new(name: impl Into<String>) -> Self {
        Op {
            name: name.into(),
            attributes: Vec::new(),
        }
    }

    /// Sets an attribute.
    pub fn attr(mut self, name: impl Into<String>, value: impl Into<Attribute>) -> Self {
        self.attributes.push((name.into(), value.into()));
        self
    }

    /// The operator's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The attributes that were set, in the order in which they were.
    pub fn attributes(&self) -> &[(String, Attribute)] {
        &self.attributes
    }

    /// The operators that [`Graph::add`](crate::Graph::add) and
    /// [`Graph::add_with_modules`](crate::Graph::add_with_modules) take, by
    /// name, with the names of their attributes.
    pub fn known() -> impl Iterator<Item = (&'static str, impl Iterator<Item = &'static str>)> {
        operators::all().map(|operator| {
            let attributes = operator.attributes.iter().map(|(name, _)| *name);
            (operator.name, attributes)
        })
    }

    /// Makes the operator and throws it away: whether the library has it, and
    /// takes the attributes.
    ///
    /// # Errors
    /// [`Error::Graph`] where the operator is not [`known`](Op::known) or an
    /// attribute does not fit it; [`Error::Api`] where the library refuses it.
    #[doc(alias = "migraphx_operation_create")]
    #[doc(alias = "migraphx_operation_name")]
    pub fn check(&self) -> Result<()> {
        let known = self.operator()?;
        let operation = self.normalized(known)?.to_handle()?;
        let mut name = [0 as c_char; 64];
        // SAFETY: the buffer has the length that is said, above 0; C writes at most
        // that many bytes, a NUL last.
        let name = unsafe {
            call!(migraphx_operation_name(
                name.as_mut_ptr(),
                name.len(),
                operation.raw()
            ))?;
            CStr::from_ptr(name.as_ptr())
        };
        if name.to_bytes() == self.name.as_bytes() {
            return Ok(());
        }
        Err(self.error(format!("the library made {name:?} of it")))
    }

    /// What is known of the operator.
    pub(super) fn operator(&self) -> Result<&'static Operator> {
        operators::find(&self.name).ok_or_else(|| {
            self.error(
                "not among the operators that are known to be safe with any input (see \
                 `Op::known`); check the name, or use `unsafe` and `add_unchecked`",
            )
        })
    }

    /// The attributes checked and turned to the types that the operator has.
    pub(super) fn normalized(&self, operator: &Operator) -> Result<Op> {
        self.check_names()?;
        let mut attributes = Vec::with_capacity(self.attributes.len());
        for (name, value) in &self.attributes {
            let attribute = operator.attributes.iter().find(|(known, _)| known == name);
            let Some((_, kind)) = attribute else {
                let known: Vec<&str> = operator.attributes.iter().map(|(name, _)| *name).collect();
                return Err(self.error(format!(
                    "no attribute `{name}`; it has {}",
                    match known.is_empty() {
                        true => "none".to_owned(),
                        false => known.join(", "),
                    }
                )));
            };
            let value = kind.read(value).map_err(|wanted| {
                self.error(format!("attribute `{name}` is {wanted}, and was {value}"))
            })?;
            attributes.push((name.clone(), value));
        }
        Ok(Op {
            name: self.name.clone(),
            attributes,
        })
    }

    /// Refuses what the library does not survive in any operator.
    pub(super) fn check_names(&self) -> Result<()> {
        if self.name.is_empty() || self.name.starts_with('@') {
            return Err(self.error(
                "names of operators are not empty, and those that begin with @ are the library's \
                 own; use `parameter`, `literal` and `finish` for these",
            ));
        }
        for (index, (name, _)) in self.attributes.iter().enumerate() {
            if self.attributes[..index]
                .iter()
                .any(|(other, _)| other == name)
            {
                return Err(self.error(format!("attribute `{name}` was set twice")));
            }
        }
        Ok(())
    }

    /// The operator of the library.
    pub(super) fn to_handle(&self) -> Result<OperationHandle> {
        let name = ffi::c_string("the operator name", &self.name)?;
        let text = format_text(&self.attributes)?;
        let text = text.as_ref().map_or(std::ptr::null(), |text| text.as_ptr());
        let create = call::function(|library| library.migraphx_operation_create.get())?;
        static RETURNS: AtomicU32 = AtomicU32::new(0);
        let _reading = lock::reading();
        OperationHandle::make(|out| {
            // SAFETY: both texts end with NUL, and the second is no format but for `%%`,
            // so that the function reads no further arguments.
            call::checked("migraphx_operation_create", &RETURNS, || unsafe {
                create(out, name.as_ptr(), text)
            })
        })
        .map_err(|error| error.while_doing(|| format!("making `{self}`")))
    }

    pub(super) fn error(&self, problem: impl Into<String>) -> Error {
        Error::Graph {
            what: format!("operator `{}`", self.name),
            problem: problem.into(),
        }
    }
}

impl From<&str> for Op {
    fn from(name: &str) -> Self {
        Op::new(name)
    }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        if self.attributes.is_empty() {
            return Ok(());
        }
        for (index, (name, value)) in self.attributes.iter().enumerate() {
            let before = if index > 0 { ", " } else { "[" };
            write!(f, "{before}{name}: {value}")?;
        }
        f.write_str("]")
    }
}
