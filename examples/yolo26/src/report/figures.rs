//! The figures of a card, and of all together: one place works them out for the
//! text, the JSON, the page and comparisons.

use std::time::Duration;

use super::{Card, Report};
use crate::bench::{Summary, Tally};

/// What is told of a card, or of all.
#[derive(Clone, Debug, PartialEq)]
pub struct Figures {
    pub images: usize,
    pub batches: usize,
    pub model_s: f64,
    /// Images a second by the time of the model alone.
    pub model_fps: f64,
    pub pipeline_s: f64,
    /// From the first decoded image to the last stored output.
    pub pipeline_fps: f64,
    /// 10⁹ bytes a second; where copies are known.
    pub upload: Option<f64>,
    pub download: Option<f64>,
    /// Images a second that the decoders would do if nothing kept them waiting.
    pub decode_rate: f64,
    /// The stages that this run has, and how much of the time each was at work; of
    /// several cards the mean over those that did something. They run side by side:
    /// no sum of them means anything.
    pub shares: Vec<(&'static str, f64)>,
    /// The fullest of them.
    pub limited_by: &'static str,
    /// Of batches: computing alone, and from the decoding to the stored output.
    pub compute: Summary,
    pub turnaround: Summary,
    pub memory_bytes: Option<u64>,
}

impl Report {
    pub fn figures(&self, card: &Card) -> Figures {
        self.figures_of(&card.tally, card.tally.model_fps(), 1)
    }

    /// Of all cards: sums, and the time from the first decode of any to the last
    /// stored output of any. The model's images a second are those of the cards
    /// that went to the end, as in the published table.
    pub fn total(&self) -> Figures {
        let tally = self.together();
        let model = self.good().map(Tally::model_fps).sum();
        // A card that did nothing has no share in the work.
        let at_work = self.cards.iter().filter(|card| card.tally.images > 0);
        let mut total = self.figures_of(&tally, model, at_work.count().max(1));
        // Each has decoders and a link of its own, and they work side by side.
        let sum = |of: &dyn Fn(&Tally) -> f64| self.cards.iter().map(|card| of(&card.tally)).sum();
        total.decode_rate = sum(&Tally::decode_rate);
        total.upload = total.upload.map(|_| sum(&|tally| tally.upload.rate()));
        total.download = total.download.map(|_| sum(&|tally| tally.download.rate()));
        total
    }

    /// The tallies of all, on one clock.
    pub(super) fn together(&self) -> Tally {
        let mut all = Tally {
            began: Duration::MAX,
            ..Tally::default()
        };
        for card in &self.cards {
            let (tally, later) = (&card.tally, self.later(card));
            all.images += tally.images;
            all.batches += tally.batches;
            all.model += tally.model;
            all.decode += tally.decode;
            all.upload.add(tally.upload.bytes, tally.upload.time);
            all.download.add(tally.download.bytes, tally.download.time);
            all.store += tally.store;
            if tally.images > 0 {
                all.began = all.began.min(tally.began + later);
                all.ended = all.ended.max(tally.ended + later);
            }
            all.memory_bytes = match (all.memory_bytes, tally.memory_bytes) {
                (Some(some), Some(more)) => Some(some + more),
                (some, more) => some.or(more),
            };
            all.compute_latency.merge(&tally.compute_latency);
            all.turnaround_latency.merge(&tally.turnaround_latency);
            all.timeline.merge(&tally.timeline, later.as_secs_f64());
        }
        all.began = all.began.min(all.ended);
        all
    }

    /// How long after the first node's clock that of a card's node started.
    pub(super) fn later(&self, card: &Card) -> Duration {
        let started = |node: &super::Node| node.started_unix_s;
        let first = self.nodes.iter().map(started).fold(f64::MAX, f64::min);
        let own = self.nodes.get(card.node).map_or(first, started);
        Duration::try_from_secs_f64(own - first).unwrap_or_default()
    }

    fn figures_of(&self, tally: &Tally, model_fps: f64, cards: usize) -> Figures {
        let (copies, stored) = (self.on_device(), !self.setting.dry_run);
        let cards = cards as f64;
        let rate = |rate: f64| copies.then_some(rate);
        let shares = tally.shares().into_iter();
        let shares = shares.filter(|(stage, _)| match *stage {
            "upload" | "download" => copies,
            "store" => stored,
            _ => true,
        });
        Figures {
            images: tally.images,
            batches: tally.batches,
            model_s: tally.model.as_secs_f64(),
            model_fps,
            pipeline_s: tally.pipeline().as_secs_f64(),
            pipeline_fps: tally.pipeline_fps(),
            upload: rate(tally.upload.rate()),
            download: rate(tally.download.rate()),
            decode_rate: tally.decode_rate(),
            shares: shares
                .map(|(stage, share)| (stage, share / cards))
                .collect(),
            limited_by: tally.limited_by(),
            compute: tally.compute_latency.summary(),
            turnaround: tally.turnaround_latency.summary(),
            memory_bytes: tally.memory_bytes,
        }
    }
}
