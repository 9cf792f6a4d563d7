//! Decides whether to link, and records where MIGraphX is.
//!
//! Never fails for want of the library: what a user then reads is the error of
//! the first call, since Cargo hides the output of a dependency's build script.
//!
//! Metadata for direct dependants (`DEP_MIGRAPHX_C_*`): `LIB_DIR`, `INCLUDE`,
//! `VERSION`, and `PREFIX` where the library is the one of `cargo xtask setup`.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

#[cfg(feature = "bindgen")]
mod codegen;
#[path = "../src/finder.rs"]
#[allow(dead_code)]
mod finder;

fn main() {
    println!("cargo::rustc-check-cfg=cfg(migraphx_linked)");
    println!("cargo::rerun-if-changed=build");
    println!("cargo::rerun-if-changed=src/finder.rs");
    for name in finder::VARIABLES.iter().chain(&["MIGRAPHX_LINK"]) {
        println!("cargo::rerun-if-env-changed={name}");
    }
    // docs.rs has no library and needs none; other targets cannot use this machine's.
    let cross = env::var("HOST") != env::var("TARGET");
    if env::var_os("DOCS_RS").is_some() {
        return;
    }
    let found = finder::find();
    watch(found.as_ref().ok());
    match &found {
        Ok(found) if !cross => {
            tell(found);
            link(found);
        }
        _ => {}
    }
    #[cfg(feature = "bindgen")]
    regenerate(found.ok());
}

fn watch(found: Option<&finder::Found>) {
    for path in finder::watched() {
        println!("cargo::rerun-if-changed={}", path.display());
    }
    match found {
        Some(found) => println!("cargo::rerun-if-changed={}", found.lib.display()),
        // In this workspace the set-up may come right after this build. A missing
        // path means "always rerun", which a user's machine must be spared.
        None if Path::new("../xtask/Cargo.toml").exists() => {
            if let Some(prefix) = finder::setup_prefix() {
                println!(
                    "cargo::rerun-if-changed={}",
                    prefix.join(finder::MARKER).display()
                );
            }
        }
        None => {}
    }
}

fn tell(found: &finder::Found) {
    let directory = found.lib_dir().display();
    println!(
        "cargo::rustc-env=MIGRAPHX_SYS_BUILD_LIB={}",
        found.lib.display()
    );
    println!("cargo::metadata=lib_dir={directory}");
    if let Some(include) = &found.include {
        println!("cargo::metadata=include={}", include.display());
    }
    if let Some(version) = found.version() {
        println!("cargo::metadata=version={version}");
    }
    if found.prefix {
        let prefix = found.lib_dir().parent().unwrap_or(Path::new("/"));
        println!("cargo::metadata=prefix={}", prefix.display());
        // Our own unit tests run against the prefix's libraries, through its loader.
        println!("cargo::rustc-link-arg=-Wl,--dynamic-linker={directory}/ld-linux-x86-64.so.2");
        println!("cargo::rustc-link-arg=-Wl,-rpath,{directory}");
        println!("cargo::rustc-link-arg=-Wl,--allow-shlib-undefined");
    }
}

/// Emits the link line where the program will start with it.
fn link(found: &finder::Found) {
    let wanted = env::var_os("CARGO_FEATURE_LINKED").is_some()
        && env::var_os("CARGO_FEATURE_LOAD_DYNAMIC").is_none();
    let startable = match env::var("MIGRAPHX_LINK").as_deref() {
        Ok("force") => true,
        Ok("never") => false,
        // A program linked to what the loader does not find dies before main.
        _ => !found.prefix && loader_finds(&found.lib),
    };
    if !wanted || !startable {
        return;
    }
    let name = found.lib.file_name().unwrap_or_default().to_string_lossy();
    println!("cargo::rustc-cfg=migraphx_linked");
    println!(
        "cargo::rustc-link-search=native={}",
        found.lib_dir().display()
    );
    println!("cargo::rustc-link-lib=dylib:+verbatim={name}");
}

/// Whether the dynamic loader would find this very file by its name.
fn loader_finds(library: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let listed = ["/sbin/ldconfig", "/usr/sbin/ldconfig", "ldconfig"]
        .iter()
        .find_map(|program| Command::new(program).arg("-p").output().ok())
        .filter(|output| output.status.success());
    let Some(listed) = listed else {
        return ["/lib", "/usr/lib", "/lib64", "/usr/lib64"]
            .iter()
            .any(|directory| library.parent() == Some(Path::new(directory)));
    };
    String::from_utf8_lossy(&listed.stdout)
        .lines()
        .filter(|line| line.trim_start().starts_with("libmigraphx_c.so"))
        .filter_map(|line| line.split("=> ").nth(1))
        .any(|path| real(&PathBuf::from(path.trim())) == real(library))
}

/// The feature `bindgen`: bindings from the installed header.
#[cfg(feature = "bindgen")]
fn regenerate(found: Option<finder::Found>) {
    let include = found
        .and_then(|found| found.include)
        .expect("feature `bindgen` needs migraphx/migraphx.h: set MIGRAPHX_INCLUDE_DIR");
    let header = include.join("migraphx/migraphx.h");
    println!("cargo::rerun-if-changed={}", header.display());
    let text = codegen::generate(&header, &include).unwrap_or_else(|error| panic!("{error}"));
    let directory = PathBuf::from(env::var_os("OUT_DIR").expect("Cargo sets OUT_DIR"));
    std::fs::write(directory.join("bindings.rs"), text).expect("OUT_DIR is writable");
}
