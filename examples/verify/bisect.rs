//! Finds the first node whose results part from the reference.
//!
//! Errors need not grow from node to node (a `Relu` may swallow one), so no
//! interval is halved: the results of all nodes are compared, in the order of
//! the file, and the first that is wrong while its inputs were right is told.

use std::collections::BTreeMap;
use std::io::Write;

use anyhow::{Context, Result};
use migraphx::Program;

use crate::errors::{Errors, Tolerance};
use crate::onnx_graph::{self, Node};
use crate::tools_common::data::Tensors;
use crate::{Cli, outputs};

/// Whether no node parts.
pub fn run(
    cli: &Cli,
    tensors: &Tensors,
    tolerance: &Tolerance,
    out: &mut dyn Write,
) -> Result<bool> {
    let path = &cli.model.file;
    let model = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    let nodes = onnx_graph::nodes(&model)?;
    let own = parse(cli, &model, &[])?.output_shapes().len();
    // Errors of all results so far, by name.
    let mut seen: BTreeMap<String, Errors> = BTreeMap::new();
    let mut right = 0;
    for nodes in nodes.chunks(cli.bisect_nodes as usize) {
        let names: Vec<String> = nodes.iter().flat_map(|node| node.outputs.clone()).collect();
        let names = known(cli, &model, own, names)?;
        compare(cli, tensors, tolerance, &model, &names, &mut seen)?;
        for node in nodes {
            let results = node.outputs.iter();
            let wrong = results.filter(|name| seen.get(*name).is_some_and(|e| !e.agree()));
            if let Some(result) = wrong.into_iter().next() {
                tell(node, result, right, &seen, out)?;
                return Ok(false);
            }
            right += 1;
        }
    }
    writeln!(
        out,
        "the results of all {} nodes agree ({} compared)",
        nodes.len(),
        seen.len()
    )?;
    Ok(true)
}

/// Those of `names` for which MIGraphX has a result: it leaves others out
/// without a word. `own` is the number of the model's own outputs.
fn known(cli: &Cli, model: &[u8], own: usize, mut names: Vec<String>) -> Result<Vec<String>> {
    let count = parse(cli, model, &names)?.output_shapes().len();
    match names.len() {
        all if count == own + all => Ok(names),
        1 => Ok(Vec::new()),
        all => {
            let rest = names.split_off(all / 2);
            let mut found = known(cli, model, own, names)?;
            found.extend(known(cli, model, own, rest)?);
            Ok(found)
        }
    }
}

fn parse(cli: &Cli, model: &[u8], names: &[String]) -> Result<Program> {
    let mut options = cli.model.onnx_options();
    if let Some(folder) = cli.model.file.parent() {
        options = options.external_data_dir(folder);
    }
    Ok(options.parse_bytes(&onnx_graph::with_outputs(model, names))?)
}

fn compare(
    cli: &Cli,
    tensors: &Tensors,
    tolerance: &Tolerance,
    model: &[u8],
    names: &[String],
    seen: &mut BTreeMap<String, Errors>,
) -> Result<()> {
    let mut reference = cli.reference(parse(cli, model, names)?)?;
    let mut candidate = cli.compile.compile(parse(cli, model, names)?)?;
    let (expected, found) = (
        outputs(&mut reference, tensors)?,
        outputs(&mut candidate, tensors)?,
    );
    let first = expected.len() - names.len();
    for (index, name) in names.iter().enumerate() {
        let (found, expected) = (found.get(first + index)?, expected.get(first + index)?);
        let errors = Errors::of(&found, &expected, tolerance).with_context(|| name.clone())?;
        seen.insert(name.clone(), errors);
    }
    Ok(())
}

fn tell(
    node: &Node,
    result: &str,
    right: usize,
    seen: &BTreeMap<String, Errors>,
    out: &mut dyn Write,
) -> Result<()> {
    let name = match node.name.as_str() {
        "" => String::new(),
        name => format!(" `{name}`"),
    };
    writeln!(
        out,
        "they part at node {}{name} ({}); the {right} before it agree",
        node.index, node.operator
    )?;
    for input in &node.inputs {
        match seen.get(input) {
            Some(errors) => writeln!(out, "  takes {input}: {errors}")?,
            None => writeln!(out, "  takes {input}: an input or a weight")?,
        }
    }
    writeln!(out, "  gives {result}: {}", seen[result])?;
    Ok(())
}
