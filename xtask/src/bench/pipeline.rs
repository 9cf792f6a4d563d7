//! `pipeline`: how much of the slowest stage's speed the whole has.

use super::cards::{Cards, Load};
use super::figures::{Bar, Figures, best_of};
use std::time::Duration;

const TRIES: usize = 3;
const BATCHES: usize = 120;
const EFFICIENCY: Bar = Bar::AtLeast(0.95);
/// The time between the events around computing, over the time that was set.
const HONESTY: Bar = Bar::Within(0.98, 1.02);

/// Milliseconds of a batch: computing, and its upload.
const STAGES: [(&str, u64, u64); 3] = [
    ("computing is slower", 40, 20),
    ("copying is slower", 20, 40),
    ("both take equally long", 40, 40),
];

pub fn figures(cards: &Cards, figures: &mut Figures) -> Result<(), String> {
    let ms = Duration::from_millis;
    for count in [1, 8] {
        for (stages, compute, upload) in STAGES {
            let load = Load {
                cards: count,
                batches: BATCHES,
                in_flight: 2,
                compute: ms(compute),
                upload: ms(upload),
            };
            let (efficiency, (measured, more)) = best_of(TRIES, EFFICIENCY, || {
                let measured = cards.run(&load)?;
                let (whole, model, copy) = (
                    measured.pipeline_fps()?,
                    measured.model_fps()?,
                    measured.copy_fps()?,
                );
                let more =
                    format!("(pipeline {whole:.1}, model {model:.1}, copies {copy:.1} images/s)");
                Ok((whole / model.min(copy), (measured, more)))
            })?;
            let name = match count {
                1 => format!("pipeline, 1 card, {stages}"),
                _ => format!("pipeline, {count} cards, {stages}"),
            };
            figures.tell(&name, efficiency, &more, EFFICIENCY);
            // Of what a batch was told to take.
            let batches = measured.sum("batches")?;
            let (model, set) = (
                measured.sum("model_s")? / batches * 1e3,
                cards.compute(&load).as_secs_f64() * 1e3,
            );
            let name = "  model time over the set time";
            let more = format!("({model:.3} ms of {set:.3} ms a batch)");
            figures.tell(name, model / set, &more, HONESTY);
            let upload = measured.sum("upload_s")? / batches * 1e3;
            let set = load.upload.as_secs_f64() * 1e3;
            let name = "  upload time over the set time";
            let more = format!("({upload:.3} ms of {set:.3} ms a batch)");
            figures.tell(name, upload / set, &more, HONESTY);
        }
    }
    Ok(())
}
