//! Changes small good files a little, and loads each in a process of its own:
//! `cargo xtask mutate`. Without its name as first argument, the tests of the
//! tool itself, as libtest runs them.

mod args;
mod load;
mod msgpack;
mod mutant;
mod protobuf;
mod seeds;
mod table;
mod tests;
mod tree;
mod victim;

use args::Args;
use load::Kind;
use mutant::{Id, mutant};
use seeds::Seed;
use std::collections::VecDeque;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;
use table::Table;
use tree::Format;
use victim::{Outcome, Victim};

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1).peekable();
    if words.next_if_eq("mutate").is_none() {
        return tests::run();
    }
    let result = Args::parse(words).and_then(|args| {
        let models = seeds::models(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases"))?;
        let mut deaths = 0;
        for kind in &args.kinds {
            deaths += match kind {
                Kind::Onnx => run(&args, *kind, &models, &protobuf::Protobuf)?,
                Kind::Mxr => run(&args, *kind, &seeds::programs(&models)?, &msgpack::Msgpack)?,
            };
        }
        Ok(args.at_most.is_none_or(|most| deaths <= most))
    });
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("mutate: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Tries all mutants of files of a kind; how many ended their process.
fn run(args: &Args, kind: Kind, seeds: &[Seed], format: &dyn Format) -> Result<usize, String> {
    let mut table = Table::default();
    let mut under_way: VecDeque<(Id, Victim)> = VecDeque::new();
    let start = Instant::now();
    let ids = args.ids();
    for id in &ids {
        if under_way.len() == args.jobs
            && let Some((id, victim)) = under_way.pop_front()
        {
            end(args, kind, seeds, format, &mut table, id, victim)?;
        }
        let (_, bytes) = mutant(seeds, format, *id, args.seed);
        let attempt = |say: &dyn Fn(&str)| load::attempt(&bytes, kind, args.checks, say);
        let victim = victim::start(attempt, args.limit);
        under_way.push_back((*id, victim.map_err(|error| format!("no process: {error}"))?));
    }
    for (id, victim) in under_way {
        end(args, kind, seeds, format, &mut table, id, victim)?;
    }
    let seconds = start.elapsed().as_secs_f64();
    println!(
        "{kind:?}, checks {:?}, seed {}: {} mutants of {} files in {seconds:.0} s, {:.0} a second\n{table}\n",
        args.checks,
        args.seed,
        ids.len(),
        seeds.len(),
        ids.len() as f64 / seconds,
    );
    Ok(table.deaths())
}

fn end(
    args: &Args,
    kind: Kind,
    seeds: &[Seed],
    format: &dyn Format,
    table: &mut Table,
    id: Id,
    victim: Victim,
) -> Result<(), String> {
    let outcome = victim.end();
    let first = table.add(id, &outcome);
    let deadly = matches!(
        outcome,
        Outcome::Killed { .. } | Outcome::Panicked { .. } | Outcome::TimedOut { .. }
    );
    let (seed, bytes) = mutant(seeds, format, id, args.seed);
    if args.only.is_some() {
        println!("{id} of {}: {outcome:?}", seed.name);
    }
    let Some(keep) = &args.keep else {
        return Ok(());
    };
    if (first && deadly) || args.only.is_some() {
        let extension = match kind {
            Kind::Onnx => "onnx",
            Kind::Mxr => "mxr",
        };
        let name = format!("{}-{}.{extension}", id.kind.name(), id.index);
        let text = format!("{name}\t{}\t{outcome:?}\n", seed.name);
        args::append(&keep.join("index.tsv"), &text)?;
        std::fs::write(keep.join(&name), bytes).map_err(|error| format!("{name}: {error}"))?;
    }
    Ok(())
}
