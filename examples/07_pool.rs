//! A pool: several programs on threads of their own, work handed out, results
//! in order, and what happens when a worker or an item fails.
//!
//! `cargo run --example 07_pool`

use migraphx::{
    CompileOptions, CompiledProgram, Error, OnFailure, OnnxOptions, Pool, Result, Target, Worker,
};

/// y = x · w for one row.
fn row_sum(worker: &mut Worker, x: &[f32]) -> Result<(usize, f32)> {
    let id = worker.inputs().id("x")?;
    worker.inputs().slice_mut::<f32>(id)?.copy_from_slice(x);
    let sum = worker.run()?.slice::<f32>(0)?.iter().sum();
    Ok((worker.index(), sum))
}

fn main() -> Result<()> {
    // Compiled once and loaded once a worker: programs are not shared. With GPUs
    // `Pool::on_devices(&Device::all(), …)` makes a worker for each of them.
    let weights: Vec<f32> = (0..64).map(|i| (i % 7) as f32).collect();
    let compiled = OnnxOptions::new()
        .parse_bytes(&testkit::models::matmul(1, 8, 8, &weights))?
        .compile(&Target::reference()?, &CompileOptions::new())?
        .to_bytes()?;
    let pool = Pool::new(3, move |worker| {
        println!("worker {worker} loads its program");
        CompiledProgram::load_bytes(&compiled)
    })?;

    // The producer waits while the queue is full, so this could be endless. The
    // first failure would end it.
    let work = (0..12).map(|number| vec![number as f32; 8]);
    let results = pool.try_map(OnFailure::Stop, work, |worker, x| row_sum(worker, x));
    for (number, result) in results.enumerate() {
        let (worker, sum) = result?;
        println!("work {number:>2}: sum {sum:>6}, by worker {worker}");
    }

    // A bad row, and a worker that has stopped working: the row is reported, the
    // work of the broken worker is done by the others, and it gets no more.
    let work = (0..6).map(|number| vec![number as f32; if number == 3 { 5 } else { 8 }]);
    let results = pool.try_map(OnFailure::Move, work, |worker, x: &Vec<f32>| {
        if worker.index() == 1 {
            return Err(Error::InvalidArgument("this card is not well".into()));
        }
        if x.len() != 8 {
            let text = format!("a row of {} numbers", x.len());
            return Err(Error::InvalidArgument(text));
        }
        row_sum(worker, x)
    });
    // `dealt` divides the rows beforehand: row 1 and 4 are for worker 1.
    for (number, result) in results.dealt().enumerate() {
        match result {
            Ok((worker, sum)) => println!("row {number}: sum {sum:>6}, by worker {worker}"),
            Err(error) => println!("row {number}: {error}"),
        }
    }
    for (worker, reason) in pool.retired() {
        println!("worker {worker} is retired: {reason}");
    }

    // A panic is an error in its place; the worker goes on. (No backtrace for this one.)
    std::panic::set_hook(Box::new(|_| {}));
    let bad = pool.submit(|_| -> i32 { panic!("this job is bad") });
    println!("{}", bad.wait().unwrap_err());

    // Workers own anything: here a number that never leaves its thread.
    let counters = Pool::start(2, |_worker| Ok(std::rc::Rc::new(0)))?;
    for worker in [0, 1, 1] {
        let count = counters.submit_to(worker, |count| {
            *std::rc::Rc::make_mut(count) += 1;
            **count
        });
        println!("worker {worker} has done {}", count.wait()?);
    }
    Ok(())
}
