//! Operators written in Rust, in a graph.

use std::sync::Arc;

use migraphx_sys::const_migraphx_instruction_t;

use crate::custom_op::{self, Entry};
use crate::error::Result;
use crate::ffi::lock;
use crate::graph::infer::Known;
use crate::graph::op::Op;
use crate::graph::{Graph, Submodule, Value, usable};
use crate::shape::Shape;

impl Graph {
    /// Adds an operator that was registered with [`custom_op::register`]. It is
    /// given the memory for its output, and copies of views.
    ///
    /// # Safety
    /// For one that works in place: nothing else reads its last input, unless what
    /// it writes may be read there.
    pub(super) unsafe fn insert_custom(
        &mut self,
        entry: &Arc<Entry>,
        op: &Op,
        inputs: &[Value],
        modules: &[Submodule],
    ) -> Result<Value> {
        if !modules.is_empty() || !op.attributes().is_empty() {
            return Err(op.error(
                "custom operators have no attributes or submodules; give it what it needs as \
                 inputs, or register it once for each setting",
            ));
        }
        let nodes = self.visible(inputs)?;
        for (at, node) in nodes.iter().enumerate() {
            let shape = &node.known.shape;
            if shape.is_dynamic() || !usable(shape) {
                return Err(op.error(format!(
                    "takes tensors of fixed sizes, and input {at} is {shape}"
                )));
            }
        }
        let raw: Vec<const_migraphx_instruction_t> = nodes
            .iter()
            .map(|node| node.instruction.raw().cast_const())
            .collect();
        let mut views: Vec<usize> = Vec::new();
        if let (true, Some(last)) = (entry.works_in_place(), nodes.last()) {
            views.clone_from(&last.views);
        }
        let module = self.module().raw.pointer();
        let accept = |shape: &Shape| match usable(shape) {
            true => Ok(()),
            false => Err(op.error(format!("gives nothing: {shape}"))),
        };
        let _reading = lock::reading();
        // SAFETY: the module is live, the inputs are of it or of modules around it.
        let (output, shape) =
            unsafe { custom_op::add(module, entry, &raw, &mut self.allocations, accept) }?;
        let known = Known::new(&shape)?;
        let value = self.push(output, known, None);
        self.nodes[value.index].views = views;
        Ok(value)
    }
}
