//! `cargo xtask gpu-sim-check`: the virtual GPU checked against itself and
//! against `ref`.

use crate::command::{self, cargo, shown};
use crate::setup::{self, gpu_sim};
use std::process::{Command, ExitCode};

pub const HELP: &str = "\
Usage: cargo xtask gpu-sim-check [WORD]

Sets up the virtual GPU, then
  1. runs the tests of its stand-ins: planted mistakes are found, products and
     convolutions are right
  2. compiles small networks of every kernel family for MIGraphX's real gpu
     target and compares what they compute with ref, a line a family
With WORD, only the families whose names hold it.
";

pub fn command(arguments: &[String]) -> Result<ExitCode, String> {
    if let Some(option) = arguments.iter().find(|word| word.starts_with('-')) {
        return Err(format!("gpu-sim-check has no option `{option}`\n\n{HELP}"));
    }
    let root = command::workspace_root()?;
    let place = gpu_sim::ensure(&setup::Options::default())?;
    let with = |command: &str| {
        let mut cargo = cargo(&root);
        cargo
            .args([command, "--quiet", "--release", "--manifest-path"])
            .arg(root.join("gpu-sim/Cargo.toml"))
            .env("GPU_SIM_DIR", &place)
            // Without a compiler kernels would compute nothing, and only say so.
            .env("GPU_SIM_JIT", "clang");
        cargo
    };
    let mut steps: Vec<Command> = Vec::new();
    if arguments.is_empty() {
        let mut tests = with("test");
        tests.args(["--workspace", "--no-fail-fast"]);
        steps.push(tests);
    }
    let mut families = with("run");
    families
        .args(["-p", "gpu-sim-checks", "--"])
        .args(arguments);
    steps.push(families);
    let mut passed = true;
    for mut step in steps {
        println!("\n{}", shown(&step));
        passed &= command::status(&mut step)?;
    }
    Ok(match passed {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    })
}
