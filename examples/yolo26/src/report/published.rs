//! The table in the layout of the published script: by the time of the model
//! alone.

use std::fmt;

use super::Report;
use crate::bench::Tally;

impl Report {
    pub(super) fn published(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (rule, line) = ("=".repeat(60), "-".repeat(60));
        let (all, name) = (self.cards.len(), self.name().name());
        let good: Vec<&Tally> = self.good().collect();
        let n = good.len();
        let total: f64 = good.iter().map(|card| card.model_fps()).sum();
        let time: f64 = good.iter().map(|card| card.model.as_secs_f64()).sum();
        writeln!(
            f,
            "{rule}\n{n}-{} INFERENCE COMPLETE\n{rule}",
            name.to_uppercase()
        )?;
        for card in &self.cards {
            let (name, images) = (self.card_name(card), card.tally.images);
            match card.failed {
                None => writeln!(
                    f,
                    "{name}: {:.2} FPS ({images} images)",
                    card.tally.model_fps()
                )?,
                Some(_) => writeln!(f, "{name}: FAILED after {images} images, not counted")?,
            }
        }
        writeln!(f, "{line}")?;
        let across = match all == n {
            true => format!("all {n}"),
            false => format!("{n} of {all}"),
        };
        writeln!(
            f,
            "Total FPS across {across} {}: {total:.2} samples/s",
            self.name().plural()
        )?;
        let (one, mean) = (self.name().singular(), time / n as f64);
        writeln!(f, "Average inference time per {one}: {mean:.4}s")?;
        writeln!(f, "{rule}")
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::Card;
    use super::super::tests::{card_of, failed, report};
    use super::*;

    fn published(report: &Report) -> String {
        struct Published<'a>(&'a Report);
        impl fmt::Display for Published<'_> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.published(f)
            }
        }
        Published(report).to_string()
    }

    fn card(number: usize, us: u64) -> Card {
        let tally = Tally {
            images: 625,
            model: Duration::from_micros(us),
            ..Tally::default()
        };
        card_of(number, tally)
    }

    #[test]
    fn the_table_of_the_published_run() {
        let report = report(vec![card(0, 378_613), card(1, 380_000)]);
        let expected = "\
============================================================
2-GPU INFERENCE COMPLETE
============================================================
GPU 0: 1650.76 FPS (625 images)
GPU 1: 1644.74 FPS (625 images)
------------------------------------------------------------
Total FPS across all 2 GPUs: 3295.50 samples/s
Average inference time per GPU: 0.3793s
============================================================
";
        assert_eq!(published(&report), expected);
    }

    #[test]
    fn a_card_that_failed_is_named_and_not_counted() {
        let burnt = Card {
            tally: card(1, 1_000).tally,
            ..failed("burnt")
        };
        let text = published(&report(vec![card(0, 378_613), burnt, card(2, 380_000)]));
        for expected in [
            "2-GPU INFERENCE COMPLETE",
            "GPU 1: FAILED after 625 images, not counted",
            "Total FPS across 2 of 3 GPUs: 3295.50 samples/s",
            "Average inference time per GPU: 0.3793s",
        ] {
            assert!(text.contains(expected), "{text}");
        }
    }

    #[test]
    fn a_worker_without_images_has_no_speed() {
        let mut report = report(vec![card_of(0, Tally::default())]);
        report.setting.target = "ref".into();
        let text = published(&report);
        assert!(text.contains("1-WORKER INFERENCE COMPLETE"), "{text}");
        assert!(text.contains("Worker 0: 0.00 FPS (0 images)"), "{text}");
    }
}
