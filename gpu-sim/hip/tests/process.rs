//! What concerns a whole process: options from the environment, the end of the
//! process, faults. Each case runs in a child of its own.

mod common;
use common::*;
use gpu_sim_hip::abi::Handle;
use gpu_sim_hip::attributes::*;
use gpu_sim_hip::control::*;
use gpu_sim_hip::devices::*;
use gpu_sim_hip::memory::*;
use gpu_sim_hip::pointers::*;
use gpu_sim_hip::properties::*;
use std::ffi::c_int;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Output};
use std::ptr::null_mut;

/// Runs one case of `child` with these variables.
fn run(case: &str, variables: &[(&str, &str)]) -> Output {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "child", "--ignored", "--nocapture"])
        .env("CASE", case);
    command.envs(variables.iter().copied()).output().unwrap()
}

#[track_caller]
fn passes(case: &str, variables: &[(&str, &str)]) {
    let output = run(case, variables);
    assert!(
        output.status.success(),
        "{case}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("1 passed"), "{case} did not run: {text}");
}

#[test]
#[ignore = "the other tests start it, with a case and variables"]
fn child() {
    let case = std::env::var("CASE").unwrap();
    match case.as_str() {
        "touch" => {
            let memory = malloc(16);
            // SAFETY: planted: the host may not, unless the option allows it.
            unsafe { memory.cast::<u8>().write_volatile(1) };
            ok(free(memory));
        }
        "leak" => drop(malloc(123)),
        "violation" => drop(free(0x1234 as Handle)),
        "second_fails" => {
            let first = malloc(8);
            let mut at = null_mut();
            // SAFETY: an out pointer of ours.
            assert_eq!(unsafe { hipMalloc(&mut at, 8) }, 2);
            ok(free(malloc(8)));
            ok(free(first));
        }
        "no_device" => no_device(),
        "memory" => memory_limit(),
        "hip5" => hip5(),
        "architectures" => architectures(),
        "visible" => visible(),
        "sixty_four" => {
            for index in 0..64 {
                ok(device(index));
                ok(free(malloc(1 << 20)));
            }
            assert_eq!(device(64), 101);
        }
        other => panic!("no case {other}"),
    }
}

fn no_device() {
    let (mut count, mut at) = (7, null_mut());
    // SAFETY: out pointers of ours.
    unsafe {
        assert_eq!(hipGetDeviceCount(&mut count), 100);
        assert_eq!((count, hipMalloc(&mut at, 8)), (0, 100));
        assert_eq!(
            (hipSetDevice(0), hipInit(0), hipDeviceSynchronize()),
            (100, 100, 100)
        );
    }
}

fn memory_limit() {
    let (mut at, mut free_bytes, mut total) = (null_mut(), 0, 0);
    // SAFETY: out pointers of ours.
    unsafe {
        let half = malloc(512 << 10);
        ok(hipMemGetInfo(&mut free_bytes, &mut total));
        assert_eq!((free_bytes, total), (512 << 10, 1 << 20));
        assert_eq!(hipMalloc(&mut at, (512 << 10) + 1), 2);
        assert_eq!(counters(0).out_of_memory, 1);
        // Another device has its own.
        ok(device(1));
        let all = malloc(1 << 20);
        ok(free(all));
        ok(free(half));
        assert_eq!(counters(0).live_bytes, 0);
    }
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes.split(|byte| *byte == 0).next().unwrap()).unwrap()
}

fn number(bytes: &[u8], at: usize) -> i32 {
    i32::from_ne_bytes(bytes[at..at + 4].try_into().unwrap())
}

fn attributes_of(at: *const std::ffi::c_void) -> (c_int, PointerAttributes) {
    let mut answer = PointerAttributes {
        kind: -1,
        device: -1,
        device_pointer: null_mut(),
        host_pointer: null_mut(),
        is_managed: -1,
        flags: 0,
    };
    // SAFETY: a structure of ours.
    (unsafe { hipPointerGetAttributes(&mut answer, at) }, answer)
}

/// DTK: 792 bytes of properties, attribute numbers of its own, memory types
/// from 0, and no answer for memory it does not know.
fn hip5() {
    let mut image = [0xEEu8; 800];
    let (mut value, pageable) = (0, 1u8);
    // SAFETY: the structure is larger than HIP 5's.
    unsafe {
        ok(hipGetDeviceProperties(image.as_mut_ptr().cast(), 0));
        assert_eq!(text(&image[396..652]), "gfx936");
        assert_eq!((number(&image, 276), number(&image, 336)), (64, 80));
        assert!(
            image[792..].iter().all(|byte| *byte == 0xEE),
            "wrote past 792 bytes"
        );
        ok(hipDeviceGetAttribute(&mut value, 32, 0));
        assert_eq!(value, 80);
        assert_eq!(
            hipDeviceGetAttribute(&mut value, 63, 0),
            1,
            "a number of HIP 6"
        );
        ok(hipRuntimeGetVersion(&mut value));
        assert_eq!(value / 10_000_000, 5);
    }
    let memory = malloc(8);
    let (status, answer) = attributes_of(memory);
    assert_eq!((status, answer.kind), (0, 1));
    assert_eq!(attributes_of((&raw const pageable).cast()).0, 1);
    ok(free(memory));
}

/// Each device says what its own architecture is.
fn architectures() {
    let mut image = [0xEEu8; 1480];
    let mut value = 0;
    for (index, name, wave, major) in [
        (0, "gfx906:sramecc-", 64, 9),
        (1, "gfx1100", 32, 11),
        (2, "gfx1100", 32, 11),
    ] {
        // SAFETY: the structure is larger than HIP 6's.
        unsafe {
            ok(hipGetDevicePropertiesR0600(
                image.as_mut_ptr().cast(),
                index,
            ));
            ok(hipDeviceGetAttribute(&mut value, 87, index));
        }
        assert_eq!(text(&image[1160..1416]), name);
        assert_eq!(
            (number(&image, 308), number(&image, 360), value),
            (wave, major, wave)
        );
        assert!(
            image[1472..].iter().all(|byte| *byte == 0xEE),
            "wrote past 1472 bytes"
        );
    }
    let pageable = 1u8;
    let (status, answer) = attributes_of((&raw const pageable).cast());
    assert_eq!((status, answer.kind, answer.device), (0, 0, -2));
    let memory = malloc(8);
    assert_eq!(attributes_of(memory.wrapping_byte_add(4)).1.kind, 2);
    ok(free(memory));
    let mut name = [0; 16];
    // SAFETY: the buffer has the room that is told.
    assert_eq!(unsafe { hipsim_device_arch(0, name.as_mut_ptr(), 16) }, 1);
    assert!(
        b"gfx906\0"
            .iter()
            .zip(&name)
            .all(|(want, got)| *want == *got as u8)
    );
}

/// Cards 5 and 2 of eight, as devices 0 and 1.
fn visible() {
    let (mut count, mut bus) = (0, 0);
    let mut name = [0; 64];
    for (index, card, arch) in [(0, 5, "gfx942"), (1, 2, "gfx90a")] {
        // SAFETY: buffers of ours, with their room.
        let text = unsafe {
            ok(hipGetDeviceCount(&mut count));
            ok(hipDeviceGetName(name.as_mut_ptr(), 64, index));
            ok(hipDeviceGetAttribute(&mut bus, 67, index));
            std::ffi::CStr::from_ptr(name.as_ptr())
        };
        assert_eq!((count, bus), (2, card + 1));
        assert_eq!(
            text.to_str().unwrap(),
            format!("Virtual GPU {arch} #{card}")
        );
        ok(device(index));
        let memory = malloc(8);
        assert_eq!(attributes_of(memory).1.device, index);
        ok(free(memory));
    }
    assert_eq!(device(2), 101);
}

#[test]
fn the_host_cannot_touch_device_memory() {
    let output = run("touch", &[]);
    assert_eq!(output.status.signal(), Some(libc::SIGSEGV));
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(
        text.contains("gpu-sim: the host touched memory of device 0, address 0x1000"),
        "{text}"
    );
    passes("touch", &[("GPU_SIM_HOST_ACCESS", "1")]);
}

#[test]
fn a_leak_is_in_the_report() {
    let folder = std::env::temp_dir().join(format!("gpu-sim-report-{}", std::process::id()));
    passes("leak", &[("GPU_SIM_REPORT", folder.to_str().unwrap())]);
    let text = std::fs::read_to_string(&folder).unwrap();
    std::fs::remove_file(&folder).unwrap();
    assert!(
        text.contains("LEAK Device memory, allocation 1 of device 0: 123 bytes"),
        "{text}"
    );
    assert!(text.contains("gpu-sim: 0 violations, 1 leaks"), "{text}");
    let output = run("leak", &[("GPU_SIM_ABORT", "1")]);
    assert_eq!(
        output.status.code(),
        Some(1),
        "with GPU_SIM_ABORT a leak fails the process"
    );
}

#[test]
fn abort_at_the_first_violation() {
    let output = run("violation", &[("GPU_SIM_ABORT", "1")]);
    assert_eq!(output.status.signal(), Some(libc::SIGABRT));
    assert!(String::from_utf8_lossy(&output.stderr).contains("gpu-sim: bad_free: hipFree: 0x1234"));
    passes("violation", &[]);
}

#[test]
fn every_call_is_logged() {
    let output = run(
        "second_fails",
        &[("GPU_SIM_FAIL", "hipMalloc:2:2"), ("GPU_SIM_LOG", "stderr")],
    );
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}");
    let calls: Vec<_> = text
        .lines()
        .filter(|line| line.contains("hipMalloc 8"))
        .collect();
    assert_eq!(calls.len(), 3, "{text}");
    assert!(
        calls[0].contains("dev=0") && calls[0].contains("= 0x1") && calls[0].ends_with("-> 0"),
        "{text}"
    );
    assert!(calls[1].ends_with("-> 2"), "the injected fault: {text}");
    assert_eq!(
        text.lines()
            .filter(|line| line.contains("hipFree 0x"))
            .count(),
        2,
        "{text}"
    );
}

#[test]
fn options_from_the_environment() {
    passes("no_device", &[("GPU_SIM_DEVICES", "0")]);
    let architectures = "gfx90a,gfx90a,gfx90a,gfx942";
    let variables = [
        ("HIP_VISIBLE_DEVICES", "5,2,99,1"),
        ("CUDA_VISIBLE_DEVICES", "7"),
        ("GPU_SIM_ARCH", architectures),
    ];
    passes("visible", &variables);
    passes(
        "visible",
        &[
            ("CUDA_VISIBLE_DEVICES", "5,2"),
            ("GPU_SIM_ARCH", architectures),
        ],
    );
    for none in ["", "-1", "8"] {
        passes("no_device", &[("HIP_VISIBLE_DEVICES", none)]);
    }
    passes("sixty_four", &[("GPU_SIM_DEVICES", "64")]);
    passes("memory", &[("GPU_SIM_MEMORY", "1M")]);
    passes(
        "hip5",
        &[("GPU_SIM_ABI", "hip5"), ("GPU_SIM_ARCH", "gfx936")],
    );
    passes(
        "architectures",
        &[("GPU_SIM_ARCH", "gfx906:sramecc-,gfx1100")],
    );
    for (name, value) in [
        ("GPU_SIM_DEVICES", "65"),
        ("GPU_SIM_FAIL", "hipMalloc"),
        ("GPU_SIM_COPY_GBPS", "-1"),
        ("GPU_SIM_LOG", "/nowhere/x"),
    ] {
        let output = run("leak", &[(name, value)]);
        assert_eq!(output.status.code(), Some(2), "{name}={value} is refused");
        assert!(String::from_utf8_lossy(&output.stderr).contains(name));
    }
}
