//! `make-photos <outdir> <count>`: writes JPEGs like COCO's photographs, to
//! measure decoding with.

use std::path::Path;
use std::process::ExitCode;

const SEED: u64 = 7;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder, count] = &arguments[..] else {
        eprintln!("usage: make-photos <outdir> <count>");
        return ExitCode::FAILURE;
    };
    let Ok(count) = count.parse() else {
        eprintln!("make-photos: {count:?} is no number of photographs");
        return ExitCode::FAILURE;
    };
    match testkit::photos::write(Path::new(folder), count, SEED) {
        Ok(bytes) => {
            let each = bytes as f64 / 1e3 / count.max(1) as f64;
            println!("{folder}: {count} photographs of {each:.0} kB");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("make-photos: cannot write to {folder}: {error}");
            ExitCode::FAILURE
        }
    }
}
