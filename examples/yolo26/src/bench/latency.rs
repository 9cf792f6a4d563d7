//! Latencies and the images done over time, in bounded memory however long a run is.

use std::fmt;
use std::time::Duration;

use hdrhistogram::Histogram;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The longest latency that is told from longer ones.
const LONGEST: u64 = 3_600_000_000;

/// A histogram of microseconds, right to three digits up to an hour: 190 kB, and
/// no allocation a sample. Stored as `[[microseconds, samples], …]`.
#[derive(Clone, PartialEq)]
pub struct Latency(Histogram<u64>);

/// What a histogram says, in milliseconds; all 0 where there are no samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Summary {
    pub samples: u64,
    pub mean: f64,
    pub p50: f64,
    pub p90: f64,
    pub p95: f64,
    pub p99: f64,
    pub max: f64,
}

impl Default for Latency {
    fn default() -> Self {
        Latency(Histogram::new_with_bounds(1, LONGEST, 3).expect("bounds in order"))
    }
}

impl fmt::Debug for Latency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.summary().fmt(f)
    }
}

impl Latency {
    pub fn add(&mut self, time: Duration) {
        let us = u64::try_from(time.as_micros()).unwrap_or(LONGEST);
        self.0.saturating_record(us.max(1));
    }

    /// Takes over another's samples.
    pub fn merge(&mut self, other: &Latency) {
        self.0.add(&other.0).expect("the same bounds");
    }

    pub fn summary(&self) -> Summary {
        let ms = |us: u64| us as f64 / 1e3;
        let at = |quantile: f64| ms(self.0.value_at_quantile(quantile));
        match self.0.len() {
            0 => Summary::default(),
            samples => Summary {
                samples,
                mean: self.0.mean() / 1e3,
                p50: at(0.5),
                p90: at(0.9),
                p95: at(0.95),
                p99: at(0.99),
                max: ms(self.0.max()),
            },
        }
    }

    /// Milliseconds and how many samples were that long, ascending.
    pub fn samples(&self) -> impl Iterator<Item = (f64, u64)> {
        self.recorded().map(|(us, count)| (us as f64 / 1e3, count))
    }

    fn recorded(&self) -> impl Iterator<Item = (u64, u64)> {
        let recorded = self.0.iter_recorded();
        recorded.map(|step| (step.value_iterated_to(), step.count_at_value()))
    }
}

impl Serialize for Latency {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.recorded())
    }
}

impl<'de> Deserialize<'de> for Latency {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut latency = Latency::default();
        for (us, count) in Vec::<(u64, u64)>::deserialize(deserializer)? {
            latency.0.saturating_record_n(us.max(1), count);
        }
        Ok(latency)
    }
}

/// Images stored in each slot of time from the start of the run on. Slots grow
/// twice as wide whenever there would be too many.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Timeline {
    pub slot_s: f64,
    pub images: Vec<u64>,
}

impl Default for Timeline {
    fn default() -> Self {
        Timeline {
            slot_s: 1.0 / 64.0,
            images: Vec::new(),
        }
    }
}

impl Timeline {
    /// The most slots.
    const SLOTS: usize = 256;

    pub fn add(&mut self, at_s: f64, images: u64) {
        while (at_s / self.slot_s) as usize >= Self::SLOTS {
            self.widen();
        }
        let slot = (at_s / self.slot_s) as usize;
        if self.images.len() <= slot {
            self.images.resize(slot + 1, 0);
        }
        self.images[slot] += images;
    }

    /// Takes over another's images, which began `later_s` after this one.
    pub fn merge(&mut self, other: &Timeline, later_s: f64) {
        while self.slot_s < other.slot_s {
            self.widen();
        }
        for (slot, images) in other.images.iter().enumerate() {
            self.add(later_s + (slot as f64 + 0.5) * other.slot_s, *images);
        }
    }

    /// The same with slots twice as wide.
    pub fn widen(&mut self) {
        self.slot_s *= 2.0;
        self.images = self
            .images
            .chunks(2)
            .map(|pair| pair.iter().sum())
            .collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_those_of_the_samples() {
        let mut latency = Latency::default();
        assert_eq!(latency.summary(), Summary::default());
        // 1 to 1000 ms in a mixed order; by nearest rank p99 is the 990th.
        for i in 0..1000u64 {
            latency.add(Duration::from_millis(1 + i * 577 % 1000));
        }
        let found = latency.summary();
        assert_eq!(found.samples, 1000);
        for (found, right) in [
            (found.mean, 500.5),
            (found.p50, 500.0),
            (found.p90, 900.0),
            (found.p95, 950.0),
            (found.p99, 990.0),
            (found.max, 1000.0),
        ] {
            assert!((found / right - 1.0).abs() < 1e-3, "{found} is not {right}");
        }
        // One sample is every percentile; none is lost for being too short or long.
        let mut ends = Latency::default();
        ends.add(Duration::ZERO);
        assert_eq!(ends.summary().p50, 0.001);
        ends.add(Duration::from_secs(100_000));
        assert_eq!(ends.summary().samples, 2);
    }

    #[test]
    fn what_is_stored_is_read_back() {
        let mut latency = Latency::default();
        for us in [1, 999, 2048, 2049, 777_777, 3_500_000_000] {
            latency.add(Duration::from_micros(us));
        }
        let text = serde_json::to_string(&latency).unwrap();
        let back: Latency = serde_json::from_str(&text).unwrap();
        assert_eq!(back.summary(), latency.summary());
        assert_eq!(serde_json::to_string(&back).unwrap(), text);
        let mut twice = latency.clone();
        twice.merge(&back);
        assert_eq!(twice.summary().samples, 12);
        assert_eq!(twice.summary().p50, latency.summary().p50);
    }

    #[test]
    fn a_long_run_has_few_slots_and_loses_no_image() {
        let mut timeline = Timeline::default();
        for second in 0..10_000 {
            timeline.add(f64::from(second), 64);
        }
        assert!(timeline.images.len() <= Timeline::SLOTS);
        assert_eq!(timeline.images.iter().sum::<u64>(), 640_000);
        let mut short = Timeline::default();
        short.add(0.01, 5);
        short.merge(&timeline, 3.0);
        assert_eq!(short.slot_s, timeline.slot_s);
        assert_eq!(short.images.iter().sum::<u64>(), 640_005);
    }
}
