//! What a failing item, a failing worker and a failing pool come to.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier, Mutex};
use std::thread::{self, ThreadId};
use std::time::Duration;

use migraphx::{CompileOptions, Error, OnFailure, OnnxOptions, Pool, Result, Target, Worker};

fn bad(text: impl Into<String>) -> Error {
    Error::InvalidArgument(text.into())
}

/// Workers that know their number.
fn numbered(workers: usize) -> Pool<usize> {
    Pool::start(workers, Ok).unwrap()
}

fn numbers(retired: Vec<(usize, String)>) -> Vec<usize> {
    retired.into_iter().map(|(worker, _)| worker).collect()
}

#[test]
fn the_first_error_ends_the_run() {
    let pool = numbered(4);
    let begun = Arc::new(AtomicUsize::new(0));
    let count = begun.clone();
    let mut run = pool.try_map(OnFailure::Stop, 0.., move |_, number: &u64| {
        count.fetch_add(1, Ordering::SeqCst);
        match number {
            20 => Err(bad("item 20 is bad")),
            number => Ok(number * number),
        }
    });
    let results: Vec<_> = run.by_ref().collect();
    assert!(run.next().is_none());
    drop(run);
    let (last, before) = results.split_last().unwrap();
    assert_eq!(last.as_ref().unwrap_err().to_string(), "item 20 is bad");
    // Those before the failed one that had begun are there.
    assert!((17..=20).contains(&before.len()), "{}", before.len());
    for (number, result) in before.iter().enumerate() {
        assert_eq!(*result.as_ref().unwrap(), (number * number) as u64);
    }
    // No more than were on their way: the items would never end.
    assert!(begun.load(Ordering::SeqCst) <= 28);
    assert!(pool.retired().is_empty());
    assert_eq!(pool.submit(|_| 7).wait().unwrap(), 7);
}

#[test]
fn what_has_not_begun_is_dropped_when_the_run_stops() {
    let pool = numbered(1);
    let item = Arc::new(());
    let items = vec![item.clone(); 10];
    let begun = Arc::new(AtomicUsize::new(0));
    let count = begun.clone();
    let mut run = pool.try_map(OnFailure::Stop, items, move |_, _| -> Result<()> {
        count.fetch_add(1, Ordering::SeqCst);
        thread::sleep(Duration::from_millis(20)); // the second item is queued meanwhile
        Err(bad("stop"))
    });
    assert!(run.next().unwrap().is_err());
    assert!(run.next().is_none());
    drop(run);
    pool.submit(|_| ()).wait().unwrap(); // the queue is empty before this
    assert_eq!(Arc::strong_count(&item), 1);
    assert_eq!(begun.load(Ordering::SeqCst), 1);
}

#[test]
fn a_worker_that_fails_where_another_succeeds_is_retired() {
    for panics in [false, true] {
        let pool = numbered(4);
        let run = pool.try_map(OnFailure::Move, 0..200u64, move |worker, number| {
            match (*worker, panics) {
                (2, false) => Err(bad("the card has fallen off the bus")),
                (2, true) => panic!("the card has fallen off the bus"),
                _ => Ok(number * 3),
            }
        });
        let results: Vec<u64> = run.dealt().map(Result::unwrap).collect();
        assert_eq!(results, (0..200).map(|n| n * 3).collect::<Vec<_>>());
        let retired = pool.retired();
        assert_eq!(retired[0].0, 2);
        assert!(retired[0].1.contains("fallen off the bus"), "{retired:?}");
        assert_eq!(retired.len(), 1);
        // Its own work is done by others from now on.
        assert_ne!(pool.submit_to(2, |worker| *worker).wait().unwrap(), 2);
    }
}

#[test]
fn an_item_that_fails_everywhere_is_at_fault_itself() {
    let pool = numbered(3);
    let tries = Arc::new(Mutex::new(Vec::new()));
    let tried = tries.clone();
    let run = pool.try_map(OnFailure::Move, 0..30, move |worker, number| {
        if *number == 7 {
            let mut tried = tried.lock().unwrap();
            tried.push(*worker);
            // The first has another trouble, which is not the item's.
            return Err(bad(match tried.len() {
                1 => "this card is not well",
                _ => "7 cannot be done",
            }));
        }
        assert!(*number != 11, "{number} makes everyone panic");
        Ok(*number)
    });
    for (number, result) in run.enumerate() {
        match (number, result) {
            (7, Err(error)) => assert_eq!(error.to_string(), "7 cannot be done"),
            (11, Err(Error::WorkerPanicked { message, .. })) => {
                assert_eq!(message, "11 makes everyone panic");
            }
            (_, result) => assert_eq!(result.unwrap(), number),
        }
    }
    let mut tries = tries.lock().unwrap().clone();
    tries.sort_unstable();
    assert_eq!(tries, [0, 1, 2], "once on each");
    assert!(pool.retired().is_empty());
}

/// Each fails where the other succeeds, at the same time.
#[test]
fn a_pool_without_workers_says_why() {
    let pool = numbered(2);
    let together = Arc::new(Barrier::new(2));
    let run = pool.try_map(OnFailure::Move, 0.., move |worker, number: &usize| {
        if *number < 2 {
            together.wait();
        }
        match number == worker {
            true => Err(bad(format!("card {worker} is hot"))),
            false => Ok(number + 1),
        }
    });
    let results: Vec<_> = run.dealt().collect();
    let (last, before) = results.split_last().unwrap();
    for (number, result) in before.iter().enumerate() {
        assert_eq!(*result.as_ref().unwrap(), number + 1);
    }
    let reasons = [(0, "card 0 is hot".into()), (1, "card 1 is hot".into())];
    assert_eq!(pool.retired(), reasons);
    assert!(matches!(last, Err(Error::NoWorkersLeft { reasons: found }) if *found == reasons));
    let text = last.as_ref().unwrap_err().to_string();
    assert!(
        text.contains("worker 1 was retired (card 1 is hot)"),
        "{text}"
    );
    assert!(matches!(
        pool.submit(|_| ()).wait(),
        Err(Error::NoWorkersLeft { .. })
    ));
    let mut run = pool.try_map(OnFailure::Stop, 0..5, |_, n| Ok::<_, Error>(*n));
    assert!(matches!(run.next(), Some(Err(Error::NoWorkersLeft { .. }))));
    assert!(run.next().is_none());
}

#[test]
fn what_waits_for_a_retired_worker_goes_to_the_others() {
    let pool: Pool<usize> = Pool::start_with_queue(2, NonZeroUsize::new(4).unwrap(), Ok).unwrap();
    let (begin, begun) = channel();
    let (go, wait) = channel::<()>();
    let running = pool.submit_to(1, move |worker| {
        begin.send(()).unwrap();
        wait.recv().unwrap();
        *worker
    });
    begun.recv().unwrap();
    let waiting: Vec<_> = (0..4)
        .map(|_| pool.submit_to(1, |worker| *worker))
        .collect();
    // The queue is full of work for worker 1, which is not coming back for it.
    thread::scope(|scope| {
        let blocked = scope.spawn(|| pool.submit(|worker| *worker).wait());
        thread::sleep(Duration::from_millis(20));
        pool.retire(1, "asked to");
        for job in waiting {
            assert_eq!(job.wait().unwrap(), 0);
        }
        assert_eq!(blocked.join().unwrap().unwrap(), 0);
    });
    go.send(()).unwrap();
    assert_eq!(running.wait().unwrap(), 1);
    assert_eq!(pool.retired(), [(1, "asked to".into())]);
}

#[test]
fn a_producer_that_waits_for_room_learns_that_nobody_is_left() {
    let pool = numbered(1);
    let (go, wait) = channel::<()>();
    let running = pool.submit(move |_| wait.recv().unwrap());
    thread::sleep(Duration::from_millis(20));
    let waiting = pool.submit(|_| ());
    thread::scope(|scope| {
        let blocked = scope.spawn(|| pool.submit(|_| ()).wait());
        thread::sleep(Duration::from_millis(20));
        pool.retire(0, "smoke");
        for result in [waiting.wait(), blocked.join().unwrap()] {
            assert!(matches!(result, Err(Error::NoWorkersLeft { .. })));
        }
    });
    go.send(()).unwrap();
    running.wait().unwrap();
}

/// What a worker owns needs no `Send`: it is made, used and dropped in one place.
#[test]
fn state_stays_on_its_thread() {
    struct Home(Rc<RefCell<u32>>, ThreadId, Arc<Mutex<Vec<bool>>>);
    impl Drop for Home {
        fn drop(&mut self) {
            let at_home = thread::current().id() == self.1;
            self.2.lock().unwrap().push(at_home);
        }
    }
    let dropped = Arc::new(Mutex::new(Vec::new()));
    let seen = dropped.clone();
    let pool = Pool::start(3, move |index| match index {
        7 => Err(bad("not reached")),
        _ => {
            let counter = Rc::new(RefCell::new(0));
            Ok(Home(counter, thread::current().id(), seen.clone()))
        }
    })
    .unwrap();
    for worker in [0, 1, 2, 2, 2] {
        let job = |home: &mut Home| {
            *home.0.borrow_mut() += 1;
            assert_eq!(thread::current().id(), home.1);
        };
        pool.submit_to(worker, job).wait().unwrap();
    }
    let count = pool.submit_to(2, |home| *home.0.borrow()).wait().unwrap();
    assert_eq!(count, 3);
    // A retired worker lets go of what it owns at once.
    pool.retire(1, "enough");
    let deadline = std::time::Instant::now() + Duration::from_secs(10);
    while dropped.lock().unwrap().is_empty() && std::time::Instant::now() < deadline {
        thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(*dropped.lock().unwrap(), [true]);
    drop(pool);
    assert_eq!(*dropped.lock().unwrap(), [true; 3]);
}

/// A result that nobody waits for, and whose drop panics, costs no worker.
#[test]
fn a_result_that_panics_when_dropped_costs_no_worker() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("dropped");
        }
    }
    let pool = numbered(1);
    let (go, wait) = channel::<()>();
    drop(pool.submit(move |_| {
        wait.recv().unwrap();
        Bomb
    }));
    go.send(()).unwrap();
    assert_eq!(pool.submit(|_| 5).wait().unwrap(), 5);
}

/// One of three programs is another model: its runs fail, the values are right.
#[test]
fn programs_of_the_real_library_fail_over() {
    let pool = Pool::new(3, |worker| {
        let model = match worker {
            1 => testkit::models::relu(&[4]),
            _ => testkit::models::add(&[4]),
        };
        OnnxOptions::new()
            .parse_bytes(&model)?
            .compile(&Target::reference()?, &CompileOptions::new())
    })
    .unwrap();
    let job = |worker: &mut Worker, number: &usize| -> Result<f32> {
        for name in ["x", "y"] {
            let id = worker.inputs().id(name)?;
            worker.inputs().slice_mut::<f32>(id)?.fill(*number as f32);
        }
        Ok(worker.run()?.slice::<f32>(0)?[3])
    };
    let run = pool.try_map(OnFailure::Move, 0..60, job).dealt();
    for (number, result) in run.enumerate() {
        assert_eq!(result.unwrap(), 2.0 * number as f32);
    }
    let retired = pool.retired();
    assert_eq!(retired.len(), 1);
    assert!(retired[0].0 == 1 && retired[0].1.contains("no parameter `y`"));
}

/// A generator with a fixed seed, so that a failure can be seen again.
fn mix(seed: u64) -> u64 {
    let mut x = seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
    x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

#[test]
fn under_stress_every_item_has_its_result_and_only_bad_workers_go() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        // Hundreds of jobs are meant to panic.
        let name = thread::current().name().map(str::to_owned);
        if !name.is_some_and(|name| name.starts_with("migraphx-")) {
            usual(info);
        }
    }));
    const WORKERS: usize = 16;
    const ITEMS: u64 = 2000;
    for seed in 0..6u64 {
        // A worker that is bad becomes so after some of its jobs.
        let pool = Pool::start_with_queue(WORKERS, NonZeroUsize::MIN, move |index| {
            let turns_bad = (index % 3 == 1).then(|| mix(seed ^ index as u64) % 100);
            Ok((index, 0, turns_bad))
        })
        .unwrap();
        let blamed = Arc::new(Mutex::new(BTreeSet::new()));
        let bad_item = move |item: u64| mix(seed * 31 + item).is_multiple_of(29);
        thread::scope(|scope| {
            for part in 0..3u64 {
                let (pool, blamed) = (&pool, blamed.clone());
                let taken = Arc::new(AtomicUsize::new(0));
                let counted = taken.clone();
                scope.spawn(move || {
                    let items = (0..ITEMS).map(move |item| item * 3 + part);
                    let items = items.inspect(move |_| {
                        counted.fetch_add(1, Ordering::SeqCst);
                    });
                    let job = move |worker: &mut (usize, u64, Option<u64>), item: &u64| {
                        worker.1 += 1;
                        let chance = mix(*item + 1000 * worker.1);
                        if chance.is_multiple_of(7) {
                            thread::sleep(Duration::from_micros(chance % 50));
                        }
                        let broken = worker.2.is_some_and(|turn| worker.1 > turn);
                        if broken && !bad_item(*item) {
                            blamed.lock().unwrap().insert(worker.0);
                        }
                        if broken || bad_item(*item) {
                            assert!(chance.is_multiple_of(2), "no");
                            return Err(bad("no"));
                        }
                        Ok(item * item)
                    };
                    let run = pool.try_map(OnFailure::Move, items, job);
                    let run = if part == 0 { run.dealt() } else { run };
                    let mut count = 0;
                    for (index, result) in run.enumerate() {
                        let item = index as u64 * 3 + part;
                        assert_eq!(result.is_err(), bad_item(item), "{seed}: {item}");
                        assert!(result.is_err() || result.unwrap() == item * item);
                        count += 1;
                        let ahead = taken.load(Ordering::SeqCst) - count;
                        assert!(ahead <= 2 * WORKERS, "memory: {ahead}");
                    }
                    assert_eq!(count, ITEMS as usize);
                });
            }
        });
        let blamed: Vec<usize> = blamed.lock().unwrap().iter().copied().collect();
        assert!(!blamed.is_empty() && blamed.iter().all(|worker| worker % 3 == 1));
        assert_eq!(numbers(pool.retired()), blamed, "seed {seed}");
    }
}
