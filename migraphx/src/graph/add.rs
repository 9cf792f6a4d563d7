//! Putting operators into a graph.

use crate::custom_op;
use crate::dtype::DataType;
use crate::error::{Error, Result};
use crate::ffi::handle::InstructionHandle;
use crate::graph::control::{self, Body};
use crate::graph::infer::{self, Known};
use crate::graph::op::Op;
use crate::graph::operators::{self, Operator};
use crate::graph::rules::{Operand, Use};
use crate::graph::{Graph, Submodule, Value, usable};

impl Graph {
    /// What an operator makes of values.
    ///
    /// The operators are those of [`Op::known`], and those that were registered
    /// with [`custom_op::register`](crate::custom_op::register). Inputs have to
    /// fit in shape and type as they are: broadcast with `multibroadcast`, and
    /// convert with `convert`. An operator with several results gives a tuple,
    /// which `get_tuple_elem` takes apart.
    ///
    /// # Errors
    /// [`Error::Graph`] for an unknown operator, attributes and inputs that do
    /// not fit it, and values of another graph or of a submodule that is done;
    /// [`Error::Api`] where the library refuses what it is given. The graph is
    /// as before then.
    #[doc(alias = "migraphx_module_add_instruction")]
    pub fn add(&mut self, op: impl Into<Op>, inputs: &[Value]) -> Result<Value> {
        self.add_with_modules(op, inputs, &[])
    }

    /// As [`add`](Graph::add), for `if` and `loop`.
    ///
    /// - `if` takes one bool and two submodules without parameters, one for true
    ///   and one for false, that give the same shapes.
    /// - `loop` takes the most rounds (one int64), whether to begin (one bool)
    ///   and any values to carry, and a submodule with as many parameters: the
    ///   round, the condition, the carried values. That gives whether to go on,
    ///   the carried values, and values to collect, a round each, in outputs
    ///   with `max_iterations` rows.
    ///
    /// Both give a tuple.
    ///
    /// # Errors
    /// As [`add`](Graph::add); for submodules that were made in another module
    /// or are used already.
    #[doc(alias = "migraphx_module_add_instruction_with_mod_args")]
    pub fn add_with_modules(
        &mut self,
        op: impl Into<Op>,
        inputs: &[Value],
        modules: &[Submodule],
    ) -> Result<Value> {
        let op: Op = op.into();
        if let Some(custom) = custom_op::find(op.name()) {
            if custom.works_in_place() {
                return Err(op.error(
                    "working in place: it writes into its last input, and what else reads that \
                     input may rely on what it was; use `unsafe` and `add_unchecked`",
                ));
            }
            // SAFETY: it does not work in place.
            return unsafe { self.insert_custom(&custom, &op, inputs, modules) };
        }
        let operator = op.operator()?;
        let op = op.normalized(operator)?;
        self.check(operator, &op, inputs, modules)?;
        // SAFETY: the operator is one that works within its inputs and outputs, and
        // its rule found nothing that would make it do otherwise.
        unsafe { self.insert(&op, inputs, modules, true) }
    }

    /// Any operator of the library, with nothing known of its inputs and
    /// attributes. Names and values are checked all the same.
    ///
    /// # Safety
    /// The operator, when the library makes it, works out its shape and runs it,
    /// with any inputs that the program may be given:
    /// - neither reads nor writes outside of its inputs and outputs, as
    ///   `scatter_none` does with indices that are out of range;
    /// - writes into no input, unless nothing else reads it, and it is made of a
    ///   parameter by an operator of its own (a constant may be shared);
    /// - throws no exception on a worker thread, and divides no integer by zero.
    ///
    /// # Errors
    /// [`Error::Graph`] for names that begin with `@`, values of another graph,
    /// and submodules that cannot be used here; [`Error::Api`].
    pub unsafe fn add_unchecked(
        &mut self,
        op: impl Into<Op>,
        inputs: &[Value],
        modules: &[Submodule],
    ) -> Result<Value> {
        let op: Op = op.into();
        op.check_names()?;
        if let Some(custom) = custom_op::find(op.name()) {
            // SAFETY: by the caller's word.
            return unsafe { self.insert_custom(&custom, &op, inputs, modules) };
        }
        // SAFETY: by the caller's word.
        unsafe { self.insert(&op, inputs, modules, false) }
    }

    /// Whether the operator takes these inputs and modules.
    pub(super) fn check(
        &self,
        operator: &Operator,
        op: &Op,
        inputs: &[Value],
        modules: &[Submodule],
    ) -> Result<()> {
        let nodes = self.visible(inputs)?;
        let (least, most) = operator.inputs;
        if !(least..=most).contains(&nodes.len()) {
            return Err(op.error(format!(
                "takes {} inputs, and was given {}",
                match most {
                    usize::MAX => format!("{least} or more"),
                    _ if least == most => least.to_string(),
                    _ => format!("{least} to {most}"),
                },
                nodes.len()
            )));
        }
        if modules.len() != operator.modules {
            return Err(op.error(format!(
                "takes {} submodules, and was given {}",
                operator.modules,
                modules.len()
            )));
        }
        let operands: Vec<Operand> = nodes
            .iter()
            .map(|node| Operand {
                shape: &node.known.shape,
                range: node.range,
            })
            .collect();
        for (at, operand) in operands.iter().enumerate() {
            let shape = operand.shape;
            if !operator.types.hold(shape.dtype()) {
                return Err(op.error(format!(
                    "takes {}, and input {at} is {shape}",
                    operator.types.describe()
                )));
            }
            if shape.is_dynamic() && !operator.dynamic {
                return Err(op.error(format!(
                    "is not known to be safe with sizes that are ranges, and input {at} is {shape}"
                )));
            }
            if shape.dtype() != DataType::Tuple && !usable(shape) {
                return Err(op.error(format!("input {at} can be without elements: {shape}")));
            }
        }
        if operator.modules == 0 {
            let use_ = Use {
                op,
                inputs: &operands,
            };
            return (operator.rule)(&use_).map_err(|problem| op.error(problem));
        }
        let bodies = modules
            .iter()
            .map(|module| Ok(self.body(self.unused(*module)?)))
            .collect::<Result<Vec<Body>>>()?;
        control::check(op, &operands, &bodies).map_err(|problem| op.error(problem))
    }

    /// Adds an instruction to the module that is being built; a `known` operator
    /// gives something with elements.
    ///
    /// # Safety
    /// As [`Graph::add_unchecked`] says.
    pub(super) unsafe fn insert(
        &mut self,
        op: &Op,
        inputs: &[Value],
        modules: &[Submodule],
        known: bool,
    ) -> Result<Value> {
        let mut pointers = Vec::with_capacity(modules.len());
        for (at, module) in modules.iter().enumerate() {
            if modules[..at].contains(module) {
                return Err(op.error("a submodule is used once, and was given twice"));
            }
            pointers.push(self.unused(*module)?.raw.pointer());
        }
        let nodes = self.visible(inputs)?;
        let shapes: Vec<&Known> = nodes.iter().map(|node| &node.known).collect();
        let operation = op.to_handle()?;
        let context = |error: Error| {
            let shapes: Vec<String> = shapes.iter().map(|known| known.shape.to_string()).collect();
            error.while_doing(|| format!("adding `{op}` of ({})", shapes.join(", ")))
        };
        // SAFETY: the modules are those of finished submodules of this graph.
        let result =
            unsafe { Known::result_of(&operation, &shapes, &pointers) }.map_err(context)?;
        let shape = &result.shape;
        if known && !shape.is_dynamic() && shape.dtype() != DataType::Tuple && !usable(shape) {
            return Err(op.error(format!("gives nothing: {shape}")));
        }
        // An operator of which nothing is known may give a view of any input.
        let mut views = Vec::new();
        if !known || operators::gives_views(op.name()) {
            let outputs = modules.iter().flat_map(|module| {
                let outputs = self.modules[module.index].outputs.iter();
                outputs.map(|index| &self.nodes[*index])
            });
            for node in nodes.iter().copied().chain(outputs) {
                views.extend_from_slice(&node.views);
            }
            views.sort_unstable();
            views.dedup();
        }
        let instructions: Vec<&InstructionHandle> =
            nodes.iter().map(|node| &node.instruction).collect();
        let module = self.module().raw.pointer();
        // SAFETY: the module is live, the inputs are of it or of modules around it, the
        // submodules finished. What the operator does is the caller's word.
        let instruction =
            unsafe { infer::add_instruction(module, &operation, &instructions, &pointers) }
                .map_err(context)?;
        for module in modules {
            self.modules[module.index].used = true;
        }
        let value = self.push(instruction, result, None);
        self.nodes[value.index].views = views;
        Ok(value)
    }
}
