//! The parent of the cards' processes.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use anyhow::{Context, Result, bail};

use super::super::batch::{Batches, Failure};
use super::super::schedule::Hand;
use super::super::{Outcome, Plan, Tally};
use super::{Answer, Said, line, understood};
use crate::cli::Failing;
use crate::contract::Contract;
use crate::progress::say;
use crate::report;
use crate::val::Gather;

/// A card's process. Dropped, it is ended if it still runs.
struct Process {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

pub fn run(plan: &Plan<'_>) -> Result<Outcome> {
    let cards = plan.args.num_gpus;
    let mut processes = (0..cards)
        .map(|card| Process::start(plan, card))
        .collect::<Result<Vec<_>>>()?;
    say(plan.args.quiet_mode, "warm-up");
    let mut failures: Vec<Option<String>> = Vec::new();
    let mut known: Option<(Contract, bool)> = None;
    for process in &mut processes {
        failures.push(match process.ready() {
            Ok(ready) => {
                known.get_or_insert(ready);
                None
            }
            Err(reason) => Some(reason),
        });
        let failed = failures.iter().any(Option::is_some);
        if failed && plan.args.on_failure == Failing::Stop {
            bail!("{}", plan.reasons(&failures));
        }
    }
    let Some((contract, on_device)) = known else {
        bail!("{}", plan.reasons(&failures));
    };

    let schedule = plan.schedule(&contract);
    for (card, failure) in failures.iter().enumerate() {
        if let Some(reason) = failure {
            schedule.fail(card, &Failure::Card(reason.clone()));
        }
    }
    let progress = plan.progress();
    plan.part.meet();
    let started = report::now();
    let gather = plan.gather().map(|gather| &**gather);
    let tallies = thread::scope(|scope| {
        let running: Vec<_> = processes
            .into_iter()
            .zip(&failures)
            .enumerate()
            .map(|(card, (process, failure))| {
                let hand = schedule.hand(card, &progress);
                let gone = failure.is_some();
                scope.spawn(move || match gone {
                    true => Tally::default(),
                    false => process.serve(&hand, gather),
                })
            })
            .collect();
        let tallies = running.into_iter().map(|card| {
            card.join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        });
        tallies.collect()
    });
    Ok(Outcome {
        contract,
        on_device,
        tallies,
        failures: schedule.failures(),
        left: schedule.left(),
        started,
    })
}

impl Process {
    /// This program again, with the card as the only one that it sees.
    fn start(plan: &Plan<'_>, card: usize) -> Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        command
            .args(std::env::args_os().skip(1))
            .args(["--isolated", &card.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        if let Some(device) = plan.device(card)? {
            device.pin_child(&mut command)?;
        }
        plan.part.tell_child(&mut command);
        let mut child = command
            .spawn()
            .with_context(|| format!("cannot start the process of {} {card}", plan.name.name()))?;
        let (input, output) = (child.stdin.take(), child.stdout.take());
        Ok(Process {
            input: input.context("the child has no standard input")?,
            output: BufReader::new(output.context("the child has no standard output")?),
            child,
        })
    }

    /// Waits until it is loaded and warm.
    fn ready(&mut self) -> Result<(Contract, bool), String> {
        match hear(&mut self.output) {
            Some(Said::Ready {
                contract,
                on_device,
            }) => Ok((contract, on_device)),
            Some(Said::Failed { reason, .. }) => Err(reason),
            _ => Err(ended(&mut self.child)),
        }
    }

    /// Gives it batches, and hears what becomes of them, until it ends.
    fn serve(mut self, hand: &Hand<'_>, gather: Option<&Gather>) -> Tally {
        let mut tally = Tally::default();
        let mut result = None;
        let mut failed = false;
        thread::scope(|scope| {
            let (asked, asks) = channel();
            let mut input = &self.input;
            let server = scope.spawn(move || answer(&mut input, &asks, hand));
            while let Some(said) = hear(&mut self.output) {
                match said {
                    Said::Next => {
                        let _ = asked.send(());
                    }
                    Said::Found { image, found } => {
                        if let Some(gather) = gather {
                            gather.put(image, found);
                        }
                    }
                    Said::Done { share, number } => {
                        if let Some(batch) = hand.done_by_name(share, number) {
                            tally.images += batch.images.len();
                            tally.batches += 1;
                        }
                    }
                    Said::Failed { reason, card } => {
                        failed = true;
                        hand.fail(match card {
                            true => Failure::Card(reason),
                            false => Failure::Run(reason),
                        });
                    }
                    Said::Tally(tally) => result = Some(tally),
                    Said::Ready { .. } => {}
                }
            }
            if result.is_none() && !failed {
                hand.fail(Failure::Card(ended(&mut self.child)));
            }
            drop(asked);
            let _ = server.join();
        });
        // Of a process that died only its batches are known.
        result.unwrap_or(tally)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Both fail where it has ended by itself, as it should have.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Starts the clock, then answers each question for a batch.
fn answer(input: &mut impl Write, asks: &Receiver<()>, hand: &Hand<'_>) {
    let mut say = |answer: &Answer| input.write_all(line(answer).as_bytes());
    if say(&Answer::Go).is_err() {
        return;
    }
    for () in asks {
        let answer = hand.next().map_or(Answer::End, Answer::Batch);
        // Its end is seen where it is heard.
        if say(&answer).is_err() {
            return;
        }
    }
}

/// The next message; `None` where there will be no more.
fn hear(output: &mut impl BufRead) -> Option<Said> {
    loop {
        let mut line = String::new();
        match output.read_line(&mut line) {
            Ok(1..) => {}
            _ => return None,
        }
        match understood(&line) {
            Ok(said) => return Some(said),
            // A library may print, too.
            Err(_) => eprint!("{line}"),
        }
    }
}

/// Why a process ended that said nothing of it.
fn ended(child: &mut Child) -> String {
    let number = child.id();
    match child.wait() {
        Ok(status) => format!("its process {number} ended without a result: {status}"),
        Err(error) => format!("its process {number} ended without a result: {error}"),
    }
}
