//! `make-demo <outdir> [--size S] [--batch N] [--images K]`: writes the demo's
//! model, pictures, labels and `coco.yaml`.

use std::path::PathBuf;
use std::process::ExitCode;

use testkit::demo::Demo;
use testkit::net::{self, Batch};

const USAGE: &str = "usage: make-demo <outdir> [--size S] [--batch N] [--images K]
  --size    pixels a side of the network's input, a multiple of 80 (default 160)
  --batch   images a run; 0 leaves it to who parses the model (default 4)
  --images  pictures to draw (default 10)";

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(text) => {
            eprintln!("make-demo: {text}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), String> {
    let (out, demo) = options()?;
    let objects = demo.write(&out).map_err(|e| e.to_string())?;
    let (out, images) = (out.display(), demo.images);
    println!("{out}: model.onnx, coco.yaml and {images} pictures with {objects} objects");
    Ok(())
}

fn options() -> Result<(PathBuf, Demo), String> {
    let mut out = None;
    let mut demo = Demo::default();
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        if !arg.starts_with('-') && out.is_none() {
            out = Some(PathBuf::from(arg));
            continue;
        }
        if !["--size", "--batch", "--images"].contains(&&*arg) {
            return Err(format!("unexpected {arg:?}\n{USAGE}"));
        }
        let value = args
            .next()
            .ok_or_else(|| format!("{arg} needs a number\n{USAGE}"))?;
        let number: usize = value
            .parse()
            .map_err(|_| format!("{arg} takes a number, not {value:?}"))?;
        match &*arg {
            "--size" => demo.size = number,
            "--images" => demo.images = number,
            _ if number == 0 => demo.batch = Batch::Symbolic,
            _ => demo.batch = Batch::Fixed(number),
        }
    }
    let step = net::FINE;
    if demo.size == 0 || !demo.size.is_multiple_of(step) {
        return Err(format!(
            "--size takes a multiple of {step}, not {}",
            demo.size
        ));
    }
    Ok((out.ok_or(USAGE)?, demo))
}
