//! Whether a program may read a parameter straight from the caller's memory.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::error::Result;
use crate::ffi::handle::ProgramHandle;
use crate::signature::Parameter;
use crate::target;

/// What [`Inputs::bind`](crate::Inputs::bind) does with a slice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Binding {
    /// The program reads it where it lies.
    Shared,
    /// It is copied: the GPU target registers whole pages by their address, and
    /// mistakes memory that overlaps or moved for what it knows.
    Copied,
    /// An operator may write into the parameter.
    Refused,
}

/// Operators that write into an argument and give it as their result (from
/// their `output_alias` and `compute` in MIGraphX 7.1's sources).
const IN_PLACE: [&str; 3] = ["fill", "concat_past_present", "random_uniform"];

/// For each parameter of a compiled program.
pub(crate) fn of(
    program: &ProgramHandle,
    parameters: &[Parameter],
    target: &str,
) -> Result<Arc<[Binding]>> {
    if !target::is_host(target) {
        return Ok(vec![Binding::Copied; parameters.len()].into());
    }
    Ok(match crate::program::print(program)? {
        // Nobody knows, so none is shared.
        None => vec![Binding::Refused; parameters.len()].into(),
        Some(text) => match written(
            &text,
            parameters.iter().map(Parameter::name),
            crate::custom_op::works_in_place,
        ) {
            Written::All => vec![Binding::Refused; parameters.len()].into(),
            Written::Names(names) => parameters
                .iter()
                .map(|parameter| match names.contains(parameter.name()) {
                    true => Binding::Refused,
                    false => Binding::Shared,
                })
                .collect(),
        },
    })
}

#[derive(Debug, PartialEq, Eq)]
enum Written<'a> {
    All,
    /// All that an in-place operator takes, and all that this was made from:
    /// more than is written, since most operators give new memory.
    Names(BTreeSet<&'a str>),
}

/// Reads the text of a program: `name = operator[attributes](arguments) -> shape`.
///
/// `custom` says of an operator written in Rust whether it works in place; if not,
/// it writes into its last argument, which is memory made for that, or should be.
fn written<'a>(
    text: &'a str,
    mut parameters: impl Iterator<Item = &'a str>,
    custom: impl Fn(&str) -> Option<bool>,
) -> Written<'a> {
    let mut in_main = true;
    let mut definitions = BTreeMap::new();
    let mut in_place = Vec::new();
    let mut memories = Vec::new();
    for line in text.lines() {
        if let Some(module) = line.strip_prefix("module: ") {
            in_main = module.trim_matches('"') == "main";
        } else if let Some((name, rest)) = line.split_once(" = ") {
            definitions.insert(name, (rest, in_main));
            let operator = rest.split(['[', '(', ' ']).next().unwrap_or(rest);
            let operator = operator.rsplit("::").next().unwrap_or(operator);
            match custom(operator) {
                Some(false) => memories.push(last_argument(rest)),
                Some(true) => in_place.push(rest),
                None if IN_PLACE.contains(&operator) => in_place.push(rest),
                None => {}
            }
        }
    }
    // A line with such a name in it does not say where the name ends.
    let ambiguous = |name: &str| name.contains(" = ") || name.contains(char::is_control);
    // Nor where the last argument begins.
    let blurred = |name: &str| !memories.is_empty() && name.contains(['(', ')', ',']);
    let any = !in_place.is_empty() || !memories.is_empty();
    if any && parameters.any(|name| ambiguous(name) || blurred(name)) {
        return Written::All;
    }
    let mut names = BTreeSet::new();
    let mut open = in_place;
    open.extend(memories);
    while let Some(rest) = open.pop() {
        for (name, (definition, in_main)) in &definitions {
            if mentions(rest, name) && names.insert(*name) {
                // What a submodule's parameter stands for is decided by its caller.
                if !in_main && definition.starts_with("@param:") {
                    return Written::All;
                }
                open.push(definition);
            }
        }
    }
    Written::Names(names)
}

/// The last argument of `operator(arguments) -> shape`.
fn last_argument(rest: &str) -> &str {
    let arguments = rest.rsplit_once(") -> ").map_or(rest, |(before, _)| before);
    arguments.rsplit(['(', ',']).next().unwrap_or(arguments)
}

/// Whether `name` stands in `text` as a whole argument. Names may hold any character.
fn mentions(text: &str, name: &str) -> bool {
    text.match_indices(name).any(|(start, _)| {
        let before = text[..start].chars().next_back();
        let after = text[start + name.len()..].chars().next();
        before.is_none_or(|c| "([, ".contains(c)) && after.is_none_or(|c| ")], ".contains(c))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<&str> {
        let custom = |operator: &str| match operator {
            "mine" => Some(false),
            "mine_too" => Some(true),
            _ => None,
        };
        match written(text, ["x"].into_iter(), custom) {
            Written::All => vec!["(all)"],
            Written::Names(names) => names.into_iter().collect(),
        }
    }

    #[test]
    fn ordinary_operators_write_nothing() {
        let text = "module: \"main\"\nx = @param:x -> float_type, {4}, {1}\n\
            @1 = ref::add[fill=1](x,x) -> float_type, {4}, {1}\n@2 = @return(@1)\n";
        assert!(names(text).is_empty());
    }

    #[test]
    fn what_leads_to_an_in_place_operator_is_found() {
        let text = "module: \"main\"\nx = @param:x -> f, {4}, {1}\ny = @param:y -> f, {4}, {1}\n\
            ids a,(b) = @param:ids a,(b) -> f, {4}, {1}\n\
            @1 = reshape[dims={4}](ids a,(b)) -> f, {4}, {1}\n\
            @2 = ref::fill(y,@1) -> f, {4}, {1}\n@12 = add(x,@2) -> f, {4}, {1}\n";
        assert_eq!(names(text), ["@1", "ids a,(b)", "y"]);
    }

    #[test]
    fn a_name_that_looks_like_a_definition_hides_nothing() {
        let text = "module: \"main\"\na = b = @param:a = b -> f, {4}, {1}\n\
            @1 = ref::fill(x,a = b) -> f, {4}, {1}\n";
        let written = |text| written(text, ["x", "a = b"].into_iter(), |_| None);
        assert_eq!(written(text), Written::All);
        let harmless = text.replace("fill", "add");
        let nothing = Written::Names(BTreeSet::new());
        assert_eq!(written(&harmless), nothing);
    }

    #[test]
    fn custom_operators_write_their_last_argument() {
        let text = "module: \"main\"\nx = @param:x -> f, {4}, {1}\ny = @param:y -> f, {4}, {1}\n\
            @1 = allocate[shape=f, {4}, {1},buf_type=nullopt] -> f, {4}, {1}\n\
            @2 = mine(x,@1) -> f, {4}, {1}\n";
        assert_eq!(names(text), ["@1"]);
        assert_eq!(names(&text.replace("(x,@1)", "(@1,y)")), ["y"]);
        assert_eq!(names(&text.replace("mine(", "mine_too(")), ["@1", "x"]);
        let custom = |operator: &str| (operator == "mine").then_some(false);
        let blurred = written(text, ["x", "a,b"].into_iter(), custom);
        assert_eq!(blurred, Written::All);
    }

    #[test]
    fn parameters_of_a_submodule_may_be_any() {
        let text = "module: \"main\"\nx = @param:x -> f, {4}, {1}\n@1 = loop(x), [body] -> f\n\
            module: \"body\"\nbody:v = @param:v -> f, {4}, {1}\n\
            body:@1 = fill(body:v,body:v) -> f, {4}, {1}\n";
        assert_eq!(names(text), ["(all)"]);
    }
}
