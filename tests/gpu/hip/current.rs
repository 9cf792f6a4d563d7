//! The current device of a thread is what it was, whatever a call does.

use super::device;
use crate::harness::Test;
use crate::sim;
use migraphx::Error;
use migraphx::hip::{Device, DeviceBuffer, Event, PinnedBuffer, Stream};

pub const TESTS: &[Test] = &[
    Test::new("the_current_device_stays", current_stays),
    Test::new(
        "the_current_device_stays_when_calls_fail",
        failures_leave_it,
    ),
    Test::new("a_scope_ends_with_the_former_device", scopes),
];

type Call = Box<dyn Fn() -> migraphx::Result<()>>;

/// Calls of every kind on device 6, by name.
fn calls() -> Vec<(&'static str, Call)> {
    let here = device(6);
    let buffer = move || DeviceBuffer::from_slice(here, &[1u8; 8]).unwrap();
    let stream = Stream::new(here).unwrap();
    let event = Event::new(here).unwrap();
    event.record(&stream).unwrap();
    let (s, e) = (stream.clone(), stream.clone());
    let (down, wait) = (stream.clone(), stream.clone());
    vec![
        ("hipMemGetInfo", Box::new(move || here.memory().map(drop))),
        ("hipDeviceSynchronize", Box::new(move || here.synchronize())),
        ("hipDeviceGetName", Box::new(move || here.name().map(drop))),
        (
            "hipGetDevicePropertiesR0600",
            Box::new(move || here.architecture().map(drop)),
        ),
        ("hipSetDevice", Box::new(move || here.scope(|| ()))),
        (
            "hipStreamCreateWithFlags",
            Box::new(move || Stream::new(here).map(drop)),
        ),
        (
            "hipStreamSynchronize",
            Box::new(move || stream.synchronize()),
        ),
        ("hipStreamQuery", Box::new(move || s.is_idle().map(drop))),
        (
            "hipEventCreateWithFlags",
            Box::new(move || Event::new(here).map(drop)),
        ),
        (
            "hipEventRecord",
            Box::new(move || Event::new(here)?.record(&e)),
        ),
        (
            "hipStreamWaitEvent",
            Box::new(move || {
                let event = Event::new(here)?;
                event.record(&wait)?;
                wait.wait_for(&event)
            }),
        ),
        (
            "hipEventSynchronize",
            Box::new(move || {
                event.synchronize()?;
                event.is_done()?;
                event.elapsed_since(&event).map(drop)
            }),
        ),
        (
            "hipMalloc",
            Box::new(move || DeviceBuffer::new(here, 8).map(drop)),
        ),
        (
            "hipMemset",
            Box::new(move || DeviceBuffer::new(here, 8).map(drop)),
        ),
        (
            "hipMemcpy",
            Box::new(move || buffer().copy_to_slice(&mut [0u8; 8])),
        ),
        (
            "hipMemcpyPeer",
            Box::new(move || {
                let mut to = DeviceBuffer::new(here, 8)?;
                to.copy_from_buffer(&DeviceBuffer::new(device(7), 8)?)
            }),
        ),
        (
            "hipMemcpyAsync",
            Box::new(move || {
                let from = DeviceBuffer::new(here, 8)?;
                down.download(from, PinnedBuffer::new(8)?)?.wait().map(drop)
            }),
        ),
    ]
}

fn current_stays() {
    for current in [2, 6] {
        sim::set_current_device(current);
        for (name, call) in calls() {
            call().unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(sim::current_device(), current, "{name}");
        }
    }
}

fn failures_leave_it() {
    sim::set_current_device(2);
    for (name, call) in calls() {
        // A copy through the null stream is what device 6 has of its own.
        let nth = if name == "hipMemcpy" { 2 } else { 1 };
        sim::set_option("fail", &format!("{name}:{nth}:999"));
        let error = call().expect_err(name);
        // MIGraphX would take what is left here for its own failure. (First of
        // all, since a call that succeeds clears it, up to HIP 6.)
        assert_eq!(sim::last_error(), 0, "{name}");
        sim::set_option("fail", "");
        let Error::Hip { function, code, .. } = &error else {
            panic!("{name}: {error}");
        };
        assert_eq!(*code, 999);
        assert!(name.starts_with(function), "{error}");
        assert!(error.to_string().contains("hipErrorUnknown"), "{error}");
        assert_eq!(sim::current_device(), 2, "{name}");
        call().unwrap();
    }
}

fn scopes() {
    assert_eq!(Device::current().unwrap(), device(0));
    let inner = device(4).scope(|| {
        assert_eq!(sim::current_device(), 4);
        let inner = device(5).scope(sim::current_device).unwrap();
        assert_eq!(Device::current().unwrap(), device(4));
        sim::set_current_device(7);
        inner
    });
    assert_eq!((inner.unwrap(), sim::current_device()), (5, 0));

    // Already current, and changed inside.
    device(0).scope(|| sim::set_current_device(3)).unwrap();
    assert_eq!(sim::current_device(), 0);

    std::panic::set_hook(Box::new(|_| {}));
    let panicked = std::panic::catch_unwind(|| device(1).scope(|| panic!("inside")));
    let _ = std::panic::take_hook();
    assert!(panicked.is_err());
    assert_eq!(sim::current_device(), 0);
}
