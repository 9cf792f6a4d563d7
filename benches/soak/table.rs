//! The table: a line a subject.

use anyhow::Result;
use std::time::Duration;
use testkit::held::{Held, Looks};

pub fn head() -> String {
    format!(
        "{:<34} {:>8} {:>26} {:>29} {:>10} {:>9} {:>6}  verdict\n{:<34} {:>8} {:>26} {:>29} {:>10} {:>9} {:>6}",
        "",
        "",
        "resident, KiB",
        "heap, KiB",
        "bytes/1000",
        "files/",
        "",
        "what",
        "rounds",
        "start/middle/end",
        "start/middle/end",
        "rounds",
        "threads",
        "s",
    )
}

pub fn line(name: &str, looks: &Result<Looks>, took: Duration) -> String {
    let looks = match looks {
        Ok(looks) => looks,
        Err(error) => return format!("{name:<34} FAILED: {error:#}"),
    };
    let three = |of: fn(&Held) -> usize| {
        let kib = [&looks.start, &looks.middle, &looks.end].map(|held| of(held) as f64 / 1024.0);
        kib.map(|kib| format!("{kib:.1}")).join("/")
    };
    let whole = |held: &Held| held.resident / 1024;
    let resident = [whole(&looks.start), whole(&looks.middle), whole(&looks.end)];
    let verdict = looks.verdict();
    format!(
        "{name:<34} {:>8} {:>26} {:>29} {:>10.0} {:>9} {:>6.1}  {}",
        looks.rounds,
        resident.map(|kib| kib.to_string()).join("/"),
        three(|held| held.heap),
        looks.heap_each_thousand(),
        format!("{}/{}", looks.end.files, looks.end.threads),
        took.as_secs_f64(),
        verdict.map_or_else(|problem| format!("GROWS: {problem}"), |()| "flat".into()),
    )
}
