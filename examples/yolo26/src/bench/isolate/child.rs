//! The process of one card.

use std::io::{self, BufRead, Write};
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use anyhow::Result;

use super::super::batch::{Batch, Batches, Failure};
use super::super::card::Card;
use super::super::{Job, Plan};
use super::{Answer, Said};
use crate::detections::Detection;

/// Does what the parent says.
pub fn run(plan: &Plan<'_>) -> Result<()> {
    match ready(plan) {
        Ok((card, job, on_device)) => work(card, job, on_device, &Parent),
        // The parent tells it.
        Err(error) => Parent.say(&Said::failed(&Failure::run(error))),
    }
    Ok(())
}

/// A parent that is killed takes its cards' processes along, whatever they are
/// at; elsewhere they end when they next ask for a batch.
pub fn end_with_parent() {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{Signal, set_parent_process_death_signal};
        // A parent that is gone already is noticed at the first answer.
        let _ = set_parent_process_death_signal(Some(Signal::TERM));
    }
}

fn ready(plan: &Plan<'_>) -> Result<(Card, Job, bool)> {
    let args = plan.args;
    // The only one that this process sees.
    let mut card = Card::load(&plan.stored, plan.device(0)?, args.in_flight)?;
    card.contract().check(&args.model)?;
    let mut job = plan.job(card.contract(), 1)?;
    job.gather = job.gather.map(|gather| gather.telling(tell));
    let first = plan.first_batch(&job)?;
    card.warm_up(&first, args.warmup, &AtomicBool::new(false))?;
    let on_device = card.on_device();
    Ok((card, job, on_device))
}

fn work(mut card: Card, mut job: Job, on_device: bool, parent: &Parent) {
    parent.say(&Said::Ready {
        contract: job.contract.clone(),
        on_device,
    });
    match parent.answer() {
        Some(Answer::Go) => {}
        // Another card failed, or the parent is gone.
        _ => return,
    }
    job.start = Instant::now();
    let tally = card.run(&job, parent);
    parent.say(&Said::Tally(tally));
}

/// The parent keeps what is on an image.
fn tell(image: usize, found: Vec<Detection>) {
    Parent.say(&Said::Found { image, found });
}

/// The parent, over the standard streams.
struct Parent;

/// Messages of several threads stay whole, each a line.
static SAYING: Mutex<()> = Mutex::new(());

impl Parent {
    fn say(&self, said: &Said) {
        let _alone = SAYING.lock().unwrap_or_else(PoisonError::into_inner);
        let mut out = io::stdout().lock();
        // A parent that is gone shows itself at the next answer.
        let _ = out
            .write_all(super::line(said).as_bytes())
            .and_then(|()| out.flush());
    }

    fn answer(&self) -> Option<Answer> {
        let mut line = String::new();
        io::stdin().lock().read_line(&mut line).ok()?;
        super::understood(&line).ok()
    }
}

impl Batches for Parent {
    /// The only one of this process.
    fn card(&self) -> usize {
        0
    }

    fn next(&self) -> Option<Batch> {
        self.say(&Said::Next);
        match self.answer()? {
            Answer::Batch(batch) => Some(batch),
            Answer::Go | Answer::End => None,
        }
    }

    fn done(&self, batch: &Batch) {
        self.say(&Said::Done {
            share: batch.share,
            number: batch.number,
        });
    }

    fn fail(&self, failure: Failure) {
        self.say(&Said::failed(&failure));
    }
}
