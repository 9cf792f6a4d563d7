//! Batches of any size on programs of a few sizes: compiled once each, saved as
//! a folder, and run with padding.
//!
//! `cargo run --example 08_batch_buckets`

use migraphx::{Argument, Buckets, CompileOptions, OnnxOptions, Result, Target};

fn main() -> Result<()> {
    // y = x · w + b for rows `x` of 4 numbers; the model leaves the batch open.
    let model = testkit::models::dynamic_linear();
    let buckets = Buckets::compile(
        &[1, 4, 16],
        &Target::reference()?,
        &CompileOptions::new(),
        // A model with a fixed batch: `.input_dims("x", &[batch, 4])`.
        |batch| OnnxOptions::new().default_dim(batch).parse_bytes(&model),
    )?;
    println!("buckets of {:?} rows", buckets.sizes());
    println!("axis of the batch in `x`: {:?}", buckets.input_axis("x")?);

    // A .mxr for each size, and an index: compiling for a GPU takes minutes.
    let folder = std::env::temp_dir().join(format!("buckets-{}", std::process::id()));
    buckets.save(&folder)?;
    let mut buckets = Buckets::load(&folder)?;
    let _ = std::fs::remove_dir_all(&folder);

    for rows in [1, 2, 4, 7, 16, 21] {
        let x: Vec<f32> = (0..4 * rows).map(|i| (i / 4) as f32).collect();
        let outputs = buckets.run(&[("x", Argument::from_slice(&x, &[rows, 4])?)])?;
        let y = outputs.slice::<f32>(0)?;
        // Row i is i · (0 + 2 + 4 + 6) + 0.5 and i · (1 + 3 + 5 + 7) - 0.5.
        let last = (rows - 1) as f32;
        assert_eq!(y.len(), 2 * rows);
        assert_eq!(y[y.len() - 2..], [12.0 * last + 0.5, 16.0 * last - 0.5]);
        let runs: Vec<String> = outputs
            .runs()
            .iter()
            .map(|run| format!("{} of {}", run.rows, run.bucket))
            .collect();
        println!("{rows:>2} rows ran as {}", runs.join(", then "));
    }
    Ok(())
}
