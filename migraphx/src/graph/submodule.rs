//! The modules of a graph: the main one, and those of `if` and `loop`.

use migraphx_sys::migraphx_module_t;

use crate::dtype::DataType;
use crate::error::{Error, Result};
use crate::ffi;
use crate::ffi::handle::InstructionHandle;
use crate::graph::control::Body;
use crate::graph::{Graph, Value, infer};
use crate::program::Program;

/// A finished submodule of a [`Graph`], for one `if` or `loop` of the module
/// that it was made in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[must_use = "a submodule that nothing uses is an error when the graph is finished"]
pub struct Submodule {
    pub(super) graph: u64,
    pub(super) index: usize,
}

/// A module of the graph's program.
pub(super) struct Module {
    pub(super) name: String,
    pub(super) raw: RawModule,
    pub(super) parent: Option<usize>,
    /// Names and values.
    pub(super) parameters: Vec<(String, usize)>,
    /// Values; none until it is finished.
    pub(super) outputs: Vec<usize>,
    pub(super) used: bool,
}

/// Belongs to the program of the graph.
#[derive(Clone, Copy)]
pub(super) struct RawModule(migraphx_module_t);

// SAFETY: a module is a heap object of its program, and is bound to no thread.
unsafe impl Send for RawModule {}

impl RawModule {
    pub(super) fn pointer(self) -> migraphx_module_t {
        self.0
    }
}

impl Module {
    pub(super) fn new(name: &str, raw: migraphx_module_t, parent: Option<usize>) -> Self {
        Module {
            name: name.to_owned(),
            raw: RawModule(raw),
            parent,
            parameters: Vec::new(),
            outputs: Vec::new(),
            used: false,
        }
    }
}

impl Graph {
    /// A submodule for `if` or `loop`, to be used once, in this module.
    ///
    /// While `build` runs, everything that is added goes to the submodule. It
    /// may use values of the modules around it, and gives the outputs.
    ///
    /// ```
    /// use migraphx::{DataType, Graph, Op, Shape};
    ///
    /// let mut graph = Graph::new()?;
    /// let positive = graph.parameter("positive", &Shape::new(DataType::Bool, &[1])?)?;
    /// let x = graph.parameter("x", &Shape::new(DataType::Float, &[3])?)?;
    /// let then = graph.submodule("then", |g| Ok(vec![g.add("relu", &[x])?]))?;
    /// let otherwise = graph.submodule("else", |g| Ok(vec![g.add("neg", &[x])?]))?;
    /// let both = graph.add_with_modules("if", &[positive], &[then, otherwise])?;
    /// let y = graph.add(Op::new("get_tuple_elem").attr("index", 0), &[both])?;
    /// let program = graph.finish(&[y])?;
    /// # assert_eq!(program.output_shapes()[0].dims(), [3]);
    /// # Ok::<(), migraphx::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Graph`] for a name that is empty or taken, and for outputs as in
    /// [`finish`](Graph::finish); what `build` gives. After an error within
    /// `build` the graph cannot be finished.
    #[doc(alias = "migraphx_program_create_module")]
    pub fn submodule(
        &mut self,
        name: &str,
        build: impl FnOnce(&mut Graph) -> Result<Vec<Value>>,
    ) -> Result<Submodule> {
        let refuse = |problem: &str| Error::Graph {
            what: format!("submodule `{name}`"),
            problem: problem.into(),
        };
        if name.is_empty() || self.modules.iter().any(|module| module.name == name) {
            return Err(refuse(
                "the name is empty, or another module of the graph has it",
            ));
        }
        let c_name = ffi::c_string("the submodule name", name)?;
        let mut raw = std::ptr::null_mut();
        // SAFETY: the program is live, the name new in it.
        unsafe {
            call!(migraphx_program_create_module(
                &mut raw,
                self.program.raw(),
                c_name.as_ptr()
            ))
        }?;
        let (id, index) = (self.id, self.modules.len());
        self.modules
            .push(Module::new(name, raw, self.open.last().copied()));
        self.open.push(index);
        let outputs = build(self)?;
        if self.id != id || self.open.last() != Some(&index) {
            return Err(refuse(
                "the graph was changed for another while it was built",
            ));
        }
        self.add_return(&outputs, &format!("submodule `{name}`"))?;
        self.open.pop();
        Ok(Submodule { graph: id, index })
    }

    /// Ends the graph with its outputs.
    ///
    /// The program is like a parsed one: to be looked at, quantized, saved and
    /// compiled. Its parameters are those of the graph, used or not.
    ///
    /// # Errors
    /// [`Error::Graph`] without outputs, for outputs that are tuples or of a
    /// submodule or of another graph, and where a submodule is not used or not
    /// done.
    #[doc(alias = "migraphx_module_add_return")]
    pub fn finish(mut self, outputs: &[Value]) -> Result<Program> {
        let loose = self.modules[1..]
            .iter()
            .find(|module| !module.used || module.outputs.is_empty());
        if let Some(module) = loose {
            return Err(Error::Graph {
                what: format!("submodule `{}`", module.name),
                problem: match module.outputs.is_empty() {
                    true => "it was not finished, since something in it failed",
                    false => "no `if` or `loop` uses it",
                }
                .into(),
            });
        }
        self.add_return(outputs, "the graph")?;
        let Graph { program, .. } = self;
        Program::new(program, "the graph")
    }

    /// Ends the module that is being built.
    pub(super) fn add_return(&mut self, outputs: &[Value], what: &str) -> Result<()> {
        let refuse = |problem: &str| Error::Graph {
            what: what.into(),
            problem: problem.into(),
        };
        if outputs.is_empty() {
            return Err(refuse(
                "it needs an output; give the values that it computes",
            ));
        }
        let nodes = self.visible(outputs)?;
        if nodes
            .iter()
            .any(|node| node.known.shape.dtype() == DataType::Tuple)
        {
            return Err(refuse(
                "an output is a tuple; take it apart with `get_tuple_elem`",
            ));
        }
        let instructions: Vec<&InstructionHandle> =
            nodes.iter().map(|node| &node.instruction).collect();
        // SAFETY: the module is live and open, so it has no return; the values are
        // of it or of modules around it.
        unsafe { infer::add_return(self.module().raw.pointer(), &instructions) }?;
        self.module_mut().outputs = outputs.iter().map(|value| value.index).collect();
        Ok(())
    }

    /// A submodule that can be used in the module that is being built.
    pub(super) fn unused(&self, submodule: Submodule) -> Result<&Module> {
        let refuse = |what: String, problem: &str| Error::Graph {
            what,
            problem: problem.into(),
        };
        if submodule.graph != self.id {
            return Err(refuse("a submodule".into(), "it belongs to another graph"));
        }
        let module = &self.modules[submodule.index];
        let what = || format!("submodule `{}`", module.name);
        if module.used {
            return Err(refuse(what(), "it is used already; make one for each use"));
        }
        if module.parent != self.open.last().copied() {
            return Err(refuse(
                what(),
                "it was made in another module; use it there",
            ));
        }
        Ok(module)
    }

    pub(super) fn body<'a>(&'a self, module: &'a Module) -> Body<'a> {
        let shape = |index: &usize| &self.nodes[*index].known.shape;
        let parameters = module.parameters.iter();
        // The parameters that each output may be a view of, by their positions.
        let positions = |index: &usize| {
            let views = &self.nodes[*index].views;
            let parameters = module.parameters.iter().enumerate();
            let viewed = parameters.filter(|(_, (_, index))| views.contains(index));
            viewed.map(|(position, _)| position).collect()
        };
        Body {
            name: &module.name,
            parameters: parameters.map(|(_, index)| shape(index)).collect(),
            outputs: module.outputs.iter().map(shape).collect(),
            views: module.outputs.iter().map(positions).collect(),
        }
    }
}
