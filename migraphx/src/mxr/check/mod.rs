//! What MIGraphX's reader takes for granted in a program, and dies of where it
//! is not so: looked at before the reader sees the file. Read in
//! `program::from_value` and below it, at 7.1.1; each rule was seen to be needed
//! or stands in `cargo xtask mutate`'s table.
//!
//! What is not looked at: whether an operator takes such attributes and inputs
//! (the library asks the operator itself), and machine code.

mod node;
mod order;

use std::collections::BTreeMap;
use std::io::Read;

use super::msgpack::Reader;
use super::value::{Value, each, read};
use node::Node;

/// The layout that is known here: that of ROCm 6.0 to 7.2.
const VERSION: u64 = 7;
/// Events or streams of a GPU; MIGraphX's own passes make as many events as
/// there are points to wait at.
const MAX_MADE: u64 = 1 << 16;

/// Checks a MessagePack program whose header says `version` and so many targets.
pub(super) fn msgpack(from: impl Read, version: u64, targets: usize) -> Result<(), String> {
    let mut from = Reader::new(from);
    if version != VERSION {
        check_version(version)?;
        // The library refuses it, with both versions in its text.
        return read(&mut from).map(|_| ());
    }
    let mut program = Program::default();
    each(&mut from, "the program", |from, key| match key {
        "contexts" => program.contexts(&read(from)?),
        "modules" => each(from, "modules", |from, name| {
            let nodes = program.module(name);
            each(from, "a module", |from, key| match key {
                "nodes" => each(from, "nodes", |from, _| {
                    nodes.push(Node::checked(&read(from)?)?);
                    Ok(())
                }),
                _ => read(from).map(|_| ()),
            })
        }),
        _ => read(from).map(|_| ()),
    })?;
    program.check(targets)
}

/// The same for a program written as JSON.
pub(super) fn json(from: impl Read, version: u64, targets: usize) -> Result<(), String> {
    // It refuses what is nested more than 128 deep.
    let whole: serde_json::Value =
        serde_json::from_reader(from).map_err(|error| error.to_string())?;
    let whole = Value::try_from(whole)?;
    if version != VERSION {
        return check_version(version);
    }
    let mut program = Program::default();
    program.contexts(whole.field("contexts").unwrap_or(&Value::Nil))?;
    if let Some(Value::Map(modules)) = whole.field("modules") {
        for (name, module) in modules {
            let nodes = module.field("nodes").map_or(&[][..], Value::items);
            let nodes: Result<_, String> = nodes.iter().map(Node::checked).collect();
            *program.module(name) = nodes?;
        }
    }
    program.check(targets)
}

/// The library reads it as an `int`, whose upper bits are lost.
fn check_version(version: u64) -> Result<(), String> {
    match i32::try_from(version) {
        Ok(_) => Ok(()),
        Err(_) => Err(format!("its format version is {version}")),
    }
}

/// What rules about the whole need.
#[derive(Default)]
struct Program {
    contexts: usize,
    modules: BTreeMap<String, Vec<Node>>,
}

impl Program {
    fn module(&mut self, name: &str) -> &mut Vec<Node> {
        self.modules.entry(name.to_owned()).or_default()
    }

    /// One for each target; of a GPU, how many events and streams to make.
    fn contexts(&mut self, contexts: &Value) -> Result<(), String> {
        self.contexts = contexts.items().len();
        let counts = contexts.items().iter().flat_map(|context| match context {
            Value::Map(entries) => entries.as_slice(),
            _ => &[],
        });
        for (name, count) in counts {
            if !matches!(count, Value::Unsigned(0..=MAX_MADE) | Value::Nil) {
                return Err(format!("it asks for {count} {name} of a GPU"));
            }
        }
        Ok(())
    }

    fn check(&self, targets: usize) -> Result<(), String> {
        if self.contexts < targets {
            let contexts = self.contexts;
            return Err(format!("it has {targets} targets and {contexts} contexts"));
        }
        order::check(&self.modules)
    }
}
