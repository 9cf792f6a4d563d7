//! `compare`: what differs between two runs, first in how they were made, then
//! in what they measured.

use std::collections::BTreeSet;
use std::fmt;
use std::io::Write;

use anyhow::Result;
use serde_json::Value;

use crate::cli::CompareArgs;
use crate::report::{Card, Figures, Report};

pub fn run(args: &CompareArgs, out: &mut dyn Write) -> Result<()> {
    let (old, new) = (Report::read(&args.old)?, Report::read(&args.new)?);
    write!(
        out,
        "{}",
        Comparison {
            old: &old,
            new: &new
        }
    )?;
    Ok(())
}

/// Two runs side by side.
pub struct Comparison<'a> {
    pub old: &'a Report,
    pub new: &'a Report,
}

/// A figure of both runs.
struct Row {
    name: &'static str,
    old: f64,
    new: f64,
}

impl Comparison<'_> {
    /// What stands in the way of comparing the figures.
    fn doubts(&self) -> Vec<String> {
        let mut doubts = Vec::new();
        let setting = |key: &str| {
            let of = |report: &Report| plain(report.to_json()["setting"].get(key));
            (of(self.old), of(self.new))
        };
        if self.old.model.sha256 != self.new.model.sha256 {
            doubts.push("the models are not the same file".into());
        }
        for (key, what) in [
            ("target", "the targets"),
            ("buffers", "where the buffers are"),
            ("batch", "the batches"),
            ("imgsz", "the images' sizes"),
            ("input", "the types of the input"),
            ("images", "the numbers of images"),
            ("cache", "the caches of images"),
            ("cards", "the numbers of cards"),
            ("split_data", "whether the images were divided"),
            ("dry_run", "whether results were stored"),
        ] {
            let (old, new) = setting(key);
            if old != new {
                doubts.push(format!("{what} differ: {old} and {new}"));
            }
        }
        let architectures = |report: &Report| -> BTreeSet<String> {
            let devices = report.cards.iter().filter_map(|card| card.device.as_ref());
            devices
                .filter_map(|device| device.architecture.clone())
                .collect()
        };
        if architectures(self.old) != architectures(self.new) {
            doubts.push("the cards are of other architectures".into());
        }
        for (report, which) in [(self.old, "old"), (self.new, "new")] {
            let failed = report
                .cards
                .iter()
                .filter(|card| card.failed.is_some())
                .count();
            if failed > 0 {
                doubts.push(format!("in the {which} run {failed} of the cards failed"));
            }
        }
        doubts
    }

    /// What is otherwise in how the runs were made, by the keys of the JSON.
    fn differences(&self) -> Vec<(String, String, String)> {
        let of = |report: &Report| {
            let mut facts = Vec::new();
            let json = report.to_json();
            for key in [
                "model",
                "migraphx",
                "hip",
                "yolo26",
                "library",
                "setting",
                "environment",
            ] {
                flat(key, &json[key], &mut facts);
            }
            for (i, node) in report.nodes.iter().enumerate() {
                let value = serde_json::to_value(&node.machine).expect("plain fields");
                flat(
                    &format!("nodes[{i}].name"),
                    &Value::from(node.name.as_str()),
                    &mut facts,
                );
                flat(&format!("nodes[{i}]"), &value, &mut facts);
            }
            for (i, card) in report.cards.iter().enumerate() {
                let value = serde_json::to_value(&card.device).expect("plain fields");
                flat(&format!("cards[{i}].device"), &value, &mut facts);
            }
            facts
        };
        let (old, new) = (of(self.old), of(self.new));
        let value = |facts: &[(String, String)], key: &str| {
            let found = facts.iter().find(|(name, _)| name == key);
            found.map_or("-".to_owned(), |(_, value)| value.clone())
        };
        let only_new = new
            .iter()
            .filter(|(key, _)| old.iter().all(|(known, _)| known != key));
        let keys = old.iter().chain(only_new).map(|(key, _)| key);
        let rows = keys.map(|key| (key.clone(), value(&old, key), value(&new, key)));
        rows.filter(|(_, old, new)| old != new).collect()
    }
}

/// Objects as their values, by dotted keys.
fn flat(key: &str, value: &Value, into: &mut Vec<(String, String)>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                flat(&format!("{key}.{name}"), value, into);
            }
        }
        Value::Null => {}
        value => into.push((key.to_owned(), plain(Some(value)))),
    }
}

/// A value without its quotes.
fn plain(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => "-".into(),
        Some(Value::String(text)) => text.clone(),
        Some(value) => value.to_string(),
    }
}

/// The figures that both runs have.
fn rows(old: &Figures, new: &Figures, all: bool) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut row = |name, of: &dyn Fn(&Figures) -> Option<f64>| {
        if let (Some(old), Some(new)) = (of(old), of(new)) {
            rows.push(Row { name, old, new });
        }
    };
    row("model FPS", &|f| Some(f.model_fps));
    row("pipeline FPS", &|f| Some(f.pipeline_fps));
    if all {
        row("model s", &|f| Some(f.model_s));
        row("pipeline s", &|f| Some(f.pipeline_s));
        row("decode images/s", &|f| Some(f.decode_rate));
        row("upload GB/s", &|f| f.upload);
        row("download GB/s", &|f| f.download);
        row("computing p50 ms", &|f| Some(f.compute.p50));
        row("computing p99 ms", &|f| Some(f.compute.p99));
        row("turnaround p50 ms", &|f| Some(f.turnaround.p50));
        row("turnaround p99 ms", &|f| Some(f.turnaround.p99));
        row("memory MiB", &|f| {
            Some(f.memory_bytes? as f64 / 1_048_576.0)
        });
    } else {
        row("turnaround p99 ms", &|f| Some(f.turnaround.p99));
    }
    rows
}

impl fmt::Display for Comparison<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "old: {}\nnew: {}", self.old.date, self.new.date)?;
        let doubts = self.doubts();
        for doubt in &doubts {
            writeln!(f, "not comparable: {doubt}")?;
        }
        let differences = self.differences();
        match differences.is_empty() {
            true => writeln!(f, "both were made alike")?,
            false => writeln!(f, "what differs in how they were made (old -> new):")?,
        }
        for (key, old, new) in differences {
            writeln!(f, "  {key}: {old} -> {new}")?;
        }
        writeln!(
            f,
            "\n{:>24} {:>12} {:>12} {:>9}",
            "", "old", "new", "new/old"
        )?;
        let (old, new) = (self.old.total(), self.new.total());
        let mut all = rows(&old, &new, true);
        for name in ["mAP50", "mAP50-95"] {
            let of = |report: &Report| report.accuracy.as_ref()?[name].as_f64();
            if let (Some(old), Some(new)) = (of(self.old), of(self.new)) {
                all.push(Row { name, old, new });
            }
        }
        table(f, "all", &all)?;
        for (card, other) in self.pairs() {
            let figures = rows(&self.old.figures(card), &self.new.figures(other), false);
            table(f, &self.old.card_name(card), &figures)?;
        }
        for (report, which) in [(self.old, "old"), (self.new, "new")] {
            writeln!(f, "{which}: {}", report.limited())?;
        }
        Ok(())
    }
}

impl Comparison<'_> {
    /// Cards of the same place in both runs.
    fn pairs(&self) -> impl Iterator<Item = (&Card, &Card)> {
        self.old.cards.iter().filter_map(|card| {
            let same = |other: &&Card| (other.node, other.number) == (card.node, card.number);
            Some((card, self.new.cards.iter().find(same)?))
        })
    }
}

fn table(f: &mut fmt::Formatter<'_>, title: &str, rows: &[Row]) -> fmt::Result {
    writeln!(f, "{title}")?;
    for Row { name, old, new } in rows {
        let ratio = match *old > 0.0 {
            true => format!("{:.3}", new / old),
            false => "-".into(),
        };
        // Seconds are few.
        let digits = if old.max(*new) < 10.0 { 4 } else { 2 };
        writeln!(
            f,
            "{name:>24} {old:>12.digits$} {new:>12.digits$} {ratio:>9}"
        )?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::report::tests::{card, failed, report};

    #[test]
    fn figures_stand_side_by_side_with_their_ratio() {
        let old = report(vec![card()]);
        let mut new = old.clone();
        assert!(
            Comparison {
                old: &old,
                new: &new
            }
            .to_string()
            .contains("both were made alike")
        );
        // Twice as fast a model in half of the time.
        new.cards[0].tally.model /= 2;
        new.cards[0].tally.ended = (old.cards[0].tally.ended + old.cards[0].tally.began) / 2;
        new.setting.in_flight = 3;
        new.environment.clear();
        let text = Comparison {
            old: &old,
            new: &new,
        }
        .to_string();
        for expected in [
            "  setting.in_flight: 2 -> 3\n",
            "  environment.MIGRAPHX_ENABLE_NHWC: 1 -> -\n",
            "               model FPS      1644.74      3289.47     2.000\n",
            "            pipeline FPS      1562.50      3125.00     2.000\n",
            "        computing p50 ms        38.02        38.02     1.000\n",
        ] {
            assert!(text.contains(expected), "{expected}\n{text}");
        }
        assert!(!text.contains("not comparable"), "{text}");
    }

    #[test]
    fn what_makes_them_incomparable_comes_first() {
        let old = report(vec![card()]);
        let mut new = report(vec![card(), failed("burnt")]);
        new.model.sha256 = "cd".repeat(32);
        new.setting.batch = 32;
        let text = Comparison {
            old: &old,
            new: &new,
        }
        .to_string();
        for expected in [
            "not comparable: the models are not the same file\n",
            "not comparable: the batches differ: 64 and 32\n",
            "not comparable: the numbers of cards differ: 1 and 2\n",
            "not comparable: in the new run 1 of the cards failed\n",
            "  setting.batch: 64 -> 32\n",
        ] {
            assert!(text.contains(expected), "{expected}\n{text}");
        }
    }

    #[test]
    fn a_damaged_file_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let [good, bad] = ["good.json", "bad.json"].map(|name| folder.path().join(name));
        fs::write(&good, report(vec![card()]).to_json().to_string()).unwrap();
        fs::write(&bad, "{\"schema\": 1").unwrap();
        let compare = |old: &std::path::Path, new: &std::path::Path| {
            let mut out = Vec::new();
            let args = CompareArgs {
                old: old.into(),
                new: new.into(),
            };
            run(&args, &mut out).map(|()| String::from_utf8(out).unwrap())
        };
        let text = compare(&good, &good).unwrap();
        assert!(text.contains("     1.000\n"), "{text}");
        let error = format!("{:#}", compare(&good, &bad).unwrap_err());
        assert!(
            error.contains("bad.json") && error.contains("damaged"),
            "{error}"
        );
    }
}
