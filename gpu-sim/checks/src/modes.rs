//! The settings beside `main.rs`'s: both kinds of buffers, saved programs, deferred work, eight devices.

use crate::compare::Precision;
use crate::devices::NETWORKS;
use crate::families::{FAMILIES, Family};
use crate::hip::{Hip, Outcome};
use crate::{device_buffers, devices, mxr};
use std::path::Path;
use std::process::Command;
use std::time::Instant;

/// A process of its own.
struct Setting {
    name: &'static str,
    environment: &'static [(&'static str, &'static str)],
    wants: fn(&Family) -> bool,
    /// Which families also run in FP16, of those that can.
    half: fn(&Family) -> bool,
    run: fn(&str, &str) -> Outcome<bool>,
}

const GFX90A: (&str, &str) = ("GPU_SIM_ARCH", "gfx90a:sramecc+:xnack-");
const GFX942: (&str, &str) = ("GPU_SIM_ARCH", "gfx942:sramecc+:xnack-");
const DEFERRED: (&str, &str) = ("GPU_SIM_DEFERRED", "1");
const EIGHT: (&str, &str) = ("GPU_SIM_DEVICES", "8");

const SETTINGS: &[Setting] = &[
    Setting {
        name: "gfx90a, saved and device buffers",
        environment: &[GFX90A],
        wants: |_| true,
        half: |_| true,
        run: both,
    },
    Setting {
        name: "gfx942, deferred, device buffers",
        environment: &[GFX942, DEFERRED],
        wants: |_| true,
        // Matrix products are what differs: they go to hipBLASLt.
        half: |f| f.name.contains("matrix product"),
        run: device,
    },
    Setting {
        name: "gfx90a, NHWC, deferred, device buffers",
        environment: &[GFX90A, DEFERRED, ("MIGRAPHX_ENABLE_NHWC", "1")],
        // The one that reaches MIOpen in NHWC (README.md, "Found on the way").
        wants: |f| f.name == "convolution: weights as inputs",
        half: |_| true,
        run: device,
    },
    Setting {
        name: "eight devices, immediate",
        environment: &[GFX90A, EIGHT],
        wants: |f| NETWORKS.contains(&f.name),
        half: |_| false,
        run: devices::check,
    },
    Setting {
        name: "eight devices, deferred",
        environment: &[GFX90A, EIGHT, DEFERRED],
        wants: |f| NETWORKS.contains(&f.name),
        half: |_| false,
        run: devices::check,
    },
];

fn wanted_by<'a>(setting: &'a Setting, wanted: &'a str) -> impl Iterator<Item = &'static Family> {
    let wants = |f: &&Family| (setting.wants)(f) && f.name.contains(wanted);
    FAMILIES
        .iter()
        .filter(wants)
        .collect::<Vec<_>>()
        .into_iter()
}

/// Runs all settings that have something of that name.
pub fn all(program: &Path, prefix: &str, variable: &str, wanted: &str) -> Outcome<bool> {
    let mut passed = true;
    for setting in SETTINGS {
        if wanted_by(setting, wanted).next().is_none() {
            continue;
        }
        let status = Command::new(program)
            .arg(wanted)
            .env(variable, setting.name)
            .env("MIGRAPHX_LIB_DIR", format!("{prefix}/lib"))
            .envs(setting.environment.iter().copied())
            .status()
            .map_err(|e| format!("{}: {e}", program.display()))?;
        if !status.success() {
            eprintln!("{}: {status}", setting.name);
            passed = false;
        }
    }
    Ok(passed)
}

/// In the process of a setting; `None` if it is not one of these.
pub fn child(name: &str, wanted: &str) -> Option<Outcome<bool>> {
    let setting = SETTINGS.iter().find(|s| s.name == name)?;
    Some((setting.run)(name, wanted))
}

/// Each family with device buffers; and in FP32 from a saved program with host buffers.
fn both(name: &str, wanted: &str) -> Outcome<bool> {
    each(name, wanted, true)
}

/// Each family with device buffers.
fn device(name: &str, wanted: &str) -> Outcome<bool> {
    each(name, wanted, false)
}

fn each(name: &str, wanted: &str, saved: bool) -> Outcome<bool> {
    let setting = (SETTINGS.iter().find(|s| s.name == name)).ok_or("no such setting")?;
    let mut passed = true;
    for family in wanted_by(setting, wanted) {
        for precision in [Precision::Fp32, Precision::Fp16] {
            let half = precision == Precision::Fp16;
            if half && !(family.half && (setting.half)(family)) {
                continue;
            }
            let head = format!("{name}, {precision:?}: {}", family.name);
            let start = Instant::now();
            match one(family, precision, saved && !half) {
                Ok(what) => {
                    let took = start.elapsed().as_secs_f64();
                    println!("ok      {head}: {what}, {took:.1} s");
                }
                Err(why) => {
                    passed = false;
                    println!("FAILED  {head}: {why}");
                }
            }
        }
    }
    Ok(passed & clean(name, &Hip::loaded()?))
}

fn one(family: &Family, precision: Precision, saved: bool) -> Outcome<String> {
    let mut what = String::new();
    if saved {
        let bytes = mxr::check(family, precision)
            .map_err(|e| format!("host buffers, saved program: {e}"))?;
        what = format!("saved {} kB, same bits; ", bytes / 1000);
    }
    let report =
        device_buffers::check(family, precision).map_err(|e| format!("device buffers: {e}"))?;
    let (outputs, largest) = (report.outputs, report.largest);
    what += &format!("{outputs} output buffers, largest difference {largest:.1e}");
    Ok(what)
}

/// The line at the end of a setting.
pub fn clean(setting: &str, hip: &Hip) -> bool {
    match hip.clean() {
        Ok(()) => println!("ok      {setting}: no violation, nothing left behind"),
        Err(why) => {
            println!("FAILED  {setting}: {why}");
            return false;
        }
    }
    true
}
