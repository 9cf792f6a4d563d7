//! Programs built by hand.

mod add;
mod attribute;
mod control;
mod custom;
mod infer;
mod kind;
mod op;
mod operators;
mod rules;
mod submodule;
mod value;

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

pub use attribute::Attribute;
#[cfg(fuzzing)]
pub(crate) use attribute::format_text;
pub use op::Op;
pub use submodule::Submodule;
pub use value::Value;

use crate::argument::Argument;
use crate::custom_op::Allocations;
use crate::dtype::{DataType, Element};
use crate::error::{Error, Result};
use crate::ffi::handle::{InstructionHandle, ProgramHandle};
use crate::ffi::{self, text};
use crate::shape::Shape;
use infer::Known;
use submodule::Module;
use value::{Node, integer_range};

/// A program under construction.
///
/// [`parameter`](Graph::parameter) and [`literal`](Graph::literal) make the
/// first [`Value`]s, [`add`](Graph::add) makes further ones of them, and
/// [`finish`](Graph::finish) gives a [`Program`](crate::Program) like one that
/// was parsed.
///
/// ```
/// use migraphx::{Argument, CompileOptions, DataType, Graph, Op, Shape, Target};
///
/// // y = softmax(x · w)
/// let mut graph = Graph::new()?;
/// let x = graph.parameter("x", &Shape::new(DataType::Float, &[1, 2])?)?;
/// let w = graph.constant(&[1.0f32, 0.0, 0.0, 1.0], &[2, 2])?;
/// let product = graph.add("dot", &[x, w])?;
/// let y = graph.add(Op::new("softmax").attr("axis", 1), &[product])?;
/// assert_eq!(graph.shape(y)?.dims(), [1, 2]);
/// let program = graph.finish(&[y])?;
///
/// let mut program = program.compile(&Target::reference()?, &CompileOptions::new())?;
/// let x = Argument::from_slice(&[3.0f32, 3.0], &[1, 2])?;
/// assert_eq!(program.run_once(&[("x", x)])?.slice::<f32>(0)?, [0.5, 0.5]);
/// # Ok::<(), migraphx::Error>(())
/// ```
///
/// # What is checked
/// The library takes its callers' word for most things: it aborts, or reads
/// memory that it should not, on a second parameter of one name, a value of
/// another program, or a `slice` that ends before it begins. Here all of these
/// are errors. Operators that no check can make safe need
/// [`add_unchecked`](Graph::add_unchecked).
///
/// Values belong to their graph; used with another they are an error. `finish`
/// takes the graph, and no value is of use after it.
#[doc(alias = "migraphx_module")]
pub struct Graph {
    id: u64,
    // Before the program: their handles point into it.
    nodes: Vec<Node>,
    modules: Vec<Module>,
    /// The modules that are being built, the main module first.
    open: Vec<usize>,
    /// Counts the memories for outputs of custom operators.
    allocations: Allocations,
    program: ProgramHandle,
}

impl Graph {
    /// A graph without values.
    ///
    /// # Errors
    /// [`Error::Load`] without a library, [`Error::Unsupported`] before ROCm 5.3.
    #[doc(alias = "migraphx_program_create")]
    #[doc(alias = "migraphx_program_get_main_module")]
    pub fn new() -> Result<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let program = infer::new_program()?;
        // SAFETY: the module is kept beside its program, and not used without it.
        let main = unsafe { infer::main_module(&program) }?;
        Ok(Graph {
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            nodes: Vec::new(),
            modules: vec![Module::new("main", main, None)],
            open: vec![0],
            allocations: Allocations::default(),
            program,
        })
    }

    /// An input of the program, or of the submodule that is being built.
    ///
    /// # Errors
    /// [`Error::Graph`] for a name that is empty, taken or the library's own
    /// (`#…`, `main:…`), and for shapes with gaps, without elements, or of a
    /// type that no operator takes; [`Error::InvalidArgument`] for a NUL.
    #[doc(alias = "migraphx_module_add_parameter")]
    pub fn parameter(&mut self, name: &str, shape: &Shape) -> Result<Value> {
        let refuse = |problem: String| Error::Graph {
            what: format!("parameter `{name}`"),
            problem,
        };
        if name.is_empty() || name.contains('#') || name.starts_with("main:") {
            return Err(refuse(
                "names are not empty, and the library makes those with `#` and `main:` itself"
                    .into(),
            ));
        }
        let parameters = &self.module().parameters;
        if parameters.iter().any(|(other, _)| other == name) {
            return Err(refuse("this module has a parameter of this name".into()));
        }
        if !usable(shape) || !(shape.is_dynamic() || shape.is_standard()) {
            return Err(refuse(format!(
                "{shape}; parameters have elements, of numbers or bools, row by row"
            )));
        }
        let c_name = ffi::c_string("the parameter name", name)?;
        let known = Known::new(shape)?;
        let module = self.module().raw;
        let instruction = InstructionHandle::make(|out| {
            // SAFETY: module, name and shape are live; C copies both. The name is new.
            unsafe {
                call!(migraphx_module_add_parameter(
                    out,
                    module.pointer(),
                    c_name.as_ptr(),
                    known.raw()
                ))
            }
        })?;
        let value = self.push(instruction, known, None);
        let index = value.index;
        self.nodes[index].views.push(index);
        self.module_mut().parameters.push((name.to_owned(), index));
        Ok(value)
    }

    /// A constant. Its data is copied.
    ///
    /// Arrays come in through `Argument::from_array`.
    ///
    /// # Errors
    /// [`Error::Graph`] without elements or of a type that no operator takes.
    #[doc(alias = "migraphx_module_add_literal")]
    pub fn literal(&mut self, data: &Argument) -> Result<Value> {
        let shape = data.shape();
        if !usable(shape) || !shape.is_standard() || data.as_bytes().len() != shape.bytes() {
            return Err(Error::Graph {
                what: "a literal".into(),
                problem: format!("{shape}; literals have elements, of numbers or bools"),
            });
        }
        let known = Known::new(shape)?;
        let module = self.module().raw;
        let instruction = InstructionHandle::make(|out| {
            // SAFETY: module and shape are live; the data has as many bytes as the
            // shape says, bools are 0 or 1 by the making of arguments, and C copies.
            unsafe {
                call!(migraphx_module_add_literal(
                    out,
                    module.pointer(),
                    known.raw(),
                    data.as_bytes().as_ptr().cast()
                ))
            }
        })?;
        Ok(self.push(instruction, known, integer_range(data)))
    }

    /// A constant from a slice, row by row; no `dims` make a scalar.
    ///
    /// # Errors
    /// As [`literal`](Graph::literal), and [`Error::LengthMismatch`].
    pub fn constant<T: Element>(&mut self, data: &[T], dims: &[usize]) -> Result<Value> {
        self.literal(&Argument::from_slice(data, dims)?)
    }

    /// The shape of a value; of a tuple only that it is one.
    ///
    /// # Errors
    /// [`Error::Graph`] for a value of another graph.
    pub fn shape(&self, value: Value) -> Result<&Shape> {
        Ok(&self.nodes[self.own(value)?].known.shape)
    }

    fn module(&self) -> &Module {
        &self.modules[self.open[self.open.len() - 1]]
    }

    fn module_mut(&mut self) -> &mut Module {
        &mut self.modules[self.open[self.open.len() - 1]]
    }

    fn push(
        &mut self,
        instruction: InstructionHandle,
        known: Known,
        range: Option<(i64, i64)>,
    ) -> Value {
        self.nodes.push(Node {
            instruction,
            known,
            range,
            views: Vec::new(),
            module: self.open[self.open.len() - 1],
        });
        Value {
            graph: self.id,
            index: self.nodes.len() - 1,
        }
    }
}

/// Whether operators take data of this shape: nothing reads an element of none.
fn usable(shape: &Shape) -> bool {
    let numbers = !matches!(shape.dtype(), DataType::Tuple | DataType::Fp4x2);
    numbers && rules::dims(shape).iter().all(|(least, _)| *least > 0)
}

/// The instructions of the module that is being built, as MIGraphX prints them;
/// with `{:#}` those of all modules.
impl fmt::Display for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if f.alternate() {
            return crate::program::display(&self.program, f);
        }
        let module = self.module().raw.pointer();
        let printed = text::output_of(|| {
            // SAFETY: the module is live; printing only reads it.
            unsafe { call!(migraphx_module_print(module)) }
        });
        match printed {
            Ok(Some(text)) => f.write_str(text.trim_end()),
            Ok(None) => f.write_str("(the text cannot be read from this C++ library)"),
            Err(error) => write!(f, "({error})"),
        }
    }
}

impl fmt::Debug for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Graph")
            .field("values", &self.nodes.len())
            .field("module", &self.module().name)
            .finish()
    }
}
