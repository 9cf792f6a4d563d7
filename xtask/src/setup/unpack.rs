//! Makes a prefix from packages: one flat `lib` with its own C library and
//! loader, since the libraries look for each other in `$ORIGIN/../lib`.

use super::packages::Packages;
use crate::command::{indent, output, quoted};
use crate::finder::MARKER;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// For crates outside this workspace.
pub const CARGO_CONFIG: &str = "cargo-config.toml";
const TRIPLE: &str = "x86_64-linux-gnu";
const LOADER: &str = "ld-linux-x86-64.so.2";
/// These have to load; the GPU's libraries cannot without its runtime.
const MUST_LOAD: [&str; 3] = [
    "libmigraphx_c.so.3",
    "libmigraphx_ref.so",
    "libmigraphx_onnx.so",
];

/// Unpacks into `work` and makes there a prefix that will stand at `place`.
/// Returns its path; the marker is in it.
pub fn prefix(packages: &Packages, work: &Path, place: &Path) -> Result<PathBuf, String> {
    let root = work.join("root");
    packages.unpack(&root)?;
    let prefix = work.join("prefix");
    flatten(&root, &prefix).map_err(|error| format!("cannot sort the unpacked files: {error}"))?;
    verify(&prefix)?;
    let write = |name: &str, text: String| {
        let path = prefix.join(name);
        fs::write(&path, text).map_err(|error| format!("cannot write {}: {error}", path.display()))
    };
    write(CARGO_CONFIG, cargo_config(place))?;
    write(MARKER, marker(packages))?;
    Ok(prefix)
}

fn flatten(root: &Path, prefix: &Path) -> io::Result<()> {
    libraries(root, &prefix.join("lib"))?;
    // The C interface; the C++ internals, under migraphx/include, are nobody's interface.
    fs::rename(root.join("usr/include"), prefix.join("include"))?;
    let bin = prefix.join("bin");
    for folder in [
        "usr/bin".to_owned(),
        format!("usr/lib/{TRIPLE}/migraphx/bin"),
    ] {
        fs::create_dir_all(&bin)?;
        move_files(&root.join(folder), &bin, &|name| {
            name.starts_with("migraphx")
        })?;
    }
    if fs::read_dir(&bin)?.next().is_none() {
        fs::remove_dir(&bin)?;
    }
    Ok(())
}

/// Moves the shared libraries of unpacked packages into one folder.
pub fn libraries(root: &Path, lib: &Path) -> io::Result<()> {
    fs::create_dir_all(lib)?;
    let multiarch = [format!("usr/lib/{TRIPLE}"), format!("lib/{TRIPLE}")];
    let folders = multiarch
        .iter()
        .map(String::as_str)
        .chain(["usr/lib64", "lib64"]);
    for folder in folders.map(|folder| root.join(folder)) {
        for folder in [folder.join("migraphx/lib"), folder] {
            move_files(&folder, lib, &is_shared_library)?;
        }
    }
    Ok(())
}

fn is_shared_library(name: &str) -> bool {
    let shared = name.ends_with(".so") || name.contains(".so.");
    shared && name.starts_with('l')
}

/// Moves files, and links to files of the same folder, that are not there yet.
fn move_files(from: &Path, to: &Path, wanted: &dyn Fn(&str) -> bool) -> io::Result<()> {
    if !from.is_dir() {
        return Ok(());
    }
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let name = entry.file_name();
        let target = to.join(&name);
        let kind = entry.file_type()?;
        if kind.is_dir() || !wanted(&name.to_string_lossy()) || target.exists() {
            continue;
        }
        if kind.is_symlink() && fs::read_link(entry.path())?.components().count() > 1 {
            continue; // the file itself lies in another of the folders
        }
        fs::rename(entry.path(), target)?;
    }
    Ok(())
}

/// The prefix's own loader lists what each library needs; all of it has to be inside.
fn verify(prefix: &Path) -> Result<(), String> {
    let lib = prefix.join("lib");
    let loader = lib.join(LOADER);
    let header = prefix.join("include/migraphx/migraphx.h");
    for needed in [&loader, &header] {
        if !needed.is_file() {
            let name = needed.strip_prefix(prefix).unwrap_or(needed);
            return Err(not_usable(&format!(
                "there is no {} in them",
                name.display()
            )));
        }
    }
    for name in MUST_LOAD {
        let mut list = Command::new(&loader);
        list.arg("--library-path")
            .arg(&lib)
            .arg("--list")
            .arg(lib.join(name));
        let text = output(&mut list)
            .map_err(|error| not_usable(&format!("{name} does not load: {error}")))?;
        let outside = from_elsewhere(&text, &lib);
        if !outside.is_empty() {
            return Err(not_usable(&format!(
                "{name} needs what they do not have:\n{}",
                indent(&outside.join("\n"))
            )));
        }
    }
    Ok(())
}

fn not_usable(reason: &str) -> String {
    format!(
        "the packages do not make a usable MIGraphX: {reason}.\nThe archive may be in the middle \
         of a change; delete the folder `packages` of the set-up directory and run this again in \
         some hours, or name another mirror with --mirror URL."
    )
}

/// Lines of `ld.so --list` that are not found, or found outside of `lib`.
fn from_elsewhere(list: &str, lib: &Path) -> Vec<String> {
    let resolved = list
        .lines()
        .filter_map(|line| line.trim().split_once(" => "));
    resolved
        .filter(|(_, path)| !Path::new(path.split(" (").next().unwrap_or(path)).starts_with(lib))
        .map(|(name, path)| format!("{name}: {path}"))
        .collect()
}

fn marker(packages: &Packages) -> String {
    let mut text = format!("version={}\n", packages.version().unwrap_or_default());
    for (name, version) in packages.list() {
        text.push_str(&format!("package={name} {version}\n"));
    }
    text
}

fn cargo_config(place: &Path) -> String {
    let item = |argument: String| {
        let escaped = argument.replace('\\', "\\\\").replace('"', "\\\"");
        format!("    \"-C\", \"link-arg=-Wl,{escaped}\",\n")
    };
    let lib = place.join("lib");
    let arguments = [
        format!("--dynamic-linker={}", lib.join(LOADER).display()),
        format!("-rpath,{}", lib.display()),
        "--allow-shlib-undefined".to_owned(),
    ];
    format!(
        "# Made by `cargo xtask setup`. The MIGraphX of this prefix needs the C library beside it,\n\
         # which is newer than most systems'. A program of a crate outside the workspace is built\n\
         # for it with\n\
         #\n\
         #     cargo --config {} run --target x86_64-unknown-linux-gnu\n\
         #\n\
         # (--target keeps build scripts and macros on the system's own C library).\n\
         [target.x86_64-unknown-linux-gnu]\n\
         rustflags = [\n{}]\n",
        quoted(&place.join(CARGO_CONFIG).display().to_string()),
        arguments.map(item).concat()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_from_the_host_is_noticed() {
        let list = "\tlinux-vdso.so.1 (0x00007ffd)\n\
                    \tlibz.so.1 => /p/lib/libz.so.1 (0x00007f)\n\
                    \tlibc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f)\n\
                    \tlibbuf.so.9 => not found\n\
                    \t/lib64/ld-linux-x86-64.so.2 => /p/lib/ld-linux-x86-64.so.2 (0x00007f)\n";
        let found = from_elsewhere(list, Path::new("/p/lib"));
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].starts_with("libc.so.6: /lib") && found[1] == "libbuf.so.9: not found");
    }

    #[test]
    fn the_cargo_configuration_names_the_final_place() {
        let text = cargo_config(Path::new("/cache dir/prefix"));
        assert!(text.contains("--dynamic-linker=/cache dir/prefix/lib/ld-linux-x86-64.so.2\","));
        assert!(text.contains("\"link-arg=-Wl,-rpath,/cache dir/prefix/lib\","));
        assert_eq!(text.matches("\"-C\"").count(), 3);
    }

    #[cfg(unix)]
    #[test]
    fn libraries_are_flattened_without_converters_and_internals() {
        let work = std::env::temp_dir().join(format!("xtask-flatten-{}", std::process::id()));
        let (root, prefix) = (work.join("root"), work.join("prefix"));
        for file in [
            "usr/lib/x86_64-linux-gnu/libc.so.6",
            "usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2",
            "usr/lib/x86_64-linux-gnu/gconv/UTF-16.so",
            "usr/lib/x86_64-linux-gnu/migraphx/lib/libmigraphx.so.1",
            "usr/lib/x86_64-linux-gnu/migraphx/include/migraphx/internal.hpp",
            "usr/include/migraphx/migraphx.h",
        ] {
            let path = root.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        fs::create_dir_all(root.join("usr/lib64")).unwrap();
        std::os::unix::fs::symlink(
            "../lib/x86_64-linux-gnu/ld-linux-x86-64.so.2",
            root.join("usr/lib64/ld-linux-x86-64.so.2"),
        )
        .unwrap();
        flatten(&root, &prefix).unwrap();
        let mut names: Vec<_> = fs::read_dir(prefix.join("lib"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        assert_eq!(
            names,
            ["ld-linux-x86-64.so.2", "libc.so.6", "libmigraphx.so.1"]
        );
        assert!(prefix.join("include/migraphx/migraphx.h").is_file());
        assert!(!prefix.join("include/migraphx/internal.hpp").exists());
        assert!(!prefix.join("bin").exists());
        fs::remove_dir_all(&work).unwrap();
    }
}
