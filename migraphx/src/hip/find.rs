//! Where HIP is.

use std::ffi::{OsString, c_void};
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::hip::library::Library;
use crate::target::Target;

/// HIP's file names: Hygon's DTK first, which has links of AMD's name beside it.
const NAMES: [&str; 5] = [
    "libgalaxyhip.so.5",
    "libamdhip64.so.7",
    "libamdhip64.so.6",
    "libamdhip64.so.5",
    "libamdhip64.so",
];
/// What a mapped file's name begins with, of whatever version.
const STEMS: [&str; 2] = ["libgalaxyhip.so", "libamdhip64.so"];
const GPU_TARGET: &str = "libmigraphx_gpu.so";
const ROOTS: [&str; 3] = ["ROCM_PATH", "DTKROOT", "HIP_PATH"];
const USUAL_ROOTS: [&str; 2] = ["/opt/rocm", "/opt/dtk"];

/// Finds and opens HIP, or says what was looked for.
pub(crate) fn find() -> Result<Library, String> {
    let mut looked = Vec::new();
    used_by_migraphx(&mut looked)?
        .or_else(|| mapped_already(&mut looked))
        .or_else(|| by_loader(&mut looked))
        .or_else(|| in_usual_places(&mut looked))
        .ok_or_else(|| {
            format!(
                "HIP, the GPU's runtime library, was not found; install ROCm (or Hygon's DTK), or \
                 set ROCM_PATH to where it is. Looked for:\n  {}",
                looked.join("\n  ")
            )
        })
}

/// The HIP that MIGraphX's `gpu` target is bound to; loads the target. An error
/// where that cannot be done now: another HIP might not be the target's.
fn used_by_migraphx(looked: &mut Vec<String>) -> Result<Option<Library>, String> {
    let mut target = mapped(&[GPU_TARGET]).into_iter().next();
    if target.is_none() {
        match Target::new("gpu") {
            Ok(_) => target = mapped(&[GPU_TARGET]).into_iter().next(),
            Err(Error::InvalidArgument(problem)) => return Err(problem),
            Err(error) => {
                looked.push(format!("the one of MIGraphX's `gpu` target: {error}"));
            }
        }
    }
    let Some(path) = target else { return Ok(None) };
    // A symbol is looked for in the library and what it depends on, in the
    // order that its own calls are bound in (unless the program has HIP too).
    Ok(open_mapped(&path).and_then(|library| keep(library, &path, looked)))
}

/// A copy that the process has, the nearest to MIGraphX first.
fn mapped_already(looked: &mut Vec<String>) -> Option<Library> {
    let mut found = mapped(&STEMS);
    if found.is_empty() {
        looked.push(format!(
            "one loaded in this process: no {}",
            STEMS.join(", no ")
        ));
    }
    if let Ok(migraphx) = crate::library_path() {
        found.sort_by_key(|path| std::cmp::Reverse(common(path, &migraphx)));
    }
    found
        .iter()
        .find_map(|path| keep(open_mapped(path)?, path, looked))
}

fn by_loader(looked: &mut Vec<String>) -> Option<Library> {
    looked.push(format!("by the dynamic loader: {}", NAMES.join(", ")));
    NAMES.iter().find_map(|name| {
        // SAFETY: a library found by this name runs HIP's initialisers.
        match unsafe { libloading::Library::new(*name) } {
            Ok(handle) => keep(handle, Path::new(name), looked),
            Err(error) => {
                // Not there at all is the usual case, and says nothing new.
                let reason = reason(&error);
                if !reason.starts_with(&format!("{name}: cannot open")) {
                    looked.push(format!("{name}: {reason}"));
                }
                None
            }
        }
    })
}

fn in_usual_places(looked: &mut Vec<String>) -> Option<Library> {
    let migraphx = crate::library_path().ok();
    let beside = migraphx.as_deref().and_then(Path::parent);
    for directory in directories(beside, |name| std::env::var_os(name)) {
        looked.push(format!("in {}", directory.display()));
        for file in NAMES.map(|name| directory.join(name)) {
            if !file.exists() {
                continue;
            }
            // SAFETY: a file of this name runs HIP's initialisers.
            match unsafe { libloading::Library::new(&file) } {
                Ok(handle) => {
                    if let Some(library) = keep(handle, &file, looked) {
                        return Some(library);
                    }
                }
                Err(error) => looked.push(format!("{}: {}", file.display(), reason(&error))),
            }
        }
    }
    None
}

fn directories(beside: Option<&Path>, variable: impl Fn(&str) -> Option<OsString>) -> Vec<PathBuf> {
    let roots = ROOTS
        .iter()
        .filter_map(|name| variable(name).filter(|value| !value.is_empty()))
        .map(PathBuf::from)
        .chain(USUAL_ROOTS.map(PathBuf::from));
    let inside = roots.flat_map(|root| ["lib", "lib64", "hip/lib"].map(|part| root.join(part)));
    let mut all: Vec<PathBuf> = Vec::new();
    for directory in beside.map(Path::to_owned).into_iter().chain(inside) {
        if !all.contains(&directory) {
            all.push(directory);
        }
    }
    all
}

fn keep(handle: libloading::Library, path: &Path, looked: &mut Vec<String>) -> Option<Library> {
    // SAFETY: it has HIP's name, or is MIGraphX's user of HIP.
    unsafe { Library::new(handle, path) }
        .map_err(|missing| looked.push(missing))
        .ok()
}

/// How many components two files' real directories have in common.
fn common(one: &Path, other: &Path) -> usize {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let (one, other) = (real(one), real(other));
    let pairs = one.components().zip(other.components());
    pairs.take_while(|(a, b)| a == b).count()
}

fn reason(error: &libloading::Error) -> String {
    let source = std::error::Error::source(error).map(ToString::to_string);
    source.unwrap_or_else(|| error.to_string())
}

/// The files in this process whose names begin with one of `stems`.
#[cfg(target_os = "linux")]
fn mapped(stems: &[&str]) -> Vec<PathBuf> {
    use std::ffi::{CStr, OsStr, c_int};
    use std::os::unix::ffi::OsStrExt;

    unsafe extern "C" fn note(
        info: *mut libc::dl_phdr_info,
        _: libc::size_t,
        names: *mut c_void,
    ) -> c_int {
        // SAFETY: the loader gives a valid description; `names` is the vector below.
        unsafe {
            let name = (*info).dlpi_name;
            if !name.is_null() {
                let name = OsStr::from_bytes(CStr::from_ptr(name).to_bytes());
                (*names.cast::<Vec<PathBuf>>()).push(name.into());
            }
        }
        0
    }

    let mut names = Vec::<PathBuf>::new();
    // SAFETY: `note` has the type that is asked for, and `names` outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(note), (&raw mut names).cast()) };
    names.retain(|path| {
        let name = path.file_name().unwrap_or_default().as_bytes();
        stems.iter().any(|stem| name.starts_with(stem.as_bytes()))
    });
    names
}

/// The handle of a file of [`mapped`].
#[cfg(target_os = "linux")]
fn open_mapped(path: &Path) -> Option<libloading::Library> {
    use libloading::os::unix;
    // SAFETY: with RTLD_NOLOAD no code is loaded or run.
    unsafe { unix::Library::open(Some(path), unix::RTLD_NOW | libc::RTLD_NOLOAD) }
        .ok()
        .map(Into::into)
}

#[cfg(not(target_os = "linux"))]
fn mapped(_: &[&str]) -> Vec<PathBuf> {
    Vec::new()
}

#[cfg(not(target_os = "linux"))]
fn open_mapped(_: &Path) -> Option<libloading::Library> {
    None
}

/// The file that holds a function.
#[cfg(unix)]
pub(crate) fn file_of(function: *const c_void) -> Option<PathBuf> {
    use std::os::unix::ffi::OsStrExt;
    let mut info = std::mem::MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: dladdr fills `info` for a code address and returns non-zero; the
    // name it gives lives as long as the library, which is never unloaded.
    unsafe {
        if libc::dladdr(function, info.as_mut_ptr()) == 0 {
            return None;
        }
        let name = info.assume_init().dli_fname;
        (!name.is_null()).then(|| {
            let bytes = std::ffi::CStr::from_ptr(name).to_bytes();
            plain(Path::new(std::ffi::OsStr::from_bytes(bytes)))
        })
    }
}

/// Without the `lib/../lib` of a library's own search path.
#[cfg(unix)]
fn plain(path: &Path) -> PathBuf {
    let folder = path.parent().and_then(|folder| folder.canonicalize().ok());
    match (folder, path.file_name()) {
        (Some(folder), Some(name)) => folder.join(name),
        _ => path.to_owned(),
    }
}

#[cfg(not(unix))]
pub(crate) fn file_of(_: *const c_void) -> Option<PathBuf> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_come_in_order_and_once() {
        let variables = |name: &str| match name {
            "ROCM_PATH" => Some("/opt/rocm".into()),
            "DTKROOT" => Some("".into()),
            "HIP_PATH" => Some("/opt/dtk/hip".into()),
            _ => None,
        };
        let found = directories(Some(Path::new("/opt/rocm/lib")), variables);
        let expected = [
            "/opt/rocm/lib",
            "/opt/rocm/lib64",
            "/opt/rocm/hip/lib",
            "/opt/dtk/hip/lib",
            "/opt/dtk/hip/lib64",
            "/opt/dtk/hip/hip/lib",
            "/opt/dtk/lib",
            "/opt/dtk/lib64",
        ];
        assert_eq!(found, expected.map(PathBuf::from));
    }

    #[test]
    fn the_nearest_shares_the_longest_path() {
        let migraphx = Path::new("/none/rocm-1/lib/libmigraphx_c.so.3");
        let near = common(Path::new("/none/rocm-1/lib/libamdhip64.so.6"), migraphx);
        let far = common(Path::new("/none/rocm-2/lib/libamdhip64.so.6"), migraphx);
        assert!(near > far);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_mapped_library_is_seen_and_opened() {
        let found = mapped(&["libc.so"]);
        let library = open_mapped(&found[0]).unwrap();
        // SAFETY: only the address is used.
        let malloc = unsafe { library.get::<*const c_void>(b"malloc\0") }.unwrap();
        let file = file_of(*malloc).unwrap();
        assert_eq!(
            file.canonicalize().unwrap(),
            found[0].canonicalize().unwrap()
        );
        assert!(mapped(&["libamdhip64-not-there.so"]).is_empty());
    }
}
