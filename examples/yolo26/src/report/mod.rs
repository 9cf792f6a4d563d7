//! What ends a benchmark: the published table, then an honest one.
//!
//! A [`Report`] holds what was measured and what is needed to tell it: the text,
//! the JSON and the page are all made of it, at once or later from its JSON.

mod facts;
mod figures;
mod html;
mod json;
mod limit;
mod published;
mod run;
mod table;

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::bench::Tally;
use crate::pixels::Element;
use crate::shard::Share;

pub use facts::{DeviceFacts, Machine, ModelFile, Versions, now, switches};
pub use figures::Figures;
pub use run::run;

/// What a card is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CardName {
    Gpu,
    Worker,
}

impl CardName {
    /// For a MIGraphX target.
    pub fn of(target: &str) -> Self {
        if target == "gpu" {
            CardName::Gpu
        } else {
            CardName::Worker
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            CardName::Gpu => "GPU",
            CardName::Worker => "Worker",
        }
    }

    /// Within a sentence.
    fn singular(self) -> &'static str {
        match self {
            CardName::Gpu => "GPU",
            CardName::Worker => "worker",
        }
    }

    fn plural(self) -> &'static str {
        match self {
            CardName::Gpu => "GPUs",
            CardName::Worker => "workers",
        }
    }
}

/// Where a program's buffers are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Memory {
    Device,
    Host,
}

/// How the images were divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Division {
    Static,
    Steal,
}

/// How it was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Setting {
    pub weights: String,
    pub target: String,
    pub buffers: Memory,
    pub batch: usize,
    pub imgsz: usize,
    /// The type of the model's input.
    pub input: Element,
    /// Bytes of one image in it.
    pub image_bytes: u64,
    /// Images of the data set.
    pub images: usize,
    pub letterbox: String,
    /// What decoded JPEG files.
    pub jpeg: String,
    /// The type of the cache that the images came from, instead of being decoded.
    pub cache: Option<String>,
    pub warmup: usize,
    pub in_flight: usize,
    /// Threads for each card.
    pub decoders: usize,
    pub schedule: Division,
    /// Whether each card had a process.
    pub isolate: bool,
    /// Whether the images were divided.
    pub split_data: bool,
    /// Whether no results were stored.
    pub dry_run: bool,
}

/// A machine that took part.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Node {
    /// Its host name.
    pub name: String,
    /// When its clock started: seconds since 1970.
    pub started_unix_s: f64,
    #[serde(flatten)]
    pub machine: Machine,
    /// What it did of the data set, where others did the rest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<Share>,
}

/// A card and what it did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Card {
    /// Of the report's nodes.
    pub node: usize,
    /// On its node.
    pub number: usize,
    /// Why it did not go to the end.
    pub failed: Option<String>,
    /// What it is, where it is a GPU.
    pub device: Option<DeviceFacts>,
    #[serde(flatten)]
    pub tally: Tally,
}

/// The layout of the JSON; a change that a reader would stumble over counts it up.
pub const SCHEMA: u32 = 1;

/// The whole of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    pub schema: u32,
    /// When the clock started, in UTC (RFC 3339).
    pub date: String,
    /// The command line.
    pub command: Vec<String>,
    /// Switches of the libraries that were set.
    pub environment: BTreeMap<String, String>,
    pub setting: Setting,
    pub model: ModelFile,
    #[serde(flatten)]
    pub versions: Versions,
    /// One in an ordinary run.
    pub nodes: Vec<Node>,
    pub cards: Vec<Card>,
    /// How the times of several nodes were put together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock: Option<String>,
    /// Average precision, where the truth was at hand: as `val --json` has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accuracy: Option<serde_json::Value>,
}

impl Report {
    pub fn name(&self) -> CardName {
        CardName::of(&self.setting.target)
    }

    /// What a card is called: by its node, too, where there are several.
    pub fn card_name(&self, card: &Card) -> String {
        let name = format!("{} {}", self.name().name(), card.number);
        match self.nodes.get(card.node) {
            Some(node) if self.nodes.len() > 1 => format!("{} {name}", node.name),
            _ => name,
        }
    }

    /// Whether the buffers are on the device, so that copies are known.
    fn on_device(&self) -> bool {
        self.setting.buffers == Memory::Device
    }

    /// The cards that went to the end.
    fn good(&self) -> impl Iterator<Item = &Tally> {
        let good = self.cards.iter().filter(|card| card.failed.is_none());
        good.map(|card| &card.tally)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.published(f)?;
        self.table(f)
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::bench::example;

    /// A run of these cards on a machine with 8 processors.
    pub fn report(cards: Vec<Card>) -> Report {
        Report {
            schema: SCHEMA,
            date: "2026-11-30T22:25:00Z".into(),
            command: ["yolo26", "bench", "--num-gpus", "2"]
                .map(String::from)
                .into(),
            environment: [("MIGRAPHX_ENABLE_NHWC".into(), "1".into())].into(),
            setting: Setting {
                weights: "folder/model.mxr".into(),
                target: "gpu".into(),
                buffers: Memory::Device,
                batch: 64,
                imgsz: 640,
                input: Element::F32,
                image_bytes: 3 * 640 * 640 * 4,
                images: 5000,
                letterbox: "predict".into(),
                jpeg: "turbo".into(),
                cache: None,
                warmup: 20,
                in_flight: 2,
                decoders: 4,
                schedule: Division::Static,
                isolate: false,
                split_data: true,
                dry_run: false,
            },
            model: ModelFile {
                file: "model.mxr".into(),
                bytes: 20_000_000,
                sha256: "ab".repeat(32),
            },
            versions: Versions {
                migraphx: Some("2.14.0".into()),
                hip: Some("7.1.0".into()),
                ..Versions::default()
            },
            nodes: vec![Node {
                name: "host".into(),
                started_unix_s: 1_796_077_500.25,
                machine: Machine {
                    processors: 8,
                    ..Machine::default()
                },
                share: None,
            }],
            cards,
            clock: None,
            accuracy: None,
        }
    }

    pub fn card_of(number: usize, tally: Tally) -> Card {
        Card {
            node: 0,
            number,
            failed: None,
            device: Some(DeviceFacts {
                name: Some("AMD Instinct".into()),
                architecture: Some("gfx942".into()),
                total_memory_bytes: Some(1 << 36),
                pci_bus_id: None,
            }),
            tally,
        }
    }

    /// GPU 0, which computes most of the time.
    pub fn card() -> Card {
        card_of(0, example())
    }

    /// GPU 1, which did nothing.
    pub fn failed(reason: &str) -> Card {
        Card {
            failed: Some(reason.into()),
            ..card_of(1, Tally::default())
        }
    }

    #[test]
    fn nodes_are_on_one_clock() {
        let mut report = report(vec![card(), card()]);
        let mut second = report.nodes[0].clone();
        second.name = "other".into();
        second.started_unix_s += 1.5;
        report.nodes.push(second);
        report.cards[1].node = 1;
        // From 0.01 s to 1.91 s.
        let total = report.total();
        assert!((total.pipeline_s - 1.9).abs() < 1e-6, "{total:?}");
        assert_eq!(total.images, 1250);
        assert_eq!(report.card_name(&report.cards[1]), "other GPU 0");
    }
}
