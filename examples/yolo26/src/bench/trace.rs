//! `--trace`: what each card did when, for a viewer of Chrome traces.

use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Result;
use migraphx::RunTimes;

use super::batch::Batch;
use crate::files;
use crate::report::CardName;
use chrome_trace::ChromeTrace;

#[path = "../../../tools_common/chrome_trace.rs"]
#[allow(dead_code, reason = "the tools use more of it")]
mod chrome_trace;

/// A row of a card.
#[derive(Clone, Copy)]
pub enum Row {
    Decode = 1,
    Upload = 2,
    Compute = 3,
    Download = 4,
    Store = 5,
}

impl Row {
    const ALL: [(Row, &'static str); 5] = [
        (Row::Decode, "decode"),
        (Row::Upload, "upload"),
        (Row::Compute, "compute"),
        (Row::Download, "download"),
        (Row::Store, "store"),
    ];

    fn name(self) -> &'static str {
        Row::ALL[self as usize - 1].1
    }
}

/// Events of all cards, from the start of the run on.
pub struct Trace {
    start: Instant,
    events: Mutex<ChromeTrace>,
}

impl Trace {
    pub fn new(start: Instant, cards: usize, name: CardName) -> Self {
        let mut events = ChromeTrace::new();
        for card in 0..cards {
            events.process(card as u32, &format!("{} {card}", name.name()));
            for (row, text) in Row::ALL {
                events.thread(card as u32, row as u32, text);
            }
        }
        Trace {
            start,
            events: Mutex::new(events),
        }
    }

    /// What the host did for a batch, from `from` until now.
    pub fn until_now(&self, card: usize, row: Row, batch: &Batch, from: Instant) {
        let start = from.saturating_duration_since(self.start);
        self.span(card, row, batch, start, start + from.elapsed());
    }

    fn span(&self, card: usize, row: Row, batch: &Batch, start: Duration, end: Duration) {
        let mut events = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        events.span(
            card as u32,
            row as u32,
            &format!("batch {}", batch.number),
            row.name(),
            start,
            end.saturating_sub(start),
            &[
                ("images", batch.images.len().into()),
                ("first image", batch.images.start.into()),
            ],
        );
    }

    pub fn write(&self, path: &Path) -> Result<()> {
        let events = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        let mut text = Vec::new();
        events.write(&mut text)?;
        files::write(path, &text)
    }
}

/// The runs of a card, in the device's time, until that can be told in the host's.
#[derive(Default)]
pub struct Runs {
    runs: Vec<(Batch, RunTimes)>,
    /// Where the device's time begins in the host's: no later than this.
    zero: Option<Duration>,
}

impl Runs {
    /// A run that the host has just been told is through.
    pub fn push(&mut self, trace: &Trace, batch: &Batch, times: RunTimes) {
        // The host learns of it later than it happened, and the least late tells best.
        let zero = trace.start.elapsed().saturating_sub(times.downloaded);
        self.zero = Some(self.zero.map_or(zero, |known| known.min(zero)));
        self.runs.push((batch.clone(), times));
    }

    /// Writes them down. Copies of one direction, and runs, follow each other: one
    /// begins where the one before it ended, at the earliest.
    pub fn tell(&self, trace: &Trace, card: usize) {
        let zero = self.zero.unwrap_or_default();
        let mut ends = [Duration::ZERO; 3];
        for (batch, times) in &self.runs {
            let parts = [
                (Row::Upload, times.began, times.uploaded),
                (Row::Compute, times.uploaded, times.ran),
                (Row::Download, times.ran, times.downloaded),
            ];
            for ((row, start, end), before) in parts.into_iter().zip(&mut ends) {
                trace.span(card, row, batch, zero + start.max(*before), zero + end);
                *before = end.max(*before);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn runs_in_flight_lie_side_by_side() {
        let trace = Trace::new(Instant::now(), 2, CardName::of("gpu"));
        let ms = Duration::from_millis;
        let batch = |number| Batch {
            share: 1,
            number,
            images: 4 * number..4 * number + 4,
        };
        let mut runs = Runs::default();
        for (number, [began, uploaded, ran, downloaded]) in
            [[0, 2, 10, 11], [1, 3, 18, 19]].into_iter().enumerate()
        {
            let times = RunTimes {
                began: ms(began),
                uploaded: ms(uploaded),
                ran: ms(ran),
                downloaded: ms(downloaded),
            };
            runs.runs.push((batch(number), times));
        }
        runs.zero = Some(ms(100));
        runs.tell(&trace, 1);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("trace.json");
        trace.write(&path).unwrap();
        let json: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        let spans: Vec<(String, u64, f64, f64)> = json["traceEvents"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|event| event["ph"] == "X")
            .map(|event| {
                assert_eq!(event["pid"], 1);
                let number = |key: &str| event[key].as_f64().unwrap() / 1000.0;
                let row = event["tid"].as_u64().unwrap();
                (event["name"].to_string(), row, number("ts"), number("dur"))
            })
            .collect();
        let row = |wanted: u64| {
            let of = spans.iter().filter(move |span| span.1 == wanted);
            of.map(|span| (span.2, span.3)).collect::<Vec<_>>()
        };
        assert_eq!(row(2), [(100.0, 2.0), (102.0, 1.0)]);
        assert_eq!(row(3), [(102.0, 8.0), (110.0, 8.0)]);
        assert_eq!(row(4), [(110.0, 1.0), (118.0, 1.0)]);
    }
}
