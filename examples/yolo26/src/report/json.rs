//! The report as JSON: what a [`Report`] holds, and the figures worked out of it
//! for other programs. `docs/yolo26-report.md` tells every key.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, anyhow, bail};
use serde_json::{Map, Value, json};

use super::{Card, Figures, Report, SCHEMA};

impl Report {
    pub fn to_json(&self) -> Value {
        let mut value = serde_json::to_value(self).expect("plain fields");
        value["setting"]["cards"] = json!(self.cards.len());
        for (card, value) in self
            .cards
            .iter()
            .zip(value["cards"].as_array_mut().expect("a list"))
        {
            let own = value.as_object_mut().expect("an object");
            own.insert("name".into(), json!(self.card_name(card)));
            self.insert_figures(own, &self.figures(card));
        }
        value["total"] = self.total_json();
        value["limited"] = json!(self.limited());
        value
    }

    /// All cards together have the keys of a card, as far as they mean something.
    fn total_json(&self) -> Value {
        let card = Card {
            node: 0,
            number: 0,
            failed: None,
            device: None,
            tally: self.together(),
        };
        let mut value = serde_json::to_value(&card).expect("plain fields");
        let total = value.as_object_mut().expect("an object");
        let of_a_card = ["node", "number", "failed", "device"];
        let of_each = ["compute_latency", "turnaround_latency", "timeline"];
        for name in of_a_card.into_iter().chain(of_each) {
            total.remove(name);
        }
        self.insert_figures(total, &self.total());
        value
    }

    fn insert_figures(&self, value: &mut Map<String, Value>, figures: &Figures) {
        let shares: Map<String, Value> = figures
            .shares
            .iter()
            .map(|(stage, share)| ((*stage).to_owned(), json!(share)))
            .collect();
        for (name, figure) in [
            ("model_fps", json!(figures.model_fps)),
            ("pipeline_s", json!(figures.pipeline_s)),
            ("pipeline_fps", json!(figures.pipeline_fps)),
            ("decode_images_per_s", json!(figures.decode_rate)),
            ("limited_by", json!(figures.limited_by)),
            ("shares", Value::Object(shares)),
            (
                "latency",
                json!({
                    "compute_ms": figures.compute,
                    "turnaround_ms": figures.turnaround,
                }),
            ),
        ] {
            value.insert(name.into(), figure);
        }
        match (figures.upload, figures.download) {
            (Some(upload), Some(download)) => {
                value.insert("upload_gb_per_s".into(), json!(upload));
                value.insert("download_gb_per_s".into(), json!(download));
            }
            _ => {
                let copies = ["upload_bytes", "upload_s", "download_bytes", "download_s"];
                for name in copies {
                    value.insert(name.into(), Value::Null);
                }
            }
        }
    }

    /// A report that was stored before.
    pub fn read(path: &Path) -> Result<Self> {
        let shown = path.display();
        let text = fs::read_to_string(path).with_context(|| format!("cannot read {shown}"))?;
        Report::from_json(&text)
            .with_context(|| format!("{shown} holds no report of `bench --json`"))
    }

    pub fn from_json(text: &str) -> Result<Self> {
        let value: Value = serde_json::from_str(text).context("it is damaged, or no JSON")?;
        match value.get("schema").map(Value::as_u64) {
            Some(Some(schema)) if schema == u64::from(SCHEMA) => {}
            Some(Some(other)) => bail!(
                "it has schema {other}, this program reads schema {SCHEMA}: use the version of \
                 yolo26 that wrote it"
            ),
            Some(None) => bail!("its `schema` is no whole number"),
            None => bail!("it has no key `schema`; such reports must be measured anew"),
        }
        let report: Report = serde_json::from_value(value)
            .map_err(|error| anyhow!("a report of schema {SCHEMA} is another: {error}"))?;
        let nodes = report.nodes.len();
        if let Some(lost) = report.cards.iter().find(|card| card.node >= nodes) {
            bail!(
                "card {} is of node {}, of which there are {nodes}",
                lost.number,
                lost.node
            );
        }
        if report.cards.is_empty() {
            bail!("it has no cards");
        }
        Ok(report)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{card, failed, report};
    use super::*;
    use crate::report::Memory;

    #[test]
    fn numbers_are_those_of_the_tables() {
        let mut report = report(vec![card(), failed("burnt")]);
        let value = report.to_json();
        assert_eq!(value["schema"], json!(1));
        assert_eq!(value["cards"][0]["model_fps"], json!(625.0 / 0.38));
        assert_eq!(value["cards"][0]["upload_gb_per_s"], json!(25.0));
        assert_eq!(
            value["cards"][0]["latency"]["compute_ms"]["samples"],
            json!(10)
        );
        assert_eq!(value["cards"][1]["failed"], json!("burnt"));
        assert_eq!(value["total"]["images"], json!(625));
        assert_eq!(value["total"]["upload_gb_per_s"], json!(25.0));
        assert_eq!(value["total"]["pipeline_fps"], json!(625.0 / 0.4));
        report.setting.buffers = Memory::Host;
        let value = report.to_json();
        assert_eq!(value["setting"]["buffers"], json!("host"));
        assert_eq!(value["cards"][0]["upload_bytes"], Value::Null);
        assert_eq!(value["cards"][0].get("upload_gb_per_s"), None);
    }

    #[test]
    fn what_is_written_is_read_back() {
        for memory in [Memory::Device, Memory::Host] {
            let mut report = report(vec![card(), failed("<&>\"\n")]);
            report.setting.buffers = memory;
            let text = report.to_json().to_string();
            let back = Report::from_json(&text).unwrap();
            assert_eq!(back.to_json().to_string(), text);
            if memory == Memory::Device {
                assert_eq!(back, report);
            }
        }
    }

    #[test]
    fn what_is_no_report_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("r.json");
        let good = report(vec![card()]).to_json();
        let whole = good.to_string();
        let with = |key: &str, new: Value| {
            let mut value = good.clone();
            value[key] = new;
            value.to_string()
        };
        for (text, expected) in [
            (&whole[..whole.len() / 2], "damaged"),
            ("{}", "no key `schema`"),
            (&with("schema", json!(2)), "schema 2"),
            (&with("schema", json!("1")), "no whole number"),
            (&with("cards", json!([])), "no cards"),
            (&with("nodes", json!([])), "node 0"),
            (&with("date", Value::Null), "another: "),
        ] {
            fs::write(&path, text).unwrap();
            let error = format!("{:#}", Report::read(&path).unwrap_err());
            assert!(
                error.contains(expected) && error.contains("r.json"),
                "{error}"
            );
        }
    }
}
