//! All figures, and what the run was made on and with.

use std::fmt::{self, Write};

use super::super::limit::count;
use super::super::table::memory;
use super::{Escaped, Page};

impl Page<'_> {
    pub(super) fn figures(&mut self) -> fmt::Result {
        self.part(
            "All figures",
            "Copies in 10⁹ bytes a second while they run; “decode/s” are the images that a card’s \
             decoders would do if nothing kept them waiting; memory is what the program, its buffers \
             and first runs took of the card’s.",
        )?;
        self.text += "<div class=\"wide\"><table class=\"numbers\">\n<thead><tr><th></th>";
        for name in [
            "images",
            "batches",
            "model s",
            "model FPS",
            "pipeline s",
            "pipeline FPS",
            "up GB/s",
            "down GB/s",
            "decode/s",
            "memory",
            "limited by",
        ] {
            write!(self.text, "<th>{name}</th>")?;
        }
        self.text += "</tr></thead>\n<tbody>\n";
        for (name, figures, failed) in &self.rows {
            let or_none = |number: Option<f64>| number.map_or("–".into(), |n| format!("{n:.2}"));
            let class = if failed.is_some() {
                " class=\"bad\""
            } else {
                ""
            };
            write!(self.text, "<tr{class}><th>{}</th>", Escaped(name))?;
            for cell in [
                count(figures.images as f64),
                count(figures.batches as f64),
                format!("{:.4}", figures.model_s),
                format!("{:.2}", figures.model_fps),
                format!("{:.4}", figures.pipeline_s),
                format!("{:.2}", figures.pipeline_fps),
                or_none(figures.upload),
                or_none(figures.download),
                count(figures.decode_rate),
                figures.memory_bytes.map_or("–".into(), memory),
                figures.limited_by.to_owned(),
            ] {
                write!(self.text, "<td>{cell}</td>")?;
            }
            self.text += "</tr>\n";
        }
        self.text += "</tbody>\n</table></div>\n</section>\n";
        Ok(())
    }

    pub(super) fn facts(&mut self) -> fmt::Result {
        self.part("Made on and with", "Enough to measure it again.")?;
        self.text += "<dl>\n";
        let facts = self.report.facts_by_name().into_iter();
        let mut facts: Vec<(String, String)> = facts
            .map(|(name, value)| (name.to_owned(), value))
            .collect();
        facts.extend(self.settings());
        for (name, value) in facts {
            writeln!(
                self.text,
                "<dt>{}</dt><dd>{}</dd>",
                Escaped(&name),
                Escaped(&value)
            )?;
        }
        self.text += "</dl>\n</section>\n";
        Ok(())
    }

    /// The options in force, by the names in the JSON.
    fn settings(&self) -> Option<(String, String)> {
        let setting = serde_json::to_value(&self.report.setting).ok()?;
        let all = setting.as_object()?.iter().map(|(name, value)| {
            let value = value
                .as_str()
                .map_or_else(|| value.to_string(), str::to_owned);
            format!("{name} {value}")
        });
        Some(("options".into(), all.collect::<Vec<_>>().join(", ")))
    }
}
