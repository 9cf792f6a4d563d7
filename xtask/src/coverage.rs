//! `cargo xtask coverage`: which item stands for which C function.

mod notes;
mod source;
mod table;

use crate::command;
use std::fs;
use std::process::ExitCode;
use table::State;

pub const HELP: &str = "\
Usage: cargo xtask coverage [--check]

Writes docs/coverage.md: each function of MIGraphX's C API with the item of the
crate that stands for it, or the reason why none does. Prints the counts, and
fails where a function has neither.

  --check   change nothing; fail where the file is not what would be written
";

const FILE: &str = "docs/coverage.md";

pub fn command(arguments: &[String]) -> Result<ExitCode, String> {
    let check = match arguments {
        [] => false,
        [only] if only == "--check" => true,
        _ => return Err(format!("coverage takes only --check\n\n{HELP}")),
    };
    let root = command::workspace_root()?;
    let rows = table::rows(&root)?;
    println!("{}", table::summary(&rows));
    let mut gaps = 0;
    for (name, state) in &rows {
        if let State::Gap(what) = state {
            println!("gap: {name}: {what}");
            gaps += 1;
        }
    }
    let path = root.join(FILE);
    let text = table::document(&rows);
    let current = fs::read_to_string(&path).is_ok_and(|old| old == text);
    if check && !current {
        return Err(format!("{FILE} is out of date; run `cargo xtask coverage`"));
    }
    if !current {
        let folder = path.parent().unwrap_or(&root);
        fs::create_dir_all(folder)
            .and_then(|()| fs::write(&path, text))
            .map_err(|error| format!("cannot write {}: {error}", path.display()))?;
        println!("coverage: wrote {FILE}");
    }
    Ok(match gaps {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    })
}
