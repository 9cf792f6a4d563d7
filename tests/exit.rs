//! A process ends well with MIGraphX at work on other threads, however it ends
//! and whatever they do (design rule 14). Without the gate about three of four of
//! such processes crash.
//!
//! Each pairing of work and end is a process of its own, ended a little later each
//! time. `MIGRAPHX_EXIT_ROUNDS=100` does a hundred of each, as for a release.

mod support;

use libtest_mimic::{Arguments, Trial};
use migraphx::custom_op::{self, CustomOp, Input, OpResult, Output};
use migraphx::{
    Argument, Calibration, CompileOptions, CompiledProgram, DataType, OnnxOptions, Pool, Shape,
    Target, mxr,
};
use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitCode, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;
use support::{case, compiled, parse};
use testkit::models;

/// Its own code, so that a process that ended early is noticed.
const CODE: u8 = 42;
/// What Rust gives a process whose main thread panicked.
const PANICKED: u8 = 101;

/// Rounds of all threads, by which the main thread knows that they are at it.
static ROUNDS: AtomicUsize = AtomicUsize::new(0);

fn rounds() -> u64 {
    let given = std::env::var("MIGRAPHX_EXIT_ROUNDS").ok();
    given.map_or(2, |text| text.parse().expect("a whole number"))
}

/// Work without end: makes what it needs, and gives a round of it.
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

/// Ends by a signal only.
const WAITS: &str = "waits";

/// How the main thread ends, and with which code.
const ENDS: [(&str, fn(), u8); 6] = [
    ("return", || (), CODE),
    ("exit", || std::process::exit(CODE.into()), CODE),
    ("panic", || panic!("meant"), PANICKED),
    (
        "exit of another thread",
        || {
            thread::spawn(|| std::process::exit(CODE.into()));
            loop {
                thread::park();
            }
        },
        CODE,
    ),
    (
        WAITS,
        || loop {
            thread::park();
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

/// Names what a child is at, and how it ends.
const WORK: &str = "MIGRAPHX_EXIT_WORK";
const END: &str = "MIGRAPHX_EXIT_END";
const ROUND: &str = "MIGRAPHX_EXIT_ROUND";

/// This program again, with that work and that end.
fn child(work: &str, end: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.envs([(WORK, work), (END, end)]);
    command
}

/// A `main` of its own: the test is how it ends.
fn main() -> ExitCode {
    if let Ok(work) = std::env::var(WORK) {
        work_and_end(&work, &std::env::var(END).unwrap());
        return ExitCode::from(CODE);
    }
    let tests = [
        Trial::test("a_process_ends_well_whatever_is_in_flight", || {
            every_end();
            Ok(())
        }),
        Trial::test("a_signal_ends_a_process_at_work", || {
            signals();
            Ok(())
        }),
    ];
    libtest_mimic::run(&Arguments::from_args(), tests.into()).exit_code()
}

/// In the child: three threads at work, then the end.
fn work_and_end(work: &str, end: &str) {
    let (_, start) = *WORKS.iter().find(|(name, _)| *name == work).unwrap();
    let (_, end, _) = *ENDS.iter().find(|(name, ..)| *name == end).unwrap();
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
    println!("at work");
    let round: u64 = std::env::var(ROUND).map_or(0, |text| text.parse().unwrap());
    thread::sleep(Duration::from_micros(137 * round));
    end();
}

fn every_end() {
    let mut failed = Vec::new();
    for (work, _) in WORKS {
        for (end, _, code) in ENDS.iter().filter(|(end, ..)| *end != WAITS) {
            let before = failed.len();
            for round in 0..rounds() {
                let mut child = child(work, end);
                let output = child.env(ROUND, round.to_string()).output().unwrap();
                if output.status.code() != Some(i32::from(*code)) {
                    failed.push(format!("{work}, {end}, round {round}: {output:?}"));
                }
            }
            let well = rounds() - (failed.len() - before) as u64;
            println!("{work}, {end}: {well} of {}", rounds());
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

/// A signal's own end: the kernel's, at once, past every handler of exit.
fn signals() {
    for (work, _) in WORKS {
        for signal in [libc::SIGINT, libc::SIGTERM] {
            let mut process = child(work, WAITS).stdout(Stdio::piped()).spawn().unwrap();
            let out = BufReader::new(process.stdout.take().unwrap());
            let mut lines = out.lines().map_while(Result::ok);
            assert!(
                lines.any(|line| line == "at work"),
                "{work}: {:?}",
                process.wait()
            );
            // SAFETY: takes any number; the process is a child that was not waited for.
            unsafe { libc::kill(process.id() as libc::pid_t, signal) };
            let status = process.wait().unwrap();
            assert_eq!(status.signal(), Some(signal), "{work}: {status}");
        }
    }
}
