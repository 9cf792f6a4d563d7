//! What a card did, and how long it took.

use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::latency::{Latency, Timeline};
use crate::loader::Decoded;

/// The measures of one card. They are stored as the report's JSON has them:
/// seconds and bytes, by name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Tally {
    /// Real images; padding does not count.
    pub images: usize,
    pub batches: usize,
    /// Computing: from a batch's inputs being there, and the batch before being
    /// through, to its outputs being there. Without copies where the buffers are
    /// on the device; else the whole run.
    #[serde(rename = "model_s", with = "seconds")]
    pub model: Duration,
    /// Decoding, resizing and filling in.
    #[serde(rename = "decode_s", with = "seconds")]
    pub decode: Duration,
    #[serde(flatten, with = "Upload")]
    pub upload: Copied,
    #[serde(flatten, with = "Download")]
    pub download: Copied,
    /// Writing results.
    #[serde(rename = "store_s", with = "seconds")]
    pub store: Duration,
    /// When the first image began to be decoded, from the start of the run.
    #[serde(rename = "began_s", with = "seconds")]
    pub began: Duration,
    /// When the last output was stored.
    #[serde(rename = "ended_s", with = "seconds")]
    pub ended: Duration,
    /// What the program, its sets and its first runs took of the device's memory.
    pub memory_bytes: Option<u64>,
    /// Of a batch, as `model`.
    pub compute_latency: Latency,
    /// Of a batch, from its first image's decoding to its stored output.
    pub turnaround_latency: Latency,
    pub timeline: Timeline,
}

/// Copies in one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Copied {
    pub bytes: u64,
    /// Between the events around them.
    pub time: Duration,
}

impl Copied {
    pub fn add(&mut self, bytes: u64, time: Duration) {
        self.bytes += bytes;
        self.time += time;
    }

    /// 10⁹ bytes a second.
    pub fn rate(&self) -> f64 {
        ratio(self.bytes as f64 / 1e9, self.time)
    }
}

/// Its keys for each direction. Runs with host buffers have null there.
macro_rules! copied_as {
    ($name:ident, $bytes:literal, $time:literal) => {
        #[derive(Serialize, Deserialize)]
        #[serde(remote = "Copied")]
        struct $name {
            #[serde(rename = $bytes, deserialize_with = "null_is_none")]
            bytes: u64,
            #[serde(rename = $time, with = "seconds")]
            time: Duration,
        }
    };
}

copied_as!(Upload, "upload_bytes", "upload_s");
copied_as!(Download, "download_bytes", "download_s");

fn null_is_none<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

/// Durations as numbers of seconds.
mod seconds {
    use std::time::Duration;

    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(time.as_secs_f64())
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
        let seconds = Option::deserialize(deserializer)?.unwrap_or_default();
        Duration::try_from_secs_f64(seconds).map_err(D::Error::custom)
    }
}

/// Per second; 0 where there was no time.
fn ratio(what: f64, time: Duration) -> f64 {
    if time.is_zero() {
        0.0
    } else {
        what / time.as_secs_f64()
    }
}

impl Tally {
    /// Images a second, by the time of the model alone.
    pub fn model_fps(&self) -> f64 {
        ratio(self.images as f64, self.model)
    }

    /// From the first decode to the last stored output.
    pub fn pipeline(&self) -> Duration {
        self.ended.saturating_sub(self.began)
    }

    /// Images a second from end to end.
    pub fn pipeline_fps(&self) -> f64 {
        ratio(self.images as f64, self.pipeline())
    }

    pub fn decoded(&mut self, decoded: Decoded, start: Instant) {
        self.decode = decoded.busy;
        let began = decoded
            .began
            .map_or(self.ended, |began| began.saturating_duration_since(start));
        self.began = self.first(began);
    }

    /// The earlier of `began` and what is known. Batches that are decoded side by
    /// side do not begin in their order.
    fn first(&self, began: Duration) -> Duration {
        match self.batches {
            0 => began,
            _ => self.began.min(began),
        }
    }

    /// A batch computed for so long.
    pub fn computed(&mut self, time: Duration) {
        self.model += time;
        self.compute_latency.add(time);
    }

    /// A batch of `images` is stored: its decoding began at `began`, the storing at
    /// `since`.
    pub fn stored(&mut self, images: usize, began: Instant, since: Instant, start: Instant) {
        let now = Instant::now();
        self.store += now - since;
        self.began = self.first(began.saturating_duration_since(start));
        self.ended = now.saturating_duration_since(start);
        self.images += images;
        self.batches += 1;
        self.turnaround_latency.add(now - began);
        self.timeline.add(self.ended.as_secs_f64(), images as u64);
    }

    /// Images a second that its decoders would do if nothing kept them waiting.
    pub fn decode_rate(&self) -> f64 {
        ratio(self.images as f64, self.decode)
    }

    /// The stages and their shares of the pipeline's time. They run side by side,
    /// so the shares do not add up to one; the largest is what limited the card.
    pub fn shares(&self) -> [(&'static str, f64); 5] {
        let share = |time: Duration| match self.pipeline() {
            whole if whole.is_zero() => 0.0,
            whole => time.as_secs_f64() / whole.as_secs_f64(),
        };
        [
            ("decode", share(self.decode)),
            ("upload", share(self.upload.time)),
            ("compute", share(self.model)),
            ("download", share(self.download.time)),
            ("store", share(self.store)),
        ]
    }

    pub fn limited_by(&self) -> &'static str {
        let shares = self.shares().into_iter();
        let largest = shares.max_by(|(_, a), (_, b)| a.total_cmp(b));
        largest
            .filter(|(_, share)| *share > 0.0)
            .map_or("-", |(name, _)| name)
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// Round numbers of a card that computes most of the time.
    pub fn example() -> Tally {
        let ms = Duration::from_millis;
        let mut tally = Tally {
            images: 625,
            batches: 10,
            model: ms(380),
            decode: ms(300),
            upload: Copied {
                bytes: 3_000_000_000,
                time: ms(120),
            },
            download: Copied {
                bytes: 5_000_000,
                time: ms(1),
            },
            store: ms(4),
            began: ms(10),
            ended: ms(410),
            memory_bytes: Some(1 << 30),
            ..Tally::default()
        };
        for batch in 0..10 {
            tally.compute_latency.add(ms(38));
            tally.turnaround_latency.add(ms(60 + 10 * batch));
            let images = if batch < 9 { 64 } else { 49 };
            tally.timeline.add(0.05 + 0.04 * batch as f64, images);
        }
        tally
    }

    #[test]
    fn rates_and_shares_are_of_the_right_times() {
        let tally = example();
        assert_eq!(tally.pipeline(), Duration::from_millis(400));
        assert_eq!(tally.pipeline_fps(), 625.0 / 0.4);
        assert_eq!(tally.model_fps(), 625.0 / 0.38);
        assert_eq!(tally.upload.rate(), 25.0);
        assert_eq!(tally.shares()[2], ("compute", 0.95));
        assert_eq!(tally.limited_by(), "compute");
        let nothing = Tally::default();
        assert_eq!((nothing.model_fps(), nothing.limited_by()), (0.0, "-"));
    }

    #[test]
    fn it_begins_with_the_batch_that_began_first() {
        let start = Instant::now();
        let at = |ms| start + Duration::from_millis(ms);
        let mut tally = Tally::default();
        for began in [30, 20, 40] {
            tally.stored(2, at(began), at(50), start);
        }
        let decoded = Decoded {
            busy: Duration::ZERO,
            began: Some(at(30)),
        };
        tally.decoded(decoded, start);
        assert_eq!(tally.began, Duration::from_millis(20));
        assert_eq!((tally.images, tally.batches), (6, 3));
    }

    #[test]
    fn a_tally_is_stored_by_the_keys_of_the_report() {
        let tally = example();
        let mut value = serde_json::to_value(&tally).unwrap();
        assert_eq!(value["model_s"], 0.38);
        assert_eq!(value["upload_bytes"], 3_000_000_000u64);
        assert_eq!(
            value["turnaround_latency"][9],
            serde_json::json!([150_015, 1])
        );
        let back: Tally = serde_json::from_value(value.clone()).unwrap();
        assert_eq!(back, tally);
        // As runs with host buffers are told.
        for copies in ["upload_bytes", "upload_s", "download_bytes", "download_s"] {
            value[copies].take();
        }
        let host: Tally = serde_json::from_value(value).unwrap();
        assert_eq!(host.upload, Copied::default());
    }
}
