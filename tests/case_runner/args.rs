//! Arguments as a test program of `cargo test` gets them, and two of our own.

use std::path::PathBuf;
use std::time::Duration;

#[derive(Debug, PartialEq)]
pub struct Args {
    /// `--dir`: a folder of the layout of `tests/cases`.
    pub dir: PathBuf,
    /// `--row`: this process is the child for that row.
    pub row: Option<usize>,
    /// `--limit`: seconds a row may take.
    pub limit: Duration,
    pub list: bool,
    pub exact: bool,
    /// `--ignored`: only ignored tests, of which there are none.
    pub ignored: bool,
    pub filters: Vec<String>,
    pub skip: Vec<String>,
}

impl Args {
    pub fn parse(
        args: impl IntoIterator<Item = String>,
        default_dir: PathBuf,
    ) -> Result<Args, String> {
        let mut parsed = Args {
            dir: default_dir,
            row: None,
            limit: Duration::from_secs(120),
            list: false,
            exact: false,
            ignored: false,
            filters: Vec::new(),
            skip: Vec::new(),
        };
        let mut args = args.into_iter();
        while let Some(arg) = args.next() {
            let (flag, inline) = match arg.split_once('=') {
                Some((flag, value)) if flag.starts_with("--") => (flag, Some(value.to_owned())),
                _ => (arg.as_str(), None),
            };
            let mut value = || {
                let value = inline.clone().or_else(|| args.next());
                value.ok_or_else(|| format!("{flag} needs a value"))
            };
            match flag {
                "--dir" => parsed.dir = value()?.into(),
                "--row" => parsed.row = Some(number(&value()?)?),
                "--limit" => parsed.limit = Duration::from_secs(number(&value()?)? as u64),
                "--skip" => parsed.skip.push(value()?),
                "--list" => parsed.list = true,
                "--exact" => parsed.exact = true,
                "--ignored" => parsed.ignored = true,
                // Flags of libtest with a value that mean nothing here.
                "--test-threads" | "--color" | "--format" | "--logfile" | "-Z" => {
                    value()?;
                }
                flag if flag.starts_with('-') => {}
                _ => parsed.filters.push(arg),
            }
        }
        Ok(parsed)
    }

    /// Is the test of this name asked for?
    pub fn wants(&self, name: &str) -> bool {
        let fits = |filter: &String| match self.exact {
            true => name == filter,
            false => name.contains(filter.as_str()),
        };
        let picked = self.filters.is_empty() || self.filters.iter().any(fits);
        picked && !self.ignored && !self.skip.iter().any(fits)
    }
}

fn number(text: &str) -> Result<usize, String> {
    text.parse().map_err(|_| format!("`{text}` is no number"))
}
