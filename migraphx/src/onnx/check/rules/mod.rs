//! What the parser, or the program that it makes, does not survive in a node:
//! one function a kind, each tried on the library.

mod indices;
mod sizes;

use super::super::model::{Graph, Node};
use super::inputs;
use super::values::{Size, Values};

/// `AttributeProto.AttributeType`
const INT: u64 = 2;

/// A node among the values that are known.
struct At<'n> {
    node: &'n Node<'n>,
    values: &'n Values<'n>,
}

type Problem = Option<String>;

/// What is wrong with a node, and what to do.
pub(super) fn problem_of<'n>(node: &'n Node<'n>, values: &'n Values<'n>) -> Problem {
    let at = At { node, values };
    let op = std::str::from_utf8(node.op).unwrap_or_default();
    at.count()
        .or_else(|| at.rank(op))
        .or_else(|| at.steps(op))
        .or_else(|| at.divisors(op))
        .or_else(|| match op {
            "Div" => at.division(),
            "Loop" => at.body(),
            "Slice" => at.slice(),
            "Split" => at.split(),
            "Range" => at.range(),
            "ConstantOfShape" => at.filled(),
            "Expand" => at.expand(),
            "TopK" => at.top_k(),
            "Gather" | "GatherElements" | "Scatter" | "ScatterElements" => at.places(),
            "GatherND" | "ScatterND" => at.tuples(op),
            "OneHot" => at.one_hot(),
            _ => None,
        })
}

impl At<'_> {
    /// The attribute, if it is there; `default` where it is not.
    fn int(&self, name: &str, default: i64) -> i64 {
        self.node
            .attribute(name)
            .map_or(default, |attribute| attribute.int)
    }

    fn ints(&self, name: &str) -> &[i64] {
        self.node
            .attribute(name)
            .map_or(&[], |attribute| &attribute.ints)
    }

    /// The integers of a constant input.
    fn integers(&self, input: usize) -> Option<Vec<i64>> {
        self.values.input(self.node, input)?.constant?.integers()
    }

    /// The sizes of an input, as far as they are known.
    fn dims(&self, input: usize) -> Option<&[Size]> {
        self.values.input(self.node, input)?.dims.as_deref()
    }

    /// The size of an input along an axis, which may count from the end.
    fn size(&self, input: usize, axis: i64) -> Size {
        let dims = self.dims(input)?;
        let from_end = if axis < 0 { dims.len() as i64 } else { 0 };
        let axis = usize::try_from(axis.checked_add(from_end)?).ok()?;
        *dims.get(axis)?
    }

    fn count(&self) -> Problem {
        let (count, needed) = (self.node.inputs.len(), inputs::at_least(self.node.op));
        (count < needed).then(|| {
            format!("has {count} inputs, and takes at least {needed}; export the model again")
        })
    }

    /// The body of a loop takes the round, the condition and what is carried on.
    fn body(&self) -> Problem {
        let body = self.node.attribute("body")?.graph?;
        let body = Graph::read(body).ok()?;
        let (inputs, needed) = (body.inputs.len(), self.node.inputs.len());
        (inputs < needed || body.outputs + 1 < needed).then(|| {
            format!(
                "has a body of {inputs} inputs and {} outputs, and takes at least {needed} and {}; \
                 export the model again",
                body.outputs,
                needed.saturating_sub(1)
            )
        })
    }
}
