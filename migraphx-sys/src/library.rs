//! Opening the library, once.

use std::path::{Path, PathBuf};

use once_cell::sync::OnceCell;

use crate::numbering::{self, Numbering};
use crate::table::Function;
use crate::{ByHand, Functions, OperationCreate, finder};

/// MIGraphX's C library, opened. It is never unloaded, since threads and exit
/// handlers of the process keep using its code.
#[derive(Debug)]
pub struct Library {
    /// The functions of the header that the bindings were made from.
    pub functions: Functions,
    /// Newer functions, declared by hand.
    pub by_hand: ByHand,
    /// The variadic function.
    pub migraphx_operation_create: Function<OperationCreate>,
    numbering: Numbering,
    path: PathBuf,
    handle: libloading::Library,
}

/// Why MIGraphX could not be loaded. A plain value: making one calls no C.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// No library was found.
    #[error("MIGraphX could not be loaded: {0}")]
    NotFound(#[from] finder::NotFound),
    /// The library was found, and the dynamic loader refused it.
    #[error("MIGraphX could not be loaded from {}: {reason}{hint}", .path.display())]
    Refused {
        /// The file.
        path: PathBuf,
        /// What the loader said.
        reason: String,
        /// What to do about it, where that is known.
        hint: String,
    },
    /// The file is a library, and not MIGraphX's.
    #[error(
        "{} is not a MIGraphX C library this crate can use: it has no function `{missing}`. \
         Point MIGRAPHX_LIB_DIR at the directory of libmigraphx_c.so.3 (ROCm 5.6 or newer)",
        .path.display()
    )]
    NotMigraphx {
        /// The file.
        path: PathBuf,
        /// The first core function that it lacks.
        missing: &'static str,
    },
    /// The library numbers its data types in a way this crate does not know.
    #[error(
        "the MIGraphX library {} numbers its data types in a way this version of the crate does \
         not know (scalars of type 1 to 5 have {sizes:?} bytes), so tensors could be read with \
         the wrong size. Update the crate, or use a library of ROCm 5.6 to 7.2",
        .path.display()
    )]
    UnknownNumbering {
        /// The file.
        path: PathBuf,
        /// Bytes of scalars of the raw types 1 to 5.
        sizes: [usize; 5],
    },
    /// [`load_from`] came too late.
    #[error(
        "MIGraphX is already loaded from {}; call load_from before anything else of this crate",
        .path.display()
    )]
    AlreadyLoaded {
        /// The file in use.
        path: PathBuf,
    },
}

static LIBRARY: OnceCell<Library> = OnceCell::new();

/// The library, opened at the first call.
///
/// In order: the copy that the process has mapped already (always so where this
/// crate is linked); the directory in `MIGRAPHX_LIB_DIR`; `libmigraphx_c.so.3`
/// and `libmigraphx_c.so` by the dynamic loader's own search; what [`finder`]
/// finds; the path recorded when this crate was built.
///
/// # Errors
/// [`LoadError`]; a later call tries again.
#[inline]
pub fn library() -> Result<&'static Library, LoadError> {
    LIBRARY.get_or_try_init(open)
}

/// Opens the library at `path`, before first use.
///
/// # Errors
/// [`LoadError`] where the file is not a usable MIGraphX, or another copy is in use.
pub fn load_from(path: impl AsRef<Path>) -> Result<&'static Library, LoadError> {
    let path = path.as_ref();
    let mut opened_here = false;
    let library = LIBRARY.get_or_try_init(|| {
        opened_here = true;
        Library::open(path)
    })?;
    let same = || Some(library.path.canonicalize().ok()? == path.canonicalize().ok()?);
    if opened_here || same() == Some(true) {
        Ok(library)
    } else {
        Err(LoadError::AlreadyLoaded {
            path: library.path.clone(),
        })
    }
}

fn open() -> Result<Library, LoadError> {
    #[cfg(migraphx_linked)]
    crate::linked::keep();
    #[cfg(target_os = "linux")]
    if let Some(handle) = mapped_already() {
        return Library::check(Path::new(finder::LIBRARY_NAMES[0]), handle);
    }
    if std::env::var_os("MIGRAPHX_LIB_DIR").is_some_and(|value| !value.is_empty()) {
        return Library::open(&finder::find()?.lib);
    }
    for name in finder::LIBRARY_NAMES {
        // SAFETY: a library found by this name runs MIGraphX's initialisers.
        if let Ok(handle) = unsafe { libloading::Library::new(*name) } {
            return Library::check(Path::new(name), handle);
        }
    }
    match (finder::find(), option_env!("MIGRAPHX_SYS_BUILD_LIB")) {
        (Ok(found), _) => Library::open(&found.lib),
        (Err(_), Some(recorded)) if Path::new(recorded).exists() => {
            Library::open(Path::new(recorded))
        }
        (Err(nothing), _) => Err(nothing.into()),
    }
}

/// The copy in this process, if there is one. (Elsewhere than on Linux, opening
/// by name gives that copy too.)
#[cfg(target_os = "linux")]
fn mapped_already() -> Option<libloading::Library> {
    use libloading::os::unix;
    finder::LIBRARY_NAMES.iter().find_map(|name| {
        // SAFETY: with RTLD_NOLOAD no code is loaded or run.
        unsafe { unix::Library::open(Some(*name), unix::RTLD_NOW | libc::RTLD_NOLOAD) }
            .ok()
            .map(Into::into)
    })
}

impl Library {
    fn open(path: &Path) -> Result<Self, LoadError> {
        // SAFETY: the file is MIGraphX's library by the finder's or the caller's word.
        match unsafe { libloading::Library::new(path) } {
            Ok(handle) => Library::check(path, handle),
            Err(error) => {
                let reason = reason(&error);
                Err(LoadError::Refused {
                    path: path.to_owned(),
                    hint: hint(path, &reason),
                    reason,
                })
            }
        }
    }

    /// Refuses what is not MIGraphX or has unknown type numbers.
    fn check(path: &Path, handle: libloading::Library) -> Result<Self, LoadError> {
        // SAFETY: the types are those of migraphx.h, whose signatures have not
        // changed since ROCm 5.3 but for const.
        let (functions, by_hand, migraphx_operation_create) = unsafe {
            (
                Functions::look_up(&handle),
                ByHand::look_up(&handle),
                crate::by_hand::operation_create(&handle),
            )
        };
        let path = file_of(&functions).unwrap_or_else(|| path.to_owned());
        let refuse = |handle, error| {
            // Never unloaded, not even when refused.
            std::mem::forget::<libloading::Library>(handle);
            Err(error)
        };
        if let Some(missing) = missing_core(&functions) {
            return refuse(handle, LoadError::NotMigraphx { path, missing });
        }
        // SAFETY: all core functions of MIGraphX are there.
        let sizes = unsafe { numbering::probe(&functions) }.unwrap_or_default();
        let Some(numbering) = Numbering::of_sizes(sizes) else {
            return refuse(handle, LoadError::UnknownNumbering { path, sizes });
        };
        Ok(Library {
            functions,
            by_hand,
            migraphx_operation_create,
            numbering,
            path,
            handle,
        })
    }

    /// Which numbers the library gives its data types.
    pub fn numbering(&self) -> Numbering {
        self.numbering
    }

    /// The file in use.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The address of a symbol of the library or of a library it depends on,
    /// such as its libstdc++.
    pub fn symbol(&self, name: &str) -> Option<*const std::ffi::c_void> {
        // SAFETY: a symbol is an address, and nothing but that is taken from it.
        unsafe { self.handle.get::<*const std::ffi::c_void>(name.as_bytes()) }
            .ok()
            .map(|symbol| *symbol)
            .filter(|address| !address.is_null())
    }
}

impl Drop for Library {
    fn drop(&mut self) {
        unreachable!("the library is kept in a static for the life of the process");
    }
}

/// Without these nothing works; every other function is optional.
fn missing_core(functions: &Functions) -> Option<&'static str> {
    macro_rules! core {
        ($($name:ident)*) => {
            None$(.or((!functions.$name.is_available()).then_some(stringify!($name))))*
        };
    }
    core! {
        migraphx_shape_create_with_strides migraphx_shape_create_scalar migraphx_shape_destroy
        migraphx_shape_type migraphx_shape_lengths migraphx_shape_strides migraphx_shape_bytes
        migraphx_argument_create migraphx_argument_destroy migraphx_argument_shape
        migraphx_argument_buffer
        migraphx_target_create migraphx_target_destroy
        migraphx_program_parameter_shapes_destroy migraphx_program_parameter_shapes_size
        migraphx_program_parameter_shapes_get migraphx_program_parameter_shapes_names
        migraphx_program_parameters_create migraphx_program_parameters_destroy
        migraphx_program_parameters_add
        migraphx_arguments_destroy migraphx_arguments_size migraphx_arguments_get
        migraphx_shapes_destroy migraphx_shapes_size migraphx_shapes_get
        migraphx_program_destroy migraphx_program_compile migraphx_program_run
        migraphx_program_get_parameter_shapes migraphx_program_get_output_shapes
        migraphx_load migraphx_save
    }
}

/// The file that holds the library's code.
#[cfg(unix)]
fn file_of(functions: &Functions) -> Option<PathBuf> {
    use std::os::unix::ffi::OsStrExt;
    // Any will do, since a library that is refused for one that it lacks has to be named too.
    let run = functions.migraphx_program_run.get().ok();
    let address = match run.map(|run| run as *const std::ffi::c_void) {
        Some(address) => address,
        None => functions.migraphx_shape_bytes.get().ok()? as *const std::ffi::c_void,
    };
    let mut info = std::mem::MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: dladdr fills `info` for a code address and returns non-zero; the
    // name it gives lives as long as the library, which is never unloaded.
    unsafe {
        if libc::dladdr(address, info.as_mut_ptr()) == 0 {
            return None;
        }
        let name = info.assume_init().dli_fname;
        (!name.is_null()).then(|| {
            let bytes = std::ffi::CStr::from_ptr(name).to_bytes();
            PathBuf::from(std::ffi::OsStr::from_bytes(bytes))
        })
    }
}

#[cfg(not(unix))]
fn file_of(_: &Functions) -> Option<PathBuf> {
    None
}

fn reason(error: &libloading::Error) -> String {
    let source = std::error::Error::source(error).map(ToString::to_string);
    source.unwrap_or_else(|| error.to_string())
}

/// What to do about the loader's refusal.
fn hint(path: &Path, reason: &str) -> String {
    if let Some(needed) = needed_glibc(reason) {
        let host = host_glibc().map_or(String::new(), |version| format!(" {version}"));
        let configuration = path
            .parent()
            .and_then(Path::parent)
            .map(|prefix| prefix.join("cargo-config.toml"))
            .filter(|file| file.is_file());
        let way_out = match configuration {
            Some(file) => format!(
                "the library has its own glibc beside it: build your program with `cargo \
                 --config {} run --target x86_64-unknown-linux-gnu`",
                file.display()
            ),
            None => "use a MIGraphX built for this system, or a newer system".into(),
        };
        return format!(
            "\nThe library needs {needed} and this process runs on glibc{host}; {way_out}"
        );
    }
    if reason.contains("cannot open shared object file") {
        return "\nA library it depends on is missing: install all of MIGraphX and, for its GPU \
                target, the ROCm runtime"
            .into();
    }
    if reason.contains("invalid ELF header") || reason.contains("file too short") {
        return "\nThe file is damaged or made for another machine: install MIGraphX again".into();
    }
    String::new()
}

/// `GLIBC_2.38` in "version `GLIBC_2.38' not found".
fn needed_glibc(reason: &str) -> Option<&str> {
    let start = reason
        .find("GLIBC_")
        .filter(|_| reason.contains("not found"))?;
    let rest = &reason[start..];
    let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || "_.".contains(c)));
    Some(&rest[..end.unwrap_or(rest.len())])
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn host_glibc() -> Option<String> {
    // SAFETY: returns a static string.
    let version = unsafe { std::ffi::CStr::from_ptr(libc::gnu_get_libc_version()) };
    version.to_str().ok().map(str::to_owned)
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn host_glibc() -> Option<String> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_newer_glibc_is_explained() {
        let reason = "/lib/libc.so.6: version `GLIBC_2.38' not found (required by x.so)";
        assert_eq!(needed_glibc(reason), Some("GLIBC_2.38"));
        let text = hint(Path::new("lib/x.so"), reason);
        assert!(text.contains("needs GLIBC_2.38"), "{text}");
    }

    #[test]
    fn a_file_that_is_no_library_is_refused() {
        let path = std::env::temp_dir().join(format!("not-a-library-{}.so", std::process::id()));
        std::fs::write(&path, "text").unwrap();
        let error = Library::open(&path).unwrap_err();
        std::fs::remove_file(&path).unwrap();
        assert!(matches!(error, LoadError::Refused { .. }));
        assert!(
            error.to_string().contains(path.to_str().unwrap()),
            "{error}"
        );
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn another_library_is_refused() {
        let error = Library::open(Path::new("libm.so.6")).unwrap_err();
        let LoadError::NotMigraphx { missing, .. } = &error else {
            panic!("{error}");
        };
        assert_eq!(*missing, "migraphx_shape_create_with_strides");
    }
}
