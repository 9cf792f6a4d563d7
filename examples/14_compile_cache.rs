//! Compiled by the first process that asks, loaded by all later ones.
//!
//! `cargo run --release --example 14_compile_cache`, with a model and a target if
//! you like: `-- model.onnx gpu`. Run it twice: the cache is kept between runs.

use std::path::PathBuf;
use std::time::Instant;

use migraphx::cache::Outcome;
use migraphx::{Cache, Program, Recipe, Result, Target};

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let model = arguments.next().map_or_else(drawn_model, PathBuf::from);
    let target = Target::new(&arguments.next().unwrap_or("ref".into()))?;

    // `Cache::user()` is the one in your home directory.
    let folder = std::env::temp_dir().join("migraphx-example-cache");
    let cache = Cache::open(folder)?.size_limit(1 << 30);
    println!("the cache is {}", cache.folder().display());

    // All that the program depends on is in the recipe, the model and the target.
    let fp32 = Recipe::new();
    let fp16 = Recipe::new().quantize_fp16();
    // A step of your own is known by its name. It is not done where the program is
    // found: put what is slow, such as reading samples, inside.
    let sorted = Recipe::new().step("sorted v1", |program: &mut Program, _| program.sort());

    for (name, recipe) in [("FP32", &fp32), ("FP16", &fp16), ("sorted", &sorted)] {
        for time in ["first", "second"] {
            let start = Instant::now();
            let cached = cache.load_or_compile(&model, &target, recipe)?;
            let took = start.elapsed();
            let how = match cached.outcome {
                Outcome::Hit => "found".into(),
                Outcome::Built => "compiled and stored".into(),
                Outcome::Rebuilt(why) => format!("compiled again, as the entry was unfit: {why}"),
                // A full disk costs the next process its time, and this one nothing.
                Outcome::NotStored(why) => format!("compiled and not stored: {why}"),
                other => format!("{other:?}"),
            };
            println!("{name}, {time}: {took:.1?}, {how}");
            // It is a program as any other.
            assert!(!cached.program.output_shapes().is_empty());
        }
    }
    Ok(())
}

/// A small network, where no model is given.
fn drawn_model() -> PathBuf {
    let file = std::env::temp_dir().join(format!("migraphx-example-{}.onnx", std::process::id()));
    std::fs::write(&file, testkit::cnn::build(1)).expect("the temporary folder can be written to");
    file
}
