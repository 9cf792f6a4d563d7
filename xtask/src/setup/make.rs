//! Makes the private copy: packages of Debian sid, unpacked into a prefix.

use super::apt::Apt;
use super::options::Options;
use super::packages::{self, Packages};
use super::sources::{self, Entry, Release};
use super::work::{Work, lock_dir};
use super::{advice, finished, step, unpack};
use crate::command::which;
use crate::finder::Found;
use crate::os;
use std::fs;
use std::path::{Path, PathBuf};

const KEYRINGS: [&str; 2] = [
    "/usr/share/keyrings/debian-archive-keyring.gpg",
    "/usr/share/keyrings/debian-archive-keyring.pgp",
];

/// What a download cannot do without.
pub fn missing_tool() -> Option<&'static str> {
    let tools = ["dpkg-deb", "apt-get", "apt-cache"];
    tools.into_iter().find(|tool| which(tool).is_none())
}

/// Makes the prefix; or finds that another process did so in the meantime.
pub fn make(options: &Options, release: &Release) -> Result<Found, String> {
    if let Some(tool) = missing_tool() {
        return Err(advice::install_yourself(
            &format!("it has no {tool}"),
            release,
        ));
    }
    let (dir, _lock) = lock_dir(options.dir.as_deref())?;
    if !options.force
        && let Some(found) = finished(&dir)
    {
        return Ok(found);
    }
    let kept = Packages::kept(&dir.join("packages"));
    let needed = kept
        .as_ref()
        .map_or(advice::SPACE, |_| advice::SPACE_TO_UNPACK);
    let short_of = |bytes| os::free_bytes(&dir).filter(|free| *free < bytes);
    if let Some(free) = short_of(needed) {
        return Err(advice::no_space(&dir, free, needed));
    }
    let work = Work::new(&dir).map_err(|error| advice::unwritable(&dir, &error))?;
    // Other programs can fill the disk meanwhile, and not every tool says so.
    let explain = |error: String| match short_of(50_000_000) {
        Some(free) => format!("{error}\n{}", advice::no_space(&dir, free, needed)),
        None => error,
    };
    let packages = match kept {
        Some(packages) => {
            step(&format!(
                "using the packages in {}",
                dir.join("packages").display()
            ));
            packages
        }
        None => download(options, release, &dir, &work.0).map_err(explain)?,
    };
    step("unpacking");
    let prefix = dir.join("prefix");
    let new = unpack::prefix(&packages, &work.0, &prefix).map_err(explain)?;
    os::replace_folder(&new, &prefix)
        .map_err(|error| format!("cannot put the new {} in place: {error}", prefix.display()))?;
    finished(&dir).ok_or_else(|| format!("{} is incomplete although just made", prefix.display()))
}

/// Fetches the packages and keeps them for a later set-up.
fn download(
    options: &Options,
    release: &Release,
    dir: &Path,
    work: &Path,
) -> Result<Packages, String> {
    let keep = dir.join("packages");
    let entry = archive(options, release)?;
    step(&format!(
        "making a private copy of MIGraphX in {}",
        dir.join("prefix").display()
    ));
    step(&format!("reading the package list of {} sid", entry.uri));
    let failed = |error: String| advice::apt_failed(&error, &entry.uri);
    let state = work.join("apt");
    let apt = Apt::open(&state, &entry, os::is_root()).map_err(failed)?;
    let new = work.join("packages");
    let names = packages::choose(&apt)?;
    Packages::fetch(&apt, &names, &new, &step).map_err(failed)?;
    os::replace_folder(&new, &keep)
        .map_err(|error| format!("cannot keep the packages in {}: {error}", keep.display()))?;
    Packages::kept(&keep).ok_or_else(|| format!("the packages in {} are damaged", keep.display()))
}

/// Where to take sid from.
pub fn archive(options: &Options, release: &Release) -> Result<Entry, String> {
    let entries = sources::of_this_machine();
    let mut entry = match &options.mirror {
        Some(uri) => Entry {
            uri: uri.clone(),
            suite: String::new(),
            components: Vec::new(),
            options: Vec::new(),
            key: None,
        },
        None => sources::debian_archive(&entries, release)
            .cloned()
            .ok_or_else(|| {
                advice::install_yourself("apt's configuration names no Debian archive", release)
            })?,
    };
    entry.suite = "sid".into();
    entry.components = vec!["main".into()];
    let usual = || {
        KEYRINGS
            .iter()
            .map(PathBuf::from)
            .find(|path| path.is_file())
    };
    let given = options.keyring.clone();
    let keyring = given.or_else(|| options.mirror.as_ref().and_then(|_| usual()));
    if let Some(keyring) = keyring {
        let path = fs::canonicalize(&keyring)
            .map_err(|error| format!("--keyring {}: {error}", keyring.display()))?;
        entry.key = None;
        entry
            .options
            .retain(|(name, _)| name != "signed-by" && name != "trusted");
        entry
            .options
            .push(("signed-by".into(), path.display().to_string()));
    } else if options.mirror.is_some() {
        return Err(
            "--mirror needs the Debian archive keyring: give it with --keyring FILE, or install \
             the package debian-archive-keyring"
                .into(),
        );
    }
    Ok(entry)
}
