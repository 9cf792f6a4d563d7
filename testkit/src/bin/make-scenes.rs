//! `make-scenes <outdir> [--count N] [--seed S] …`: writes scenes of known shapes
//! to train and to measure a detector on.

use std::path::PathBuf;
use std::process::ExitCode;

use testkit::scenes::{Format, Scenes};

const USAGE: &str = "usage: make-scenes <outdir> [--count N] [--seed S] [--first I] [--size WxH]… [--format jpg|png]
  --count   scenes to draw (default 500)
  --seed    which row of scenes (default 11)
  --first   number of the first (default 0)
  --size    pixels; several are used in turn (default: six sizes from 224x224 to 360x240)
  --format  jpg (default) or png";

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(text) => {
            eprintln!("make-scenes: {text}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), String> {
    let (out, scenes) = options()?;
    let objects = scenes.write(&out).map_err(|e| e.to_string())?;
    println!(
        "{}: coco.yaml and {} scenes of seed {} with {objects} shapes",
        out.display(),
        scenes.count,
        scenes.seed
    );
    Ok(())
}

fn options() -> Result<(PathBuf, Scenes), String> {
    let mut out = None;
    let mut scenes = Scenes::default();
    let mut sizes = Vec::new();
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        if !arg.starts_with('-') && out.is_none() {
            out = Some(PathBuf::from(arg));
            continue;
        }
        if !["--count", "--seed", "--first", "--size", "--format"].contains(&&*arg) {
            return Err(format!("unexpected {arg:?}\n{USAGE}"));
        }
        let value = args
            .next()
            .ok_or_else(|| format!("{arg} needs a value\n{USAGE}"))?;
        let number = || {
            let number = value.parse::<u64>();
            number.map_err(|_| format!("{arg} takes a number, not {value:?}"))
        };
        match &*arg {
            "--count" => scenes.count = number()?,
            "--seed" => scenes.seed = number()?,
            "--first" => scenes.first = number()?,
            "--size" => sizes.push(size(&value)?),
            _ => {
                scenes.format = match &*value {
                    "jpg" => Format::Jpeg,
                    "png" => Format::Png,
                    _ => return Err(format!("--format takes jpg or png, not {value:?}")),
                }
            }
        }
    }
    if !sizes.is_empty() {
        scenes.sizes = sizes;
    }
    Ok((out.ok_or(USAGE)?, scenes))
}

fn size(text: &str) -> Result<(u32, u32), String> {
    let sides = text.split_once('x').and_then(|(w, h)| {
        let sides = (w.parse().ok()?, h.parse().ok()?);
        // Smaller has no room for a shape; larger is not what this is for.
        let fits = |side| (64..=4096).contains(&side);
        (fits(sides.0) && fits(sides.1)).then_some(sides)
    });
    sides.ok_or_else(|| format!("--size takes WIDTHxHEIGHT of 64 to 4096 pixels, not {text:?}"))
}
