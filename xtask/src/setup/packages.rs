//! Which packages a prefix is made of, and the folder that keeps them.

use super::apt::{Apt, Download};
use crate::command::output;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Written last into a folder of packages, so a folder without it is unfinished.
const SUMS: &str = "SHA256SUMS";

/// What runs: the library, and what it loads by name.
const TOOLS: &str = "migraphx-tools";
const HEADERS: [&str; 2] = ["libmigraphx-c-dev", "migraphx-dev"];
/// Has `migraphx-driver`.
const DRIVER: &str = "migraphx";

/// Packages that are complete in a folder.
#[derive(Debug)]
pub struct Packages {
    pub files: Vec<PathBuf>,
}

impl Packages {
    /// What an earlier set-up kept, if all of it is there and whole.
    pub fn kept(folder: &Path) -> Option<Self> {
        Self::whole(folder).filter(|packages| packages.version().is_some())
    }

    fn whole(folder: &Path) -> Option<Self> {
        let names = listed(&fs::read_to_string(folder.join(SUMS)).ok()?)?;
        let mut check = Command::new("sha256sum");
        check
            .args(["--check", "--quiet", "--strict", SUMS])
            .current_dir(folder);
        output(&mut check).ok()?;
        let files = names.iter().map(|name| folder.join(name)).collect();
        Some(Packages { files })
    }

    /// Downloads `names` into a new folder.
    pub fn fetch(
        apt: &Apt,
        names: &[String],
        folder: &Path,
        step: &dyn Fn(&str),
    ) -> Result<Self, String> {
        let plan = apt.plan(names)?;
        let bytes: u64 = plan.iter().map(|download| download.bytes).sum();
        step(&format!(
            "downloading {} packages, {} MB",
            plan.len(),
            bytes.div_ceil(1_000_000)
        ));
        fs::create_dir_all(folder)
            .map_err(|error| format!("cannot create {}: {error}", folder.display()))?;
        apt.download(names, folder)?;
        fs::write(folder.join(SUMS), sums(&plan))
            .map_err(|error| format!("cannot write in {}: {error}", folder.display()))?;
        Self::whole(folder).ok_or_else(|| {
            format!(
                "the packages in {} are not what apt announced",
                folder.display()
            )
        })
    }

    pub fn unpack(&self, root: &Path) -> Result<(), String> {
        for file in &self.files {
            output(Command::new("dpkg-deb").arg("-x").arg(file).arg(root))?;
        }
        Ok(())
    }

    /// The version of the library's package, such as `7.1.1-8`.
    pub fn version(&self) -> Option<String> {
        let names = self
            .files
            .iter()
            .filter_map(|file| file.file_name()?.to_str());
        names
            .filter_map(split_name)
            .find_map(|(name, version)| is_library(name).then_some(version))
    }

    /// Names and versions, for the marker.
    pub fn list(&self) -> Vec<(String, String)> {
        let names = self
            .files
            .iter()
            .filter_map(|file| file.file_name()?.to_str());
        names
            .filter_map(split_name)
            .map(|(name, version)| (name.to_owned(), version))
            .collect()
    }
}

/// What MIGraphX needs by apt's word, without a GPU.
pub fn choose(apt: &Apt) -> Result<Vec<String>, String> {
    let known = apt.names("libmigraphx-c")?;
    let library = pick_library(&known).ok_or(
        "the archive has no libmigraphx-c3 package: its suite sid lacks MIGraphX at the moment. \
         Take another mirror with --mirror URL, or install MIGraphX yourself",
    )?;
    let mut names = apt.closure(&[library, TOOLS], &not_for_us)?;
    names.extend(HEADERS.map(str::to_owned));
    if apt.names(DRIVER)?.iter().any(|name| name == DRIVER) {
        names.push(DRIVER.to_owned());
    }
    Ok(names)
}

/// `libmigraphx-c3`; should a transition rename it, the name that took its place.
fn pick_library(known: &[String]) -> Option<&str> {
    let names = || known.iter().map(String::as_str);
    names()
        .find(|name| *name == "libmigraphx-c3")
        .or_else(|| names().find(|name| name.starts_with("libmigraphx-c3")))
        .or_else(|| names().filter(|name| is_library(name)).max())
}

fn is_library(name: &str) -> bool {
    let rest = name.strip_prefix("libmigraphx-c");
    rest.is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_digit()))
}

/// The GPU's runtime (gigabytes, and of no use without a GPU) and files that
/// are no libraries.
fn not_for_us(package: &str) -> bool {
    let gpu = [
        "libamd",
        "libhip",
        "libhsa",
        "libmiopen",
        "libroc",
        "rocm",
        "hip",
    ];
    let other = [
        "gcc-",
        "libc-gconv",
        "libc-bin",
        "libc-l10n",
        "python3",
        "debconf",
    ];
    gpu.iter()
        .chain(&other)
        .any(|start| package.starts_with(start))
}

/// `zlib1g_1%3a1.3_amd64.deb` is zlib1g, version 1:1.3.
fn split_name(file: &str) -> Option<(&str, String)> {
    let mut parts = file.strip_suffix(".deb")?.splitn(3, '_');
    let (name, version) = (parts.next()?, parts.next()?);
    Some((name, version.replace("%3a", ":")))
}

/// The form that `sha256sum --check` reads.
fn sums(plan: &[Download]) -> String {
    let line = |download: &Download| format!("{}  {}\n", download.sha256, download.file);
    plan.iter().map(line).collect()
}

fn listed(sums: &str) -> Option<Vec<String>> {
    sums.lines()
        .map(|line| Some(line.split_once("  ")?.1.to_owned()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(list: &[&str]) -> Vec<String> {
        list.iter().map(|name| name.to_string()).collect()
    }

    #[test]
    fn a_renamed_library_is_followed() {
        let pick = |list: &[&str]| pick_library(&names(list)).map(str::to_owned);
        assert_eq!(
            pick(&["libmigraphx-c-dev", "libmigraphx-c3"]).unwrap(),
            "libmigraphx-c3"
        );
        assert_eq!(
            pick(&["libmigraphx-c-dev", "libmigraphx-c3t64", "libmigraphx-c4"]).unwrap(),
            "libmigraphx-c3t64"
        );
        assert_eq!(
            pick(&["libmigraphx-c-dev", "libmigraphx-c4"]).unwrap(),
            "libmigraphx-c4"
        );
        assert_eq!(pick(&["libmigraphx-c-dev"]), None);
    }

    #[test]
    fn versions_come_from_file_names() {
        let files = [
            "zlib1g_1%3a1.3_amd64.deb",
            "libmigraphx-c-dev_8_amd64.deb",
            "libmigraphx-c3_7.1.1-8_amd64.deb",
        ];
        let packages = Packages {
            files: files.iter().map(PathBuf::from).collect(),
        };
        assert_eq!(packages.version().unwrap(), "7.1.1-8");
        assert_eq!(packages.list()[0], ("zlib1g".into(), "1:1.3".into()));
    }

    #[test]
    fn the_gpu_runtime_stays_away() {
        for name in [
            "libamdhip64-6",
            "librocblas4",
            "libhipblaslt1",
            "gcc-16-base",
            "libc-gconv-modules-extra",
        ] {
            assert!(not_for_us(name), "{name}");
        }
        for name in [
            "libc6",
            "libgcc-s1",
            "libprotobuf32t64",
            "libsqlite3-0",
            "zlib1g",
            "migraphx-tools",
        ] {
            assert!(!not_for_us(name), "{name}");
        }
    }

    #[test]
    fn an_unfinished_or_damaged_folder_is_not_taken() {
        let folder = std::env::temp_dir().join(format!("xtask-packages-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let file = "libmigraphx-c3_1_amd64.deb";
        fs::write(folder.join(file), "text\n").unwrap();
        assert!(Packages::kept(&folder).is_none(), "no list yet");
        let sum = output(Command::new("sha256sum").arg(file).current_dir(&folder)).unwrap();
        fs::write(folder.join(SUMS), sum).unwrap();
        assert_eq!(Packages::kept(&folder).unwrap().version().unwrap(), "1");
        fs::write(folder.join(file), "tex").unwrap();
        assert!(Packages::kept(&folder).is_none(), "damaged");
        fs::remove_dir_all(&folder).unwrap();
    }
}
