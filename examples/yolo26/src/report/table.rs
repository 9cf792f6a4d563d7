//! The table from end to end: what a user of the results would have seen.

use std::fmt;

use super::limit::count;
use super::{Division, Figures, Report};
use crate::bench::Summary;

impl Report {
    pub(super) fn table(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.head(f)?;
        let rows: Vec<(String, Figures, Option<&str>)> = self
            .cards
            .iter()
            .map(|card| {
                let failed = card.failed.as_deref();
                (self.card_name(card), self.figures(card), failed)
            })
            .collect();
        let total = self.total();
        let width = rows.iter().map(|(name, ..)| name.len()).max();
        let width = width.unwrap_or_default().max(9);
        self.speeds(f, &rows, &total, width)?;
        writeln!(f)?;
        latencies(f, &rows, &total, width)?;
        writeln!(f, "\n{}", first_large(&self.limited()))?;
        self.facts(f)
    }

    /// What was measured, in two lines.
    fn head(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let setting = &self.setting;
        writeln!(
            f,
            "From end to end: {} {}, batches of {} at {s}x{s}, {}, {} decoding for each",
            self.cards.len(),
            self.name().plural(),
            setting.batch,
            match self.on_device() {
                true => format!("buffers on the device, {} in flight", setting.in_flight),
                false => "host buffers".into(),
            },
            match setting.decoders {
                1 => "1 thread".into(),
                n => format!("{n} threads"),
            },
            s = setting.imgsz,
        )?;
        let mut line = match (setting.split_data, setting.schedule) {
            (true, Division::Static) => "equal shares of the images",
            (true, Division::Steal) => "whoever is free takes the next batch",
            (false, _) => "each does all images",
        }
        .to_owned();
        if setting.isolate {
            line += ", a process each";
        }
        if !setting.dry_run {
            line += ", results stored";
        }
        writeln!(f, "{line}")
    }

    fn speeds(
        &self,
        f: &mut fmt::Formatter<'_>,
        rows: &[(String, Figures, Option<&str>)],
        total: &Figures,
        width: usize,
    ) -> fmt::Result {
        let copies = self.on_device();
        let mut head = format!(
            "{:>width$} {:>7} {:>7} {:>9} {:>10} {:>9} {:>10}",
            "", "images", "batches", "model s", "model FPS", "whole s", "whole FPS"
        );
        if copies {
            head += &format!(" {:>8} {:>8}", "up GB/s", "down");
        }
        head += &format!(" {:>8} |", "decode/s");
        for (stage, _) in &total.shares {
            head += &format!(" {stage:>w$}", w = stage.len().max(5));
        }
        writeln!(f, "{head}  limited by")?;
        for (name, figures, failed) in rows {
            row(f, name, figures, width)?;
            if let Some(reason) = failed {
                writeln!(f, "{:>width$} failed: {reason}", "")?;
            }
        }
        row(f, "all", total, width)?;
        writeln!(
            f,
            "model: {}; whole: from the first decode to the last stored output; decode/s: images \
             that its decoders would do if nothing kept them waiting; right of the bar: how much of \
             the whole time each stage was at work",
            match copies {
                true => "computing alone, as the table above",
                // Of no program for host buffers the copies are known.
                false if self.setting.target == "gpu" =>
                    "runs with their copies, as the table above",
                false => "the runs, as the table above",
            }
        )
    }

    /// What was measured on and with.
    fn facts(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, value) in self.facts_by_name() {
            writeln!(f, "{name:>9}: {value}")?;
        }
        Ok(())
    }

    /// Name and value of what the run was made on and with.
    pub(super) fn facts_by_name(&self) -> Vec<(&'static str, String)> {
        let mut facts = vec![("date", self.date.clone())];
        for node in &self.nodes {
            let machine = &node.machine;
            let processors = match machine.processors {
                1 => "1 processor".into(),
                n => format!("{n} processors"),
            };
            let parts = [
                Some(node.name.clone()),
                machine.cpu.clone(),
                Some(processors),
                machine.memory_bytes.map(memory),
                machine.os.clone(),
                machine.kernel.clone(),
            ];
            let parts: Vec<String> = parts.into_iter().flatten().collect();
            facts.push(("machine", parts.join(", ")));
        }
        if let Some(clock) = &self.clock {
            facts.push(("nodes", clock.clone()));
        }
        facts.extend(self.devices().into_iter().map(|kind| ("cards", kind)));
        let versions = &self.versions;
        let named = [
            ("yolo26", Some(&versions.yolo26)),
            ("MIGraphX", versions.migraphx.as_ref()),
            ("HIP", versions.hip.as_ref()),
        ];
        let named = named
            .into_iter()
            .filter_map(|(name, version)| Some(format!("{name} {}", version?)));
        let named: Vec<String> = named.chain(versions.library.clone()).collect();
        facts.push(("versions", named.join(", ")));
        let model = &self.model;
        facts.push((
            "model",
            format!(
                "{}, {} bytes, SHA-256 {}",
                model.file,
                count(model.bytes as f64),
                model.sha256
            ),
        ));
        let precision = |key: &str| self.accuracy.as_ref()?[key].as_f64();
        if let (Some(half), Some(mean)) = (precision("mAP50"), precision("mAP50-95")) {
            facts.push(("accuracy", format!("mAP50 {half:.3}, mAP50-95 {mean:.3}")));
        }
        let input = format!("{:?}", self.setting.input).to_lowercase();
        facts.push((
            "input",
            format!(
                "{input}, {} bytes an image",
                count(self.setting.image_bytes as f64)
            ),
        ));
        facts.push(("command", self.command.join(" ")));
        if !self.environment.is_empty() {
            let set = self
                .environment
                .iter()
                .map(|(name, value)| format!("{name}={value}"));
            facts.push(("set", set.collect::<Vec<_>>().join(" ")));
        }
        facts
    }

    /// The kinds of GPUs, with how many there are of each, in order.
    fn devices(&self) -> Vec<String> {
        let mut kinds: Vec<(Vec<&str>, String, usize)> = Vec::new();
        for device in self.cards.iter().filter_map(|card| card.device.as_ref()) {
            let name = device.name.as_deref().unwrap_or("GPU");
            let facts = [
                device.architecture.clone(),
                device.total_memory_bytes.map(memory),
            ];
            let facts: Vec<String> = facts.into_iter().flatten().collect();
            let facts = facts.join(", ");
            match kinds.iter_mut().find(|(_, known, _)| *known == facts) {
                Some((names, _, n)) => {
                    *n += 1;
                    if !names.contains(&name) {
                        names.push(name);
                    }
                }
                None => kinds.push((vec![name], facts, 1)),
            }
        }
        let told = kinds.into_iter().map(|(names, facts, n)| {
            let names = match names[..] {
                [first, .., last] => format!("{first} … {last}"),
                _ => names.concat(),
            };
            format!("{n} × {names}, {facts}")
        });
        told.collect()
    }
}

/// Bytes for a reader.
pub(super) fn memory(bytes: u64) -> String {
    let mib = bytes as f64 / f64::from(1u32 << 20);
    match mib {
        1024.0.. => format!("{:.1} GiB", mib / 1024.0),
        _ => format!("{mib:.1} MiB"),
    }
}

/// A sentence begins with a capital.
pub(super) fn first_large(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters
        .next()
        .map(|letter| letter.to_uppercase().to_string());
    first.unwrap_or_default() + letters.as_str()
}

fn row(f: &mut fmt::Formatter<'_>, name: &str, figures: &Figures, width: usize) -> fmt::Result {
    write!(
        f,
        "{name:>width$} {:>7} {:>7} {:>9.4} {:>10.2} {:>9.4} {:>10.2}",
        figures.images,
        figures.batches,
        figures.model_s,
        figures.model_fps,
        figures.pipeline_s,
        figures.pipeline_fps,
    )?;
    for rate in [figures.upload, figures.download].into_iter().flatten() {
        write!(f, " {rate:>8.3}")?;
    }
    write!(f, " {:>8.0} |", figures.decode_rate)?;
    for (stage, share) in &figures.shares {
        write!(f, " {:>w$.0} %", share * 100.0, w = stage.len().max(5) - 2)?;
    }
    writeln!(f, "  {}", figures.limited_by)
}

/// Of batches.
fn latencies(
    f: &mut fmt::Formatter<'_>,
    rows: &[(String, Figures, Option<&str>)],
    total: &Figures,
    width: usize,
) -> fmt::Result {
    let head = ["p50", "p90", "p95", "p99", "max"]
        .map(|name| format!("{name:>9}"))
        .concat();
    writeln!(
        f,
        "{:>width$} |{:>44} |{:>44} |",
        "ms a batch",
        "computing",
        "decode to stored",
        width = width + 1
    )?;
    writeln!(f, "{:>width$} | {head} | {head} | memory", "")?;
    let all = ("all".to_owned(), total.clone(), None);
    for (name, figures, _) in rows.iter().chain([&all]) {
        write!(f, "{name:>width$} |")?;
        for summary in [figures.compute, figures.turnaround] {
            for ms in percentiles(summary) {
                write!(f, "{ms:>9.2}")?;
            }
            write!(f, "  |")?;
        }
        writeln!(f, " {}", figures.memory_bytes.map_or("-".into(), memory))?;
    }
    Ok(())
}

pub(super) fn percentiles(of: Summary) -> [f64; 5] {
    [of.p50, of.p90, of.p95, of.p99, of.max]
}
