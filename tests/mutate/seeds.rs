//! The good files that mutants are made from.

use super::load::{self, Checks, Kind};
use super::{msgpack, victim};
use migraphx::{CompileOptions, DynamicDim, OnnxOptions, Program, Target};
use std::path::Path;
use std::time::Duration;

/// Larger models say no more, and take longer.
const MAX_MODEL: usize = 4096;
const MAX_PROGRAM: usize = 16 * 1024;

/// A good file.
pub struct Seed {
    pub name: String,
    pub bytes: Vec<u8>,
}

/// The small models of `folder` that run, each in a process of its own first.
pub fn models(folder: &Path) -> Result<Vec<Seed>, String> {
    let read = |error: std::io::Error| format!("{}: {error}", folder.display());
    let mut paths = Vec::new();
    for entry in folder.read_dir().map_err(read)? {
        let path = entry.map_err(read)?.path();
        if path
            .extension()
            .is_some_and(|extension| extension == "onnx")
        {
            paths.push(path);
        }
    }
    paths.sort();
    let mut seeds = Vec::new();
    for path in paths {
        let bytes = std::fs::read(&path).map_err(read)?;
        if bytes.is_empty() || bytes.len() > MAX_MODEL {
            continue;
        }
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        seeds.push(Seed {
            name: name.into_owned(),
            bytes,
        });
    }
    seeds.retain(|seed| runs(seed, Kind::Onnx));
    Ok(seeds)
}

/// Programs made from `models`, uncompiled and compiled, with and without what
/// the crate adds to them; the sizes free in some.
pub fn programs(models: &[Seed]) -> Result<Vec<Seed>, String> {
    let mut seeds = Vec::new();
    for model in models {
        let options = load::onnx_options();
        add(&mut seeds, &model.name, &options, &model.bytes)
            .map_err(|error| format!("{}: {error}", model.name))?;
        // Not every model can be read so.
        let range = DynamicDim::new(1, 4).map_err(|error| error.to_string())?;
        let options = options.default_dynamic_dim(range);
        let is_dynamic = |program: &Program| {
            let parameters = program.parameters();
            parameters.iter().any(|one| one.shape().is_dynamic())
        };
        if options
            .parse_bytes(&model.bytes)
            .is_ok_and(|one| is_dynamic(&one))
        {
            let name = format!("{} dynamic", model.name);
            let _ = add(&mut seeds, &name, &options, &model.bytes);
        }
    }
    seeds.retain(|seed| seed.bytes.len() <= MAX_PROGRAM && runs(seed, Kind::Mxr));
    Ok(seeds)
}

fn add(
    seeds: &mut Vec<Seed>,
    name: &str,
    options: &OnnxOptions,
    model: &[u8],
) -> migraphx::Result<()> {
    let program = options.parse_bytes(model)?;
    let uncompiled = program.to_bytes()?;
    let compiled = program
        .compile(&Target::reference()?, &CompileOptions::new())?
        .to_bytes()?;
    for (form, bytes) in [("uncompiled", uncompiled), ("compiled", compiled)] {
        if let Some(plain) = msgpack::without_mark(&bytes) {
            seeds.push(Seed {
                name: format!("{name} {form}"),
                bytes: plain,
            });
        }
        // Nearly all of its mutants end at the checksum; a few are enough.
        if name.starts_with('a') {
            seeds.push(Seed {
                name: format!("{name} {form} marked"),
                bytes,
            });
        }
    }
    Ok(())
}

fn runs(seed: &Seed, kind: Kind) -> bool {
    let outcome = victim::start(
        |say| load::attempt(&seed.bytes, kind, Checks::On, say),
        LIMIT,
    );
    matches!(outcome.map(victim::Victim::end), Ok(victim::Outcome::Ran))
}

const LIMIT: Duration = Duration::from_secs(60);
