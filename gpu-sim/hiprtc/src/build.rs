//! From MIGraphX's text to a code object.

use crate::toolchain::{Clang, Mode};
use crate::{cache, edits, toolchain};
use std::path::Path;
use std::process::Command;
use std::sync::Once;
use std::{fs, io};

/// The device language on a CPU, by file name.
const DEVICE: &[(&str, &str)] = &[
    ("hip_device.h", include_str!("../device/hip_device.h")),
    ("keywords.h", include_str!("../device/keywords.h")),
    ("scheduler.h", include_str!("../device/scheduler.h")),
    ("lanes.h", include_str!("../device/lanes.h")),
    ("numbers.h", include_str!("../device/numbers.h")),
    ("atomics.h", include_str!("../device/atomics.h")),
];

/// The code object for a program: a shared library, or a name where nothing can be compiled.
pub(crate) fn build(
    source: &str,
    headers: &[(String, String)],
    options: &[String],
) -> Result<Vec<u8>, String> {
    let arch = architecture(options);
    let defines: Vec<&str> = options
        .iter()
        .map(String::as_str)
        .filter(|o| o.starts_with("-D"))
        .collect();
    let text = || {
        let headers = headers
            .iter()
            .flat_map(|(name, text)| [name.as_bytes(), text.as_bytes()]);
        [source.as_bytes(), arch.as_bytes()]
            .into_iter()
            .chain(defines.iter().map(|d| d.as_bytes()))
            .chain(headers)
    };
    let mode = toolchain::mode()?;
    // A source without kernels asks whether the compiler knows some option.
    let probe = !source.contains("MIGRAPHX_GLOBAL");
    let clang = if probe || mode == Mode::Names {
        None
    } else {
        Clang::find()
    };
    let Some(clang) = clang else {
        if mode == Mode::Clang && !probe {
            return Err(
                "GPU_SIM_JIT is clang, but there is no clang++: neither GPU_SIM_CLANG, \
                        nor unpacked packages beside the library, nor in PATH"
                    .into(),
            );
        }
        if mode == Mode::Auto && !probe {
            warn_without_values();
        }
        return Ok(format!("GPU-SIM-KERNELS:{arch}:{}\0", cache::hash(text())).into_bytes());
    };
    let identity = clang.identity();
    let device = DEVICE.iter().map(|(_, text)| text.as_bytes());
    let key = cache::hash(text().chain(device).chain([identity.as_slice()]));
    let cached = cache::directory().join(format!("{key}.so"));
    if let Ok(code) = fs::read(&cached) {
        return Ok(code);
    }
    let failed = |what: &str, e: io::Error| format!("gpu-sim: {what}: {e}");
    let work = cache::work_directory(&key).map_err(|e| failed("the kernel cache", e))?;
    write_files(&work, source, headers, arch).map_err(|e| failed("the kernel cache", e))?;
    let object = work.join("kernel.o");
    let library = work.join("kernel.so");
    let mut compile = clang.command();
    compile
        .args(&defines)
        .arg("-include")
        .arg(work.join("device/hip_device.h"));
    compile
        .arg("-I")
        .arg(&work)
        .arg("-c")
        .arg(work.join("main.cpp"))
        .arg("-o")
        .arg(&object);
    run(&mut compile, &work)?;
    let mut link = toolchain::linker();
    link.arg("-shared")
        .arg(&object)
        .arg("-o")
        .arg(&library)
        .args(["-lpthread", "-lm"]);
    run(&mut link, &work)?;
    let code = fs::read(&library).map_err(|e| failed("the built kernel", e))?;
    // A rename is atomic: another process sees a whole file or none.
    fs::rename(&library, &cached).map_err(|e| failed("the kernel cache", e))?;
    let _ = fs::remove_dir_all(&work);
    Ok(code)
}

/// `gfx90a` of `--offload-arch=gfx90a:sramecc+`.
fn architecture(options: &[String]) -> &str {
    let option = options
        .iter()
        .find_map(|o| o.strip_prefix("--offload-arch="))
        .unwrap_or_default();
    option.split(':').next().unwrap_or_default()
}

fn warn_without_values() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        eprintln!(
            "gpu-sim: no clang++ was found (GPU_SIM_CLANG, unpacked packages, PATH): MIGraphX's own \
             kernels are names only and compute nothing. GPU_SIM_JIT=names says that this is wanted."
        );
    });
}

fn write_files(
    work: &Path,
    source: &str,
    headers: &[(String, String)],
    arch: &str,
) -> io::Result<()> {
    let write = |name: &str, text: &str| {
        let path = work.join(name);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(path, text)
    };
    for (name, text) in headers {
        write(name, &edits::edit(name, text))?;
    }
    for (name, text) in DEVICE {
        write(&format!("device/{name}"), text)?;
    }
    write("main.cpp", &format!("{source}\n{}", entry_points(arch)))
}

/// What the HIP stand-in looks for in a code object.
fn entry_points(arch: &str) -> String {
    format!(
        r#"
#define GPUSIM_EXPORT extern "C" __attribute__((visibility("default")))
GPUSIM_EXPORT const char hipsim_arch[] = "{arch}";
GPUSIM_EXPORT const unsigned hipsim_abi = 1;
GPUSIM_EXPORT void hipsim_run(void* kernel, const unsigned* global, const unsigned* local, void* args, size_t bytes)
{{
    ::gpusim::run(kernel, global, local, args, bytes);
}}
"#
    )
}

fn run(command: &mut Command, work: &Path) -> Result<(), String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command
        .output()
        .map_err(|e| format!("gpu-sim: {program} could not be started to build a kernel: {e}"))?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!(
        "gpu-sim: a kernel could not be built for the CPU ({program}: {}). Its files are kept in {}.\n{}",
        output.status,
        work.display(),
        String::from_utf8_lossy(&output.stderr)
    ))
}
