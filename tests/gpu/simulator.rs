//! The harness itself: MIGraphX's `gpu` target is the real one on the virtual
//! GPU, and what a test does wrong is found.

use crate::harness::{Test, run_part};
use crate::sim::{self, Call, Kind};
use migraphx::{Argument, CompileOptions, OnnxOptions, Target};
use testkit::models;

pub const TESTS: &[Test] = &[
    Test::new("gpu_computes_what_ref_does", gpu_computes_what_ref_does),
    Test::new("a_leak_is_found", a_leak).expects(&[Kind::Leak]),
    Test::new(
        "what_is_left_or_hangs_or_panics_fails",
        failures_are_failures,
    ),
    Test::new("a_test_has_its_own_devices_and_log", own_devices_and_log),
    Test::part("leaks", a_leak),
    Test::part("hangs", hangs).seconds(1),
    Test::part("panics", panics),
    Test::part("touches_nothing", || {}),
    Test::part("logs", logs).env("GPU_SIM_DEVICES", "3"),
];

fn gpu_computes_what_ref_does() {
    let model = models::matmul(2, 3, 2, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    let run = |target: Target| {
        let program = OnnxOptions::new().parse_bytes(&model).unwrap();
        let mut program = program.compile(&target, &CompileOptions::new()).unwrap();
        let x = Argument::from_slice(&[1.0f32, -2.0, 0.5, 4.0, 0.0, -1.0], &[2, 3]).unwrap();
        let outputs = program.run_once(&[("x", x)]).unwrap();
        outputs.slice::<f32>(0).unwrap().to_vec()
    };
    let expected = run(Target::reference().unwrap());
    assert_eq!(expected, [-2.5, -3.0, -1.0, 2.0]);
    assert_eq!(run(Target::gpu().unwrap()), expected);
    let counters = sim::counters(0);
    assert!(
        counters.launches > 0 && counters.host_to_device == 24,
        "{counters:?}"
    );
}

fn a_leak() {
    std::mem::forget(sim::ForeignMemory::new(64));
    assert_eq!((sim::live(Some(0)), sim::live(Some(1))), (1, 0));
}

fn hangs() {
    std::thread::sleep(std::time::Duration::from_secs(60));
}

fn panics() {
    assert_eq!(1 + 1, 3, "so it is");
}

fn failures_are_failures() {
    for (part, word) in [
        ("leaks", "Leak"),
        ("hangs", ""),
        ("panics", "so it is"),
        ("touches_nothing", "never used the virtual GPU"),
    ] {
        let finished = run_part(&format!("simulator::{part}"), &[]);
        assert!(!finished.passed(), "{part} passed");
        assert_eq!(finished.timed_out, part == "hangs", "{part}");
        assert!(
            finished.output.contains(word),
            "{part}: {}",
            finished.output
        );
    }
    // A part of this test's own, too, must be on the virtual GPU.
    assert_eq!(sim::all_violations(), 0);
}

fn logs() {
    sim::set_current_device(2);
    drop(sim::ForeignMemory::new(64));
}

fn own_devices_and_log() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let variables = [("GPU_SIM_LOG", log.to_str().unwrap())];
    let finished = run_part("simulator::logs", &variables);
    assert!(finished.passed(), "{}", finished.output);
    let calls = Call::all(&std::fs::read_to_string(&log).unwrap());
    let seen: Vec<(&str, usize)> = calls.iter().map(|c| (&*c.name, c.device)).collect();
    assert_eq!(
        seen,
        [("hipSetDevice", 2), ("hipMalloc", 2), ("hipFree", 2)],
        "{calls:?}"
    );
    assert_eq!(sim::current_device(), 0);
}
