//! Processes that end with runs in flight.

use crate::attack::on;
use crate::harness::{Test, run_part};
use crate::programs::device_file;
use migraphx::{DeviceProgram, PendingRun};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

pub const TESTS: &[Test] = &[
    Test::new("the_process_ends_with_runs_in_flight", ends)
        .without_hip()
        .seconds(240),
    Test::part("exit_of_main", exit_of_main).seconds(60),
    Test::part("exit_of_another", exit_of_another).seconds(60),
];

fn ends() {
    device_file();
    for part in ["exit::exit_of_main", "exit::exit_of_another"] {
        for _ in 0..3 {
            let end = run_part(part, &[]);
            assert!(
                !end.timed_out && end.signal().is_none(),
                "{part}: {}\n{}",
                end.how(),
                end.output
            );
            assert_eq!(end.status.code(), Some(7), "{part}: {}", end.output);
        }
    }
}

static KEPT: Mutex<Vec<(DeviceProgram, PendingRun)>> = Mutex::new(Vec::new());

/// Threads that run without end, and programs in a static.
fn busy_threads() {
    static ROUNDS: AtomicUsize = AtomicUsize::new(0);
    for ordinal in 0..4 {
        std::thread::spawn(move || {
            let (device, stream) = on(ordinal);
            let mut program = DeviceProgram::load(device_file(), device).unwrap();
            let mut kept = DeviceProgram::load(device_file(), device).unwrap();
            let pending = kept.enqueue(kept.bindings().unwrap(), &stream).unwrap();
            KEPT.lock().unwrap().push((kept, pending));
            let mut set = program.bindings().unwrap();
            loop {
                set = program.run(set, &stream).unwrap();
                ROUNDS.fetch_add(1, Ordering::Relaxed);
            }
        });
    }
    while ROUNDS.load(Ordering::Relaxed) < 20 {
        std::thread::yield_now();
    }
}

fn exit_of_main() {
    busy_threads();
    let (device, stream) = on(5);
    let mut program = DeviceProgram::load(device_file(), device).unwrap();
    let _pending = program
        .enqueue(program.bindings().unwrap(), &stream)
        .unwrap();
    std::process::exit(7);
}

fn exit_of_another() {
    busy_threads();
    let (device, stream) = on(5);
    let mut program = DeviceProgram::load(device_file(), device).unwrap();
    std::thread::spawn(|| std::process::exit(7));
    let mut set = program.bindings().unwrap();
    loop {
        set = program.run(set, &stream).unwrap();
    }
}
