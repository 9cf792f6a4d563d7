//! Pools of workers on the real library.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier};
use std::time::Duration;

use migraphx::{
    Argument, CompileOptions, CompiledProgram, Error, OnnxOptions, Pool, Result, Target, Worker,
};

/// z = x + y, float [4]
fn add() -> Result<CompiledProgram> {
    OnnxOptions::new()
        .parse_bytes(&testkit::models::add(&[4]))?
        .compile(&Target::reference()?, &CompileOptions::new())
}

fn pool(workers: usize) -> Pool {
    Pool::new(workers, |_| add()).unwrap()
}

fn double(worker: &mut Worker, number: usize) -> Result<f32> {
    for name in ["x", "y"] {
        let id = worker.inputs().id(name)?;
        worker.inputs().slice_mut::<f32>(id)?.fill(number as f32);
    }
    Ok(worker.run()?.slice::<f32>(0)?[3])
}

#[test]
fn results_come_in_the_order_of_the_work() {
    let pool = pool(3);
    let results = pool.map(0..100, |worker, number| {
        // The first ones take longest.
        std::thread::sleep(Duration::from_micros(2 * (100 - number as u64)));
        double(worker, number)
    });
    let results: Vec<f32> = results.map(|result| result.unwrap().unwrap()).collect();
    let expected: Vec<f32> = (0..100).map(|number| 2.0 * number as f32).collect();
    assert_eq!(results, expected);
}

#[test]
fn workers_run_at_the_same_time() {
    let pool = pool(3);
    let together = Arc::new(Barrier::new(3));
    let pending: Vec<_> = (0..3)
        .map(|_| {
            let together = together.clone();
            // Hangs unless all three are inside at once.
            pool.submit(move |worker| {
                together.wait();
                worker.index()
            })
        })
        .collect();
    let mut workers: Vec<usize> = pending.into_iter().map(|job| job.wait().unwrap()).collect();
    workers.sort_unstable();
    assert_eq!(workers, [0, 1, 2]);
}

#[test]
fn a_full_queue_makes_the_producer_wait() {
    let pool = pool(2);
    let taken = Arc::new(AtomicUsize::new(0));
    let counted = taken.clone();
    let work = (0..50).inspect(move |_| {
        counted.fetch_add(1, Ordering::SeqCst);
    });
    let mut results = pool.map(work, double);
    results.next().unwrap().unwrap().unwrap();
    std::thread::sleep(Duration::from_millis(50));
    // Two running and two waiting jobs, however long nobody asks for results.
    assert_eq!(taken.load(Ordering::SeqCst), 4);
    assert_eq!(results.count(), 49);
}

#[test]
fn a_panic_is_an_error_and_the_worker_goes_on() {
    let pool = pool(1);
    let results: Vec<_> = pool
        .map(0..4, |worker, number| {
            assert!(number != 1, "job {number} is bad");
            double(worker, number)
        })
        .collect();
    assert!(matches!(
        &results[1],
        Err(Error::WorkerPanicked { worker: 0, message }) if message == "job 1 is bad"
    ));
    assert_eq!(*results[3].as_ref().unwrap().as_ref().unwrap(), 6.0);
}

#[test]
fn a_worker_that_cannot_start_ends_the_pool_with_its_reason() {
    let error = Pool::new(3, |index| match index {
        1 => CompiledProgram::load("no/such/file.mxr"),
        _ => add(),
    })
    .unwrap_err();
    assert!(error.to_string().contains("no/such/file.mxr"), "{error}");
    let error = Pool::new(
        2,
        |index| if index == 0 { panic!("no card") } else { add() },
    );
    assert!(matches!(
        error,
        Err(Error::WorkerPanicked { worker: 0, .. })
    ));
    assert!(matches!(
        Pool::new(0, |_| add()),
        Err(Error::InvalidArgument(_))
    ));
}

#[test]
fn jobs_for_one_worker_stay_there() {
    let pool = pool(3);
    let pending: Vec<_> = (0..9)
        .map(|job| (job % 3, pool.submit_to(job % 3, |worker| worker.index())))
        .collect();
    for (expected, job) in pending {
        assert_eq!(job.wait().unwrap(), expected);
    }
}

#[test]
fn dropping_ends_running_jobs_and_drops_waiting_ones() {
    let pool = pool(1);
    let (begin, begun) = channel();
    let (go, wait) = channel::<()>();
    let running = pool.submit(move |worker| {
        begin.send(()).unwrap();
        wait.recv().unwrap();
        double(worker, 21)
    });
    begun.recv().unwrap();
    let waiting = pool.submit(|worker| worker.index());
    let dropping = std::thread::spawn(move || drop(pool));
    // The waiting job is dropped at once, while the first still runs.
    assert!(matches!(waiting.wait(), Err(Error::PoolClosed)));
    go.send(()).unwrap();
    dropping.join().unwrap();
    assert_eq!(running.wait().unwrap().unwrap(), 42.0);
}

#[test]
fn many_threads_run_one_pool() {
    let pool = pool(2);
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let pool = &pool;
            scope.spawn(move || {
                for number in 0..50 {
                    let value = (thread * 100 + number) as f32;
                    let tensor = |value: f32| Argument::from_vec(vec![value; 4], &[4]).unwrap();
                    let outputs = pool.run_once(vec![("x", tensor(value)), ("y", tensor(1.0))]);
                    assert_eq!(outputs.unwrap().slice::<f32>(0).unwrap(), [value + 1.0; 4]);
                }
            });
        }
    });
}
