//! A process for each card, which sees that card only.
//!
//! The parent hands out batches and gathers what the children measure; both
//! speak JSON, a message a line, over the child's standard streams:
//!
//! | child | parent |
//! |---|---|
//! | `{"ready": {…}}`: loaded and warm, with the program's contract | `"go"`: the clock starts |
//! | `"next"` | `{"batch": {…}}`, or `"end"` |
//! | `{"found": {…}}`: the objects on an image, where accuracy is wanted | |
//! | `{"done": {…}}`: a batch is stored | |
//! | `{"failed": {…}}`, then it asks for the next batch no more | |
//! | `{"tally": {…}}`: the last | |

mod child;
mod parent;

use anyhow::{Context, Result};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::batch::{Batch, Failure};
use super::{Contract, Tally};
use crate::detections::Detection;

pub use child::{end_with_parent, run as child};
pub use parent::run as parent;

/// What a child says.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(clippy::large_enum_variant, reason = "one at a time")]
enum Said {
    Ready {
        contract: Contract,
        on_device: bool,
    },
    Next,
    /// What is on an image, where accuracy is wanted.
    Found {
        image: usize,
        found: Vec<Detection>,
    },
    Done {
        share: usize,
        number: usize,
    },
    Failed {
        reason: String,
        card: bool,
    },
    Tally(Tally),
}

/// What the parent answers.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Answer {
    Go,
    Batch(Batch),
    End,
}

impl Said {
    fn failed(failure: &Failure) -> Self {
        Said::Failed {
            reason: failure.reason().to_owned(),
            card: matches!(failure, Failure::Card(_)),
        }
    }
}

/// A message as a line of its own.
fn line(message: &impl Serialize) -> String {
    let text = serde_json::to_string(message).expect("plain fields");
    text + "\n"
}

fn understood<T: DeserializeOwned>(line: &str) -> Result<T> {
    serde_json::from_str(line).with_context(|| format!("no message: {line:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_message_is_understood() {
        let contract = Contract {
            input: "images".into(),
            element: crate::pixels::Element::U8,
            batch: 64,
            size: 640,
            head: crate::contract::Head::EndToEnd { rows: 300 },
        };
        for said in [
            Said::Ready {
                contract,
                on_device: true,
            },
            Said::Next,
            Said::Found {
                image: 8,
                found: vec![Detection {
                    class: 7,
                    score: 0.1,
                    bbox: [f32::MIN_POSITIVE, 1.0 / 3.0, 639.99994, 5e-5],
                }],
            },
            Said::Done {
                share: 3,
                number: 12,
            },
            Said::failed(&Failure::Card("line 1\nline 2".into())),
            Said::Tally(crate::bench::example()),
        ] {
            let line = line(&said);
            assert_eq!(line.matches('\n').count(), 1, "{line}");
            assert_eq!(understood::<Said>(&line).unwrap(), said);
        }
        let batch = Answer::Batch(Batch {
            share: 7,
            number: 1,
            images: 5..9,
        });
        for answer in [Answer::Go, Answer::End, batch] {
            assert_eq!(understood::<Answer>(&line(&answer)).unwrap(), answer);
        }
        for line in ["", "{}", "[]", "{\"done\": {\"share\": 1}}", "hello"] {
            assert!(understood::<Said>(line).is_err() && understood::<Answer>(line).is_err());
        }
    }
}
