//! `cargo xtask`: everything a person types more than once.

mod bench;
mod cases;
mod codegen;
mod command;
mod compat;
mod coverage;
mod demo;
mod gpu_sim_check;
mod mutate;
mod os;
mod package;
mod sanitize;
mod setup;
mod soak;
mod test;

#[path = "../../migraphx-sys/src/finder.rs"]
#[allow(dead_code)]
mod finder;

use std::process::ExitCode;

const HELP: &str = "\
Usage: cargo xtask COMMAND [OPTIONS]

  setup      find MIGraphX, or make a private copy of it in your cache directory
  demo       set up, make a tiny detector and pictures, compile, benchmark, predict, check
  test       set up, run every test in both link modes and both profiles
  cases DIR  run a folder of test cases, a line each
  compat     one build on stand-ins for MIGraphX 5.2 to 7.13, in both link modes
  bench      measure a run against plain C, and the pipeline of many cards
  soak       very many rounds of everything: nothing may drift, grow or hang
  sanitize   look for memory errors, leaks, races and crashes on hostile files
  gpu-sim-check  the virtual GPU against itself and against ref
  mutate     changes files a little, and tells what becomes of loading them
  coverage   which item stands for which C function, into docs/coverage.md
  package    what would be published: contents, builds, features, docs, oldest Rust
  codegen    make migraphx-sys/src/bindings.rs again from the real migraphx.h
  help       this text, or `cargo xtask help COMMAND`
";

fn help(command: Option<&str>) -> Result<&'static str, String> {
    Ok(match command {
        None | Some("help") => HELP,
        Some("setup") => setup::HELP,
        Some("demo") => demo::HELP,
        Some("test") => test::HELP,
        Some("cases") => cases::HELP,
        Some("compat") => compat::HELP,
        Some("bench") => bench::HELP,
        Some("soak") => soak::HELP,
        Some("sanitize") => sanitize::HELP,
        Some("gpu-sim-check") => gpu_sim_check::HELP,
        Some("mutate") => mutate::HELP,
        Some("coverage") => coverage::HELP,
        Some("package") => package::HELP,
        Some("codegen") => codegen::HELP,
        Some(other) => return Err(unknown(other)),
    })
}

fn unknown(command: &str) -> String {
    format!("there is no command `{command}`\n\n{HELP}")
}

fn dispatch(arguments: &[String]) -> Result<ExitCode, String> {
    let Some((command, rest)) = arguments.split_first() else {
        print!("{HELP}");
        return Ok(ExitCode::FAILURE);
    };
    if matches!(command.as_str(), "-h" | "--help" | "help") {
        print!("{}", help(rest.first().map(String::as_str))?);
        return Ok(ExitCode::SUCCESS);
    }
    let own = rest.iter().take_while(|argument| *argument != "--");
    if own.clone().any(|a| a == "-h" || a == "--help") {
        print!("{}", help(Some(command))?);
        return Ok(ExitCode::SUCCESS);
    }
    match command.as_str() {
        "setup" => setup::command(rest),
        "demo" => demo::command(rest),
        "test" => test::command(rest),
        "cases" => cases::command(rest),
        "compat" => compat::command(rest),
        "bench" => bench::command(rest),
        "soak" => soak::command(rest),
        "sanitize" => sanitize::command(rest),
        "gpu-sim-check" => gpu_sim_check::command(rest),
        "mutate" => mutate::command(rest),
        "coverage" => coverage::command(rest),
        "package" => package::command(rest),
        "codegen" => codegen::command(rest),
        other => Err(unknown(other)),
    }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    dispatch(&arguments).unwrap_or_else(|error| {
        eprintln!("error: {error}");
        ExitCode::FAILURE
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_of_the_help_text_has_its_own() {
        let commands = HELP.lines().filter_map(|line| line.strip_prefix("  "));
        for name in commands.map(|line| line.split_whitespace().next().unwrap()) {
            let text = help(Some(name)).unwrap();
            assert!(text.starts_with("Usage: cargo xtask "), "{name}: {text}");
        }
    }

    #[test]
    fn an_unknown_command_is_named() {
        let error = dispatch(&["setpu".into()]).unwrap_err();
        assert!(error.contains("`setpu`") && error.contains("setup "));
    }
}
