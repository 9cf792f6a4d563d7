//! Rules 6, 7 and 14: programs move between threads, the first load of a
//! target is alone, and a process ends well with threads still inside.

mod support;

use migraphx::{CompiledProgram, Inputs, OnnxOptions, Target, mxr};
use std::sync::mpsc;
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Duration;
use support::{case, child, compile, compiled, is_child, parse, run, succeeds};
use testkit::models;

#[test]
fn programs_work_side_by_side() {
    let programs: Vec<CompiledProgram> = (0..4)
        .map(|i| compiled(&models::add_weights(&[i as f32; 64])))
        .collect();
    let threads: Vec<_> = programs
        .into_iter()
        .enumerate()
        .map(|(i, mut program)| {
            thread::spawn(move || {
                let mut inputs = program.inputs().unwrap();
                let x = inputs.id("x").unwrap();
                for round in 0..200 {
                    inputs.slice_mut::<f32>(x).unwrap().fill(round as f32);
                    let outputs = program.run(&mut inputs).unwrap();
                    assert_eq!(outputs.slice::<f32>(0).unwrap(), [(round + i) as f32; 64]);
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|t| t.join().unwrap());
}

/// A set goes to the thread that fills it and comes back to the one that runs.
#[test]
fn sets_travel_between_a_decoder_and_a_worker() {
    let mut program = compiled(&models::add_weights(&[0.5; 8]));
    let (to_worker, filled) = mpsc::channel::<(u32, Inputs<'static>)>();
    let (to_decoder, free) = mpsc::channel::<Inputs<'static>>();
    for _ in 0..2 {
        to_decoder.send(program.inputs().unwrap()).unwrap();
    }
    let decoder = thread::spawn(move || {
        for (frame, mut inputs) in (0..50).zip(free) {
            let x = inputs.id("x").unwrap();
            inputs.slice_mut::<f32>(x).unwrap().fill(frame as f32);
            to_worker.send((frame, inputs)).unwrap();
        }
    });
    let mut frames = 0;
    for (frame, mut inputs) in filled {
        let outputs = program.run(&mut inputs).unwrap();
        assert_eq!(outputs.slice::<f32>(0).unwrap(), [frame as f32 + 0.5; 8]);
        drop(outputs);
        let _ = to_decoder.send(inputs);
        frames += 1;
    }
    decoder.join().unwrap();
    assert_eq!(frames, 50);
}

/// The library's registries of targets and operators are not synchronised. In
/// fresh processes, since the first load is the one that counts.
#[test]
fn a_first_load_is_safe_beside_everything() {
    let test = "a_first_load_is_safe_beside_everything";
    if !is_child(test) {
        for _ in 0..5 {
            succeeds(&child(test).output().unwrap());
        }
        return;
    }
    let jobs: [fn(); 4] = [
        || drop(parse(&models::relu(&[4]))),
        || drop(Target::reference().unwrap()),
        || drop(mxr::load(case("mxr_yolo_compiled.mxr")).unwrap()),
        || {
            let mut program = compile(parse(&models::relu(&[2])));
            assert_eq!(run(&mut program, &[("x", &[-1.0, 1.0], &[2])]), [0.0, 1.0]);
        },
    ];
    let start = Arc::new(Barrier::new(8));
    let threads: Vec<_> = (0..8)
        .map(|i| {
            let start = start.clone();
            thread::spawn(move || {
                start.wait();
                for round in 0..4 {
                    jobs[(i + round) % 4]();
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|t| t.join().unwrap());
}

/// Without the gate about three of four such processes crash.
#[test]
fn leaving_while_threads_are_inside_is_clean() {
    let test = "leaving_while_threads_are_inside_is_clean";
    if !is_child(test) {
        for round in 0..30 {
            let output = child(test)
                .env("ROUND", round.to_string())
                .output()
                .unwrap();
            // Its own code, so that a test program that ended early is noticed.
            assert_eq!(output.status.code(), Some(42), "round {round}: {output:?}");
        }
        return;
    }
    let round: u64 = std::env::var("ROUND").unwrap().parse().unwrap();
    let (started, running) = mpsc::channel();
    for i in 0..4 {
        let started = started.clone();
        thread::spawn(move || {
            // Half of them run, half parse and compile.
            let mut program = compiled(&models::matmul(64, 64, 64, &[0.5; 64 * 64]));
            let mut inputs = program.inputs().unwrap();
            started.send(()).unwrap();
            loop {
                if i % 2 == 0 {
                    drop(program.run(&mut inputs).unwrap());
                } else {
                    drop(compiled(&models::relu(&[4])));
                }
            }
        });
    }
    running.iter().take(4).for_each(drop);
    thread::sleep(Duration::from_micros(700 * round));
    std::process::exit(42);
}

/// Exit handlers of the user may come late; a call made then is refused.
#[test]
fn a_call_after_the_end_is_an_error() {
    let test = "a_call_after_the_end_is_an_error";
    if !is_child(test) {
        let output = child(test).output().unwrap();
        assert_eq!(output.status.code(), Some(43), "{output:?}");
        return;
    }
    extern "C" fn late() {
        let refused = matches!(
            OnnxOptions::new().parse_bytes(&models::relu(&[1])),
            Err(migraphx::Error::Exiting)
        );
        // SAFETY: ends this process at once.
        unsafe { libc::_exit(if refused { 43 } else { 1 }) };
    }
    // Handlers run in reverse order: registered before any call, so run last.
    // SAFETY: a function without arguments that does not unwind.
    unsafe { libc::atexit(late) };
    drop(compiled(&models::relu(&[1])));
    std::process::exit(2);
}
