//! Where MIGraphX is installed.
//!
//! One search, used by the build scripts and at run time, so that both give the
//! same answer and the same advice. First match wins:
//!
//! | looked at | for |
//! |---|---|
//! | `MIGRAPHX_LIB_DIR`, `MIGRAPHX_INCLUDE_DIR` | exactly these directories |
//! | `MIGRAPHX_PATH` | an installation of MIGraphX |
//! | `ROCM_PATH`, `DTKROOT`, `HIP_PATH/..` | a ROCm or DTK installation |
//! | `/opt/rocm`, newest `/opt/rocm-*` | AMD's packages |
//! | `/opt/dtk`, newest `/opt/dtk-*` | Hygon's packages |
//! | `/usr/local/lib`, `/usr/lib/<triple>`, `/usr/lib64`, `/usr/lib`, … | the distribution's packages |
//! | the prefix of `cargo xtask setup` | a machine without a GPU |
//!
//! A directory counts when it holds `libmigraphx_c.so.3` or `libmigraphx_c.so`:
//! the development symlink is not needed.

use std::cmp::Ordering;
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};

/// File that marks a prefix made by `cargo xtask setup`; it is written last.
pub const MARKER: &str = "migraphx-setup";

/// Every environment variable that changes what [`find`] answers.
pub const VARIABLES: [&str; 9] = [
    "MIGRAPHX_LIB_DIR",
    "MIGRAPHX_INCLUDE_DIR",
    "MIGRAPHX_PATH",
    "ROCM_PATH",
    "DTKROOT",
    "HIP_PATH",
    "MIGRAPHX_SETUP_DIR",
    "XDG_CACHE_HOME",
    "HOME",
];

/// File names of the library, best first.
#[cfg(target_os = "windows")]
pub const LIBRARY_NAMES: &[&str] = &["migraphx_c.dll"];
/// File names of the library, best first.
#[cfg(target_os = "macos")]
pub const LIBRARY_NAMES: &[&str] = &["libmigraphx_c.3.dylib", "libmigraphx_c.dylib"];
/// File names of the library, best first.
#[cfg(not(any(target_os = "windows", target_os = "macos")))]
pub const LIBRARY_NAMES: &[&str] = &["libmigraphx_c.so.3", "libmigraphx_c.so"];

/// A MIGraphX installation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Path of the library file.
    pub lib: PathBuf,
    /// Directory that holds `migraphx/migraphx.h`, where the headers are installed.
    pub include: Option<PathBuf>,
    /// What led here, such as `ROCM_PATH` or `/opt/rocm`.
    pub source: String,
    /// Whether this is the prefix made by `cargo xtask setup`, which needs its own loader.
    pub prefix: bool,
}

impl Found {
    /// Directory of the library file.
    pub fn lib_dir(&self) -> &Path {
        self.lib.parent().unwrap_or(Path::new("."))
    }

    /// Version of the installation, such as `2.14.0`, from its header or the
    /// name of the core library beside it (present since MIGraphX 2.9).
    pub fn version(&self) -> Option<String> {
        self.version_of_header().or_else(|| self.version_of_core())
    }

    fn version_of_header(&self) -> Option<String> {
        let path = self.include.as_ref()?.join("migraphx/version.h");
        let text = std::fs::read_to_string(path).ok()?;
        let number = |name: &str| {
            text.lines().find_map(|line| {
                let mut words = line.split_whitespace();
                let defined = words.next() == Some("#define") && words.next() == Some(name);
                words.next().filter(|_| defined).map(str::to_owned)
            })
        };
        let major = number("MIGRAPHX_VERSION_MAJOR")?;
        let minor = number("MIGRAPHX_VERSION_MINOR")?;
        let patch = number("MIGRAPHX_VERSION_PATCH").unwrap_or_else(|| "0".into());
        Some(format!("{major}.{minor}.{patch}"))
    }

    fn version_of_core(&self) -> Option<String> {
        let entries = std::fs::read_dir(self.lib_dir()).ok()?;
        entries
            .flatten()
            .find_map(|entry| version_of_core_name(entry.file_name().to_str()?))
    }
}

/// Version in the name of the core library: `libmigraphx.so.2014000` is 2.14.0.
///
/// MIGraphX 2.9 (ROCm 6.1) and newer are named so; older names give `None`.
pub fn version_of_core_name(name: &str) -> Option<String> {
    let digits = name.strip_prefix("libmigraphx.so.")?.split('.').next()?;
    let number: u32 = digits.parse().ok().filter(|number| *number >= 1_000_000)?;
    let (major, rest) = (number / 1_000_000, number % 1_000_000);
    Some(format!("{major}.{}.{}", rest / 1000, rest % 1000))
}

/// Nothing was found. Its text lists what was tried and what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotFound {
    tried: Vec<String>,
    explicit: Option<String>,
}

impl fmt::Display for NotFound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = LIBRARY_NAMES.join(" or ");
        if let Some(explicit) = &self.explicit {
            return write!(
                f,
                "{explicit}, but there is no {names} in it. Set it to the directory that holds \
                 the library, or unset it to search the usual places."
            );
        }
        writeln!(f, "no {names} found. Looked in:")?;
        for place in &self.tried {
            writeln!(f, "  {place}")?;
        }
        write!(
            f,
            "Install MIGraphX (AMD's ROCm repository: package `migraphx`; Debian and Ubuntu: \
             `libmigraphx-c3`; Hygon: the DTK), or set MIGRAPHX_LIB_DIR to the directory that \
             holds the library, or ROCM_PATH to the installation. Without a GPU, `cargo xtask \
             setup` in the source tree of this crate sets up the CPU reference target."
        )
    }
}

impl std::error::Error for NotFound {}

/// Looks for MIGraphX in the places of the [module](self) table.
///
/// # Errors
/// [`NotFound`], with all places tried, or with the variable `MIGRAPHX_LIB_DIR`
/// or `MIGRAPHX_PATH` that was set and led to nothing.
pub fn find() -> Result<Found, NotFound> {
    Search::of_this_machine().run()
}

/// Directory in which `cargo xtask setup` works: `MIGRAPHX_SETUP_DIR`, else
/// `migraphx-rs` in the user's cache directory. `None` without a home directory.
pub fn setup_dir() -> Option<PathBuf> {
    Search::of_this_machine().setup_dir()
}

/// The prefix inside [`setup_dir`], whether or not it exists.
pub fn setup_prefix() -> Option<PathBuf> {
    setup_dir().map(|directory| directory.join("prefix"))
}

/// Paths that a build script should watch, so that an installation made later is noticed.
///
/// Only paths that exist, since Cargo takes a missing one for always changed.
pub fn watched() -> Vec<PathBuf> {
    let search = Search::of_this_machine();
    let mut paths = vec![PathBuf::from("/etc/ld.so.cache")];
    paths.extend(search.places().into_iter().flat_map(|place| place.lib_dirs));
    paths.push(PathBuf::from("/opt"));
    // System directories are large and change daily; the loader cache stands for them.
    paths.retain(|path| path.exists() && !path.starts_with("/usr") && !path.starts_with("/lib"));
    if search.root.join("opt/rocm").exists() {
        paths.retain(|path| path != Path::new("/opt"));
    }
    paths
}

/// One place to look: what it is called, where its libraries and headers may be.
struct Place {
    source: String,
    lib_dirs: Vec<PathBuf>,
    include_dirs: Vec<PathBuf>,
    /// Set by the user for MIGraphX alone: finding nothing there is an error.
    explicit: bool,
    prefix: bool,
}

/// The search with its surroundings, so that tests can give their own.
struct Search<'a> {
    variable: &'a dyn Fn(&str) -> Option<OsString>,
    root: PathBuf,
}

impl Search<'static> {
    fn of_this_machine() -> Self {
        Search {
            variable: &|name| std::env::var_os(name).filter(|value| !value.is_empty()),
            root: PathBuf::from("/"),
        }
    }
}

impl Search<'_> {
    fn run(&self) -> Result<Found, NotFound> {
        let mut tried = Vec::new();
        for place in self.places() {
            let library = place.lib_dirs.iter().find_map(|directory| {
                LIBRARY_NAMES
                    .iter()
                    .map(|name| directory.join(name))
                    .find(|path| path.is_file())
            });
            // An unfinished prefix has no marker yet.
            let finished = !place.prefix || self.prefix_is_finished();
            if let Some(lib) = library.filter(|_| finished) {
                let include = self.include_dir(&place);
                return Ok(Found {
                    lib,
                    include,
                    source: place.source,
                    prefix: place.prefix,
                });
            }
            if place.explicit {
                return Err(NotFound {
                    tried,
                    explicit: Some(place.source),
                });
            }
            let directories: Vec<String> = place
                .lib_dirs
                .iter()
                .map(|directory| directory.display().to_string())
                .collect();
            tried.push(format!("{}: {}", place.source, directories.join(", ")));
        }
        Err(NotFound {
            tried,
            explicit: None,
        })
    }

    fn places(&self) -> Vec<Place> {
        let mut places = Vec::new();
        if let Some(directory) = self.path_variable("MIGRAPHX_LIB_DIR") {
            let include_dirs = directory
                .parent()
                .map(|parent| vec![parent.join("include")])
                .unwrap_or_default();
            places.push(Place {
                source: format!("MIGRAPHX_LIB_DIR is set to {}", directory.display()),
                lib_dirs: vec![directory],
                include_dirs,
                explicit: true,
                prefix: false,
            });
        }
        if let Some(directory) = self.path_variable("MIGRAPHX_PATH") {
            let source = format!("MIGRAPHX_PATH is set to {}", directory.display());
            places.push(Place {
                explicit: true,
                ..installation(source, directory)
            });
        }
        for name in ["ROCM_PATH", "DTKROOT"] {
            if let Some(directory) = self.path_variable(name) {
                places.push(installation(name.into(), directory));
            }
        }
        if let Some(directory) = self.path_variable("HIP_PATH")
            && let Some(parent) = directory.parent()
        {
            places.push(installation("HIP_PATH/..".into(), parent.to_owned()));
        }
        for name in ["rocm", "dtk"] {
            for directory in self.below_opt(name) {
                places.push(installation(directory.display().to_string(), directory));
            }
        }
        let lib_dirs = system_dirs(&self.root);
        let include_dirs = vec![
            self.root.join("usr/local/include"),
            self.root.join("usr/include"),
        ];
        places.push(Place {
            source: "system directories".into(),
            lib_dirs,
            include_dirs,
            explicit: false,
            prefix: false,
        });
        if let Some(directory) = self.setup_dir() {
            places.push(Place {
                prefix: true,
                ..installation(
                    "prefix of `cargo xtask setup`".into(),
                    directory.join("prefix"),
                )
            });
        }
        places
    }

    fn path_variable(&self, name: &str) -> Option<PathBuf> {
        (self.variable)(name).map(PathBuf::from)
    }

    fn setup_dir(&self) -> Option<PathBuf> {
        self.path_variable("MIGRAPHX_SETUP_DIR").or_else(|| {
            self.path_variable("XDG_CACHE_HOME")
                .or_else(|| Some(self.path_variable("HOME")?.join(".cache")))
                .map(|cache| cache.join("migraphx-rs"))
        })
    }

    fn prefix_is_finished(&self) -> bool {
        self.setup_dir()
            .is_some_and(|directory| directory.join("prefix").join(MARKER).is_file())
    }

    /// `/opt/<name>` and then `/opt/<name>-*`, newest version first.
    fn below_opt(&self, name: &str) -> Vec<PathBuf> {
        let opt = self.root.join("opt");
        let mut versioned: Vec<(String, PathBuf)> = std::fs::read_dir(&opt)
            .map(|entries| entries.flatten().collect::<Vec<_>>())
            .unwrap_or_default()
            .into_iter()
            .filter_map(|entry| {
                let file_name = entry.file_name().into_string().ok()?;
                let version = file_name.strip_prefix(name)?.strip_prefix('-')?.to_owned();
                Some((version, entry.path()))
            })
            .collect();
        versioned.sort_by(|a, b| by_number(&b.0, &a.0));
        let mut directories = vec![opt.join(name)];
        directories.extend(versioned.into_iter().map(|(_, path)| path));
        directories
    }

    fn include_dir(&self, place: &Place) -> Option<PathBuf> {
        self.path_variable("MIGRAPHX_INCLUDE_DIR")
            .into_iter()
            .chain(place.include_dirs.iter().cloned())
            .find(|directory| directory.join("migraphx/migraphx.h").is_file())
    }
}

fn installation(source: String, directory: PathBuf) -> Place {
    Place {
        source,
        lib_dirs: vec![
            directory.join("lib"),
            directory.join("lib64"),
            // ROCm 6.2 to 6.4.0 keep everything here.
            directory.join("lib/migraphx/lib"),
        ],
        include_dirs: vec![
            directory.join("include"),
            directory.join("lib/migraphx/include"),
        ],
        explicit: false,
        prefix: false,
    }
}

fn system_dirs(root: &Path) -> Vec<PathBuf> {
    let triple = format!("{}-linux-gnu", std::env::consts::ARCH);
    ["usr/local/lib", "usr/lib", "lib"]
        .iter()
        .map(|directory| root.join(directory).join(&triple))
        .chain(
            [
                "usr/local/lib",
                "usr/local/lib64",
                "usr/lib64",
                "usr/lib",
                "lib64",
            ]
            .iter()
            .map(|directory| root.join(directory)),
        )
        .collect()
}

/// Compares versions number by number: 6.10 is newer than 6.9.
fn by_number(a: &str, b: &str) -> Ordering {
    let numbers = |text: &str| -> Vec<u64> {
        text.split(|c: char| !c.is_ascii_digit())
            .filter_map(|part| part.parse().ok())
            .collect()
    };
    numbers(a).cmp(&numbers(b)).then_with(|| a.cmp(b))
}

#[cfg(test)]
#[path = "finder_tests.rs"]
mod tests;
