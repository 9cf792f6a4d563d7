//! What classes are called.

use std::collections::BTreeMap;

/// Class numbers to names.
pub type Names = BTreeMap<usize, String>;

/// What a class is called.
pub fn name_of(class: usize, names: &Names) -> String {
    let name = names.get(&class).cloned();
    name.unwrap_or_else(|| format!("class {class}"))
}
