//! What to do when set-up cannot go on. Each text names what was wanted, what
//! was found, and the ways out.

use super::sources::Release;
use std::path::Path;

/// Bytes that a set-up needs while it works: packages, lists, and the unpacked libraries.
pub const SPACE: u64 = 1_000_000_000;
/// Where the packages are there already.
pub const SPACE_TO_UNPACK: u64 = 600_000_000;

const VARIABLES: &str = "\
If MIGraphX is installed in an unusual place, name it instead:
    MIGRAPHX_LIB_DIR=<folder with libmigraphx_c.so.3>   (and MIGRAPHX_INCLUDE_DIR for the headers)
    MIGRAPHX_PATH or ROCM_PATH=<folder with lib/ and include/>   DTKROOT=<the DTK>";

/// The machine has no apt, or no Debian archive in it.
pub fn install_yourself(found: &str, release: &Release) -> String {
    let name = match release.name.as_str() {
        "" => "this system",
        name => name,
    };
    let family = format!(" {} {} ", release.id, release.like);
    let is = |id: &str| family.contains(&format!(" {id} "));
    let own = if is("ubuntu") {
        UBUNTU
    } else if is("fedora") || is("rhel") {
        FEDORA
    } else if is("debian") {
        DEBIAN
    } else {
        ""
    };
    let others = [UBUNTU, FEDORA, ROCM, DTK]
        .map(|text| if text == own { "" } else { text })
        .concat();
    format!(
        "there is no MIGraphX on {name}, and set-up cannot fetch a private copy: {found}.\n\
         Install MIGraphX, then run this again:\n{own}{others}{VARIABLES}"
    )
}

const UBUNTU: &str = concat!(
    "    Ubuntu, newest: sudo apt-get install libmigraphx-c3 libmigraphx-c-dev\n",
    "    Ubuntu, older:  add AMD's ROCm repository, then: sudo apt-get install migraphx migraphx-dev\n",
    "                    or fetch Debian's packages into your cache directory, without root\n",
    "                    (the key comes with the package debian-archive-keyring):\n",
    "                    cargo xtask setup --mirror URL_OF_A_DEBIAN_MIRROR --keyring FILE\n",
);
const FEDORA: &str = "    Fedora, EPEL:   sudo dnf install migraphx migraphx-devel\n";
const DEBIAN: &str = concat!(
    "    Debian:         name a mirror of the Debian archive that this machine reaches:\n",
    "                    cargo xtask setup --mirror URL_OF_A_DEBIAN_MIRROR [--keyring FILE]\n",
);
const ROCM: &str =
    "    ROCm elsewhere: AMD's repository: packages migraphx and migraphx-devel or migraphx-dev\n";
const DTK: &str =
    "    Hygon DCU:      MIGraphX of the DTK; source its env.sh, which sets ROCM_PATH\n";

/// Not an x86-64 Linux: there are no packages to take.
pub fn unsupported(os: &str, arch: &str) -> String {
    format!(
        "set-up makes its copy of MIGraphX from Debian's x86-64 packages, and this machine is \
         {arch} {os}.\nThe crates still build here (`cargo check`, `cargo doc`), and answer \
         `Error::Load` at run time.\nUse an x86-64 Linux machine or container, or install or \
         build MIGraphX for this one.\n{VARIABLES}"
    )
}

/// Neither `--dir` nor a variable nor a home directory.
pub fn no_home() -> String {
    "there is no directory to work in: HOME is not set, nor XDG_CACHE_HOME, nor \
     MIGRAPHX_SETUP_DIR.\nGive one with --dir DIR, and set MIGRAPHX_SETUP_DIR to it, so that the \
     builds find it too."
        .to_owned()
}

pub fn unwritable(folder: &Path, error: &dyn std::fmt::Display) -> String {
    format!(
        "cannot write in {}: {error}.\nTake another directory with --dir DIR, and set \
         MIGRAPHX_SETUP_DIR to it, so that the builds find it too.",
        folder.display()
    )
}

pub fn no_space(folder: &Path, free: u64, needed: u64) -> String {
    format!(
        "{} has {} MB free, and set-up needs {} MB while it works (500 MB stay).\n\
         Make room, or take another directory with --dir DIR, and set MIGRAPHX_SETUP_DIR to it, \
         so that the builds find it too.",
        folder.display(),
        free / 1_000_000,
        needed / 1_000_000
    )
}

/// The machine's own suite has the library.
pub fn in_own_suite(version: &str, packages: &[&str]) -> String {
    format!(
        "the package suite of this machine has MIGraphX ({version}), which fits it best and brings \
         the GPU's runtime (5 GB):\n    sudo apt-get install {}\n\
         or let set-up do it: cargo xtask setup --install\n\
         A private copy without the GPU's runtime (0.5 GB): cargo xtask setup --force",
        packages.join(" ")
    )
}

pub fn not_in_own_suite(release: &Release) -> String {
    format!(
        "--install: the package suite of {} has no libmigraphx-c3 (if its lists are old, run \
         `sudo apt-get update` first).\nRun `cargo xtask setup` without --install to make a \
         private copy instead.",
        if release.name.is_empty() {
            "this machine"
        } else {
            &release.name
        }
    )
}

/// apt failed: its own words, then what they mean and what to do.
pub fn apt_failed(error: &str, uri: &str) -> String {
    let says = |parts: &[&str]| parts.iter().any(|part| error.contains(part));
    let what = if says(&["NO_PUBKEY", "EXPKEYSIG", "Missing key"]) {
        "The key that signs Debian sid is not known here. Update the package \
         debian-archive-keyring, or give a newer one with --keyring FILE."
    } else if says(&["is expired", "is not valid yet"]) {
        "The mirror is out of date, or the clock of this machine is wrong. Take another mirror \
         with --mirror URL; a frozen one that you trust needs Acquire::Check-Valid-Until \"false\" \
         in apt's configuration."
    } else if says(&["No space left", "enough free space"]) {
        "The disk is full. Make room, or take another directory with --dir DIR."
    } else if says(&[
        "  404 ",
        "  403 ",
        "  400 ",
        "Hash Sum mismatch",
        "unexpected size",
    ]) {
        "The mirror lacks the suite sid, or is just being updated. Run this again in some \
         minutes, or take another with --mirror URL."
    } else {
        "The mirror was not reached. Check the network. Behind a proxy, apt needs \
         Acquire::http::Proxy in its configuration or the variable http_proxy. Another mirror \
         of the Debian archive can be named with --mirror URL."
    };
    format!(
        "{error}\nThat was apt, on {uri}.\n{what}\nNothing was changed; run this again to go on."
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_system_reads_its_own_way_first() {
        for (release, first) in [
            (
                "ID=ubuntu\nID_LIKE=debian\nPRETTY_NAME=\"Ubuntu 22.04\"",
                "Ubuntu, newest",
            ),
            ("ID=fedora\nPRETTY_NAME=\"Fedora Linux 44\"", "Fedora, EPEL"),
            (
                "ID=\"rocky\"\nID_LIKE=\"rhel centos fedora\"",
                "Fedora, EPEL",
            ),
            ("ID=debian", "Debian:"),
            ("", "Ubuntu, newest"),
        ] {
            let text = install_yourself("apt-get is not there", &Release::parse(release));
            let ways = text.split("run this again:\n    ").nth(1).expect(&text);
            assert!(ways.starts_with(first), "{release}: {text}");
            assert!(text.contains("MIGRAPHX_LIB_DIR") && text.contains("apt-get is not there"));
            assert_eq!(text.matches("Fedora, EPEL").count(), 1, "{text}");
        }
    }

    #[test]
    fn full_and_unwritable_disks_name_the_folder_and_the_way_out() {
        let folder = Path::new("/some/where");
        for text in [
            no_space(folder, 12_000_000, SPACE),
            unwritable(folder, &"Permission denied"),
        ] {
            assert!(
                text.contains("/some/where") && text.contains("--dir"),
                "{text}"
            );
            assert!(text.contains("MIGRAPHX_SETUP_DIR"), "{text}");
        }
        assert!(no_space(folder, 12_000_000, SPACE).contains("12 MB free"));
    }

    #[test]
    fn apts_words_are_kept_and_explained() {
        for (error, advice) in [
            ("Temporary failure resolving 'x'", "proxy"),
            ("NO_PUBKEY 6ED0E7B82643E131", "--keyring"),
            ("Err:1 x sid InRelease\n  404  Not Found", "minutes"),
            (
                "E: Release file for x is expired (invalid since 24d)",
                "Check-Valid-Until",
            ),
            ("write (28: No space left on device)", "disk is full"),
        ] {
            let text = apt_failed(error, "http://m.example/debian");
            assert!(text.contains(error) && text.contains(advice), "{text}");
        }
    }

    #[test]
    fn no_text_names_a_host() {
        let release = Release::default();
        let texts = [
            install_yourself("x", &release),
            unsupported("macos", "aarch64"),
            no_home(),
            in_own_suite("1", &["a"]),
            not_in_own_suite(&release),
        ];
        for text in texts {
            assert!(!text.contains("://"), "{text}");
        }
    }
}
