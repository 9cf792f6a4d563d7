//! Children with a device of their own, and the end of a process.

use super::{device, upload};
use crate::harness::{Test, run_part};
use crate::sim::{Call, Kind};
use migraphx::hip::{Device, DeviceBuffer, Event, InFlight, PinnedBuffer, Stream};
use std::process::Command;
use std::sync::Mutex;
use std::time::Duration;

pub const TESTS: &[Test] = &[
    Test::new("a_child_sees_one_device", pinned_child),
    Test::new("a_child_of_a_pinned_process", pinned_child).env("HIP_VISIBLE_DEVICES", "6,2,7,1"),
    Test::part("names_its_device", names_its_device),
    Test::new("exiting_with_buffers_left", exits),
    Test::part("exit_with_statics", exit_with_statics).expects(&[Kind::Leak]),
    Test::part("exit_beside_threads", exit_beside_threads),
];

type Everything = (
    InFlight<(PinnedBuffer, DeviceBuffer)>,
    Stream,
    Event,
    PinnedBuffer,
);
static KEPT: Mutex<Option<Everything>> = Mutex::new(None);

extern "C" fn drop_kept() {
    drop(KEPT.lock().unwrap().take().expect("it was kept"));
}

fn pinned_child() {
    let mut seen = Vec::new();
    for device in Device::all() {
        // The child's name for its device is the card's own.
        let mut command = Command::new("unused");
        device.pin_child(&mut command).unwrap();
        let variables: Vec<_> = command.get_envs().collect();
        let [(name, Some(value))] = variables[..] else {
            panic!("{variables:?}");
        };
        let pair = (name.to_str().unwrap(), value.to_str().unwrap());
        let finished = run_part("hip_processes::names_its_device", &[pair]);
        assert!(finished.passed(), "{}", finished.output);
        let name = device.name().unwrap();
        assert!(
            finished.output.contains(&format!("1 device: {name}\n")),
            "{}",
            finished.output
        );
        seen.push(pair.1.to_owned());
    }
    let expected = std::env::var("HIP_VISIBLE_DEVICES");
    assert_eq!(seen.join(","), expected.unwrap_or("0,1,2,3,4,5,6,7".into()));
}

fn names_its_device() {
    println!("{} device: {}", Device::count(), device(0).name().unwrap());
}

fn exits() {
    let folder = tempfile::tempdir().unwrap();
    let log_of = |part: &str| {
        let log = folder.path().join(part);
        let variables = [("GPU_SIM_LOG", log.to_str().unwrap())];
        let finished = run_part(&format!("hip_processes::{part}"), &variables);
        let how = finished.how();
        assert!(finished.passed(), "{part}: {how}\n{}", finished.output);
        Call::all(&std::fs::read_to_string(&log).unwrap())
    };
    log_of("exit_beside_threads");
    // The thread's buffer is freed while HIP is there; what the exit handler drops is left.
    let calls = log_of("exit_with_statics");
    let freed = calls.iter().filter(|call| call.name == "hipFree");
    assert_eq!(freed.map(|call| call.device).collect::<Vec<_>>(), [3]);
    let left = ["hipHostFree", "hipEventDestroy", "hipStreamDestroy"];
    assert!(!calls.iter().any(|call| left.contains(&&*call.name)));
    assert_eq!(Device::count(), 8);
}

fn exit_with_statics() {
    // Registered before HIP is used, so it runs after the library has left.
    // SAFETY: the function takes nothing and does not unwind.
    unsafe { libc::atexit(drop_kept) };
    thread_local! {
        static OF_THREAD: std::cell::OnceCell<DeviceBuffer> = const { std::cell::OnceCell::new() };
    }
    let stream = Stream::new(device(2)).unwrap();
    OF_THREAD.with(|cell| {
        cell.set(DeviceBuffer::new(device(3), 8).unwrap()).unwrap();
    });
    let pinned = PinnedBuffer::new(8).unwrap();
    let event = Event::new(device(2)).unwrap();
    *KEPT.lock().unwrap() = Some((upload(&stream), stream, event, pinned));
}

fn exit_beside_threads() {
    for here in Device::all() {
        std::thread::spawn(move || {
            loop {
                drop(
                    DeviceBuffer::from_slice(here, &[1u8; 1 << 16]).and_then(|b| b.to_vec::<u8>()),
                );
            }
        });
    }
    std::thread::sleep(Duration::from_millis(100));
    // Their buffers are not left-overs of a test that has ended.
    std::process::exit(0);
}
