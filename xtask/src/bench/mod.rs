//! `cargo xtask bench`: what a run costs, and how much of the cards' speed the
//! whole of `yolo26 bench` has.

mod cards;
mod figures;
mod loader;
mod memory;
mod pipeline;
mod run;
mod scaling;

use crate::{command, setup};
use cards::Cards;
use figures::Figures;
use std::process::ExitCode;

pub const HELP: &str = "\
Usage: cargo xtask bench [WORD...]

Sets up, builds in the release profile and measures. A line a figure, with its
bar; exits with 1 where one is missed. Ratios are what counts: their two sides
are measured in one run or in turns, since times change from machine to machine.

  run       what a run costs through `migraphx` and through the same calls in C, on
            MIGraphX's CPU reference target
  loader    image files to batches: `yolo26 loader` over Ultralytics' own validation
            loader with as many workers, in turn, on the same JPEGs. Needs the
            variable YOLO26_PYTHON: a Python that has ultralytics 8.4.90
  pipeline  `yolo26 bench` on virtual GPUs whose kernels and copies take a set time:
            images a second of the whole, over those of the slower of model and
            copies alone. Model alone: images over the time that the card was
            computing; copies alone: images over the time that it was copying in the
            busier direction, both between the events of the same run. These times
            are compared with the set ones, too
  scaling   the same on eight cards, over eight times one card
  memory    what a card holds and what the host pins, for the program and for each
            set of buffers

WORDs select groups of figures; another word selects the figures of `run` whose
names hold it.
";

/// In the order in which they are measured.
const GROUPS: [&str; 5] = ["run", "loader", "pipeline", "scaling", "memory"];

pub fn command(arguments: &[String]) -> Result<ExitCode, String> {
    if let Some(option) = arguments.iter().find(|word| word.starts_with('-')) {
        return Err(format!("bench has no option `{option}`\n\n{HELP}"));
    }
    let (groups, words) = selected(arguments);
    let root = command::workspace_root()?;
    setup::ensure(&setup::Options::default())?;
    let mut met = true;
    let mut figures = Figures::default();
    let mut cards = None;
    for group in groups {
        if group == "run" {
            met &= run::figures(&root, &words)?;
            continue;
        }
        if group == "loader" {
            loader::figures(&root, &mut figures)?;
            continue;
        }
        let cards = match &cards {
            Some(cards) => cards,
            None => cards.insert(Cards::set_up(&root)?),
        };
        match group {
            "pipeline" => pipeline::figures(cards, &mut figures)?,
            "scaling" => scaling::figures(cards, &mut figures)?,
            _ => memory::figures(cards, &mut figures)?,
        }
    }
    met &= figures.finish();
    Ok(match met {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    })
}

/// The groups that are named, and the words for `run`.
fn selected(words: &[String]) -> (Vec<&'static str>, Vec<&String>) {
    let named = |group: &&&str| words.iter().any(|word| word == **group);
    let others: Vec<&String> = words
        .iter()
        .filter(|word| !GROUPS.contains(&word.as_str()))
        .collect();
    let mut groups: Vec<&'static str> = GROUPS.iter().filter(named).copied().collect();
    if words.is_empty() {
        groups = GROUPS.to_vec();
    } else if !others.is_empty() && !groups.contains(&"run") {
        groups.insert(0, "run");
    }
    (groups, others)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_select_groups_and_figures_of_run() {
        let select = |line: &str| {
            let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            let (groups, others) = selected(&words);
            let others: Vec<&str> = others.into_iter().map(|word| word.as_str()).collect();
            (groups.join(" "), others.join(" "))
        };
        let pair = |groups: &str, words: &str| (groups.to_owned(), words.to_owned());
        assert_eq!(select(""), pair("run loader pipeline scaling memory", ""));
        assert_eq!(select("memory pipeline"), pair("pipeline memory", ""));
        assert_eq!(select("refilled"), pair("run", "refilled"));
        assert_eq!(select("run kept"), pair("run", "kept"));
        assert_eq!(select("scaling kept"), pair("run scaling", "kept"));
    }

    #[test]
    fn the_help_has_every_group() {
        for group in GROUPS {
            assert!(HELP.contains(&format!("\n  {group} ")), "{group}");
        }
    }
}
