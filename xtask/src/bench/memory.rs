//! `memory`: what a card holds, and what the host pins for it.

use super::cards::{Cards, Load, Measured};
use super::figures::{Bar, Figures};
use std::time::Duration;

const CARDS: usize = 8;
/// A set has its input and output, on both sides, and nothing else.
const EXACT: Bar = Bar::Within(0.99, 1.01);

pub fn figures(cards: &Cards, figures: &mut Figures) -> Result<(), String> {
    let run = |in_flight| {
        cards.run(&Load {
            cards: CARDS,
            batches: 6,
            in_flight,
            compute: Duration::ZERO,
            upload: Duration::ZERO,
        })
    };
    // One set more than batches in flight.
    let (three, five) = (run(2)?, run(4)?);
    let batches = three.sum("batches")?;
    let buffers = (three.sum("upload_bytes")? + three.sum("download_bytes")?) / batches;
    let device = |measured: &Measured, card| measured.counter(card, "peak_bytes");
    let set = |three: u64, five: u64| five.saturating_sub(three) as f64 / 2.0;

    let on_card = set(device(&three, 0)?, device(&five, 0)?);
    let more = format!("({on_card} bytes; input and output are {buffers})");
    figures.tell("memory, a set on the card", on_card / buffers, &more, EXACT);

    let pinned = set(three.pinned(0)?, five.pinned(0)?);
    let more = format!("({pinned} bytes of the host)");
    figures.tell("memory, a set, pinned", pinned / buffers, &more, EXACT);

    let program = device(&three, 0)? as f64 - 3.0 * on_card;
    let more = format!("(bytes; {} in model.mxr)", cards.model_bytes());
    figures.tell("memory, the program on the card", program, &more, Bar::None);

    let all = (0..CARDS).map(|card| device(&three, card));
    let all = all.collect::<Result<Vec<u64>, String>>()?;
    let (least, most) = (all.iter().min(), all.iter().max());
    let (least, most) = (least.copied().unwrap_or(0), most.copied().unwrap_or(0));
    let ratio = most as f64 / least as f64;
    let more = format!("({most} and {least} bytes, program and 3 sets)");
    let name = format!("memory, most over least of {CARDS} cards");
    figures.tell(&name, ratio, &more, EXACT);
    Ok(())
}
