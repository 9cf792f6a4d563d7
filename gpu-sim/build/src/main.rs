//! Builds the stand-in libraries and makes a prefix with them:
//!
//! `gpu-sim-build --prefix <base> --out <dir> [--only file,…] [--cuda]`
//!
//! `<dir>/lib` gets the libraries of `<base>/lib` (as hard links where the file
//! system allows) and the stand-ins beside them, because MIGraphX looks for its
//! GPU libraries in its own folder (RUNPATH `$ORIGIN/../lib`). The real
//! `libmigraphx_device` (375 MB of kernels for GPUs) is left out. With `--cuda` the
//! devices are those of an NVIDIA machine (`../cuda`).

use gpu_sim_build::libraries::{CUDA, HIP, LIBRARIES, Library};
use gpu_sim_build::{link, prefix};
use std::env;
use std::path::PathBuf;
use std::process::ExitCode;

/// What to make.
struct Plan {
    base: PathBuf,
    out: PathBuf,
    only: Option<Vec<String>>,
    cuda: bool,
}

fn main() -> ExitCode {
    match plan(env::args().skip(1)).and_then(|plan| run(&plan)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("gpu-sim-build: {message}");
            ExitCode::FAILURE
        }
    }
}

const USAGE: &str =
    "usage: gpu-sim-build --prefix <prefix with MIGraphX> --out <folder> [--only file,…] [--cuda]";

fn plan(mut arguments: impl Iterator<Item = String>) -> Result<Plan, String> {
    let (mut base, mut out, mut only, mut cuda) = (None, None, None, false);
    while let Some(name) = arguments.next() {
        let mut value = || {
            arguments
                .next()
                .ok_or(format!("{name} wants a value; {USAGE}"))
        };
        match name.as_str() {
            "--prefix" => base = Some(PathBuf::from(value()?)),
            "--out" => out = Some(PathBuf::from(value()?)),
            "--cuda" => cuda = true,
            "--only" => only = Some(value()?.split(',').map(str::to_owned).collect()),
            _ => return Err(format!("unknown argument `{name}`; {USAGE}")),
        }
    }
    let (Some(base), Some(out)) = (base, out) else {
        return Err(USAGE.into());
    };
    for file in only.iter().flatten() {
        if !LIBRARIES.iter().any(|library| library.file == file) {
            let known: Vec<_> = LIBRARIES.iter().map(|l| l.file).collect();
            return Err(format!(
                "--only: no stand-in `{file}`; there are {}",
                known.join(", ")
            ));
        }
    }
    Ok(Plan {
        base,
        out,
        only,
        cuda,
    })
}

fn run(plan: &Plan) -> Result<(), String> {
    let all = LIBRARIES.iter().filter_map(|library| match library.file {
        HIP if plan.cuda => Some(&CUDA),
        // Devices of DTK's are virtual ones only.
        "libgalaxyhip.so.5" if plan.cuda => None,
        _ => Some(library),
    });
    let wanted: Vec<&Library> = all
        .filter(|l| {
            plan.only
                .as_ref()
                .is_none_or(|only| only.iter().any(|f| f == l.file))
        })
        .collect();
    prefix::copy_base(&plan.base, &plan.out)?;
    let archives = link::build_packages(&wanted)?;
    for library in wanted {
        if link::make(library, &archives, &plan.out)? {
            println!("{}", plan.out.join("lib").join(library.file).display());
        }
    }
    prefix::mark(&plan.base, &plan.out)
}
