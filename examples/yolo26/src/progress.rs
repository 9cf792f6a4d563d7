//! How far a run is: a bar on a terminal, plain lines elsewhere, nothing in
//! quiet mode.

use std::io::{IsTerminal, stderr};
use std::sync::atomic::{AtomicUsize, Ordering};

use indicatif::{ProgressBar, ProgressStyle};

/// Told by all threads.
pub struct Progress {
    show: Show,
    done: AtomicUsize,
    images: usize,
}

enum Show {
    Nothing,
    Lines,
    Bar(ProgressBar),
}

impl Progress {
    /// Of `images` images.
    pub fn new(quiet: bool, images: usize) -> Self {
        let show = if quiet {
            Show::Nothing
        } else if stderr().is_terminal() {
            let style = "{bar:40} {pos}/{len} images {per_sec}";
            let style = ProgressStyle::with_template(style).expect("a valid template");
            Show::Bar(ProgressBar::new(images as u64).with_style(style))
        } else {
            Show::Lines
        };
        Progress {
            show,
            done: AtomicUsize::new(0),
            images,
        }
    }

    /// `images` more are done.
    pub fn advance(&self, images: usize) {
        let before = self.done.fetch_add(images, Ordering::Relaxed);
        let now = before + images;
        let tenth = |done: usize| done * 10 / self.images.max(1);
        match &self.show {
            Show::Nothing => {}
            // A line a tenth is enough for a log.
            Show::Lines => {
                if tenth(now) > tenth(before) {
                    eprintln!("{now}/{} images", self.images);
                }
            }
            Show::Bar(bar) => {
                bar.inc(images as u64);
                if now >= self.images {
                    bar.finish();
                }
            }
        }
    }
}

/// Says what goes on, unless quiet.
pub fn say(quiet: bool, what: &str) {
    if !quiet {
        eprintln!("{what}");
    }
}
