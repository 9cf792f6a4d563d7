//! Which item of the crate stands for which C function, read from the sources.
//!
//! An item says so by `#[doc(alias = "migraphx_…")]`, which is also how a reader
//! of the C header finds it. What no item names stands in [`notes`](super::notes)
//! with the reason.

use super::notes::{INSIDE, LEFT_OUT, OTHERWISE};
use super::source::{Source, is_word, read};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;

/// What became of a C function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// Public items call it.
    Wrapped(Vec<String>),
    /// Public items do the same another way: how.
    Otherwise(Vec<String>, &'static str),
    /// Called where no item shows it.
    Inside(&'static str),
    /// Not called, for a reason.
    LeftOut(&'static str),
    /// None of these, or a note that does not hold.
    Gap(String),
}

/// The C functions, in the order of the header, newer ones last.
pub fn rows(root: &Path) -> Result<Vec<(String, State)>, String> {
    let source = Source::read(&root.join("migraphx/src"))?;
    let functions = functions(root)?;
    let known: BTreeSet<&str> = functions.iter().map(String::as_str).collect();
    let noted = [OTHERWISE, INSIDE, LEFT_OUT].into_iter().flatten();
    let noted = noted.map(|(name, _)| *name);
    let stranger = |name: &&str| !name.starts_with('*') && !known.contains(name);
    if let Some(stranger) = noted.clone().find(stranger) {
        return Err(format!("the notes have {stranger}, which is no C function"));
    }
    let mut seen = BTreeSet::new();
    if let Some(twice) = noted.clone().find(|name| !seen.insert(*name)) {
        return Err(format!("the notes have {twice} twice"));
    }
    Ok(functions
        .iter()
        .map(|name| (name.clone(), state(&source, name)))
        .collect())
}

/// The text of `docs/coverage.md`.
pub fn document(rows: &[(String, State)]) -> String {
    let mut text = String::from(
        "# The C API in Rust\n\n\
         Every function of `migraphx.h` of ROCm 7.1, and those added up to 7.13 (the last ten). \
         Made by `cargo xtask coverage` from the `#[doc(alias)]` lines of the sources; a test \
         keeps it true.\n\n",
    );
    let _ = writeln!(text, "{}.\n", summary(rows));
    text += "| C function | in Rust |\n|---|---|\n";
    for (name, state) in rows {
        let items = |items: &[String]| {
            let quoted: Vec<String> = items.iter().map(|item| format!("`{item}`")).collect();
            quoted.join(", ")
        };
        let cell = match state {
            State::Wrapped(names) => items(names),
            State::Otherwise(names, how) => format!("{} ({how})", items(names)),
            State::Inside(how) => format!("inside: {how}"),
            State::LeftOut(why) => format!("left out: {why}"),
            State::Gap(what) => format!("**gap**: {what}"),
        };
        let _ = writeln!(text, "| `{name}` | {cell} |");
    }
    text
}

/// How many functions are what.
pub fn summary(rows: &[(String, State)]) -> String {
    let count = |is: fn(&State) -> bool| rows.iter().filter(|(_, state)| is(state)).count();
    format!(
        "{} functions: {} behind public items, {} done another way by public items, \
         {} used inside, \
         {} left out with a reason, {} gaps",
        rows.len(),
        count(|state| matches!(state, State::Wrapped(_))),
        count(|state| matches!(state, State::Otherwise(..))),
        count(|state| matches!(state, State::Inside(_))),
        count(|state| matches!(state, State::LeftOut(_))),
        count(|state| matches!(state, State::Gap(_))),
    )
}

/// All functions of the raw crate.
fn functions(root: &Path) -> Result<Vec<String>, String> {
    let mut names = Vec::new();
    for file in ["bindings.rs", "by_hand.rs"] {
        let text = read(&root.join("migraphx-sys/src").join(file))?;
        let lines = text.lines().map(str::trim_start);
        let found = lines.filter_map(|line| line.strip_prefix("pub fn migraphx_"));
        names.extend(found.map(|rest| {
            let name: String = rest.chars().take_while(|c| is_word(*c)).collect();
            format!("migraphx_{name}")
        }));
        if file == "bindings.rs" {
            // The variadic one, which has a type of its own in by_hand.rs.
            names.push("migraphx_operation_create".into());
        }
    }
    Ok(names)
}

/// What became of a function.
fn state(source: &Source, name: &str) -> State {
    let items = source.items.get(name).cloned();
    let note = |list: &[(&str, &'static str)]| {
        let exact = list.iter().find(|(function, _)| *function == name);
        // `*_destroy` stands for all that end so and are not named themselves.
        let ending = |(pattern, _): &&(&str, &str)| {
            let end = pattern.strip_prefix('*');
            end.is_some_and(|end| name.ends_with(end)) && !named(name) && items.is_none()
        };
        exact
            .or_else(|| list.iter().find(ending))
            .map(|(_, text)| *text)
    };
    let used = source.used.contains(name);
    let notes = (note(OTHERWISE), note(INSIDE), note(LEFT_OUT));
    match (items, used, notes) {
        (Some(items), true, (None, None, None)) => State::Wrapped(items),
        (Some(items), false, (Some(how), None, None)) => State::Otherwise(items, how),
        (None, true, (None, Some(how), None)) => State::Inside(how),
        (None, false, (None, None, Some(why))) => State::LeftOut(why),
        (items, used, notes) => State::Gap(format!(
            "{}, {}, and {}",
            match items {
                Some(items) => format!("{} names it", items.join(", ")),
                None => "no public item names it".into(),
            },
            if used {
                "it is called"
            } else {
                "nothing calls it"
            },
            match notes {
                (None, None, None) => "no note says why",
                (Some(_), ..) => "a note says that it is done another way",
                (_, Some(_), _) => "a note says that it is used inside",
                (.., Some(_)) => "a note says that it is left out",
            }
        )),
    }
}

/// Whether a note names the function in full.
fn named(name: &str) -> bool {
    let notes = [OTHERWISE, INSIDE, LEFT_OUT].into_iter().flatten();
    notes.into_iter().any(|(function, _)| *function == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(text: &str) -> Source {
        let mut source = Source::default();
        source.add(text, "");
        source
    }

    #[test]
    fn a_renamed_item_changes_the_table() {
        let before = source("#[doc(alias = \"migraphx_load\")]\npub fn load() { migraphx_load }\n");
        let after = source("#[doc(alias = \"migraphx_load\")]\npub fn open() { migraphx_load }\n");
        assert_eq!(
            state(&before, "migraphx_load"),
            State::Wrapped(vec!["load".into()])
        );
        assert_ne!(
            state(&before, "migraphx_load"),
            state(&after, "migraphx_load")
        );
    }

    #[test]
    fn what_nothing_names_or_calls_is_a_gap() {
        let nothing = source("fn f() {}\n");
        assert!(matches!(state(&nothing, "migraphx_load"), State::Gap(_)));
        let unnamed = source("fn f() { migraphx_load }\n");
        assert!(matches!(state(&unnamed, "migraphx_load"), State::Gap(_)));
        let uncalled = source("#[doc(alias = \"migraphx_load\")]\npub fn load() {}\n");
        assert!(matches!(state(&uncalled, "migraphx_load"), State::Gap(_)));
    }
}
