//! Images a second over time, the cards on top of each other.

use std::fmt::{self, Write};

use super::super::limit::count;
use super::{Escaped, Page, round_up};
use crate::bench::Timeline;

/// The fewest and the most steps that are drawn.
const STEPS: (usize, usize) = (8, 64);

/// Batches of a card in a step: with fewer, single ones would be seen.
const BATCHES: usize = 4;

impl Page<'_> {
    pub(super) fn timeline(&mut self) -> fmt::Result {
        let lines = self.lines();
        let Some(steps) = lines
            .iter()
            .map(|line| line.images.len())
            .max()
            .filter(|n| *n > 1)
        else {
            return Ok(());
        };
        let slot = lines[0].slot_s;
        self.part(
            "Images a second, over time",
            "Stored outputs, the cards on top of each other, the first one at the bottom.",
        )?;
        // The sums of the cards up to each.
        let mut below = vec![0.0; steps];
        let mut areas = Vec::new();
        for line in &lines {
            let mut above = below.clone();
            for (sum, images) in above.iter_mut().zip(&line.images) {
                *sum += *images as f64 / slot;
            }
            areas.push((below, above.clone()));
            below = above;
        }
        let end = round_up(below.iter().copied().fold(0.0, f64::max));
        write!(
            self.text,
            "<div class=\"framed\"><div class=\"heights\"><span>{}</span><span>{}</span><span>0</span></div>\n\
             <svg class=\"plot\" viewBox=\"0 0 {steps} 100\" preserveAspectRatio=\"none\" role=\"img\">\n\
             <title>images a second, over {:.2} s</title>\n\
             <line class=\"grid\" x1=\"0\" y1=\"50\" x2=\"{steps}\" y2=\"50\"/>\n",
            count(end),
            count(end / 2.0),
            steps as f64 * slot,
        )?;
        for (i, ((low, high), (name, ..))) in areas.iter().zip(&self.cards).enumerate() {
            let height = |rate: f64| 100.0 - rate / end * 100.0;
            write!(self.text, "<path class=\"{}\" d=\"", ["even", "odd"][i % 2])?;
            for (step, rate) in high.iter().enumerate() {
                let first = if step == 0 { 'M' } else { 'L' };
                let y = height(*rate);
                write!(self.text, "{first}{step} {y:.2}H{}", step + 1)?;
            }
            for (step, rate) in low.iter().enumerate().rev() {
                write!(self.text, "L{} {y:.2}H{step}", step + 1, y = height(*rate))?;
            }
            writeln!(self.text, "Z\"><title>{}</title></path>", Escaped(name))?;
        }
        let time = steps as f64 * slot;
        writeln!(self.text, "</svg></div>\n<div class=\"scale inset\">")?;
        for part in 0..=4 {
            writeln!(
                self.text,
                "<span style=\"left:{}%\">{:.2}</span>",
                part * 25,
                time * f64::from(part) / 4.0
            )?;
        }
        self.text +=
            "</div>\n<p class=\"unit\">seconds from the start of the clock</p>\n</section>\n";
        Ok(())
    }

    /// Each card's, on one clock and in equal steps.
    fn lines(&self) -> Vec<Timeline> {
        let all = self.report.together().timeline;
        let mut slot = all.slot_s;
        let mut steps = all.images.len();
        let batches = self.total.batches / self.cards.len().max(1);
        let most = (batches / BATCHES).clamp(STEPS.0, STEPS.1);
        while steps > most {
            slot *= 2.0;
            steps = steps.div_ceil(2);
        }
        let lines = self.report.cards.iter().map(|card| {
            let mut line = Timeline {
                slot_s: slot,
                ..Timeline::default()
            };
            line.merge(&card.tally.timeline, self.report.later(card).as_secs_f64());
            line
        });
        lines.collect()
    }
}
