//! The order in which instructions are made: an instruction takes results of
//! earlier ones, and a module is made where the first that runs it stands.

use std::collections::{BTreeMap, HashSet};

use super::node::Node;

/// Modules in each other; the reader calls itself for each.
const MAX_MODULES: usize = 64;
/// Instructions made; a module is made anew for each that runs it, so that few
/// bytes can ask for very many.
const MAX_MADE: usize = 1 << 24;

const MAIN: &str = "main";

/// Follows the reader through all modules.
pub(super) fn check(modules: &BTreeMap<String, Vec<Node>>) -> Result<(), String> {
    if modules.get(MAIN).is_none_or(Vec::is_empty) {
        return Err("it has no module `main` with instructions".into());
    }
    for (name, nodes) in modules {
        let mut outputs = HashSet::new();
        if let Some(node) = nodes.iter().find(|node| !outputs.insert(&node.output)) {
            let output = &node.output;
            return Err(format!(
                "`{output}` is the name of two results in module `{name}`"
            ));
        }
    }
    let mut order = Order {
        modules,
        results: HashSet::new(),
        parameters: HashSet::new(),
        open: Vec::new(),
        made: 0,
    };
    order.make(MAIN)
}

struct Order<'p> {
    modules: &'p BTreeMap<String, Vec<Node>>,
    /// Results so far, of all modules.
    results: HashSet<&'p str>,
    /// Modules, and their parameters so far.
    parameters: HashSet<(&'p str, &'p str)>,
    /// The modules that are being made, each in the one before.
    open: Vec<&'p str>,
    made: usize,
}

impl<'p> Order<'p> {
    fn make(&mut self, module: &'p str) -> Result<(), String> {
        let Some(nodes) = self.modules.get(module) else {
            return Err(format!(
                "an instruction runs module `{module}`, which is not there"
            ));
        };
        if self.open.contains(&module) {
            return Err(format!("module `{module}` runs itself"));
        }
        if self.open.len() == MAX_MODULES {
            return Err(format!("more than {MAX_MODULES} modules are in each other"));
        }
        self.made += nodes.len();
        if self.made > MAX_MADE {
            return Err("its modules run each other too often".into());
        }
        self.open.push(module);
        for node in nodes {
            let name = &node.output;
            let unknown = |input: &&String| !self.results.contains(input.as_str());
            if let Some(input) = node.inputs.iter().find(unknown) {
                return Err(format!(
                    "instruction `{name}` takes `{input}`, which no earlier one makes"
                ));
            }
            node.modules.iter().try_for_each(|inner| self.make(inner))?;
            if let Some(parameter) = &node.parameter
                && !self.parameters.insert((module, parameter))
            {
                return Err(format!(
                    "module `{module}` has two parameters `{parameter}`"
                ));
            }
            self.results.insert(name);
        }
        self.open.pop();
        Ok(())
    }
}
