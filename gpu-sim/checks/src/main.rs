//! Small networks of every kernel family, compiled for MIGraphX's `gpu` target on the virtual GPU,
//! against `ref`: FP32, FP16 and bf16, NCHW and NHWC, two architectures (one with rocBLAS, one with
//! hipBLASLt). A line a family.
//!
//! ```text
//! GPU_SIM_DIR=<dir> cargo run --release -p gpu-sim-checks [-- part of a family's name]
//! ```

mod compare;
mod device_buffers;
mod devices;
mod families;
mod hip;
mod kernels;
mod modes;
mod mxr;
mod network;

use compare::{LAYOUT_PASSES, Precision, check};
use families::FAMILIES;
use kernels::KERNELS;
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::time::Instant;

/// MIGraphX reads its environment once in a process, so each setting gets a process of its own.
const SETTINGS: &[(&str, &str, bool)] = &[
    ("gfx90a, NCHW", "gfx90a:sramecc+:xnack-", false),
    ("gfx90a, NHWC", "gfx90a:sramecc+:xnack-", true),
    ("gfx942, NCHW", "gfx942:sramecc+:xnack-", false),
];
const CHILD: &str = "GPU_SIM_CHECKS_SETTING";

fn main() -> ExitCode {
    let wanted = std::env::args().nth(1).unwrap_or_default();
    let passed = match std::env::var(CHILD) {
        Ok(setting) => {
            modes::child(&setting, &wanted).unwrap_or_else(|| families(&setting, &wanted))
        }
        Err(_) => all_settings(&wanted),
    };
    match passed {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(why) => {
            eprintln!("gpu-sim-checks: {why}");
            ExitCode::FAILURE
        }
    }
}

fn all_settings(wanted: &str) -> Result<bool, String> {
    let prefix = option_env!("GPU_SIM_DIR")
        .ok_or("built without GPU_SIM_DIR, the directory that gpu-sim-build made (its --out)")?;
    let program = std::env::current_exe().map_err(|e| e.to_string())?;
    let mut passed = true;
    for (name, arch, nhwc) in SETTINGS {
        let mut child = Command::new(&program);
        child.arg(wanted).env(CHILD, name);
        child
            .env("MIGRAPHX_LIB_DIR", format!("{prefix}/lib"))
            .env("GPU_SIM_ARCH", arch);
        if *nhwc {
            child.env("MIGRAPHX_ENABLE_NHWC", "1");
        }
        let status = child
            .status()
            .map_err(|e| format!("{}: {e}", program.display()))?;
        if !status.success() {
            eprintln!("{name}: {status}");
            passed = false;
        }
    }
    passed &= modes::all(&program, prefix, CHILD, wanted)?;
    Ok(passed)
}

fn families(setting: &str, wanted: &str) -> Result<bool, String> {
    let families: Vec<_> = FAMILIES
        .iter()
        .filter(|f| f.name.contains(wanted))
        .collect();
    let kernels: Vec<_> = KERNELS.iter().filter(|k| k.name.contains(wanted)).collect();
    if families.is_empty() && kernels.is_empty() {
        let names = FAMILIES
            .iter()
            .map(|f| f.name)
            .chain(KERNELS.iter().map(|k| k.name));
        let names: Vec<_> = names.collect();
        return Err(format!(
            "nothing has {wanted:?} in its name; there are {names:#?}"
        ));
    }
    let nhwc = std::env::var_os("MIGRAPHX_ENABLE_NHWC").is_some();
    // One setting shows the third precision; building its kernels for all takes minutes more.
    let precisions = match setting == SETTINGS[0].0 {
        true => &[Precision::Fp32, Precision::Fp16, Precision::Bf16][..],
        false => &[Precision::Fp32, Precision::Fp16][..],
    };
    let mut passed = true;
    for family in families {
        for &precision in precisions {
            if precision != Precision::Fp32 && !family.half {
                continue;
            }
            let start = Instant::now();
            let outcome = check(family, precision);
            let took = start.elapsed().as_secs_f64();
            let head = format!("{setting}, {precision:?}: {}", family.name);
            match outcome {
                Ok(largest) => {
                    println!("ok      {head}: largest difference {largest:.1e}, {took:.1} s")
                }
                Err(why) if nhwc && why.contains(LAYOUT_PASSES) => {
                    println!(
                        "n/a     {head}: MIGraphX cannot compile this with NHWC ({LAYOUT_PASSES})"
                    );
                }
                Err(why) => {
                    passed = false;
                    println!("FAILED  {head}: {why}");
                }
            }
        }
    }
    // These do not depend on layouts.
    let lib = std::env::var_os("MIGRAPHX_LIB_DIR")
        .map(PathBuf::from)
        .unwrap_or_default();
    let arch = std::env::var("GPU_SIM_ARCH").unwrap_or_default();
    for kernel in kernels.into_iter().filter(|_| !nhwc) {
        match kernels::check(&lib, kernel, &arch) {
            Ok(()) => println!("ok      {setting}: {}", kernel.name),
            Err(why) => {
                passed = false;
                println!("FAILED  {setting}: {}: {why}", kernel.name);
            }
        }
    }
    Ok(passed)
}
