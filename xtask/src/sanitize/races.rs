//! placeholder
use super::Outcome;
use std::path::Path;
pub fn check(_root: &Path) -> Result<Outcome, String> {
    Err("soon".into())
}
