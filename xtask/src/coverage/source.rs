//! What the sources of the crate say of C functions. They are read as text: they
//! are in rustfmt's form.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// What the sources of the crate say.
#[derive(Default)]
pub struct Source {
    /// Items that name a C function in an alias.
    pub items: BTreeMap<String, Vec<String>>,
    /// Names in code.
    pub used: BTreeSet<String>,
    /// Types and traits, with the public module that they are defined in.
    types: BTreeMap<String, String>,
}

impl Source {
    pub fn read(folder: &Path) -> Result<Self, String> {
        let lib = read(&folder.join("lib.rs"))?;
        let public = public_modules(&lib);
        let mut source = Source::default();
        let mut files = Vec::new();
        list(folder, &mut files)?;
        files.sort();
        let mut texts = Vec::new();
        for file in files {
            let inside = file.strip_prefix(folder).unwrap_or(&file);
            let module = inside.iter().next().unwrap_or_default().to_string_lossy();
            let module = module.trim_end_matches(".rs");
            let prefix = match public.contains(module) {
                true => format!("{module}::"),
                false => String::new(),
            };
            texts.push((read(&file)?, prefix));
        }
        for (text, prefix) in &texts {
            let defined = text.lines().filter(|line| line.starts_with("pub "));
            for name in defined.filter_map(owner_of) {
                source.types.insert(name, prefix.clone());
            }
        }
        for (text, prefix) in &texts {
            source.add(text, prefix);
        }
        Ok(source)
    }

    pub fn add(&mut self, text: &str, prefix: &str) {
        let mut owner = String::new();
        let mut aliases: Vec<&str> = Vec::new();
        for line in text.lines() {
            if line == "mod tests {" {
                break;
            }
            let code = line.trim_start();
            if code.starts_with("//") {
                continue;
            }
            if let Some(rest) = code.strip_prefix("#[doc(alias = \"") {
                aliases.extend(rest.split('"').next());
                continue;
            }
            self.used.extend(words(code));
            if code.starts_with("#[") || code.is_empty() {
                continue;
            }
            if !line.starts_with(' ') {
                owner = owner_of(line).unwrap_or_default();
            }
            if aliases.is_empty() {
                continue;
            }
            if let Some(name) = item(code) {
                let path = match line.starts_with("    ") && !owner.is_empty() {
                    true => {
                        let home = self.types.get(&owner).map_or(prefix, String::as_str);
                        format!("{home}{owner}::{name}")
                    }
                    false => format!("{prefix}{name}"),
                };
                for alias in aliases.drain(..) {
                    self.items
                        .entry(alias.into())
                        .or_default()
                        .push(path.clone());
                }
            }
            aliases.clear();
        }
    }
}

/// The modules that users see by name.
fn public_modules(lib: &str) -> BTreeSet<&str> {
    let lines = lib.lines().filter_map(|line| line.strip_prefix("pub mod "));
    lines
        .map(|rest| rest.trim_end_matches([';', ' ', '{']))
        .collect()
}

/// The type of an `impl`, or the name of a trait or type, that a line begins.
fn owner_of(line: &str) -> Option<String> {
    let line = line.strip_prefix("pub ").unwrap_or(line);
    let line = line.strip_prefix("unsafe ").unwrap_or(line);
    if let Some(rest) = line.strip_prefix("impl") {
        let rest = match rest.strip_prefix('<') {
            Some(generics) => after_generics(generics),
            None => rest,
        };
        let subject = rest
            .split_once(" for ")
            .map_or(rest, |(_, subject)| subject);
        return first_word(subject.trim_start());
    }
    let kinds = ["trait ", "struct ", "enum "];
    kinds
        .iter()
        .find_map(|kind| first_word(line.strip_prefix(kind)?))
}

/// What follows the `>` that ends generics.
fn after_generics(text: &str) -> &str {
    let mut depth = 1;
    for (at, c) in text.char_indices() {
        match c {
            '<' => depth += 1,
            '>' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return &text[at + 1..];
        }
    }
    ""
}

/// The name of the public item, or trait function, that a line begins.
fn item(code: &str) -> Option<String> {
    let mut rest = code;
    for word in ["pub ", "const ", "unsafe ", "async "] {
        rest = rest.strip_prefix(word).unwrap_or(rest);
    }
    let kinds = [
        "fn ", "struct ", "enum ", "trait ", "type ", "mod ", "static ",
    ];
    kinds
        .iter()
        .find_map(|kind| first_word(rest.strip_prefix(kind)?))
}

fn first_word(text: &str) -> Option<String> {
    let word: String = text.chars().take_while(|c| is_word(*c)).collect();
    (!word.is_empty()).then_some(word)
}

/// C names, but for what is only asked for.
fn words(code: &str) -> impl Iterator<Item = String> {
    let asked = code.split(".is_available()").collect::<Vec<_>>();
    let code = match asked.as_slice() {
        [before, after @ ..] if !after.is_empty() => {
            let kept = before
                .rfind("migraphx_")
                .map_or(*before, |at| &before[..at]);
            format!("{kept} {}", after.join(" "))
        }
        _ => code.to_owned(),
    };
    let words: Vec<String> = code
        .split(|c| !is_word(c))
        .filter(|word| word.starts_with("migraphx_"))
        .map(str::to_owned)
        .collect();
    words.into_iter()
}

pub fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

fn list(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), String> {
    let failed = |error| format!("cannot list {}: {error}", folder.display());
    for entry in fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.is_dir() {
            list(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    Ok(())
}

pub fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("cannot read {}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_alias_belongs_to_the_item_below_it() {
        let text = "/// A thing.\n#[doc(alias = \"migraphx_a\")]\n#[derive(Debug)]\npub struct Thing<'a> {\n    x: u8,\n}\n\n\
            impl<'a, T: Into<Vec<u8>>> Thing<'a> {\n    /// Does.\n    #[doc(alias = \"migraphx_b\")]\n    #[inline]\n\
            \x20   pub fn go(&self) {\n        call!(migraphx_b(x)) // and migraphx_c\n    }\n}\n\
            pub trait Part {\n    #[doc(alias = \"migraphx_d\")]\n    fn part(&self);\n}\n\
            mod tests {\n    fn f() { migraphx_e() }\n}\n";
        let mut source = Source::default();
        source.add(text, "");
        assert_eq!(source.items["migraphx_a"], ["Thing"]);
        assert_eq!(source.items["migraphx_b"], ["Thing::go"]);
        assert_eq!(source.items["migraphx_d"], ["Part::part"]);
        assert!(source.used.contains("migraphx_b") && !source.used.contains("migraphx_e"));
    }
}
