//! A pool: several programs on threads of their own, work handed out, results
//! in order.
//!
//! `cargo run --example 07_pool`

use migraphx::{CompileOptions, CompiledProgram, OnnxOptions, Pool, Target};

fn main() -> migraphx::Result<()> {
    // y = x · w, compiled once and loaded once a worker: programs are not shared.
    let weights: Vec<f32> = (0..64).map(|i| (i % 7) as f32).collect();
    let compiled = OnnxOptions::new()
        .parse_bytes(&testkit::models::matmul(1, 8, 8, &weights))?
        .compile(&Target::reference()?, &CompileOptions::new())?
        .to_bytes()?;
    let pool = Pool::new(3, move |worker| {
        println!("worker {worker} loads its program");
        CompiledProgram::load_bytes(&compiled)
    })?;

    // The producer waits while the queue is full, so this could be endless.
    let work = (0..12).map(|number| vec![number as f32; 8]);
    let results = pool.map(work, |worker, x| -> migraphx::Result<(usize, f32)> {
        let id = worker.inputs().id("x")?;
        worker.inputs().slice_mut::<f32>(id)?.copy_from_slice(&x);
        let sum = worker.run()?.slice::<f32>(0)?.iter().sum();
        Ok((worker.index(), sum))
    });
    for (number, result) in results.enumerate() {
        let (worker, sum) = result??;
        println!("work {number:>2}: sum {sum:>6}, by worker {worker}");
    }

    // A panic is an error in its place; the worker goes on. (No backtrace for this one.)
    std::panic::set_hook(Box::new(|_| {}));
    let bad = pool.submit(|_| -> i32 { panic!("this job is bad") });
    println!("{}", bad.wait().unwrap_err());
    println!(
        "and then: {}",
        pool.submit(|worker| worker.index() < 3).wait()?
    );
    Ok(())
}
