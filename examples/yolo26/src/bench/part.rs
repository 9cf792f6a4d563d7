//! What this process does of a run that several share: its images, its GPUs, and
//! files with names of their own.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, bail};
use migraphx::hip::Device;

use crate::cli::BenchArgs;
use crate::loader;
use crate::nodes::{self, Nodes};
use crate::shard::{Asked, Place, Shard, Share, VISIBLE};

/// The part of one process.
pub struct Part<'a> {
    place: Place,
    /// The others, where they can be reached.
    nodes: Option<&'a dyn Nodes>,
}

impl<'a> Part<'a> {
    /// By the command line, the launcher's variables, or the `nodes` themselves.
    pub fn of(args: &BenchArgs, nodes: Option<&'a dyn Nodes>) -> Result<Self> {
        let variable = |name: &str| std::env::var(name).ok();
        let place = match nodes {
            Some(nodes) => nodes::place(nodes),
            None => Place::settle(args.shard, &variable)?,
        };
        let others = place.shard.is_shared() || nodes.is_some();
        if others && args.ground_truth().is_some() {
            bail!(
                "the accuracy is that of the whole data set: leave the truth out here, and take \
                 `yolo26 val`"
            );
        }
        Ok(Part { place, nodes })
    }

    /// All images, whatever variables there are.
    pub fn whole(args: &BenchArgs) -> Result<Self> {
        if matches!(args.shard, Some(Asked::Part(_))) {
            bail!("--shard: the accuracy is that of the whole data set; leave the option out");
        }
        Ok(Part {
            place: Place::alone(),
            nodes: None,
        })
    }

    /// The command line with file names that no other process has.
    pub fn names(&self, args: &BenchArgs) -> BenchArgs {
        let mut args = args.clone();
        let shard = self.place.shard;
        let own = |path: &Option<PathBuf>| path.as_deref().map(|path| named(path, shard));
        args.output = named(&args.output, shard);
        args.trace = own(&args.trace);
        match self.nodes {
            // The first writes the report of all.
            Some(_) => args.quiet_mode |= shard.index > 0,
            None => {
                args.json = own(&args.json);
                args.html = own(&args.html);
            }
        }
        args
    }

    /// A file that no other process has.
    pub fn named(&self, path: &Path) -> PathBuf {
        named(path, self.place.shard)
    }

    /// Its share of so many images.
    pub fn share(&self, images: usize) -> Result<Share> {
        let share = self.place.shard.share(images);
        if share.images == 0 {
            bail!(
                "shard {}: there are only {images} images; take fewer",
                self.place.shard
            );
        }
        Ok(share)
    }

    /// For a report: `None` where nobody else has a share.
    pub fn told(&self, images: usize) -> Option<Share> {
        let shard = self.place.shard;
        shard.is_shared().then(|| shard.share(images))
    }

    /// Its first GPU.
    pub fn first_gpu(&self, args: &BenchArgs, target: &str) -> Result<usize> {
        if target != "gpu" {
            return Ok(0);
        }
        let visible = VISIBLE.iter().any(|name| std::env::var_os(name).is_some());
        let (local, seen) = (self.place.local, Device::count());
        args.first_gpu.settle(local, args.num_gpus, seen, visible)
    }

    /// The processors for it: those that it may use, divided by the processes of
    /// its machine unless the launcher has done so.
    pub fn processors(&self) -> usize {
        let own = loader::processors();
        let bound = online().is_some_and(|online| own < online);
        match bound {
            true => own,
            false => (own / self.place.beside).max(1),
        }
    }

    /// Says which part it is, where there are others.
    pub fn announce(&self, all: usize, cards: &str, out: &mut dyn Write) -> Result<()> {
        let (shard, by) = (self.place.shard, &self.place.by);
        if shard.is_shared() {
            let range = shard.range(all);
            let (first, last) = (range.start, range.end - 1);
            writeln!(
                out,
                "shard {shard} ({by}): images {first} to {last} of {all}, {cards}"
            )?;
        }
        Ok(())
    }

    /// Returns when all are about to start.
    pub fn meet(&self) {
        if let Some(nodes) = self.nodes {
            nodes.meet();
        }
    }

    /// A process for one of its GPUs does the same part, and sees that GPU only.
    pub fn tell_child(&self, child: &mut Command) {
        let shard = match self.place.shard.is_shared() {
            true => self.place.shard.to_string(),
            false => "no".into(),
        };
        child.args(["--shard", &shard, "--first-gpu", "0"]);
    }
}

/// `report.json` is `report-2of4.json` for the third of four.
fn named(path: &Path, shard: Shard) -> PathBuf {
    if !shard.is_shared() {
        return path.to_owned();
    }
    let mut name = path.file_stem().unwrap_or_default().to_owned();
    name.push(format!("-{}of{}", shard.index, shard.of));
    if let Some(ending) = path.extension() {
        name.push(".");
        name.push(ending);
    }
    path.with_file_name(name)
}

/// The processors of the machine.
fn online() -> Option<usize> {
    let list = std::fs::read_to_string("/sys/devices/system/cpu/online").ok()?;
    count(&list)
}

/// Of a list such as `0-3,8`.
fn count(list: &str) -> Option<usize> {
    let ranges = list.trim().split(',').map(|range| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
        Some((last + 1).saturating_sub(first))
    });
    ranges.sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_a_part_have_its_number() {
        let shard = Shard { index: 2, of: 4 };
        for (path, expected) in [
            ("a/report.json", "a/report-2of4.json"),
            ("results", "results-2of4"),
            ("a.b/c", "a.b/c-2of4"),
        ] {
            assert_eq!(named(path.as_ref(), shard), Path::new(expected));
            assert_eq!(named(path.as_ref(), Shard::WHOLE), Path::new(path));
        }
    }

    #[test]
    fn lists_of_processors_are_counted() {
        assert_eq!(count("0-127\n"), Some(128));
        assert_eq!(count("0-3,8,10-11"), Some(7));
        assert_eq!(count(""), None);
    }
}
