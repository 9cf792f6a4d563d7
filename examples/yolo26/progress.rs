//! How far the workers are: bars on a terminal, plain lines elsewhere, nothing
//! in quiet mode.

use std::io::{IsTerminal, stderr};

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

/// How progress is shown.
pub enum Progress {
    Silent,
    Lines,
    Bars(MultiProgress),
}

impl Progress {
    pub fn new(quiet: bool) -> Self {
        if quiet {
            Progress::Silent
        } else if stderr().is_terminal() {
            Progress::Bars(MultiProgress::new())
        } else {
            Progress::Lines
        }
    }

    /// A meter for one worker, such as `GPU 0`, with `images` before it.
    pub fn meter(&self, name: String, images: usize) -> Meter {
        let show = match self {
            Progress::Silent => Show::Nothing,
            Progress::Lines => Show::Lines,
            Progress::Bars(all) => {
                let bar = ProgressBar::new(images as u64).with_prefix(name.clone());
                let style = "{prefix:>10} {bar:40} {pos}/{len} images {msg}";
                bar.set_style(ProgressStyle::with_template(style).expect("a valid template"));
                Show::Bar(all.add(bar))
            }
        };
        Meter {
            name,
            show,
            done: 0,
            images,
        }
    }
}

/// The progress of one worker.
pub struct Meter {
    name: String,
    show: Show,
    done: usize,
    images: usize,
}

enum Show {
    Nothing,
    Lines,
    Bar(ProgressBar),
}

impl Meter {
    /// Says what the worker is at.
    pub fn say(&self, what: &'static str) {
        match &self.show {
            Show::Nothing => {}
            Show::Lines => {
                if !what.is_empty() {
                    eprintln!("{}: {what}", self.name);
                }
            }
            Show::Bar(bar) => bar.set_message(what),
        }
    }

    /// `images` more are done.
    pub fn advance(&mut self, images: usize) {
        let tenth = |done: usize| done * 10 / self.images.max(1);
        let before = tenth(self.done);
        self.done += images;
        match &self.show {
            Show::Nothing => {}
            // A line a tenth is enough for a log.
            Show::Lines => {
                if tenth(self.done) > before {
                    eprintln!("{}: {}/{} images", self.name, self.done, self.images);
                }
            }
            Show::Bar(bar) => {
                bar.set_position(self.done as u64);
                if self.done >= self.images {
                    bar.finish();
                }
            }
        }
    }
}
