//! Processes that measure together, each its part of the images, and tell one
//! report: how they reach each other is somebody else's, of MPI for one.

use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::bench;
use crate::cli::BenchArgs;
use crate::files;
use crate::merge::{self, Clock};
use crate::report::{Machine, Report};
use crate::shard::{Place, Shard};

/// The processes, as one of them sees them.
pub trait Nodes {
    /// Its number, from 0.
    fn rank(&self) -> usize;
    /// How many there are.
    fn size(&self) -> usize;
    /// Its number among those of its machine.
    fn local_rank(&self) -> usize;
    /// How many there are on its machine.
    fn local_size(&self) -> usize;
    /// Returns when all have called it.
    fn meet(&self);
    /// Everybody's bytes, in order, at the first process; `None` at the others.
    fn gather(&self, bytes: &[u8]) -> Option<Vec<Vec<u8>>>;
    /// Ends all processes, wherever they are. Does not return.
    fn abort(&self) -> !;
}

/// The place of one of `nodes`.
pub fn place(nodes: &dyn Nodes) -> Place {
    Place {
        shard: Shard {
            index: nodes.rank(),
            of: nodes.size(),
        },
        local: nodes.local_rank(),
        beside: nodes.local_size().max(1),
        by: "MPI".into(),
    }
}

/// `bench` by all `nodes`. One that fails says why and ends them all.
pub fn main(args: &BenchArgs, nodes: &dyn Nodes, out: &mut dyn Write) -> ExitCode {
    let reason = match catch_unwind(AssertUnwindSafe(|| run(args, nodes, out))) {
        Ok(Ok(())) => return ExitCode::SUCCESS,
        Ok(Err(error)) => format!("{error:#}"),
        // The panic has said it.
        Err(_) => "it ended with a bug of its own".into(),
    };
    let (rank, size, name) = (nodes.rank(), nodes.size(), Machine::name());
    let text = format!("error: process {rank} of {size} (from 0), on {name}: {reason}\n");
    // In one piece, and time for the launcher to pass it on: it ends everything.
    let _ = std::io::stderr().write_all(text.as_bytes());
    std::thread::sleep(Duration::from_secs(1));
    nodes.abort()
}

fn run(args: &BenchArgs, nodes: &dyn Nodes, out: &mut dyn Write) -> Result<()> {
    if args.shard.is_some() {
        bail!("--shard: MPI gives each process its part; leave the option out");
    }
    let first = nodes.rank() == 0;
    if first {
        for path in [&args.json, &args.html].into_iter().flatten() {
            files::check_writable(path)?;
        }
    }
    let earlier = match (first, &args.compare) {
        (true, Some(path)) => Some(Report::read(path)?),
        _ => None,
    };
    let report = bench::measure(args, nodes)?;
    if nodes.size() == 1 {
        return bench::tell(args, &report, None, earlier.as_ref(), out);
    }
    let bytes = serde_json::to_vec(&report.to_json())?;
    let Some(all) = nodes.gather(&bytes) else {
        return Ok(());
    };
    let reports = all.iter().enumerate().map(|(rank, bytes)| {
        let name = format!("the report of process {rank}");
        let text = std::str::from_utf8(bytes).with_context(|| name.clone())?;
        Ok((Report::from_json(text).with_context(|| name.clone())?, name))
    });
    // They met right before.
    let report = merge::merge(reports.collect::<Result<_>>()?, Clock::Met)?;
    let mut told = args.clone();
    let folders = format!("-*of{}", nodes.size());
    told.output.as_mut_os_string().push(folders);
    bench::tell(&told, &report, None, earlier.as_ref(), out)
}
