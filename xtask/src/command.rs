//! Starting other programs.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The root of the workspace: what Cargo says, else the folder above that has it.
pub fn workspace_root() -> Result<PathBuf, String> {
    if let Some(manifest) = std::env::var_os("CARGO_MANIFEST_DIR")
        && let Some(root) = Path::new(&manifest).parent()
    {
        return Ok(root.to_path_buf());
    }
    let here = std::env::current_dir().map_err(|error| format!("no current folder: {error}"))?;
    here.ancestors()
        .find(|folder| folder.join("xtask/Cargo.toml").is_file())
        .map(Path::to_path_buf)
        .ok_or_else(|| format!("{} is not inside the workspace", here.display()))
}

/// Where Cargo builds.
pub fn target_dir(root: &Path) -> PathBuf {
    let given = std::env::var_os("CARGO_TARGET_DIR").filter(|value| !value.is_empty());
    root.join(given.map_or_else(|| PathBuf::from("target"), PathBuf::from))
}

/// Cargo in the root of the workspace.
pub fn cargo(root: &Path) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root);
    forget_package(&mut command);
    command
}

/// What Cargo told this program about its own package is not about the next one.
pub fn forget_package(command: &mut Command) {
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
            command.env_remove(&name);
        }
    }
}

/// The command as a person would type it.
pub fn shown(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let name = program.file_name().unwrap_or(program.as_os_str());
    let words: Vec<String> = std::iter::once(name)
        .chain(command.get_args())
        .map(|word| quoted(&word.to_string_lossy()))
        .collect();
    words.join(" ")
}

/// A word as a shell takes it.
pub fn quoted(word: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-+=:,@%".contains(&byte);
    if !word.is_empty() && word.bytes().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

/// Runs to the end and gives the standard output; what it printed is in the error.
pub fn output(command: &mut Command) -> Result<String, String> {
    let result = command
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("cannot run `{}`: {error}", shown(command)))?;
    let stdout = String::from_utf8_lossy(&result.stdout).into_owned();
    if result.status.success() {
        return Ok(stdout);
    }
    let stderr = String::from_utf8_lossy(&result.stderr);
    let text = format!("{}\n{}", stdout.trim(), stderr.trim());
    Err(format!(
        "`{}` failed ({}):\n{}",
        shown(command),
        result.status,
        indent(text.trim())
    ))
}

/// Runs to the end with this program's own output; true where it exited with 0.
pub fn status(command: &mut Command) -> Result<bool, String> {
    command
        .status()
        .map(|status| status.success())
        .map_err(|error| format!("cannot run `{}`: {error}", shown(command)))
}

/// Runs to the end, its standard output passed on as it comes; gives that
/// output where it exited with 0.
pub fn passed_on(command: &mut Command) -> Result<Option<String>, String> {
    let name = shown(command);
    let failed = |error| format!("cannot run `{name}`: {error}");
    let mut child = command.stdout(Stdio::piped()).spawn().map_err(failed)?;
    let mut output = String::new();
    let stdout = child.stdout.take().into_iter();
    for line in stdout.flat_map(|stdout| BufReader::new(stdout).split(b'\n')) {
        let line = line.map_err(failed)?;
        let line = String::from_utf8_lossy(&line);
        println!("{line}");
        output.push_str(&line);
        output.push('\n');
    }
    let status = child.wait().map_err(failed)?;
    Ok(status.success().then_some(output))
}

/// Where a program of this name is on `PATH`.
pub fn which(program: &str) -> Option<PathBuf> {
    std::env::split_paths(&std::env::var_os("PATH")?)
        .map(|folder| folder.join(program))
        .find(|path| path.is_file())
}

pub fn indent(text: &str) -> String {
    let lines: Vec<String> = text.lines().map(|line| format!("    {line}")).collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_shows_the_command_and_what_it_printed() {
        let error = output(Command::new("sh").args(["-c", "echo one; echo two >&2; exit 3"]));
        let error = error.unwrap_err();
        assert!(error.contains("sh -c 'echo one; echo two >&2; exit 3'"));
        assert!(error.contains("    one") && error.contains("    two") && error.contains('3'));
    }

    #[test]
    fn what_is_passed_on_is_kept_where_it_ended_well() {
        let run = |script: &str| passed_on(Command::new("sh").args(["-c", script]));
        let kept = run("echo one; printf two").unwrap();
        assert_eq!(kept.as_deref(), Some("one\ntwo\n"));
        assert_eq!(run("echo one; exit 3").unwrap(), None);
    }

    #[test]
    fn a_missing_program_is_named() {
        let error = output(&mut Command::new("no-such-program-here")).unwrap_err();
        assert!(error.contains("no-such-program-here"), "{error}");
        assert_eq!(which("no-such-program-here"), None);
    }
}
