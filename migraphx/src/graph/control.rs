//! What `if` and `loop` take. The library compares little of it before it
//! copies memory between the submodule and the program.

use crate::dtype::DataType;
use crate::graph::attribute::Attribute;
use crate::graph::op::Op;
use crate::graph::rules::Operand;
use crate::shape::Shape;

/// A submodule, by what goes in and comes out.
pub(super) struct Body<'a> {
    pub(super) name: &'a str,
    /// In the order in which they were added.
    pub(super) parameters: Vec<&'a Shape>,
    pub(super) outputs: Vec<&'a Shape>,
    /// The parameters, by position, in whose memory each output may lie.
    pub(super) views: Vec<Vec<usize>>,
}

/// Says what is wrong.
pub(super) fn check(op: &Op, inputs: &[Operand], bodies: &[Body]) -> Result<(), String> {
    for input in inputs {
        if input.shape.is_dynamic() || input.shape.dtype() == DataType::Tuple {
            return Err(format!(
                "takes tensors of fixed sizes, and was given {}",
                input.shape
            ));
        }
    }
    // Compiling makes outputs of other layouts row by row, and not the operator around.
    for body in bodies {
        if let Some(odd) = body.outputs.iter().find(|shape| !packed(shape)) {
            return Err(format!(
                "submodule `{}` gives {odd}; outputs of submodules have fixed sizes and lie row by \
                 row: copy it with `contiguous`",
                body.name
            ));
        }
    }
    match bodies {
        [then, otherwise] => branches(inputs, then, otherwise),
        [body] => rounds(op, inputs, body),
        _ => Err("an operator without submodules".into()),
    }
}

fn packed(shape: &Shape) -> bool {
    !shape.is_dynamic() && Shape::new(shape.dtype(), shape.dims()).is_ok_and(|same| same == *shape)
}

fn single(shape: &Shape, dtype: DataType) -> bool {
    shape.dtype() == dtype && !shape.is_dynamic() && shape.elements() == 1
}

fn branches(inputs: &[Operand], then: &Body, otherwise: &Body) -> Result<(), String> {
    if !single(inputs[0].shape, DataType::Bool) {
        return Err(format!(
            "the condition is one bool, and was {}",
            inputs[0].shape
        ));
    }
    for body in [then, otherwise] {
        if !body.parameters.is_empty() {
            return Err(format!(
                "submodule `{}` has parameters; let it use values of the module around it",
                body.name
            ));
        }
    }
    if then.outputs != otherwise.outputs {
        return Err(format!(
            "`{}` gives {}, and `{}` {}; both must give the same shapes",
            then.name,
            list(&then.outputs),
            otherwise.name,
            list(&otherwise.outputs)
        ));
    }
    Ok(())
}

/// Inputs: the most rounds, whether to begin, and what is carried from round to
/// round. Parameters of the body: the round, the condition, what is carried.
/// Outputs: whether to go on, what is carried, and what is collected.
fn rounds(op: &Op, inputs: &[Operand], body: &Body) -> Result<(), String> {
    let carried = inputs.len() - 2;
    if !single(inputs[0].shape, DataType::Int64) || !single(inputs[1].shape, DataType::Bool) {
        return Err(format!(
            "the number of rounds is one int64 and the condition one bool, and they were {} and {}",
            inputs[0].shape, inputs[1].shape
        ));
    }
    let shapes: Vec<&Shape> = inputs.iter().map(|input| input.shape).collect();
    if body.parameters != shapes {
        return Err(format!(
            "submodule `{}` has the parameters {}, and needs those of the inputs: {} (the \
             round, the condition, and what is carried)",
            body.name,
            list(&body.parameters),
            list(&shapes)
        ));
    }
    if body.outputs.len() <= carried
        || body.outputs[0] != shapes[1]
        || body.outputs[1..=carried] != shapes[2..]
    {
        return Err(format!(
            "submodule `{}` gives {}, and has to begin with {} (whether to go on, and what is \
             carried)",
            body.name,
            list(&body.outputs),
            list(&shapes[1..])
        ));
    }
    // Both are variables of the function that runs the loop, which its outputs outlive.
    let own = |views: &Vec<usize>| views.contains(&0) || views.contains(&1);
    if body.views[1..=carried].iter().any(own) {
        return Err(format!(
            "submodule `{}` carries its round or condition as it is, which is gone after the \
             loop; copy it with `contiguous`",
            body.name
        ));
    }
    collected(op, &inputs[0], &body.outputs[carried + 1..])
}

/// Each round copies into its part of the collected outputs, without looking.
fn collected(op: &Op, rounds: &Operand, outputs: &[&Shape]) -> Result<(), String> {
    let attribute = |name: &str| {
        let mut attributes = op.attributes().iter();
        attributes
            .find(|(other, _)| other == name)
            .map(|(_, value)| value)
    };
    let most = match attribute("max_iterations") {
        Some(Attribute::Int(most)) => *most,
        _ => return Err("attribute `max_iterations` is needed".into()),
    };
    if let Some(Attribute::List(directions)) = attribute("scan_output_directions") {
        let forth_or_back = |value: &Attribute| matches!(value, Attribute::Int(0 | 1));
        let count = directions.len();
        if !directions.iter().all(forth_or_back) || (count > 0 && count != outputs.len()) {
            return Err(format!(
                "`scan_output_directions` has a 0 (first round first) or 1 for each of the {} \
                 collected outputs",
                outputs.len()
            ));
        }
    }
    match rounds.range {
        _ if outputs.is_empty() => Ok(()),
        Some((_, count)) if count <= most => Ok(()),
        Some((_, count)) => Err(format!(
            "{count} rounds, and collected outputs for {most} (`max_iterations`)"
        )),
        None => Err(format!(
            "with collected outputs the number of rounds has to be a literal, {most} at most: \
             the library would write behind them (or use `unsafe` and `add_unchecked`)"
        )),
    }
}

fn list(shapes: &[&Shape]) -> String {
    let shapes: Vec<String> = shapes.iter().map(ToString::to_string).collect();
    format!("({})", shapes.join(", "))
}
