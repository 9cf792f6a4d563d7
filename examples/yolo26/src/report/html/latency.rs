//! How long batches took: a histogram over a logarithmic scale, and percentiles.

use std::fmt::{self, Write};

use super::super::limit::count;
use super::super::table::percentiles;
use super::{Escaped, Page};
use crate::bench::Latency;

/// Bars of a histogram.
const BARS: usize = 60;

/// The part of the scale that is shown, in milliseconds.
struct Scale {
    from: f64,
    to: f64,
}

impl Scale {
    /// Around all samples.
    fn of(latencies: [&Latency; 2]) -> Option<Self> {
        let samples = || latencies.iter().flat_map(|latency| latency.samples());
        let from = samples().map(|(ms, _)| ms).reduce(f64::min)?;
        let to = samples().map(|(ms, _)| ms).reduce(f64::max)?;
        Some(Scale {
            from: from / 1.25,
            to: to * 1.25,
        })
    }

    /// From 0 to 1.
    fn at(&self, ms: f64) -> f64 {
        (ms / self.from).ln() / (self.to / self.from).ln()
    }

    /// 1, 2 and 5 times the powers of ten that it holds, at most seven.
    fn ticks(&self) -> Vec<f64> {
        let powers = self.from.log10().floor() as i32..=self.to.log10().ceil() as i32;
        let of = |steps: &'static [f64]| {
            let all = powers
                .clone()
                .flat_map(|power| steps.iter().map(move |step| step * 10f64.powi(power)));
            // Their numbers have room on both sides.
            all.filter(|ms| (0.03..=0.97).contains(&self.at(*ms)))
                .collect::<Vec<_>>()
        };
        let fine = of(&[1.0, 2.0, 5.0]);
        match fine.len() {
            0..=1 => vec![self.from * 1.25, self.to / 1.25],
            2..=7 => fine,
            _ => of(&[1.0]),
        }
    }
}

impl Page<'_> {
    pub(super) fn latencies(&mut self) -> fmt::Result {
        self.part(
            "Latency of a batch",
            "How many batches took how long, over all cards; the scale is logarithmic. The solid \
             line is the median, the dashed one the 99th percentile.",
        )?;
        let all = self.report.together();
        let parts = [
            ("model", "computing", &all.compute_latency),
            (
                "whole",
                "from decoding to stored output",
                &all.turnaround_latency,
            ),
        ];
        if let Some(scale) = Scale::of([parts[0].2, parts[1].2]) {
            for (class, name, latency) in parts {
                self.histogram(class, name, latency, &scale)?;
            }
            self.text += "<div class=\"scale\">";
            for ms in scale.ticks() {
                write!(
                    self.text,
                    "<span style=\"left:{:.2}%\">{}</span>",
                    scale.at(ms) * 100.0,
                    tick(ms)
                )?;
            }
            self.text += "</div>\n<p class=\"unit\">milliseconds</p>\n";
        }
        self.percentiles()?;
        self.text += "</section>\n";
        Ok(())
    }

    fn histogram(
        &mut self,
        class: &str,
        name: &str,
        latency: &Latency,
        scale: &Scale,
    ) -> fmt::Result {
        let mut bars = [0u64; BARS];
        for (ms, samples) in latency.samples() {
            let bar = (scale.at(ms) * BARS as f64) as usize;
            bars[bar.min(BARS - 1)] += samples;
        }
        let highest = bars.iter().copied().max().unwrap_or_default().max(1) as f64;
        let summary = latency.summary();
        writeln!(
            self.text,
            "<p class=\"key {class}\">{name}: {} batches</p>\n<svg class=\"plot small\" \
             viewBox=\"0 0 {BARS} 100\" preserveAspectRatio=\"none\" role=\"img\">\n\
             <title>{name}: half in {} ms, 99 % in {} ms</title>",
            count(summary.samples as f64),
            tick(summary.p50),
            tick(summary.p99),
        )?;
        for (i, samples) in bars.iter().enumerate().filter(|(_, samples)| **samples > 0) {
            let height = *samples as f64 / highest * 96.0;
            writeln!(
                self.text,
                "<rect class=\"{class}\" x=\"{:.2}\" y=\"{:.2}\" width=\"0.9\" height=\"{height:.2}\">\
                 <title>{samples} batches</title></rect>",
                i as f64 + 0.05,
                100.0 - height,
            )?;
        }
        for (class, ms) in [("p50", summary.p50), ("p99", summary.p99)] {
            if summary.samples > 0 {
                let x = scale.at(ms) * BARS as f64;
                writeln!(
                    self.text,
                    "<line class=\"{class}\" x1=\"{x:.2}\" y1=\"0\" x2=\"{x:.2}\" y2=\"100\"/>"
                )?;
            }
        }
        self.text += "</svg>\n";
        Ok(())
    }

    fn percentiles(&mut self) -> fmt::Result {
        self.text += "<div class=\"wide\"><table class=\"numbers\">\n<thead><tr><th rowspan=\"2\">ms</th>\
                      <th colspan=\"5\">computing</th><th colspan=\"5\">decoding to stored</th></tr>\n<tr>";
        for name in ["p50", "p90", "p95", "p99", "max"].repeat(2) {
            write!(self.text, "<th>{name}</th>")?;
        }
        self.text += "</tr></thead>\n<tbody>\n";
        for (name, figures, _) in &self.rows {
            write!(self.text, "<tr><th>{}</th>", Escaped(name))?;
            for ms in [figures.compute, figures.turnaround]
                .into_iter()
                .flat_map(percentiles)
            {
                write!(self.text, "<td>{ms:.2}</td>")?;
            }
            self.text += "</tr>\n";
        }
        self.text += "</tbody>\n</table></div>\n";
        Ok(())
    }
}

/// Milliseconds on a scale.
fn tick(ms: f64) -> String {
    match ms {
        1000.0.. => count(ms),
        10.0.. => format!("{ms:.0}"),
        1.0.. => format!("{:.1}", ms).trim_end_matches(".0").to_owned(),
        _ => format!("{ms:.3}").trim_end_matches('0').to_owned(),
    }
}
