//! What limited a run, in sentences that a user can act on.

use super::{Division, Figures, Report};
use crate::pixels::Element;

/// A stage that is at work for less of the time than this limits nothing.
const BUSY: f64 = 0.7;

/// A card that is slower than the fastest by more than this is worth a word.
const SLOWER: f64 = 1.15;

impl Report {
    /// What limited the run, and what would help.
    pub fn limited(&self) -> String {
        let total = self.total();
        let fullest = total.shares.iter().max_by(|(_, a), (_, b)| a.total_cmp(b));
        let Some(&(stage, share)) = fullest.filter(|_| total.images > 0) else {
            return "nothing was measured: no images were done".into();
        };
        let mut text = match stage {
            _ if share < BUSY => self.nothing_busy(stage, share, &total),
            "decode" => self.decoding(&total),
            "upload" => self.uploading(&total),
            "download" => format!(
                "copies from {} limit: {:.2} GB/s; check that the link is not shared or slow",
                self.cards_in_words(),
                total.download.unwrap_or_default()
            ),
            "store" => "storing results limits: give --output a folder on a faster disk, or \
                        --dry-run yes to measure without storing"
                .into(),
            _ => self.computing(share, &total),
        };
        if stage == "compute"
            && share >= BUSY
            && let Some(slow) = self.slow_card()
        {
            text += &slow;
        }
        text
    }

    fn cards_in_words(&self) -> String {
        match (self.cards.len(), self.name()) {
            (1, name) => format!("the {}", name.singular()),
            (n, name) => format!("the {n} {}", name.plural()),
        }
    }

    fn decoding(&self, total: &Figures) -> String {
        if let Some(cache) = &self.setting.cache {
            let smaller = if cache == "u8" {
                ""
            } else {
                ", --cache-type u8"
            };
            return format!(
                "reading the cache limits: {} images/s, {} could compute {}: more --decoders, \
                 memory that holds all of the cache, a faster disk{smaller}",
                count(total.decode_rate),
                self.cards_in_words(),
                count(total.model_fps),
            );
        }
        let decoders = self.setting.decoders;
        let mut text = format!(
            "decoding limits: {} decode {} images/s, {} could compute {}: ",
            threads(decoders * self.cards.len()),
            count(total.decode_rate),
            self.cards_in_words(),
            count(total.model_fps),
        );
        // The node whose processors have the least to do.
        let idle = self.nodes.iter().enumerate().filter_map(|(i, node)| {
            let cards = self.cards.iter().filter(|card| card.node == i).count();
            let processors = node.machine.processors;
            (decoders * cards < processors).then_some((decoders * cards, processors))
        });
        text += &match idle.min() {
            Some((used, of)) => format!(
                "give more --decoders ({used} of {of} processors decode), or decode once with --cache"
            ),
            None => "all processors decode already, so decode once with --cache, or take a host \
                     with more processors"
                .into(),
        };
        if self.setting.input == Element::F32 {
            text += "; compiled with --input u8 there is less to fill in, too";
        }
        text
    }

    fn uploading(&self, total: &Figures) -> String {
        let advice = match self.setting.input {
            Element::F32 => "compile with --input u8 for a quarter of the bytes (f16: half)",
            Element::F16 => "compile with --input u8 for half of the bytes",
            Element::U8 => {
                "no input is smaller, so check that each has its whole link (PCIe lanes)"
            }
        };
        format!(
            "copies to {} limit: {:.2} MB an image at {:.2} GB/s, they could compute {} images/s: \
             {advice}",
            self.cards_in_words(),
            self.setting.image_bytes as f64 / 1e6,
            total.upload.unwrap_or_default(),
            count(total.model_fps),
        )
    }

    fn computing(&self, share: f64, total: &Figures) -> String {
        let advice = match self.setting.target.as_str() {
            "gpu" => {
                "a faster program (FP16, --nhwc, a larger batch, a smaller model) or more GPUs"
            }
            _ => "a smaller model, or a GPU",
        };
        let with_copies = match self.on_device() || self.setting.target != "gpu" {
            true => "",
            false => " and copies (of host buffers both are one: compile without --offload-copy)",
        };
        format!(
            "computing{with_copies} limits: {} compute{} {:.0} % of the time, decoding could feed \
             {} images/s: {advice}",
            self.cards_in_words(),
            if self.cards.len() == 1 { "s" } else { "" },
            share * 100.0,
            count(total.decode_rate),
        )
    }

    fn nothing_busy(&self, stage: &str, share: f64, total: &Figures) -> String {
        let cards = self.cards.iter().filter(|card| card.tally.batches > 0);
        let batches = total.batches / cards.count().max(1);
        let advice = match batches {
            0..20 => format!(
                "the run was short ({batches} {} for each), so filling and emptying the pipeline \
                 counts: measure more images",
                if batches == 1 { "batch" } else { "batches" },
            ),
            _ => format!(
                "they wait for each other: try --in-flight {}",
                self.setting.in_flight + 1
            ),
        };
        format!(
            "no stage was at work all the time (the most: {stage}, {:.0} %): {advice}",
            share * 100.0
        )
    }

    /// Shares of equal size wait for the slowest.
    fn slow_card(&self) -> Option<String> {
        if self.setting.schedule == Division::Steal {
            return None;
        }
        let good = self.cards.iter().filter(|card| card.failed.is_none());
        let by_speed = |card: &&super::Card| card.tally.model_fps();
        let good = good.filter(|card| by_speed(card) > 0.0);
        let slow = good
            .clone()
            .min_by(|a, b| by_speed(a).total_cmp(&by_speed(b)))?;
        let fast = good.max_by(|a, b| by_speed(a).total_cmp(&by_speed(b)))?;
        let (low, high) = (by_speed(&slow), by_speed(&fast));
        (high > low * SLOWER).then(|| {
            format!(
                ". {} computes {} images/s, {} {}: --schedule steal gives each what it can do",
                self.card_name(slow),
                count(low),
                self.card_name(fast),
                count(high),
            )
        })
    }
}

fn threads(n: usize) -> String {
    match n {
        1 => "1 thread".into(),
        n => format!("{n} threads"),
    }
}

/// A whole number with its thousands apart.
pub(super) fn count(number: f64) -> String {
    if number.abs() < 10.0 {
        return format!("{number:.1}");
    }
    let digits = format!("{number:.0}");
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) && text != "-" {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::tests::{card, report};
    use super::*;
    use crate::bench::Tally;

    fn limited(change: impl Fn(&mut Tally)) -> String {
        let mut cards = vec![card(), card()];
        for card in &mut cards {
            change(&mut card.tally);
        }
        report(cards).limited()
    }

    #[test]
    fn each_stage_can_be_what_limits() {
        let ms = Duration::from_millis;
        // 625 images a card in 400 ms; 8 processors, 4 threads for each of 2 cards.
        let computing = limited(|_| ());
        assert!(
            computing.starts_with("computing limits: the 2 GPUs compute 95 % of the time, decoding could feed 4,167 images/s"),
            "{computing}"
        );
        let decoding = limited(|tally| {
            tally.decode = ms(400);
            tally.model = ms(100);
        });
        assert!(
            decoding.starts_with(
                "decoding limits: 8 threads decode 3,125 images/s, the 2 GPUs could compute 12,500: \
                 all processors decode already"
            ),
            "{decoding}"
        );
        let uploading = limited(|tally| {
            tally.upload.time = ms(390);
            tally.model = ms(200);
        });
        assert!(
            uploading.contains("copies to the 2 GPUs limit: 4.92 MB an image at 15.38 GB/s")
                && uploading.contains("--input u8 for a quarter"),
            "{uploading}"
        );
        let downloading = limited(|tally| tally.download.time = ms(390));
        assert!(
            downloading.contains("copies from the 2 GPUs"),
            "{downloading}"
        );
        let storing = limited(|tally| tally.store = ms(390));
        assert!(
            storing.contains("storing") && storing.contains("--output"),
            "{storing}"
        );
        let nothing = limited(|tally| {
            tally.model = ms(100);
            tally.decode = ms(200);
        });
        assert!(
            nothing.contains("decode, 50 %") && nothing.contains("10 batches for each"),
            "{nothing}"
        );
        let long = limited(|tally| {
            (tally.model, tally.decode) = (ms(100), ms(200));
            tally.batches = 100;
        });
        assert!(long.contains("--in-flight 3"), "{long}");
    }

    #[test]
    fn advice_is_of_the_machine_and_the_slow_card_is_named() {
        let mut slow = card();
        slow.tally.model *= 2;
        let mut report = report(vec![card(), slow]);
        report.cards[1].number = 1;
        let text = report.limited();
        assert!(
            text.contains("GPU 1 computes 822 images/s, GPU 0 1,645: --schedule steal"),
            "{text}"
        );
        report.setting.decoders = 1;
        report.setting.schedule = Division::Steal;
        for card in &mut report.cards {
            (card.tally.decode, card.tally.model) =
                (Duration::from_millis(400), Duration::from_millis(10));
        }
        let text = report.limited();
        assert!(
            text.contains("more --decoders (2 of 8 processors"),
            "{text}"
        );
    }

    #[test]
    fn thousands_are_apart() {
        let found = [0.0, 9.96, 10.0, 999.6, 1_234_567.0, -123_456.0].map(count);
        assert_eq!(
            found,
            ["0.0", "10.0", "10", "1,000", "1,234,567", "-123,456"]
        );
    }
}
