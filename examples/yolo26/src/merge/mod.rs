//! `merge`: one report out of those of the nodes that shared a data set.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::io::Write;

use anyhow::{Result, bail};
use serde::Serialize;
use serde_json::Value;

use crate::cli::MergeArgs;
use crate::files;
use crate::report::Report;
use crate::shard::Share;

/// What the nodes' starting times are worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// Each node's own clock; good enough where the runs overlap by it.
    Own,
    /// They met right before they started.
    Met,
}

/// A node's report and what it is called in messages.
pub type Named = (Report, String);

/// The command of this name.
pub fn run(args: &MergeArgs, out: &mut dyn Write) -> Result<()> {
    for path in [&args.json, &args.html].into_iter().flatten() {
        files::check_writable(path)?;
    }
    let read = |path: &std::path::PathBuf| Ok((Report::read(path)?, path.display().to_string()));
    let reports = args.reports.iter().map(read).collect::<Result<_>>()?;
    let report = merge(reports, Clock::Own)?;
    write!(out, "{report}")?;
    report.write(args.json.as_deref(), args.html.as_deref())
}

/// One report, with the nodes in the order of their shards.
pub fn merge(reports: Vec<Named>, clock: Clock) -> Result<Report> {
    let mut reports = complete(reports)?;
    for pair in reports.windows(2) {
        belong_together(&pair[0], &pair[1])?;
    }
    cards_are_different(&reports)?;
    let clock = align(&mut reports, clock);
    let rest = reports.split_off(1);
    let Some((mut all, _)) = reports.pop() else {
        bail!("no reports");
    };
    for (report, _) in rest {
        let before = all.nodes.len();
        all.date = all.date.min(report.date);
        all.environment
            .retain(|name, value| report.environment.get(name) == Some(value));
        all.nodes.extend(report.nodes);
        all.cards.extend(report.cards.into_iter().map(|mut card| {
            card.node += before;
            card
        }));
    }
    name_nodes(&mut all);
    all.clock = Some(clock);
    // That of a part is not that of all.
    all.accuracy = None;
    Ok(all)
}

/// In order, if every part is there once and whole.
fn complete(reports: Vec<Named>) -> Result<Vec<Named>> {
    let mut parts: BTreeMap<usize, (Share, Named)> = BTreeMap::new();
    for (report, name) in reports {
        let [share] = *report
            .nodes
            .iter()
            .map(|node| node.share)
            .collect::<Vec<_>>()
        else {
            bail!("{name} is merged already; give the reports of the nodes");
        };
        let Some(share) = share else {
            bail!("{name} is of a run over all images: it has no other parts");
        };
        let done: usize = report.cards.iter().map(|card| card.tally.images).sum();
        let cards = match report.setting.split_data {
            true => 1,
            false => report.cards.len(),
        };
        if done != share.images * cards {
            bail!(
                "{name}: its cards did {done} of {} images",
                share.images * cards
            );
        }
        if let Some((first, (_, other))) = parts.values().next()
            && (first.of, first.all) != (share.of, share.all)
        {
            bail!(
                "{other} and {name} are of different runs: one of {} shards of {} images, and one \
                 of {} shards of {}",
                first.of,
                first.all,
                share.of,
                share.all
            );
        }
        if let Some((_, (_, other))) = parts.get(&share.index) {
            bail!(
                "{other} and {name} are both shard {}/{}",
                share.index,
                share.of
            );
        }
        parts.insert(share.index, (share, (report, name)));
    }
    let Some((share, _)) = parts.values().next() else {
        bail!("no reports");
    };
    let missing = (0..share.of).filter(|index| !parts.contains_key(index));
    let missing: Vec<String> = missing.map(|i| format!("{i}/{}", share.of)).collect();
    if !missing.is_empty() {
        bail!("there is no report of shard {}", missing.join(", "));
    }
    Ok(parts.into_values().map(|(_, named)| named).collect())
}

/// The same program, in the same way.
fn belong_together((a, a_name): &Named, (b, b_name): &Named) -> Result<()> {
    let (old, new) = (&a.model, &b.model);
    if old.sha256 != new.sha256 {
        let short = |hash: &str| hash.chars().take(12).collect::<String>();
        bail!(
            "{a_name} and {b_name} are of different models: {} ({}…) and {} ({}…)",
            old.file,
            short(&old.sha256),
            new.file,
            short(&new.sha256)
        );
    }
    // Where the file is, and for how many processors, is each node's own affair.
    let own = ["weights", "decoders", "library"];
    let of = |report: &Report| [fields(&report.setting), fields(&report.versions)];
    for (old, new) in of(a).into_iter().zip(of(b)) {
        let differs = old
            .into_iter()
            .find(|(name, value)| !own.contains(&name.as_str()) && new.get(name) != Some(value));
        if let Some((name, old)) = differs {
            bail!(
                "{a_name} and {b_name} were not measured alike: {name} is {old} and {}",
                new.get(&name).unwrap_or(&Value::Null)
            );
        }
    }
    Ok(())
}

fn fields(of: &impl Serialize) -> BTreeMap<String, Value> {
    let value = serde_json::to_value(of).expect("plain fields");
    value
        .as_object()
        .into_iter()
        .flatten()
        .map(|(n, v)| (n.clone(), v.clone()))
        .collect()
}

/// No card was measured by two processes at once.
fn cards_are_different(reports: &[Named]) -> Result<()> {
    let mut seen: BTreeMap<(&str, &str), &str> = BTreeMap::new();
    for (report, name) in reports {
        for card in &report.cards {
            let device = card.device.as_ref();
            let Some(place) = device.and_then(|device| device.pci_bus_id.as_deref()) else {
                continue;
            };
            let host = report.nodes[card.node].name.as_str();
            if let Some(other) = seen.insert((host, place), name) {
                bail!(
                    "{other} and {name} used the same GPU, {place} of {host}: give each process \
                     GPUs of its own with --first-gpu"
                );
            }
        }
    }
    Ok(())
}

/// Puts the nodes on one clock, and says how.
fn align(reports: &mut [Named], clock: Clock) -> String {
    let span = |report: &Report| {
        let start = report.nodes[0].started_unix_s;
        let cards = || report.cards.iter().map(|card| &card.tally);
        let began = cards().map(|tally| tally.began.as_secs_f64());
        let ended = cards().map(|tally| tally.ended.as_secs_f64());
        (
            start + began.fold(f64::MAX, f64::min),
            start + ended.fold(0.0, f64::max),
        )
    };
    let spans: Vec<(f64, f64)> = reports.iter().map(|(report, _)| span(report)).collect();
    let first = spans.iter().map(|s| s.0).fold(f64::MAX, f64::min);
    let last = spans.iter().map(|s| s.0).fold(f64::MIN, f64::max);
    let first_end = spans.iter().map(|s| s.1).fold(f64::MAX, f64::min);
    let text = match clock {
        Clock::Met => "all nodes met right before they started".to_owned(),
        Clock::Own if last < first_end => {
            let apart = last - first;
            return format!("by the nodes' own clocks, which started within {apart:.3} s");
        }
        Clock::Own => "by their clocks the nodes did not run at the same time: the whole time is \
                       that of the slowest, as if they had started together"
            .to_owned(),
    };
    let starts = reports
        .iter()
        .map(|(report, _)| report.nodes[0].started_unix_s);
    let start = starts.fold(f64::MAX, f64::min);
    for (report, _) in reports {
        report.nodes[0].started_unix_s = start;
    }
    text
}

/// Several of one machine are told apart by their shard.
fn name_nodes(report: &mut Report) {
    let names: Vec<String> = report.nodes.iter().map(|node| node.name.clone()).collect();
    for node in &mut report.nodes {
        let same = names.iter().filter(|name| **name == node.name).count();
        if let (2.., Some(share)) = (same, node.share) {
            node.name = format!("{}#{}", node.name, share.index);
        }
    }
}
