//! Operators that the parser let through without knowing them.

use crate::error::{Error, Result};
use crate::listing;
use crate::program::{self, Program};

/// The parser takes any operator, and only a run would fail on those it does not know.
pub(super) fn check(program: &Program, name: &str) -> Result<()> {
    const UNKNOWN: &str = "unknown:";
    if program::print(program.handle())?.is_some_and(|text| !text.contains(UNKNOWN)) {
        return Ok(());
    }
    let listing = listing::of(program.handle())?;
    // Values come before their users, so one way back finds all that count.
    let mut used: Vec<&str> = Vec::new();
    let mut unknown: Vec<&str> = Vec::new();
    for line in listing.iter().collect::<Vec<_>>().into_iter().rev() {
        if line.operator() != "@return" && !used.contains(&line.name()) {
            continue;
        }
        used.extend(line.inputs().iter().map(String::as_str));
        if let Some(operator) = line.operator().strip_prefix(UNKNOWN)
            && !unknown.contains(&operator)
        {
            unknown.push(operator);
        }
    }
    if unknown.is_empty() {
        return Ok(());
    }
    Err(Error::InvalidArgument(format!(
        "{name}: MIGraphX's TensorFlow reader does not know the operators {}; name outputs that do \
         without them, or convert the model to ONNX",
        unknown.join(", ")
    )))
}
