//! A process ends well with MIGraphX at work on other threads, however it ends
//! and whatever they do (design rule 14). Without the gate about three of four of
//! such processes crash.
//!
//! Each pairing of work and end is a process of its own, ended a little later each
//! time. `MIGRAPHX_EXIT_ROUNDS=100` does a hundred of each, as for a release.

mod support;

use migraphx::custom_op::{self, CustomOp, Input, OpResult, Output};
use migraphx::{
    Argument, Calibration, CompileOptions, CompiledProgram, DataType, OnnxOptions, Pool, Shape,
    Target, mxr,
};
use std::os::unix::process::ExitStatusExt;
use std::process::{ExitStatus, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;
use support::{case, child, compiled, is_child, parse};
use testkit::models;

/// Its own code, so that a process that ended early is noticed.
const CODE: i32 = 42;
/// What Rust gives a process whose main thread panicked.
const PANICKED: i32 = 101;

/// Rounds of all threads, by which the main thread knows that they are at it.
static ROUNDS: AtomicUsize = AtomicUsize::new(0);

fn rounds() -> u64 {
    let given = std::env::var("MIGRAPHX_EXIT_ROUNDS").ok();
    given.map_or(3, |text| text.parse().expect("a whole number"))
}

/// Work without end: `start` makes what one round, the result, needs.
type Round = Box<dyn FnMut()>;
type Work = (&'static str, fn() -> Round);

const WORKS: [Work; 8] = [
    ("run", run),
    ("parse", || Box::new(|| drop(parse(&models::relu(&[4]))))),
    ("compile", || {
        Box::new(|| drop(compiled(&models::relu(&[4]))))
    }),
    ("load", || {
        let file = case("mxr_yolo_compiled.mxr");
        Box::new(move || drop(mxr::load(&file).unwrap()))
    }),
    ("custom", custom),
    ("calibration", calibration),
    ("pool", pool),
    ("leaked pool", leaked_pool),
];

fn run() -> Round {
    let mut program = compiled(&models::matmul(64, 64, 64, &[0.5; 64 * 64]));
    let mut inputs = program.inputs().unwrap();
    Box::new(move || drop(program.run(&mut inputs).unwrap()))
}

struct Slow;

impl CustomOp for Slow {
    fn name(&self) -> &str {
        "exit_slow"
    }

    fn shape(&self, inputs: &[Shape]) -> OpResult<Shape> {
        Ok(inputs[0].clone())
    }

    fn compute(&self, _: &[Input<'_>], _: &mut Output<'_>) -> OpResult {
        // The end shall find the thread in here.
        thread::sleep(Duration::from_millis(2));
        Ok(())
    }
}

fn custom() -> Round {
    // The first of the threads registers it.
    let _ = custom_op::register(Slow);
    let shape = Shape::new(DataType::Float, &[4]).unwrap();
    let program = custom_op::program("exit_slow", &[("x", shape)]).unwrap();
    let mut program = support::compile(program);
    let mut inputs = program.inputs().unwrap();
    Box::new(move || drop(program.run(&mut inputs).unwrap()))
}

fn calibration() -> Round {
    Box::new(|| {
        let mut program = parse(&models::matmul(4, 4, 4, &[0.5; 16]));
        let samples = (0..3).map(|_| Ok([("x", Argument::from_vec(vec![0.5f32; 16], &[4, 4])?)]));
        let samples = Calibration::from_iter(&program, samples, |_| ()).unwrap();
        program
            .quantize_int8(&Target::reference().unwrap(), &samples)
            .unwrap();
    })
}

fn a_pool() -> Pool {
    Pool::new(2, |_| -> migraphx::Result<CompiledProgram> {
        OnnxOptions::new()
            .parse_bytes(&models::add(&[64]))?
            .compile(&Target::reference()?, &CompileOptions::new())
    })
    .unwrap()
}

fn jobs(pool: &Pool) {
    let jobs: Vec<_> = (0..8)
        .map(|_| pool.submit(|worker| worker.run().map(drop)))
        .collect();
    jobs.into_iter()
        .for_each(|job| job.wait().unwrap().unwrap());
}

/// Made and dropped, with a job that nobody waits for.
fn pool() -> Round {
    Box::new(|| {
        let pool = a_pool();
        jobs(&pool);
        drop(pool.submit(|worker| worker.run().map(drop)));
    })
}

fn leaked_pool() -> Round {
    let pool: &'static Pool = Box::leak(Box::new(a_pool()));
    Box::new(|| jobs(pool))
}

/// How the main thread ends.
const ENDS: [(&str, fn(), i32); 5] = [
    ("return", || (), CODE),
    ("exit", || std::process::exit(CODE), CODE),
    ("panic", || panic!("meant"), PANICKED),
    (
        "exit of another thread",
        || {
            thread::spawn(|| std::process::exit(CODE));
            loop {
                thread::park();
            }
        },
        CODE,
    ),
    (
        "panic of another thread",
        || {
            thread::spawn(|| panic!("meant")).join().unwrap_err();
        },
        CODE,
    ),
];

/// What the process was asked to do.
fn asked(name: &str) -> String {
    std::env::var(name).unwrap()
}

/// In the child: three threads at work, then the end.
fn work_and_end() {
    let (_, start) = *WORKS
        .iter()
        .find(|(name, _)| *name == asked("WORK"))
        .unwrap();
    let (_, end, _) = *ENDS
        .iter()
        .find(|(name, ..)| *name == asked("END"))
        .unwrap();
    for _ in 0..3 {
        thread::spawn(move || {
            let mut round = start();
            loop {
                round();
                ROUNDS.fetch_add(1, Ordering::Relaxed);
            }
        });
    }
    while ROUNDS.load(Ordering::Relaxed) < 6 {
        thread::sleep(Duration::from_micros(50));
    }
    thread::sleep(Duration::from_micros(
        137 * asked("ROUND").parse::<u64>().unwrap(),
    ));
    end();
    // As a return from `main`, which the harness of tests does not let go: it
    // would wait for this very function.
    std::process::exit(CODE);
}

#[test]
fn a_process_ends_well_whatever_is_in_flight() {
    let test = "a_process_ends_well_whatever_is_in_flight";
    if is_child(test) {
        // A panic of a test's thread ends that test only: this is `main` of the child.
        let done = std::panic::catch_unwind(work_and_end);
        std::process::exit(if done.is_err() { PANICKED } else { 1 });
    }
    let mut failed = Vec::new();
    for (work, _) in WORKS {
        for (end, _, code) in ENDS {
            let ended_well = (0..rounds()).filter(|round| {
                let output = child(test)
                    .envs([("WORK", work), ("END", end)])
                    .env("ROUND", round.to_string())
                    .output()
                    .unwrap();
                if output.status.code() != Some(code) {
                    failed.push(format!("{work}, {end}, round {round}: {output:?}"));
                }
                output.status.code() == Some(code)
            });
            println!("{work}, {end}: {} of {}", ended_well.count(), rounds());
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

/// A signal's own end: the kernel's, at once, past every handler of exit.
#[test]
fn a_signal_ends_a_process_at_work() {
    let test = "a_signal_ends_a_process_at_work";
    if is_child(test) {
        let mut round = run();
        round();
        println!("at work");
        loop {
            round();
        }
    }
    for signal in [libc::SIGINT, libc::SIGTERM] {
        let mut process = child(test).stdout(Stdio::piped()).spawn().unwrap();
        let lines =
            std::io::BufRead::lines(std::io::BufReader::new(process.stdout.take().unwrap()));
        let at_work = lines
            .map_while(Result::ok)
            .any(|line| line.contains("at work"));
        assert!(at_work, "it ended before: {:?}", process.wait());
        // SAFETY: the process is a child that was not waited for.
        unsafe { libc::kill(process.id() as libc::pid_t, signal) };
        let status: ExitStatus = process.wait().unwrap();
        assert_eq!(status.signal(), Some(signal), "{status}");
    }
}
