//! The data set file that Ultralytics and this program read.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context, Result};

use super::instances::Instances;
use super::layout::Layout;

/// Words that YAML 1.1 takes for something else than text.
const TAKEN: [&str; 9] = ["null", "true", "false", "yes", "no", "on", "off", "y", "n"];

pub fn text(layout: &Layout, instances: &Instances) -> Result<String> {
    // Absolute: Ultralytics looks for others in a folder of its own.
    let mut text = format!(
        "path: {}\nval: {}\n\nnames:\n",
        of(&layout.output)?,
        of(&layout.val)?
    );
    for (class, (_, name)) in instances.categories.iter().enumerate() {
        writeln!(text, "  {class}: {}", scalar(name))?;
    }
    Ok(text)
}

fn of(path: &Path) -> Result<String> {
    let text = path.to_str();
    let text = text.with_context(|| format!("{} is no text in UTF-8", path.display()))?;
    Ok(scalar(text))
}

/// As it is where that is certain to be read so, else in quotes, as JSON has it.
fn scalar(text: &str) -> String {
    let first = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/');
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./ ".contains(c);
    let word = TAKEN.contains(&text.to_ascii_lowercase().as_str());
    match first && text.chars().all(plain) && !text.ends_with(' ') && !word {
        true => text.to_owned(),
        false => serde_json::Value::from(text).to_string(),
    }
}
