//! Bars: images a second, and how much of the time each stage was at work.

use std::fmt::{self, Write};

use super::super::limit::count;
use super::{Escaped, Page};

impl Page<'_> {
    /// Two bars a card.
    pub(super) fn speeds(&mut self) -> fmt::Result {
        self.part(
            "Images a second, by card",
            "<span class=\"key model\">model alone</span> \
             <span class=\"key whole\">pipeline, from the first decoded image to the last stored output</span>",
        )?;
        let speeds = self
            .cards
            .iter()
            .flat_map(|(_, f, _)| [f.model_fps, f.pipeline_fps]);
        let end = speeds.fold(f64::MIN_POSITIVE, f64::max);
        self.text += "<div class=\"bars\">\n";
        for (name, figures, failed) in &self.cards {
            let class = if failed.is_some() {
                " class=\"bad\""
            } else {
                ""
            };
            writeln!(
                self.text,
                "<div{class}>\n<span class=\"name\">{}</span>",
                Escaped(name)
            )?;
            for (class, speed) in [
                ("model", figures.model_fps),
                ("whole", figures.pipeline_fps),
            ] {
                writeln!(
                    self.text,
                    "<span class=\"bar\"><i class=\"{class}\" style=\"width:{:.2}%\"></i>\
                     <b>{}</b></span>",
                    // The number stands behind its bar.
                    speed / end * 88.0,
                    count(speed)
                )?;
            }
            self.text += "</div>\n";
        }
        self.text += "</div>\n</section>\n";
        Ok(())
    }

    /// A cell for each stage of each card.
    pub(super) fn shares(&mut self) -> fmt::Result {
        self.part(
            "How the time splits",
            "How much of the pipeline's time each stage was at work. They run side by side, so a \
             row does not add up to 100 %; the fullest one limits.",
        )?;
        self.text += "<table class=\"shares\">\n<thead><tr><th></th>";
        for (stage, _) in &self.total.shares {
            write!(self.text, "<th>{stage}</th>")?;
        }
        self.text += "</tr></thead>\n<tbody>\n";
        for (name, figures, _) in &self.rows {
            write!(self.text, "<tr><th>{}</th>", Escaped(name))?;
            for (stage, share) in &figures.shares {
                let class = match *stage == figures.limited_by {
                    true => " class=\"full\"",
                    false => "",
                };
                write!(
                    self.text,
                    "<td{class}><b>{:.0} %</b><span class=\"track\"><i style=\"width:{:.2}%\"></i>\
                     </span></td>",
                    share * 100.0,
                    (share * 100.0).clamp(0.0, 100.0)
                )?;
            }
            self.text += "</tr>\n";
        }
        self.text += "</tbody>\n</table>\n</section>\n";
        Ok(())
    }
}
