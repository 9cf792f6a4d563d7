//! Every function of MIGraphX's C API is behind an item of the crate, or stands in
//! a list with the reason; and `docs/coverage.md` says so.

#[path = "../xtask/src/coverage/notes.rs"]
mod notes;
#[path = "../xtask/src/coverage/source.rs"]
mod source;
#[path = "../xtask/src/coverage/table.rs"]
mod table;

use std::collections::BTreeSet;
use std::path::Path;
use table::State;

#[test]
fn every_function_is_accounted_for() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let rows = table::rows(root).unwrap();
    // 157 of ROCm 7.1's header, and 10 younger ones.
    assert_eq!(rows.len(), 167);
    let names: BTreeSet<&String> = rows.iter().map(|(name, _)| name).collect();
    assert_eq!(names.len(), rows.len());
    let gaps: Vec<String> = rows
        .iter()
        .filter_map(|(name, state)| match state {
            State::Gap(what) => Some(format!("{name}: {what}")),
            _ => None,
        })
        .collect();
    assert!(gaps.is_empty(), "{} gaps:\n{}", gaps.len(), gaps.join("\n"));

    let written = std::fs::read_to_string(root.join("docs/coverage.md")).unwrap_or_default();
    assert!(
        written == table::document(&rows),
        "docs/coverage.md is out of date; run `cargo xtask coverage`"
    );
}
