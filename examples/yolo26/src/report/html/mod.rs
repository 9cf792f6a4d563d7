//! The report as one page with charts: no script, nothing loaded, all of it in
//! the file. It is well-formed XML, too, which its tests read.

mod bars;
mod latency;
mod tables;
mod timeline;

use std::fmt::{self, Write};

use super::limit::count;
use super::table::first_large;
use super::{Figures, Report};

const STYLE: &str = include_str!("page.css");

impl Report {
    pub fn html(&self) -> String {
        Page::of(self).expect("a string takes all that is written")
    }

    fn title(&self) -> String {
        let (n, name) = (self.cards.len(), self.name());
        let cards = match n {
            1 => name.singular(),
            _ => name.plural(),
        };
        format!("{} on {n} {cards}", self.model.file)
    }
}

/// A name, its figures, and why it failed.
type Row<'a> = (String, Figures, Option<&'a str>);

/// What is being written.
struct Page<'a> {
    report: &'a Report,
    total: Figures,
    /// Each card's name and figures.
    cards: Vec<Row<'a>>,
    /// The same, and all together where there are several.
    rows: Vec<Row<'a>>,
    text: String,
}

impl<'a> Page<'a> {
    fn of(report: &'a Report) -> Result<String, fmt::Error> {
        let cards = report.cards.iter().map(|card| {
            let failed = card.failed.as_deref();
            (report.card_name(card), report.figures(card), failed)
        });
        let cards: Vec<Row<'a>> = cards.collect();
        let total = report.total();
        let mut rows = cards.clone();
        if rows.len() > 1 {
            rows.push(("all".into(), total.clone(), None));
        }
        let mut page = Page {
            report,
            total,
            cards,
            rows,
            text: String::new(),
        };
        page.head()?;
        page.speeds()?;
        page.shares()?;
        page.latencies()?;
        page.timeline()?;
        page.figures()?;
        page.facts()?;
        page.text += "</main>\n</body>\n</html>\n";
        Ok(page.text)
    }

    fn head(&mut self) -> fmt::Result {
        let title = self.report.title();
        let title = Escaped(&title);
        write!(
            self.text,
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n\
             <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n\
             <header>\n<h1>{title}</h1>\n"
        )?;
        let setting = &self.report.setting;
        let input = format!("{:?}", setting.input).to_lowercase();
        writeln!(
            self.text,
            "<p class=\"about\">YOLO26 benchmark, <time>{}</time>: {} images in batches of {}, \
             {s} × {s} pixels as {input}, {}</p>",
            Escaped(&self.report.date),
            count(self.total.images as f64),
            setting.batch,
            match self.report.on_device() {
                true => format!("{} batches in flight", setting.in_flight),
                false => "host buffers".into(),
            },
            s = setting.imgsz,
        )?;
        self.text += "<div class=\"tiles\">\n";
        let total = &self.total;
        for (value, unit, name) in [
            (
                count(total.pipeline_fps),
                "images/s",
                "from the first decoded image to the last stored output",
            ),
            (
                count(total.model_fps),
                "images/s",
                "of the model alone, as the published script counts",
            ),
            (
                count(total.turnaround.p50),
                "ms",
                "for half of the batches, from decoding to stored output",
            ),
            (count(total.turnaround.p99), "ms", "for 99 % of the batches"),
        ] {
            writeln!(
                self.text,
                "<div><strong>{value} <small>{unit}</small></strong><span>{name}</span></div>"
            )?;
        }
        let limited = first_large(&self.report.limited());
        writeln!(
            self.text,
            "</div>\n<p class=\"limited\">{}.</p>",
            Escaped(&limited)
        )?;
        for (name, _, failed) in &self.cards {
            if let Some(reason) = failed {
                writeln!(
                    self.text,
                    "<p class=\"failed\"><strong>{} failed</strong>: {}</p>",
                    Escaped(name),
                    Escaped(reason)
                )?;
            }
        }
        self.text += "</header>\n";
        Ok(())
    }

    /// A part of the page, with a sentence on what it shows.
    fn part(&mut self, title: &str, about: &str) -> fmt::Result {
        writeln!(
            self.text,
            "<section>\n<h2>{title}</h2>\n<p class=\"about\">{about}</p>"
        )
    }
}

/// Text in a page: neither markup nor what XML does not allow.
struct Escaped<'a>(&'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for letter in self.0.chars() {
            match letter {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                '\'' => f.write_str("&#39;")?,
                '\n' | '\t' => f.write_char(letter)?,
                '\u{fffe}' | '\u{ffff}' => f.write_char('\u{fffd}')?,
                control if control.is_control() => f.write_char('\u{fffd}')?,
                other => f.write_char(other)?,
            }
        }
        Ok(())
    }
}

/// A round number a little above, for the end of a scale: 1, 2, 2.5 or 5 times a
/// power of ten.
fn round_up(number: f64) -> f64 {
    let number = if number > 0.0 { number } else { 1.0 };
    let power = 10f64.powf(number.log10().floor());
    let steps = [1.0, 2.0, 2.5, 5.0, 10.0];
    let step = steps.into_iter().find(|step| step * power >= number);
    step.unwrap_or(10.0) * power
}

#[cfg(test)]
mod tests {
    use super::super::Card;
    use super::super::tests::{card, failed, report};
    use super::*;

    /// Reads a page; what is not well-formed is a panic.
    fn read<R>(report: &Report, look: impl FnOnce(&roxmltree::Document<'_>) -> R) -> R {
        let page = report.html();
        let options = roxmltree::ParsingOptions {
            allow_dtd: true,
            ..Default::default()
        };
        let document = roxmltree::Document::parse_with_options(&page, options);
        look(&document.unwrap_or_else(|error| panic!("{error}\n{page}")))
    }

    fn texts(document: &roxmltree::Document<'_>) -> String {
        let texts = document.descendants().filter_map(|node| node.text());
        texts.collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn names_are_text_whatever_they_hold() {
        let bad = "<script>alert(\"1\")</script> & 'x' \u{1b}[0m";
        let mut report = report(vec![card(), failed(bad)]);
        report.model.file = bad.into();
        report.date = bad.into();
        report.command = vec![bad.into()];
        report.environment = [(bad.into(), bad.into())].into();
        report.versions.library = Some(bad.into());
        report.nodes[0].name = bad.into();
        report.nodes[0].machine.cpu = Some(bad.into());
        let second = report.nodes[0].clone();
        report.nodes.push(second);
        for device in report
            .cards
            .iter_mut()
            .filter_map(|card| card.device.as_mut())
        {
            device.name = Some(bad.into());
        }
        let shown = bad.replace('\u{1b}', "\u{fffd}");
        read(&report, |document| {
            let scripts = document
                .descendants()
                .filter(|node| node.has_tag_name("script"));
            assert_eq!(scripts.count(), 0);
            let found = texts(document).matches(&shown).count();
            assert!(found >= 10, "{found} in {}", texts(document));
        });
    }

    #[test]
    fn the_page_tells_the_figures_and_loads_nothing() {
        let report = report(vec![card(), failed("burnt")]);
        read(&report, |document| {
            let text = texts(document);
            for expected in [
                "model.mxr on 2 GPUs",
                "1,562",
                "1,645",
                "GPU 1 failed",
                "burnt",
                "95 %",
            ] {
                assert!(text.contains(expected), "{expected} in {text}");
            }
            for node in document.descendants() {
                for attribute in ["src", "href"] {
                    assert_eq!(node.attribute(attribute), None);
                }
                // Whatever is drawn lies on its chart.
                if let Some(style) = node.attribute("style") {
                    let percent: f64 = style
                        .split(':')
                        .next_back()
                        .unwrap()
                        .trim_end_matches('%')
                        .parse()
                        .unwrap();
                    assert!((0.0..=100.0).contains(&percent), "{style}");
                }
            }
        });
        assert!(!STYLE.contains("url(") && !STYLE.contains("@import"));
    }

    #[test]
    fn a_run_of_nothing_is_a_page_all_the_same() {
        let mut nothing = report(vec![Card {
            failed: None,
            ..failed("")
        }]);
        read(&nothing, |document| {
            assert!(texts(document).contains("no images were done"));
            assert!(!texts(document).contains("NaN") && !texts(document).contains("inf "));
        });
        nothing.setting.target = "ref".into();
        read(&nothing, |document| {
            assert!(texts(document).contains("1 worker"))
        });
    }

    #[test]
    fn scales_end_at_round_numbers() {
        let found = [0.0, 0.7, 1.0, 13_191.3, 2_400.0, 4_999.0].map(round_up);
        assert_eq!(found, [1.0, 1.0, 1.0, 20_000.0, 2_500.0, 5_000.0]);
    }
}
