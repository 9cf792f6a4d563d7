//! The loop of production: one input set, filled again for each run, or bound
//! to data that lies elsewhere. Neither copies or allocates in a run.
//!
//! `cargo run --example 06_refill_and_bind`

use migraphx::{CompileOptions, OnnxOptions, Target};

fn main() -> migraphx::Result<()> {
    // z = x + y, both float [4].
    let program = OnnxOptions::new().parse_bytes(&testkit::models::add(&[4]))?;
    // Outlives the set that is bound to it: a memory map would do as well.
    let constants = [100.0f32, 200.0, 300.0, 400.0];

    let mut program = program.compile(&Target::reference()?, &CompileOptions::new())?;
    let mut inputs = program.inputs()?;
    let (x, y) = (inputs.id("x")?, inputs.id("y")?); // names are looked up once

    // Bound: read where it lies, by every run until it is bound to something else.
    inputs.bind(y, &constants)?;
    for step in 0..3 {
        // Refilled: written in place, no call into the library.
        inputs.slice_mut::<f32>(x)?.fill(step as f32);
        let outputs = program.run(&mut inputs)?;
        println!("step {step}: {:?}", outputs.slice::<f32>(0)?);
        // While `outputs` lives, the compiler refuses to refill `inputs`: a
        // result may lie in the memory of an input.
    }

    // To keep a result beyond the next run, own it: only what lies in an input is copied.
    let kept = program.run(&mut inputs)?.into_owned()?;
    inputs.unbind(y)?; // the set's own buffer again, zeros
    let fresh = program.run(&mut inputs)?;
    println!(
        "kept {:?}, fresh {:?}",
        kept.slice::<f32>(0)?,
        fresh.slice::<f32>(0)?
    );

    // Arrays of any rank, through ndarray.
    let mut view = inputs.view_mut::<f32>(x)?;
    view.iter_mut()
        .enumerate()
        .for_each(|(i, value)| *value = i as f32);
    println!("as an array: {}", program.run(&mut inputs)?.view::<f32>(0)?);
    Ok(())
}
