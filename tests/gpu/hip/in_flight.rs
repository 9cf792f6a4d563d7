//! What a device is working with is not freed.

use super::{device, pinned, text_of, upload};
use crate::harness::Test;
use crate::sim::{self, Kind};
use migraphx::hip::{Device, DeviceBuffer, Stream};

pub const TESTS: &[Test] = &[
    Test::new("what_is_in_flight_is_not_freed", in_flight_dropped),
    Test::new("what_is_forgotten_leaks", forgotten).expects(&[Kind::Leak]),
    Test::new("what_cannot_be_waited_for_leaks", wait_fails).expects(&[Kind::Leak]),
];

fn in_flight_dropped() {
    let stream = Stream::new(device(1)).unwrap();
    drop(upload(&stream));
    assert_eq!(sim::counters(1).host_to_device, 4);
    assert_eq!(sim::live(None), 0);

    // Where the event cannot be recorded, the stream is waited for.
    for failing in ["hipEventRecord", "hipMemcpyAsync"] {
        sim::set_option("fail", &format!("{failing}:1:999"));
        let to = DeviceBuffer::new(device(1), 4).unwrap();
        let text = text_of(stream.upload(pinned(&[7.0]), to));
        assert!(text.contains(failing), "{text}");
        sim::set_option("fail", "");
        assert!(stream.is_idle().unwrap());
        assert_eq!(sim::live(None), 0, "{failing}");
    }
    // A first wait fails; the device is done all the same.
    let copy = upload(&stream);
    sim::set_option("fail", "hipEventSynchronize:1:999");
    assert!(text_of(copy.wait()).contains("waiting for GPU 1"));
    assert_eq!(sim::live(None), 0);
}

fn forgotten() {
    let stream = Stream::new(device(1)).unwrap();
    std::mem::forget(upload(&stream));
    // The copy goes on, into memory that nobody has freed.
    Device::synchronize(device(1)).unwrap();
    assert_eq!(sim::counters(1).host_to_device, 4);
    assert_eq!(sim::live(Some(1)), 1);
}

fn wait_fails() {
    let stream = Stream::new(device(1)).unwrap();
    let copy = upload(&stream);
    sim::set_option(
        "fail",
        "hipEventSynchronize:1:999,hipEventSynchronize:2:999",
    );
    drop(copy.wait().unwrap_err());
    assert_eq!(sim::live(Some(1)), 1);
}
