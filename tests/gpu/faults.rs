//! Every HIP call of a load and a run fails in turn, once: what comes is an
//! error, or the right values where nothing hung on the call; never a hang, a
//! wrong value or a leak of ours.
//!
//! MIGraphX itself is less careful. Where no error comes, the call stands in a
//! list here, and the lists are exact.

use crate::harness::{self, Test, run_part};
use crate::programs::{self, device_file, host_file, linear_expected};
use crate::sim::Call;
use migraphx::hip::{Device, Stream};
use migraphx::{CompileOptions, CompiledProgram, DeviceProgram, Result, Target};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

pub const TESTS: &[Test] = &[
    Test::new("load_and_run_on_device_buffers", || {
        every_call("faults::device", DEVICE)
    })
    .without_hip()
    .seconds(900),
    Test::new("load_and_run_on_host_buffers", || {
        every_call("faults::host", HOST)
    })
    .without_hip()
    .seconds(900),
    Test::new("compile", || every_call("faults::compiling", HOST))
        .without_hip()
        .seconds(900),
    Test::part("device", || told(on_device_buffers)).seconds(60),
    Test::part("host", || told(on_host_buffers)).seconds(60),
    Test::part("compiling", || told(compiling)).seconds(60),
];

/// What happens where a call fails and no error comes, by the call's name.
struct Known {
    /// MIGraphX ends the process. A full device sends it to the host's memory, which its own assertion
    /// (`is_device_ptr`, where it is built with assertions, as Debian's is) does not accept.
    dies: &'static [&'static str],
    /// What the failing call itself should have given back stays.
    leaks: &'static [&'static str],
    /// MIGraphX unloads a module that was not loaded: HIP is handed a value that nobody set.
    misuses: &'static [&'static str],
    /// It goes on and the values are right: the call came when all was done (a warning says so), or
    /// another way was taken (the host's memory).
    tolerated: &'static [&'static str],
}

const DEVICE: Known = Known {
    leaks: &[
        "hipEventDestroy",
        "hipFree",
        "hipHostFree",
        "hipModuleUnload",
        "hipStreamDestroy",
    ],
    tolerated: &[
        "hipGetDevice",
        "hipMalloc",
        "hipPointerGetAttributes",
        "hipSetDevice",
        "hipStreamSynchronize",
    ],
    ..HOST
};

const HOST: Known = Known {
    dies: &["hipMalloc", "hipPointerGetAttributes"],
    leaks: &[
        "hipEventDestroy",
        "hipFree",
        "hipHostUnregister",
        "hipModuleUnload",
        "hipStreamDestroy",
    ],
    misuses: &["hipModuleLoadData"],
    tolerated: &[
        "hipGetDevice",
        "hipMalloc",
        "hipPointerGetAttributes",
        "hipSetDevice",
    ],
};

fn device() -> Result<Device> {
    Device::new(3)
}

fn on_device_buffers() -> Result<()> {
    let device = device()?;
    let mut program = DeviceProgram::load(device_file(), device)?;
    let stream = Stream::new(device)?;
    let mut set = program.bindings()?;
    for seed in 0..2 {
        let y;
        (set, y) = programs::run_device(&mut program, set, &stream, seed)?;
        assert_eq!(y, linear_expected(seed), "a wrong value");
    }
    Ok(())
}

fn on_host_buffers() -> Result<()> {
    let mut program = CompiledProgram::load_on(host_file(), device()?)?;
    for seed in 0..2 {
        let y = programs::run_host(&mut program, seed)?;
        assert_eq!(y, linear_expected(seed), "a wrong value");
    }
    Ok(())
}

fn compiling() -> Result<()> {
    let target = Target::gpu_on(device()?)?;
    let mut program = programs::linear().compile(&target, &CompileOptions::new())?;
    assert_eq!(
        programs::run_host(&mut program, 1)?,
        linear_expected(1),
        "a wrong value"
    );
    Ok(())
}

/// Says how it ended. All that was made is dropped by then.
fn told(work: fn() -> Result<()>) {
    match work() {
        Ok(()) => println!("VALUE"),
        Err(error) => println!("ERROR {error}"),
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum End {
    Error,
    Value,
    Leak,
    Misuse,
    Dies,
    /// Never right.
    Wrong,
}

/// Each call of a clean run: its name, and for the how manieth time.
fn calls_of(part: &str) -> Vec<(String, usize)> {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let clean = run_part(part, &[("GPU_SIM_LOG", log.to_str().unwrap())]);
    assert!(clean.passed(), "{}", clean.output);
    assert!(clean.output.contains("VALUE"), "{}", clean.output);
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let calls = Call::all(&std::fs::read_to_string(&log).unwrap());
    let mut numbered = Vec::new();
    for call in calls {
        // The stand-ins' own: a library's kernel, a question of a test.
        if call.name.starts_with("hipsim_") {
            continue;
        }
        let count = counts.entry(call.name.clone()).or_default();
        *count += 1;
        numbered.push((call.name, *count));
    }
    assert!(numbered.len() > 50, "{numbered:?}");
    numbered
}

/// hipErrorOutOfMemory where it is usual, else hipErrorLaunchFailure, which is
/// what a broken kernel makes every later call answer.
fn error_of(call: &str) -> i32 {
    match call {
        "hipMalloc" | "hipHostMalloc" | "hipHostRegister" => 2,
        _ => 719,
    }
}

fn every_call(part: &str, known: Known) {
    // Made here: in the child, faults would be about their compilation.
    device_file();
    host_file();
    let calls = calls_of(part);
    let ends = Mutex::new(BTreeMap::<(String, End), Vec<(usize, String)>>::new());
    let next = AtomicUsize::new(0);
    let workers = std::thread::available_parallelism().map_or(2, |n| n.get());
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let Some((name, nth)) = calls.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let fault = format!("{name}:{nth}:{}", error_of(name));
                    let finished = run_part(part, &[("GPU_SIM_FAIL", &fault)]);
                    let text = (*nth, finished.output.clone());
                    let mut ends = ends.lock().unwrap();
                    let at = (name.clone(), end(&finished));
                    ends.entry(at).or_default().push(text);
                }
            });
        }
    });
    check(&ends.into_inner().unwrap(), &known);
}

fn end(finished: &harness::Finished) -> End {
    let said = |word: &str| finished.output.contains(word);
    if finished.timed_out || said("a wrong value") {
        End::Wrong
    } else if finished.passed() {
        if said("ERROR ") {
            End::Error
        } else {
            End::Value
        }
    } else if finished.signal().is_some() {
        End::Dies
    } else if said("VALUE") || said("ERROR ") {
        match said("of kind Leak") {
            true => End::Leak,
            false => End::Misuse,
        }
    } else {
        End::Wrong
    }
}

fn check(ends: &BTreeMap<(String, End), Vec<(usize, String)>>, known: &Known) {
    let mut problems = Vec::new();
    println!(
        "{:<34} {:>6} {:>6} {:>6} {:>6}",
        "call", "error", "value", "leak", "dies"
    );
    let names: BTreeSet<&String> = ends.keys().map(|(name, _)| name).collect();
    for name in &names {
        let count = |end: End| ends.get(&((*name).clone(), end)).map_or(0, Vec::len);
        println!(
            "{name:<34} {:>6} {:>6} {:>6} {:>6} {:>6}",
            count(End::Error),
            count(End::Value),
            count(End::Leak),
            count(End::Misuse),
            count(End::Dies)
        );
    }
    for ((name, end), cases) in ends {
        let list = match end {
            End::Error => continue,
            End::Value => known.tolerated,
            End::Leak => known.leaks,
            End::Misuse => known.misuses,
            End::Dies => known.dies,
            End::Wrong => &[],
        };
        if !list.contains(&&**name) {
            let (_, output) = &cases[0];
            let nth: Vec<usize> = cases.iter().map(|(nth, _)| *nth).collect();
            problems.push(format!("{end:?}: {name} {nth:?}:\n{}", output.trim_end()));
        }
    }
    for (end, list) in [
        (End::Value, known.tolerated),
        (End::Leak, known.leaks),
        (End::Misuse, known.misuses),
        (End::Dies, known.dies),
    ] {
        for name in list {
            if !ends.contains_key(&((*name).to_owned(), end)) {
                problems.push(format!("{name} is listed as {end:?}, and it is not"));
            }
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n\n"));
}
