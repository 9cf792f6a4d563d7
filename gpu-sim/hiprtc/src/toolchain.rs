//! Which compiler builds the kernels, and with which flags.

use std::ffi::{CStr, OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// What `GPU_SIM_JIT` asks for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Compile when there is a clang.
    Auto,
    /// No clang is an error.
    Clang,
    /// Never compile.
    Names,
}

pub(crate) fn mode() -> Result<Mode, String> {
    match env::var("GPU_SIM_JIT").as_deref() {
        Err(_) | Ok("" | "auto") => Ok(Mode::Auto),
        Ok("clang") => Ok(Mode::Clang),
        Ok("names") => Ok(Mode::Names),
        Ok(other) => Err(format!(
            "GPU_SIM_JIT is {other:?}; it can be auto, clang or names"
        )),
    }
}

/// A clang that can be started: the program and the arguments that come first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Clang {
    command: Vec<OsString>,
}

impl Clang {
    /// The first of: `GPU_SIM_CLANG`; packages unpacked into `clang/` beside this library's directory
    /// (what setup does); `clang++` in `PATH`.
    pub(crate) fn find() -> Option<Self> {
        if let Some(set) = env::var_os("GPU_SIM_CLANG").filter(|v| !v.is_empty()) {
            return Some(Self { command: vec![set] });
        }
        if let Some(found) = own_directory().and_then(|lib| Self::unpacked(&lib)) {
            return Some(found);
        }
        let path = env::var_os("PATH")?;
        let program = env::split_paths(&path)
            .map(|dir| dir.join("clang++"))
            .find(|p| p.is_file())?;
        Some(Self {
            command: vec![program.into()],
        })
    }

    /// Debian's clang from packages that were unpacked, not installed: it runs on the C library of the
    /// prefix, through that library's loader.
    fn unpacked(lib: &Path) -> Option<Self> {
        let usr = lib.parent()?.join("clang").join("usr").join("lib");
        let llvm = only(&usr, "llvm-")?;
        let resources = only(&usr.join("clang"), "")?;
        let program = llvm.join("bin").join("clang");
        let loader = lib.join("ld-linux-x86-64.so.2");
        if !program.is_file() || !loader.is_file() {
            return None;
        }
        let libraries = [
            usr.join("x86_64-linux-gnu"),
            llvm.join("lib"),
            lib.to_path_buf(),
        ];
        let command = vec![
            loader.into(),
            "--library-path".into(),
            env::join_paths(libraries).ok()?,
            "--argv0".into(),
            llvm.join("bin").join("clang++").into(),
            program.into(),
            "-no-canonical-prefixes".into(),
            "-resource-dir".into(),
            resources.into(),
        ];
        Some(Self { command })
    }

    /// The command that compiles; variables meant for this process do not reach it.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(&self.command[0]);
        command
            .args(&self.command[1..])
            .arg("--driver-mode=g++")
            .args(FLAGS);
        if is_x86_64_v3() {
            command.arg("-march=x86-64-v3");
        }
        without_loader_variables(&mut command);
        command
    }

    /// What a cached kernel depends on besides its text.
    pub(crate) fn identity(&self) -> Vec<u8> {
        let mut all = self.command.join(OsStr::new(" ")).as_bytes().to_vec();
        all.extend(FLAGS.join(" ").bytes());
        all.push(u8::from(is_x86_64_v3()));
        all
    }
}

const FLAGS: &[&str] = &[
    "-std=c++17",
    "-O2",
    "-fPIC",
    "-w",
    "-nostdinc++",
    "-fno-exceptions",
    "-fno-rtti",
    "-fno-threadsafe-statics",
    // Products and sums stay apart, as on `ref`.
    "-ffp-contract=off",
    "-fbracket-depth=1024",
    "-fvisibility=hidden",
];

/// The command that links one object file into a library.
pub(crate) fn linker() -> Command {
    let set = env::var_os("GPU_SIM_LD").filter(|v| !v.is_empty());
    let mut command = Command::new(set.unwrap_or_else(|| "cc".into()));
    without_loader_variables(&mut command);
    command
}

fn without_loader_variables(command: &mut Command) {
    for (name, _) in env::vars_os() {
        let bytes = name.as_bytes();
        if bytes.starts_with(b"LD_") || bytes.starts_with(b"GPU_SIM_") {
            command.env_remove(name);
        }
    }
}

/// AVX2, FMA and half conversions.
fn is_x86_64_v3() -> bool {
    is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("fma")
        && is_x86_feature_detected!("f16c")
        && is_x86_feature_detected!("bmi2")
        && is_x86_feature_detected!("lzcnt")
        && is_x86_feature_detected!("movbe")
}

/// The last entry of a directory, by name, that starts with `prefix`.
fn only(directory: &Path, prefix: &str) -> Option<PathBuf> {
    let mut all: Vec<PathBuf> = fs::read_dir(directory)
        .ok()?
        .flatten()
        .filter(|e| e.file_name().as_bytes().starts_with(prefix.as_bytes()))
        .map(|e| e.path())
        .collect();
    all.sort();
    all.pop()
}

/// The directory this library was loaded from.
fn own_directory() -> Option<PathBuf> {
    // SAFETY: all zero is a valid value of this plain C struct.
    let mut info: libc::Dl_info = unsafe { std::mem::zeroed() };
    let own = own_directory as fn() -> Option<PathBuf>;
    // SAFETY: any address may be asked for; the struct is writable.
    let found = unsafe { libc::dladdr(own as *const libc::c_void, &mut info) };
    if found == 0 || info.dli_fname.is_null() {
        return None;
    }
    // SAFETY: dladdr gives a NUL-terminated name that lives as long as the library.
    let name = unsafe { CStr::from_ptr(info.dli_fname) };
    let path = Path::new(OsStr::from_bytes(name.to_bytes()));
    path.parent().map(Path::to_path_buf)
}
