//! What became of the mutants, counted.

use super::mutant::{Id, Kind};
use super::victim::Outcome;
use std::collections::BTreeMap;
use std::fmt::Write;

/// An outcome as it is counted: a column, and what is told apart in it.
fn class(outcome: &Outcome) -> (&'static str, String) {
    match outcome {
        Outcome::Ran => ("ran", String::new()),
        Outcome::Refused { text } if text.contains("checksum differs") => {
            ("checksum", String::new())
        }
        Outcome::Refused { text } => ("refused", general(text)),
        Outcome::Api { step } => ("MIGraphX", step.clone()),
        Outcome::Killed { signal, reason } => ("killed", format!("signal {signal}, {reason}")),
        Outcome::Panicked { reason } => ("panicked", reason.clone()),
        Outcome::TimedOut { step } => ("timed out", step.clone()),
    }
}

/// A text without what differs from file to file: names, and numbers.
fn general(text: &str) -> String {
    let mut out = String::new();
    for (index, part) in text.split('`').enumerate() {
        match index % 2 {
            0 => out.push_str(part),
            _ => out.push('_'),
        }
    }
    let mut words: Vec<&str> = out.split(' ').collect();
    for word in &mut words {
        if word.contains(|c: char| c.is_ascii_digit()) {
            *word = "#";
        }
    }
    words.join(" ").chars().take(120).collect()
}

const COLUMNS: [&str; 7] = [
    "refused",
    "checksum",
    "MIGraphX",
    "ran",
    "timed out",
    "killed",
    "panicked",
];

/// Of a column.
const MAX_LINES: usize = 40;

/// The counts.
#[derive(Default)]
pub struct Table {
    counts: BTreeMap<(&'static str, &'static str), usize>,
    /// By column and detail: how many, and the first.
    details: BTreeMap<(&'static str, String), (usize, Id)>,
}

impl Table {
    /// Counts an outcome; whether it is the first of its class.
    pub fn add(&mut self, id: Id, outcome: &Outcome) -> bool {
        let (column, detail) = class(outcome);
        *self.counts.entry((id.kind.name(), column)).or_default() += 1;
        let detail = self.details.entry((column, detail)).or_insert((0, id));
        detail.0 += 1;
        detail.0 == 1
    }

    /// How many the crate did not keep from ending the process.
    pub fn deaths(&self) -> usize {
        self.column("killed") + self.column("panicked")
    }

    fn column(&self, column: &str) -> usize {
        let counts = self.counts.iter();
        counts
            .filter(|((_, one), _)| *one == column)
            .map(|(_, count)| count)
            .sum()
    }
}

impl std::fmt::Display for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut head = format!("{:<10}", "");
        COLUMNS
            .iter()
            .try_for_each(|column| write!(head, "{column:>10}"))?;
        writeln!(f, "{head}")?;
        for kind in Kind::ALL {
            write!(f, "{:<10}", kind.name())?;
            for column in COLUMNS {
                let count = self.counts.get(&(kind.name(), column)).unwrap_or(&0);
                write!(f, "{count:>10}")?;
            }
            writeln!(f)?;
        }
        write!(f, "{:<10}", "all")?;
        COLUMNS
            .iter()
            .try_for_each(|column| write!(f, "{:>10}", self.column(column)))?;
        writeln!(f)?;
        for column in COLUMNS {
            let details = self.details.iter();
            let mut of_it: Vec<_> = details
                .filter(|((one, detail), _)| *one == column && !detail.is_empty())
                .collect();
            of_it.sort_by_key(|(_, (count, _))| std::cmp::Reverse(*count));
            for ((_, detail), (count, first)) in of_it.into_iter().take(MAX_LINES) {
                write!(f, "\n{count:>8} {column}: {detail} (first {first})")?;
            }
        }
        Ok(())
    }
}
