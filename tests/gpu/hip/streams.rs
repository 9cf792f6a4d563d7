//! Streams and events.

use super::{device, numbers, pinned, text_of};
use crate::harness::{Test, run_part};
use crate::sim::{self, Call};
use migraphx::hip::{Device, DeviceBuffer, Event, PinnedBuffer, Stream};
use std::time::Duration;

pub const TESTS: &[Test] = &[
    Test::new("streams_copy_beside_each_other", copies_in_streams),
    Test::new("streams_copy_at_once", copies_in_streams).env("GPU_SIM_DEFERRED", "0"),
    Test::new("an_event_of_another_device_is_waited_for", events_order),
    Test::new("events_take_times", events_take_times).env("GPU_SIM_COPY_US", "2000"),
    Test::new(
        "another_devices_things_are_refused_before_hip",
        wrong_devices,
    ),
    Test::part("wrong_devices_logged", wrong_devices_logged),
    Test::new("eight_threads_on_eight_devices", threads),
    Test::new("other_codes_handles_stay_its_own", foreign),
];

/// Two copies each way on every device, all queued before the first is waited for.
fn copies_in_streams() {
    sim::set_current_device(3);
    let streams: Vec<Stream> = Device::all()
        .into_iter()
        .map(|d| Stream::new(d).unwrap())
        .collect();
    let queued: Vec<_> = (0..16)
        .map(|n| {
            let stream = &streams[n % 8];
            let to = DeviceBuffer::new(stream.device(), 400).unwrap();
            stream.upload(pinned(&numbers(n, 100)), to).unwrap()
        })
        .collect();
    let deferred = std::env::var("GPU_SIM_DEFERRED").as_deref() == Ok("1");
    if deferred {
        assert!(!queued[15].is_done().unwrap());
        assert!(!streams[6].is_idle().unwrap());
        assert_eq!(queued[14].stream().device(), device(6));
    }
    let back: Vec<_> = queued
        .into_iter()
        .enumerate()
        .map(|(n, copy)| {
            let (from, to) = copy.wait().unwrap();
            assert_eq!(from.as_slice::<f32>().unwrap(), numbers(n, 100));
            let room = PinnedBuffer::new(400).unwrap();
            streams[n % 8].download(to, room).unwrap()
        })
        .collect();
    // The streams live as long as what is queued in them.
    let kept = streams[0].clone();
    drop(streams);
    for (n, copy) in back.into_iter().enumerate() {
        let (_, to) = copy.wait().unwrap();
        assert_eq!(to.as_slice::<f32>().unwrap(), numbers(n, 100));
    }
    kept.synchronize().unwrap();
    assert!(kept.is_idle().unwrap());
    let counters = sim::counters(6);
    assert_eq!(
        (counters.host_to_device, counters.device_to_host),
        (800, 800)
    );
    assert_eq!((counters.pageable_async, counters.cross_copies), (0, 0));
    assert_eq!(sim::current_device(), 3);
}

fn events_order() {
    let streams = [0, 1].map(|n| Stream::new(device(n)).unwrap());
    let uploaded = Event::new(device(0)).unwrap();
    let end = Event::new(device(1)).unwrap();
    for refused in [
        streams[1].wait_for(&uploaded),
        uploaded.synchronize(),
        uploaded.is_done().map(drop),
        end.elapsed_since(&end).map(drop),
    ] {
        assert!(text_of(refused).contains("never recorded"));
    }
    let to = DeviceBuffer::new(device(0), 4).unwrap();
    let copy = streams[0].upload(pinned(&[7.0]), to).unwrap();
    uploaded.record(&streams[0]).unwrap();
    streams[1].wait_for(&uploaded).unwrap();
    end.record(&streams[1]).unwrap();
    // Nobody asks the first device, and its work must have been done.
    end.synchronize().unwrap();
    assert!(end.is_done().unwrap());
    assert!(copy.is_done().unwrap() && uploaded.is_done().unwrap());
    copy.wait().unwrap();
}

fn events_take_times() {
    let stream = Stream::new(device(4)).unwrap();
    let (begin, end) = (
        Event::new(device(4)).unwrap(),
        Event::new(device(4)).unwrap(),
    );
    begin.record(&stream).unwrap();
    let to = DeviceBuffer::new(device(4), 4).unwrap();
    let copy = stream.upload(pinned(&[7.0]), to).unwrap();
    end.record(&stream).unwrap();
    let time = end.elapsed_since(&begin).unwrap();
    let expected = Duration::from_millis(2)..Duration::from_secs(1);
    assert!(expected.contains(&time), "{time:?}");
    let text = text_of(begin.elapsed_since(&end));
    assert!(
        text.contains("was reached") && text.contains("after the other"),
        "{text}"
    );
    assert_eq!(begin.elapsed_since(&begin).unwrap(), Duration::ZERO);
    copy.wait().unwrap();
}

fn wrong_devices() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let finished = run_part(
        "hip_streams::wrong_devices_logged",
        &[("GPU_SIM_LOG", log.to_str().unwrap())],
    );
    assert!(finished.passed(), "{}", finished.output);
    assert_eq!(Device::count(), 8);
}

fn wrong_devices_logged() {
    let stream = Stream::new(device(3)).unwrap();
    let event = Event::new(device(1)).unwrap();
    let other = Event::new(device(3)).unwrap();
    other.record(&stream).unwrap();
    let text = text_of(event.record(&stream));
    assert_eq!(
        text,
        "the event is on GPU 1, and what it is used with is on GPU 3; make both on the same device"
    );
    for refused in [
        stream
            .upload(
                PinnedBuffer::new(8).unwrap(),
                DeviceBuffer::new(device(2), 8).unwrap(),
            )
            .map(drop),
        stream
            .download(
                DeviceBuffer::new(device(2), 8).unwrap(),
                PinnedBuffer::new(8).unwrap(),
            )
            .map(drop),
    ] {
        assert!(text_of(refused).starts_with("the device buffer is on GPU 2"));
    }
    assert!(text_of(event.elapsed_since(&other)).contains("GPU 3"));
    let calls = Call::so_far();
    let count = |name: &str| calls.iter().filter(|call| call.name == name).count();
    assert_eq!(count("hipEventRecord"), 1, "{calls:?}");
    assert_eq!(
        (count("hipMemcpyAsync"), count("hipEventElapsedTime")),
        (0, 0)
    );
    // The refused buffers are freed, on their own device.
    let frees = calls.iter().filter(|call| call.name == "hipFree");
    assert_eq!(frees.map(|call| call.device).collect::<Vec<_>>(), [2, 2]);
}

fn threads() {
    std::thread::scope(|scope| {
        for here in Device::all() {
            scope.spawn(move || {
                let stream = Stream::new(here).unwrap();
                let next = device((here.ordinal() + 1) % 8);
                let mut peer = DeviceBuffer::new(next, 4000).unwrap();
                let mut to = DeviceBuffer::new(here, 4000).unwrap();
                for turn in 0..20 {
                    let values = numbers(here.ordinal() * 20 + turn, 1000);
                    (_, to) = stream.upload(pinned(&values), to).unwrap().wait().unwrap();
                    peer.copy_from_buffer(&to).unwrap();
                    let back = PinnedBuffer::new(4000).unwrap();
                    let (same, back) = stream.download(to, back).unwrap().wait().unwrap();
                    to = same;
                    assert_eq!(back.as_slice::<f32>().unwrap(), values);
                    assert_eq!(peer.to_vec::<f32>().unwrap(), values);
                    assert_eq!(sim::current_device(), 0);
                }
            });
        }
    });
}

fn foreign() {
    sim::set_current_device(5);
    let theirs = (sim::ForeignStream::new(), sim::ForeignMemory::new(4));
    sim::set_current_device(0);
    for raw in [theirs.0.0, std::ptr::null_mut()] {
        // SAFETY: a stream of device 5, or its null stream; memory of 4 bytes there.
        let (stream, to) = unsafe {
            (
                Stream::from_raw(device(5), raw),
                DeviceBuffer::from_raw(device(5), theirs.1.0, 4),
            )
        };
        let (_, to) = stream.upload(pinned(&[3.5]), to).unwrap().wait().unwrap();
        stream.synchronize().unwrap();
        assert!(stream.is_idle().unwrap());
        assert_eq!(to.to_vec::<f32>().unwrap(), [3.5]);
    }
    assert_eq!(sim::counters(5).host_to_device, 8);
    // Both are destroyed by their owners; a second time would be a violation.
}
