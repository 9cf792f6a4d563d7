//! The tool's options.

use super::load::{Checks, Kind};
use super::mutant::{self, Id};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub struct Args {
    pub kinds: Vec<Kind>,
    pub checks: Checks,
    /// Of each kind of change.
    pub count: u64,
    pub seed: u64,
    pub limit: Duration,
    pub jobs: usize,
    pub keep: Option<PathBuf>,
    pub only: Option<Id>,
    /// Deaths, beyond which the tool fails.
    pub at_most: Option<usize>,
}

impl Args {
    pub fn parse(words: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut args = Args {
            kinds: Vec::new(),
            checks: Checks::On,
            count: 10_000,
            seed: 1,
            limit: Duration::from_secs(20),
            jobs: std::thread::available_parallelism().map_or(1, usize::from),
            keep: None,
            only: None,
            at_most: None,
        };
        let mut words = words;
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or(format!("{word} needs a value"));
            match word.as_str() {
                "onnx" => args.kinds.push(Kind::Onnx),
                "mxr" => args.kinds.push(Kind::Mxr),
                "--unchecked" => args.checks = Checks::Off,
                "--count" => args.count = number(&value()?)?,
                "--seed" => args.seed = number(&value()?)?,
                "--limit" => args.limit = Duration::from_secs(number(&value()?)?),
                "--jobs" => args.jobs = number(&value()?)?.max(1) as usize,
                "--keep" => args.keep = Some(value()?.into()),
                "--only" => args.only = Some(value()?.parse()?),
                "--at-most" => args.at_most = Some(number(&value()?)? as usize),
                _ => return Err(format!("there is no option `{word}`")),
            }
        }
        if args.kinds.is_empty() {
            args.kinds = vec![Kind::Onnx, Kind::Mxr];
        }
        if args.only.is_some() && args.kinds.len() > 1 {
            return Err("--only is of one kind of files: say `onnx` or `mxr`".into());
        }
        if let Some(keep) = &args.keep {
            std::fs::create_dir_all(keep).map_err(|e| format!("{}: {e}", keep.display()))?;
        }
        Ok(args)
    }

    /// The mutants to try.
    pub fn ids(&self) -> Vec<Id> {
        if let Some(only) = self.only {
            return vec![only];
        }
        let of = |kind| (0..self.count).map(move |index| Id { kind, index });
        mutant::Kind::ALL.into_iter().flat_map(of).collect()
    }
}

fn number(word: &str) -> Result<u64, String> {
    word.parse().map_err(|_| format!("`{word}` is no number"))
}

/// Adds `text` to a file.
pub fn append(path: &Path, text: &str) -> Result<(), String> {
    let options = &mut std::fs::OpenOptions::new();
    let file = options.append(true).create(true).open(path);
    file.and_then(|mut file| file.write_all(text.as_bytes()))
        .map_err(|error| format!("{}: {error}", path.display()))
}
