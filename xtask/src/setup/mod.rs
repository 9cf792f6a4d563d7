//! `cargo xtask setup`: finds MIGraphX, or makes a private copy of it from
//! Debian's packages in the user's cache directory, without root.

mod advice;
mod apt;
mod fetch;
pub mod gpu_sim;
pub mod libclang;
mod make;
pub mod mpi;
mod options;
mod packages;
mod sources;
mod unpack;
pub mod valgrind;
mod work;

pub use options::{HELP, Options};

use crate::command::{self, which};
use crate::finder::{self, Found, MARKER};
use crate::os;
use sources::Release;
use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode};
/// Packages of a suite that has MIGraphX itself.
const SUITE_PACKAGES: [&str; 3] = ["libmigraphx-c3", "libmigraphx-c-dev", "migraphx-dev"];
pub fn command(arguments: &[String]) -> Result<ExitCode, String> {
    let options = Options::parse(arguments)?;
    let found = ensure(&options)?;
    let (wants_mpi, dir) = (options.mpi, options.dir.clone());
    if options.gpu_sim {
        let base = Options {
            force: false,
            ..options
        };
        gpu_sim::ensure(&base)?;
    }
    let mpi = match wants_mpi {
        true => Some(mpi::find_or_fetch(dir.as_deref())?),
        false => None,
    };
    println!("  library  {}", found.lib.display());
    if let Some(include) = &found.include {
        println!("  headers  {}", include.display());
    }
    if let Some(mpi) = mpi {
        print_mpi(&mpi)?;
    }
    if let Some(prefix) = prefix_of(&found) {
        let config = prefix.join(unpack::CARGO_CONFIG);
        println!(
            "  outside this workspace: cargo --config {} run --target x86_64-unknown-linux-gnu",
            command::quoted(&config.display().to_string())
        );
        println!("{}", how_builds_find(prefix, finder::find().ok().as_ref()));
    }
    Ok(ExitCode::SUCCESS)
}

/// What a build of `yolo26-mpi` needs in its environment.
fn print_mpi(mpi: &mpi::Mpi) -> Result<(), String> {
    println!("  mpirun   {}", mpi.starter.display());
    let variables = mpi.environment()?.into_iter();
    let variables = variables.filter(|(name, _)| *name != "MPIRUN");
    let words = variables.map(|(name, value)| {
        let value = command::quoted(&value.to_string_lossy());
        format!("{name}={value} ")
    });
    println!(
        "  yolo26-mpi: {}cargo build --release -p yolo26-mpi --features mpi",
        words.collect::<String>()
    );
    Ok(())
}

fn prefix_of(found: &Found) -> Option<&Path> {
    found.prefix.then(|| found.lib_dir().parent()).flatten()
}

fn how_builds_find(prefix: &Path, first: Option<&Found>) -> String {
    match first {
        Some(first) if first.lib.starts_with(prefix) => {
            "`cargo test` and `cargo run --example …` use it from now on.".into()
        }
        Some(first) if !first.prefix => format!(
            "Builds still use the MIGraphX that is found first: {} ({}).",
            first.lib.display(),
            first.source
        ),
        _ => format!(
            "Builds find it with MIGRAPHX_SETUP_DIR={} in the environment.",
            command::quoted(&prefix.parent().unwrap_or(prefix).display().to_string())
        ),
    }
}

/// Prints a line a step, and at the end which MIGraphX there is.
pub fn ensure(options: &Options) -> Result<Found, String> {
    let found = find_or_make(options)?;
    step(&format!("{} ({})", describe(&found), found.source));
    Ok(found)
}

fn step(text: &str) {
    println!("setup: {text}");
}

fn describe(found: &Found) -> String {
    let version = found
        .version()
        .unwrap_or_else(|| "of unknown version".into());
    let package = prefix_of(found).and_then(|prefix| {
        let marker = fs::read_to_string(prefix.join(MARKER)).ok()?;
        Some(format!(
            ", package {}",
            marker.lines().next()?.strip_prefix("version=")?
        ))
    });
    format!("MIGraphX {version}{}", package.unwrap_or_default())
}

/// The prefix of `dir`, if it is whole.
fn finished(dir: &Path) -> Option<Found> {
    let prefix = dir.join("prefix");
    let lib = prefix.join("lib").join(finder::LIBRARY_NAMES[0]);
    let include = prefix.join("include");
    (prefix.join(MARKER).is_file() && lib.is_file()).then(|| Found {
        lib,
        include: include
            .join("migraphx/migraphx.h")
            .is_file()
            .then_some(include),
        source: "private copy made by `cargo xtask setup`".into(),
        prefix: true,
    })
}

fn find_or_make(options: &Options) -> Result<Found, String> {
    if !options.force {
        let made = options.dir.as_deref().and_then(finished);
        let found = made.ok_or(()).or_else(|()| finder::find());
        match found {
            // `--dir` asks for a prefix there; one elsewhere is no answer.
            Ok(found) if !found.prefix || options.dir.is_none() => return Ok(found),
            Ok(_) => {}
            // A variable that names a place without a library: nothing made here would be used.
            Err(error) if is_set("MIGRAPHX_LIB_DIR") || is_set("MIGRAPHX_PATH") => {
                return Err(error.to_string());
            }
            Err(_) => {}
        }
    }
    if (std::env::consts::OS, std::env::consts::ARCH) != ("linux", "x86_64") {
        return Err(advice::unsupported(
            std::env::consts::OS,
            std::env::consts::ARCH,
        ));
    }
    let release = Release::of_this_machine();
    if !options.force && options.mirror.is_none() {
        match (own_suite_version(), options.install) {
            (Some(_), true) => return install(),
            (Some(version), false) => return Err(advice::in_own_suite(&version, &SUITE_PACKAGES)),
            (None, true) => return Err(advice::not_in_own_suite(&release)),
            (None, false) => {}
        }
    }
    make::make(options, &release)
}

fn is_set(variable: &str) -> bool {
    std::env::var_os(variable).is_some_and(|value| !value.is_empty())
}

/// The version that the machine's own apt would install.
fn own_suite_version() -> Option<String> {
    let mut policy = Command::new("apt-cache");
    policy
        .env("LC_ALL", "C.UTF-8")
        .args(["policy", SUITE_PACKAGES[0]]);
    candidate(&command::output(&mut policy).ok()?)
}

fn candidate(policy: &str) -> Option<String> {
    let line = policy
        .lines()
        .find_map(|line| line.trim().strip_prefix("Candidate:"))?;
    Some(line.trim().to_owned()).filter(|version| !version.is_empty() && version != "(none)")
}

fn install() -> Result<Found, String> {
    let mut command = if os::is_root() {
        Command::new("apt-get")
    } else if which("sudo").is_some() {
        let mut sudo = Command::new("sudo");
        sudo.arg("apt-get");
        sudo
    } else {
        return Err(format!(
            "--install needs root: apt-get install {}",
            SUITE_PACKAGES.join(" ")
        ));
    };
    command.args(["install", "-y"]).args(SUITE_PACKAGES);
    step(&format!("running {}", command::shown(&command)));
    if !command::status(&mut command)? {
        return Err("apt-get install failed; its own words are above".into());
    }
    finder::find().map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_own_suite_counts_only_with_a_candidate() {
        let policy =
            "libmigraphx-c3:\n  Installed: (none)\n  Candidate: 7.1.1-8\n  Version table:\n";
        assert_eq!(candidate(policy).unwrap(), "7.1.1-8");
        assert_eq!(
            candidate("x:\n  Installed: (none)\n  Candidate: (none)\n"),
            None
        );
        assert_eq!(candidate(""), None);
    }

    #[test]
    fn a_prefix_counts_only_with_marker_and_library() {
        let dir = std::env::temp_dir().join(format!("xtask-finished-{}", std::process::id()));
        let prefix = dir.join("prefix");
        fs::create_dir_all(prefix.join("lib")).unwrap();
        fs::write(prefix.join("lib").join(finder::LIBRARY_NAMES[0]), "").unwrap();
        assert_eq!(finished(&dir), None);
        fs::write(prefix.join(MARKER), "version=7.1.1-8\n").unwrap();
        let found = finished(&dir).unwrap();
        assert!(
            describe(&found).contains("package 7.1.1-8"),
            "{}",
            describe(&found)
        );
        fs::remove_file(&found.lib).unwrap();
        assert_eq!(finished(&dir), None);
        fs::remove_dir_all(&dir).unwrap();
    }

    #[test]
    fn the_end_says_whether_builds_find_it() {
        let prefix = Path::new("/d/prefix");
        let found = |lib: &str, prefix| Found {
            lib: lib.into(),
            include: None,
            source: "/opt/rocm".into(),
            prefix,
        };
        let same = how_builds_find(prefix, Some(&found("/d/prefix/lib/x", true)));
        assert!(same.contains("cargo test"), "{same}");
        let system = how_builds_find(prefix, Some(&found("/opt/rocm/lib/x", false)));
        assert!(
            system.contains("still use") && system.contains("/opt/rocm"),
            "{system}"
        );
        for other in [None, Some(found("/e/prefix/lib/x", true))] {
            let text = how_builds_find(prefix, other.as_ref());
            assert!(text.contains("MIGRAPHX_SETUP_DIR=/d"), "{text}");
        }
    }
}
