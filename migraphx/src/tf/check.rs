//! Refuses what MIGraphX's TensorFlow parser does not survive, or reads as
//! something else (from its sources, 7.1, and tried on the library).

use std::collections::HashMap;

use super::graph_def::{self, Dims, Node, Tensor};
use super::tables::{CONSTANTS, INPUTS, Type, unread};
use crate::error::{Error, Result};
use crate::protobuf::Malformed;
use crate::shape;

/// Checks a graph; gives its longest chain of nodes. `given` are the inputs
/// whose sizes the user gives.
pub(super) fn check(bytes: &[u8], name: &str, given: &[&str]) -> Result<usize> {
    let malformed = |_: Malformed| {
        Error::InvalidArgument(format!(
            "{name} is no TensorFlow graph (GraphDef), or is damaged: its bytes are no Protocol \
             Buffer of that kind"
        ))
    };
    let (nodes, others) = graph_def::read(bytes).map_err(malformed)?;
    if nodes.is_empty() {
        let hint = match others {
            true => " (is it a SavedModel? freeze it first: MIGraphX reads frozen graphs)",
            false => "",
        };
        return Err(Error::EmptyModel {
            what: format!("{name}{hint}"),
        });
    }
    let mut places = HashMap::with_capacity(nodes.len());
    for (place, node) in nodes.iter().enumerate() {
        if places.insert(node.name, place).is_some() {
            return Err(of_node(
                name,
                node,
                "occurs twice; names are unique in a graph",
            ));
        }
    }
    let mut inputs = Vec::with_capacity(nodes.len());
    for node in &nodes {
        let problem = problem_of(node, given).map_err(malformed)?;
        match problem {
            Some(problem) => return Err(of_node(name, node, &problem)),
            None => inputs.push(inputs_of(node, &places).map_err(|p| of_node(name, node, &p))?),
        }
    }
    longest_chain(&inputs).map_err(|place| {
        let problem = "is part of a cycle; MIGraphX knows no loops of TensorFlow";
        of_node(name, &nodes[place], problem)
    })
}

fn of_node(graph: &str, node: &Node<'_>, problem: &str) -> Error {
    Error::InvalidArgument(format!(
        "{graph}: node `{}` ({}) {problem}",
        node.name, node.op
    ))
}

/// The parser leaves these out.
fn is_skipped(node: &Node<'_>) -> bool {
    ["NoOp", "Assert"]
        .iter()
        .any(|word| node.op == *word || node.name.contains(word))
}

/// Inputs that are values; others only order the nodes.
fn values<'a>(node: &Node<'a>) -> impl Iterator<Item = &'a str> {
    node.inputs
        .clone()
        .into_iter()
        .filter(|input| !input.contains('^'))
}

fn problem_of(node: &Node<'_>, given: &[&str]) -> Result<Option<String>, Malformed> {
    if node.op == "Placeholder" {
        return placeholder(node, given.contains(&node.name));
    }
    if is_skipped(node) {
        return Ok(None);
    }
    let count = values(node).count();
    if let Some((_, needed)) = INPUTS.iter().find(|(op, _)| *op == node.op)
        && count < *needed
    {
        return Ok(Some(format!("has {count} inputs, and takes {needed}")));
    }
    Ok(match node.op {
        "Const" => match node.tensor("value")? {
            None => Some("has no value".into()),
            Some(tensor) => constant(&tensor),
        },
        "Cast" => {
            let other = node.dtype("DstT")?.and_then(unread);
            other.map(|dtype| format!("makes {dtype}, which MIGraphX would take for bool"))
        }
        "Conv2D" | "DepthwiseConv2dNative" | "AvgPool" | "MaxPool" => steps(node)?,
        "ConcatV2" => match node.integer("N")? {
            Some(n) if n < 1 || n as usize >= count => Some(format!(
                "has {count} inputs, and its attribute N says that {n} of them are joined, and \
                 that the axis follows"
            )),
            _ => None,
        },
        "Split" => match node.integer("num_split")? {
            Some(n) if n < 1 => Some(format!("splits into {n} parts")),
            _ => None,
        },
        _ => None,
    })
}

fn placeholder(node: &Node<'_>, is_given: bool) -> Result<Option<String>, Malformed> {
    let (Some(dtype), Some(dims)) = (node.dtype("dtype")?, node.shape("shape")?) else {
        return Ok(Some(
            "does not say its type or shape; set both when the graph is frozen".into(),
        ));
    };
    if let Some(dtype) = unread(dtype) {
        return Ok(Some(format!(
            "takes {dtype}, which MIGraphX would take for bool; make it an input of float or \
             integers in the graph"
        )));
    }
    let Dims { sizes, .. } = dims;
    Ok(
        match sizes.iter().find(|size| **size > i64::from(i32::MAX)) {
            _ if is_given => None,
            Some(size) => Some(format!("has a dimension of {size}")),
            None if sizes.is_empty() => Some(
                "has no dimensions that are known; say them with `input_dims` ([1] for a scalar)"
                    .into(),
            ),
            None => None,
        },
    )
}

/// Sizes and steps of a window, by which the parser divides.
fn steps(node: &Node<'_>) -> Result<Option<String>, Malformed> {
    for attribute in ["strides", "dilations", "ksize"] {
        let values = node.integers(attribute)?;
        if values.iter().any(|value| *value < 1) {
            return Ok(Some(format!("has the {attribute} {values:?}")));
        }
    }
    Ok(None)
}

fn constant(tensor: &Tensor) -> Option<String> {
    let Some(Type(_, dtype, size, list)) = CONSTANTS.iter().find(|known| known.0 == tensor.dtype)
    else {
        let other = unread(tensor.dtype).unwrap_or_else(|| "unsigned integers".into());
        return Some(format!(
            "holds {other}, and MIGraphX's TensorFlow reader takes no constants of that type"
        ));
    };
    let sizes = &tensor.dims.sizes;
    let dims: Option<Vec<usize>> = sizes
        .iter()
        .map(|size| usize::try_from(*size).ok())
        .collect();
    let elements = dims.as_deref().and_then(shape::count);
    let Some(elements) = elements.filter(|count| count.checked_mul(*size).is_some()) else {
        return Some(format!("has impossible dimensions {sizes:?}"));
    };
    let listed = tensor.listed(*list);
    if tensor.content > 0 {
        if sizes.is_empty() {
            return Some(
                "is a scalar kept as raw bytes, which MIGraphX takes for a tensor without \
                 elements; keep it as a value"
                    .into(),
            );
        }
        return (tensor.content != elements * size).then(|| {
            format!(
                "has {} bytes, and its dimensions {sizes:?} of {dtype} take {}",
                tensor.content,
                elements * size
            )
        });
    }
    // One value stands for all, and none for zeros.
    let fits = listed <= 1 || listed == elements;
    (!fits || (listed == 1 && elements == 0)).then(|| {
        format!(
            "lists {listed} values, and its dimensions {sizes:?} take {elements}; MIGraphX reads \
             all of them or one for all"
        )
    })
}

/// The nodes whose results a node takes.
fn inputs_of(
    node: &Node<'_>,
    places: &HashMap<&str, usize>,
) -> std::result::Result<Vec<usize>, String> {
    // The parser makes placeholders first, and looks at no inputs of these.
    if node.op == "Placeholder" || is_skipped(node) {
        return Ok(Vec::new());
    }
    values(node)
        .map(|input| {
            let name = input.split_once(':').map_or(input, |(name, _)| name);
            places
                .get(name)
                .copied()
                .ok_or_else(|| format!("reads `{input}`, and no node of that name is in the graph"))
        })
        .collect()
}

/// The number of nodes on the longest way through the graph, or a node of a cycle.
fn longest_chain(inputs: &[Vec<usize>]) -> std::result::Result<usize, usize> {
    let mut users = vec![Vec::new(); inputs.len()];
    for (place, inputs) in inputs.iter().enumerate() {
        for input in inputs {
            users[*input].push(place);
        }
    }
    let mut open: Vec<usize> = inputs.iter().map(Vec::len).collect();
    let mut length = vec![1; inputs.len()];
    let mut ready: Vec<usize> = (0..inputs.len())
        .filter(|place| open[*place] == 0)
        .collect();
    let mut done = 0;
    while let Some(place) = ready.pop() {
        done += 1;
        for user in &users[place] {
            length[*user] = length[*user].max(length[place] + 1);
            open[*user] -= 1;
            if open[*user] == 0 {
                ready.push(*user);
            }
        }
    }
    match done == inputs.len() {
        true => Ok(length.into_iter().max().unwrap_or(0)),
        false => Err(on_cycle(inputs, &open)),
    }
}

/// A node of a cycle among those that are still open.
fn on_cycle(inputs: &[Vec<usize>], open: &[usize]) -> usize {
    let still = |place: &usize| open[*place] > 0;
    let mut place = (0..inputs.len()).find(still).unwrap_or(0);
    // Each has an open input; as many steps as there are nodes end on a cycle.
    for _ in 0..inputs.len() {
        place = inputs[place].iter().copied().find(still).unwrap_or(place);
    }
    place
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chains_and_cycles_are_found() {
        assert_eq!(
            longest_chain(&[vec![], vec![0], vec![1, 0], vec![0]]),
            Ok(3)
        );
        assert_eq!(longest_chain(&[vec![], vec![1, 0]]), Err(1));
        let found = longest_chain(&[vec![1], vec![2], vec![1, 3], vec![]]);
        assert!(matches!(found, Err(1 | 2)), "{found:?}");
    }

    #[test]
    fn every_cut_of_a_graph_is_refused_or_whole_nodes() {
        let graph = testkit::tf::models::conv(1, 4);
        for end in 0..graph.len() {
            // No panic; what passes is a graph of its first nodes.
            let _ = check(&graph[..end], "graph", &[]);
        }
        assert_eq!(check(&graph, "graph", &[]).unwrap(), 5);
    }
}
