//! Programs pinned to devices: each does all its work there, and the calling
//! thread's own current device stays what it was.

use crate::harness::{Test, run_part};
use crate::programs;
use crate::sim::{self, Call};
use migraphx::hip::{Device, Stream};
use migraphx::{CompileOptions, CompiledProgram, DeviceProgram, Error, Target};
use std::collections::BTreeMap;
use std::sync::Barrier;

pub const TESTS: &[Test] = &[
    Test::new("eight_threads_each_with_its_own", eight_threads).seconds(240),
    Test::new("every_call_is_on_its_own_device", own_device).without_hip(),
    Test::part("logged_threads", logged_threads),
    Test::new("the_current_device_stays_the_callers", current_stays),
    Test::new(
        "the_current_device_stays_when_it_fails",
        current_stays_in_failure,
    ),
    Test::new("a_program_moves_between_threads", moves),
    Test::new("a_host_program_moves_between_threads", host_moves),
];

/// One thread for each device, at the same time; its number is the device's.
fn on_all_devices(work: impl Fn(Device) + Sync) {
    let devices = Device::all();
    assert_eq!(devices.len(), 8);
    let start = Barrier::new(devices.len());
    std::thread::scope(|scope| {
        for device in devices {
            let (work, start) = (&work, &start);
            scope.spawn(move || {
                // Another device than the program's: nothing is to rely on it.
                sim::set_current_device(7 - device.ordinal());
                start.wait();
                work(device);
                assert_eq!(sim::current_device(), 7 - device.ordinal());
            });
        }
    });
}

fn eight_threads() {
    let expected: Vec<Vec<f32>> = (0..16).map(programs::linear_expected).collect();
    assert_eq!(programs::linear_on_ref(5), expected[5]);
    let (device_file, host_file) = (programs::device_file(), programs::host_file());
    let before: Vec<_> = (0..8).map(sim::counters).collect();
    on_all_devices(|device| {
        // Half of them compile their own.
        let mut program = match device.ordinal() % 2 {
            0 => DeviceProgram::load(&device_file, device),
            _ => programs::linear().compile_for_device(device, &CompileOptions::new()),
        }
        .unwrap();
        assert_eq!(program.device(), device);
        let mut host = CompiledProgram::load_on(&host_file, device).unwrap();
        assert_eq!(host.device(), Some(device));
        let stream = Stream::new(device).unwrap();
        let mut set = program.bindings().unwrap();
        for round in 0..8 {
            let seed = device.ordinal() + round;
            let y;
            (set, y) = programs::run_device(&mut program, set, &stream, seed).unwrap();
            assert_eq!(y, expected[seed], "{device}, round {round}");
            assert_eq!(
                programs::run_host(&mut host, seed).unwrap(),
                expected[seed],
                "{device}, host buffers"
            );
        }
    });
    for (device, before) in before.iter().enumerate() {
        let now = sim::counters(device);
        assert!(now.launches >= before.launches + 16, "{device}: {now:?}");
        assert_eq!((now.cross_launches, now.cross_copies), (0, 0), "{device}");
    }
}

fn thread_number() -> u64 {
    // SAFETY: has no arguments and cannot fail.
    unsafe { libc::syscall(libc::SYS_gettid) as u64 }
}

/// Prints which thread is whose, and the log's length when all had begun.
fn logged_threads() {
    let (device_file, host_file) = (programs::device_file(), programs::host_file());
    println!("begun {}", Call::so_far().len());
    on_all_devices(|device| {
        println!("thread {} {}", thread_number(), device.ordinal());
        let mut program = DeviceProgram::load(&device_file, device).unwrap();
        let stream = Stream::new(device).unwrap();
        let set = program.bindings().unwrap();
        let (set, _) = programs::run_device(&mut program, set, &stream, 1).unwrap();
        let pending = program.enqueue(set, &stream).unwrap();
        while !pending.is_done().unwrap() {
            stream.synchronize().unwrap();
        }
        drop(pending);
        let mut host = CompiledProgram::load_on(&host_file, device).unwrap();
        programs::run_host(&mut host, 2).unwrap();
    });
}

/// Says what is current, or makes another device so, or is about no device
/// (pinned memory is every device's).
const ABOUT_NO_DEVICE: [&str; 10] = [
    "hipHostMalloc",
    "hipHostFree",
    "hipGetDevice",
    "hipSetDevice",
    "hipGetDeviceCount",
    "hipGetLastError",
    "hipDeviceGetAttribute",
    "hipDeviceGetName",
    "hipGetDevicePropertiesR0600",
    "hipRuntimeGetVersion",
];

/// MIGraphX frees its pinned memory so. It lies in the range after 64 devices'.
fn frees_pinned(call: &Call) -> bool {
    call.name == "hipFree" && call.rest.starts_with(" 0x5000")
}

fn own_device() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let variables = [("GPU_SIM_LOG", log.to_str().unwrap())];
    let finished = run_part("pinned::logged_threads", &variables);
    assert!(finished.passed(), "{}", finished.output);
    let number = |word: Option<&str>| word.unwrap().parse::<u64>().unwrap();
    let (mut begun, mut threads) = (0, BTreeMap::new());
    for line in finished.output.lines() {
        let mut words = line.split(' ');
        match words.next() {
            Some("begun") => begun = number(words.next()) as usize,
            Some("thread") => {
                threads.insert(number(words.next()), number(words.next()) as usize);
            }
            _ => {}
        }
    }
    assert_eq!(threads.len(), 8, "{}", finished.output);
    let text = std::fs::read_to_string(&log).unwrap();
    let calls = Call::all(&text);
    let mut seen: BTreeMap<usize, usize> = BTreeMap::new();
    for call in &calls[begun..] {
        let Some(own) = threads.get(&call.thread) else {
            continue;
        };
        if ABOUT_NO_DEVICE.contains(&&*call.name) || frees_pinned(call) {
            continue;
        }
        assert_eq!(call.device, *own, "{call:?}");
        *seen.entry(*own).or_default() += 1;
    }
    assert_eq!(seen.len(), 8);
    for (device, calls) in seen {
        assert!(calls > 30, "{calls} calls on device {device}");
    }
    // MIGraphX's own threads, if any, are on a device that was asked for.
    let others = calls[begun..].iter().filter(|call| {
        !threads.contains_key(&call.thread) && !ABOUT_NO_DEVICE.contains(&&*call.name)
    });
    let main: Vec<&Call> = others.filter(|call| call.device != 0).collect();
    assert!(main.is_empty(), "calls of no thread of ours: {main:?}");
}

/// With device 5 current before, and after.
fn stays<R>(what: &str, call: impl FnOnce() -> R) -> R {
    sim::set_current_device(5);
    let result = call();
    assert_eq!(sim::current_device(), 5, "after: {what}");
    result
}

fn current_stays() {
    let device = Device::new(2).unwrap();
    let options = CompileOptions::new;
    let compiled = stays("compile", || {
        programs::linear().compile_for_device(device, &options())
    });
    let bytes = stays("to_bytes", || compiled.as_ref().unwrap().to_bytes()).unwrap();
    stays("drop", || drop(compiled));
    let mut program = stays("load", || DeviceProgram::load_bytes(&bytes, device)).unwrap();
    let stream = stays("a stream", || Stream::new(device)).unwrap();
    let mut set = stays("bindings", || program.bindings()).unwrap();
    stays("fill", || programs::fill(&mut set, 3)).unwrap();
    let pending = stays("enqueue", || program.enqueue(set, &stream)).unwrap();
    stays("is_done", || pending.is_done()).unwrap();
    let set = stays("wait", || pending.wait()).unwrap();
    assert_eq!(set.output::<f32>(0).unwrap(), programs::linear_expected(3));
    let set = stays("run", || program.run(set, &stream)).unwrap();
    let pending = stays("enqueue", || program.enqueue(set, &stream)).unwrap();
    stays("drop of a pending run", || drop(pending));
    stays("text", || program.to_string());
    let set = stays("bindings", || program.bindings()).unwrap();
    stays("drop of a program", || drop(program));
    stays("drop of a set", || drop(set));
    stays("drop of a stream", || drop(stream));

    let target = Target::gpu_on(device).unwrap();
    let mut host = stays("compile for host buffers", || {
        programs::linear().compile(&target, &options())
    })
    .unwrap();
    assert_eq!(host.device(), Some(device));
    let y = stays("run on host buffers", || programs::run_host(&mut host, 4)).unwrap();
    assert_eq!(y, programs::linear_expected(4));
    let bytes = stays("to_bytes", || host.to_bytes()).unwrap();
    stays("drop", || drop(host));
    let host = stays("load", || CompiledProgram::load_bytes_on(&bytes, device));
    stays("drop", || drop(host));
    // Where no device is named, it is the current one.
    let current = stays("load", || CompiledProgram::load_bytes(&bytes)).unwrap();
    assert_eq!(current.device(), Some(Device::new(5).unwrap()));
}

fn current_stays_in_failure() {
    let device = Device::new(2).unwrap();
    let file = programs::device_file();
    let fail = |call: &str| sim::set_option("fail", call);

    fail("hipMalloc:1:2,hipHostMalloc:1:2");
    stays("load", || DeviceProgram::load(&file, device)).unwrap_err();
    fail("");
    let mut program = DeviceProgram::load(&file, device).unwrap();
    let stream = Stream::new(device).unwrap();
    fail("hipMalloc:1:2");
    let error = stays("bindings", || program.bindings()).unwrap_err();
    assert!(matches!(error, Error::DeviceMemory { .. }), "{error}");
    for call in [
        "hipMemcpyAsync:1:719",
        "hipExtModuleLaunchKernel:1:719",
        "hipEventRecord:1:719",
    ] {
        fail("");
        let mut set = program.bindings().unwrap();
        programs::fill(&mut set, 1).unwrap();
        fail(call);
        let error = stays(call, || program.enqueue(set, &stream)).unwrap_err();
        assert!(
            matches!(error, Error::Hip { .. } | Error::Api { .. }),
            "{call}: {error}"
        );
    }
    fail("");
    let mut set = program.bindings().unwrap();
    programs::fill(&mut set, 1).unwrap();
    let pending = program.enqueue(set, &stream).unwrap();
    fail("hipEventSynchronize:1:719");
    stays("wait", || pending.wait()).unwrap_err();
    fail("");
    // After all that, the program still computes.
    let set = program.bindings().unwrap();
    let (_, y) = programs::run_device(&mut program, set, &stream, 6).unwrap();
    assert_eq!(y, programs::linear_expected(6));

    let mut host = CompiledProgram::load_on(programs::host_file(), device).unwrap();
    fail("hipExtModuleLaunchKernel:1:719");
    stays("run", || programs::run_host(&mut host, 1)).unwrap_err();
    fail("");
    assert_eq!(
        programs::run_host(&mut host, 2).unwrap(),
        programs::linear_expected(2)
    );
    stays("a file that is none", || {
        DeviceProgram::load_bytes(b"\x83 nothing", device)
    })
    .unwrap_err();
}

fn moves() {
    let device = Device::new(6).unwrap();
    let mut program = DeviceProgram::load(programs::device_file(), device).unwrap();
    let stream = Stream::new(device).unwrap();
    let mut set = program.bindings().unwrap();
    programs::fill(&mut set, 1).unwrap();
    // Queued here, waited for and dropped elsewhere.
    let pending = program.enqueue(set, &stream).unwrap();
    for current in [3, 6, 0] {
        let (stream, set) = (stream.clone(), program.bindings().unwrap());
        let elsewhere = move || {
            sim::set_current_device(current);
            let (_, y) = programs::run_device(&mut program, set, &stream, current).unwrap();
            assert_eq!(y, programs::linear_expected(current));
            assert_eq!(sim::current_device(), current);
            program
        };
        program = std::thread::spawn(elsewhere).join().unwrap();
    }
    std::thread::spawn(move || {
        let set = pending.wait().unwrap();
        assert_eq!(set.output::<f32>(0).unwrap(), programs::linear_expected(1));
        drop((stream, set, program));
    })
    .join()
    .unwrap();
}

fn host_moves() {
    let device = Device::new(6).unwrap();
    let file = programs::host_file();
    sim::reset();
    let mut program = CompiledProgram::load_on(file, device).unwrap();
    for seed in 1..4 {
        let run = move || {
            let y = programs::run_host(&mut program, seed).unwrap();
            assert_eq!(sim::current_device(), 0);
            (program, y)
        };
        let y;
        (program, y) = std::thread::spawn(run).join().unwrap();
        assert_eq!(y, programs::linear_expected(seed));
    }
    std::thread::spawn(move || drop(program)).join().unwrap();
    assert_eq!(sim::current_device(), 0);
    let others = sim::counters(0);
    assert_eq!(
        (others.launches, others.mallocs, others.copies),
        (0, 0, 0),
        "{others:?}"
    );
}
