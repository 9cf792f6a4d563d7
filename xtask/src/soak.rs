//! `cargo xtask soak`: very many rounds of everything, watched for growth.

use crate::command::{self, cargo, shown};
use crate::setup::{self, gpu_sim};
use std::process::{Command, ExitCode};

pub const HELP: &str = "\
Usage: cargo xtask soak [--quick] [WORD...]

Sets up, then does very many rounds of runs (a million), loads (ten thousand),
pools with failing jobs, custom operators, calibration and graphs on MIGraphX's CPU
target, and of programs on eight virtual GPUs. Results must stay the same to the bit,
and what the process holds must stay flat from the middle to the end: its heap (16
bytes a round, within 2 to 64 KiB), its resident memory (1 MiB), its open files and
threads (none more), and the devices' memory (nothing left). A line each; exits with
1 where one grows. First, loops that leak on purpose must be noticed.

  --quick   fewer rounds, about a minute for the checks of a machine without a GPU

WORDs select the subjects whose names hold one of them. The virtual GPU is left out
where MIGraphX is the machine's own: it is made of the private copy.
";

/// With which glibc counts its heap exactly; as `testkit::held::EXACT` has it.
const EXACT: (&str, &str) = ("GLIBC_TUNABLES", "glibc.malloc.tcache_count=0");

/// Eight devices that work beside the host, find every mistake, and compute.
const GPU: [(&str, &str); 4] = [
    ("GPU_SIM_DEVICES", "8"),
    ("GPU_SIM_DEFERRED", "1"),
    ("GPU_SIM_STRICT", "1"),
    ("GPU_SIM_JIT", "clang"),
];

/// Names the library's folder to the program.
const LIB_DIR: &str = "MIGRAPHX_SOAK_LIB_DIR";

pub fn command(arguments: &[String]) -> Result<ExitCode, String> {
    let option = |word: &&String| word.starts_with('-') && *word != "--quick";
    if let Some(option) = arguments.iter().find(option) {
        return Err(format!("soak has no option `{option}`\n\n{HELP}"));
    }
    let root = command::workspace_root()?;
    let found = setup::ensure(&setup::Options::default())?;
    let soak = || {
        let mut soak = cargo(&root);
        soak.args(["bench", "--quiet", "--profile", "dev"]).args([
            "-p",
            "migraphx-workspace",
            "--bench",
            "soak",
        ]);
        soak
    };
    // By itself: the compiler needs no exact count.
    if !command::status(soak().arg("--no-run"))? {
        return Err("soak could not be built; the compiler's own words are above".into());
    }
    let mut host = soak();
    host.arg("--");
    let mut runs: Vec<Command> = vec![host];
    if found.prefix {
        let mut gpu = soak();
        // Not MIGRAPHX_LIB_DIR: it would be built anew, for the system's own loader.
        gpu.args(["--", "--gpu"])
            .env(
                LIB_DIR,
                gpu_sim::ensure(&setup::Options::default())?.join("lib"),
            )
            .envs(GPU);
        runs.push(gpu);
    } else {
        println!(
            "soak: virtual GPU: left out, MIGraphX is the machine's own ({})",
            found.lib.display()
        );
    }
    let mut flat = true;
    for mut run in runs {
        run.args(arguments).env(EXACT.0, EXACT.1);
        println!("\n{}", shown(&run));
        flat &= command::status(&mut run)?;
    }
    Ok(match flat {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variable_is_the_one_that_the_tests_name() {
        let source = include_str!("../../testkit/src/held.rs");
        assert!(source.contains(&format!("(\"{}\", \"{}\")", EXACT.0, EXACT.1)));
    }

    #[test]
    fn an_unknown_option_is_named() {
        let error = command(&["--fast".into()]).unwrap_err();
        assert!(error.contains("`--fast`"), "{error}");
    }
}
