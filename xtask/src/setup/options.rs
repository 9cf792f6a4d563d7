//! The command line of `cargo xtask setup`.

use std::path::PathBuf;

pub const HELP: &str = "\
Usage: cargo xtask setup [--dir DIR] [--install] [--mirror URL --keyring FILE] [--force]
                         [--gpu-sim] [--mpi]

Uses the MIGraphX that this machine has. Where there is none, says how to
install it, or makes a private copy from Debian's packages (29 MB to download,
500 MB on disk; x86-64 Linux with apt; no root, nothing of the system changes).
The copy runs MIGraphX's CPU reference target: no GPU is needed.

  --dir DIR       work in DIR; else in $MIGRAPHX_SETUP_DIR, else in migraphx-rs
                  in the user's cache directory. Builds look there too.
  --install       install the package of this machine's own suite, if it has one
  --mirror URL    a mirror of the Debian archive, instead of the one in apt's
                  configuration
  --keyring FILE  the Debian archive keyring, where this machine is no Debian
  --gpu-sim       also make DIR/gpu-sim: MIGraphX's gpu target on a virtual GPU, for
                  tests (65 MB more to download for clang, 0.3 GB on disk)
  --mpi           also find an MPI, for the package yolo26-mpi, or make DIR/mpi of the
                  packages of this machine's own release (19 MB to download, 50 MB on disk)
  --force         make the private copy anew, also where a MIGraphX is found;
                  packages kept in DIR/packages are used again (delete that
                  folder to get the newest)
";

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Options {
    pub dir: Option<PathBuf>,
    pub install: bool,
    pub mirror: Option<String>,
    pub keyring: Option<PathBuf>,
    pub force: bool,
    pub gpu_sim: bool,
    pub mpi: bool,
}

impl Options {
    pub fn parse(arguments: &[String]) -> Result<Self, String> {
        let mut options = Options::default();
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            let (name, inline) = match word.split_once('=') {
                Some((name, value)) => (name, Some(value.to_owned())),
                None => (word.as_str(), None),
            };
            let mut value = || {
                let given = inline.clone().or_else(|| words.next().cloned());
                given
                    .filter(|value| !value.is_empty())
                    .ok_or(format!("{name} needs a value\n\n{HELP}"))
            };
            match name {
                "--dir" => options.dir = Some(value()?.into()),
                "--mirror" => options.mirror = Some(value()?),
                "--keyring" => options.keyring = Some(value()?.into()),
                "--install" => options.install = true,
                "--force" => options.force = true,
                "--mpi" => options.mpi = true,
                "--gpu-sim" => options.gpu_sim = true,
                _ => return Err(format!("setup has no option `{word}`\n\n{HELP}")),
            }
        }
        if options.install && (options.force || options.mirror.is_some()) {
            return Err(
                "--install uses this machine's own suite; --force and --mirror make a private copy"
                    .into(),
            );
        }
        Ok(options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(words: &[&str]) -> Result<Options, String> {
        Options::parse(
            &words
                .iter()
                .map(|word| word.to_string())
                .collect::<Vec<_>>(),
        )
    }

    #[test]
    fn options_are_read_in_both_forms() {
        let options = parse(&["--dir", "a", "--mirror=b", "--keyring", "c", "--force"]).unwrap();
        assert_eq!(options.dir, Some("a".into()));
        assert_eq!(options.mirror.as_deref(), Some("b"));
        assert_eq!(options.keyring, Some("c".into()));
        assert!(options.force && !options.install);
        assert!(
            parse(&["--dir"])
                .unwrap_err()
                .contains("--dir needs a value")
        );
        assert!(parse(&["--dri"]).unwrap_err().contains("`--dri`"));
        assert!(parse(&["--install", "--force"]).is_err());
    }
}
