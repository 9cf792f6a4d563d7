//! Memory on devices, and copies that wait.

use super::{device, numbers, pinned, text_of};
use crate::harness::Test;
use crate::sim;
use migraphx::Error;
use migraphx::hip::{DeviceBuffer, PinnedBuffer, Stream};

pub const TESTS: &[Test] = &[
    Test::new("buffers_are_copied_every_way", copied_every_way),
    Test::new("buffers_are_copied_at_once", copied_every_way).env("GPU_SIM_DEFERRED", "0"),
    Test::new("lengths_and_types_must_fit", lengths_must_fit),
    Test::new("a_device_without_memory", out_of_memory).env("GPU_SIM_MEMORY", "1M"),
];

fn copied_every_way() {
    sim::set_current_device(2);
    let (here, there) = (device(5), device(7));
    let values = numbers(5, 300);

    let mut buffer = DeviceBuffer::new(here, 1200).unwrap();
    assert_eq!((buffer.len(), buffer.device()), (1200, here));
    assert_eq!(buffer.to_vec::<f32>().unwrap(), [0.0; 300]);
    buffer.copy_from_slice(&values).unwrap();
    let mut back = vec![0f32; 300];
    buffer.copy_to_slice(&mut back).unwrap();
    assert_eq!(back, values);

    let mut inside = DeviceBuffer::new(here, 1200).unwrap();
    inside.copy_from_buffer(&buffer).unwrap();
    let mut peer = DeviceBuffer::from_slice(there, &[9u8; 1200]).unwrap();
    peer.copy_from_buffer(&inside).unwrap();
    drop((buffer, inside));
    assert_eq!(peer.to_vec::<f32>().unwrap(), values);
    assert_eq!(sim::counters(7).peer_to_peer, 1200);
    assert_eq!(sim::counters(5).inside, 1200);

    let empty = [DeviceBuffer::new(here, 0), DeviceBuffer::new(here, 0)].map(Result::unwrap);
    assert_ne!(empty[0].as_raw(), empty[1].as_raw());
    let [mut one, other] = empty;
    one.copy_from_buffer(&other).unwrap();
    one.copy_from_slice::<f64>(&[]).unwrap();
    assert!(one.is_empty() && one.to_vec::<f64>().unwrap().is_empty());
    assert_eq!(sim::current_device(), 2);
}

fn lengths_must_fit() {
    let mut buffer = DeviceBuffer::from_slice(device(0), &[1u8; 6]).unwrap();
    let copies = sim::counters(0).copies;
    assert_eq!(
        text_of(buffer.copy_from_slice(&[0f32; 2])),
        "a buffer of 6 bytes on GPU 0 is copied as a whole, and 2 elements of float (4 bytes \
         each) are not its length"
    );
    assert!(text_of(buffer.copy_to_slice(&mut [0u8; 7])).contains("7 elements of uint8"));
    assert!(text_of(buffer.to_vec::<f32>()).contains("1 elements of float"));
    let other = DeviceBuffer::new(device(1), 7).unwrap();
    assert!(text_of(buffer.copy_from_buffer(&other)).contains("7 bytes on GPU 1"));
    let stream = Stream::new(device(0)).unwrap();
    let text = text_of(stream.upload(pinned(&[1.0]), DeviceBuffer::new(device(0), 8).unwrap()));
    assert!(
        text.contains("has 8 bytes and the pinned buffer 4"),
        "{text}"
    );
    assert_eq!(sim::counters(0).copies, copies);
    assert_eq!(buffer.to_vec::<u8>().unwrap(), [1; 6]);

    let mut odd = PinnedBuffer::new(6).unwrap();
    assert_eq!(odd.as_bytes(), [0; 6]);
    odd.as_mut_slice::<u16>().unwrap()[2] = 0x0102;
    assert_eq!(odd.as_mut_bytes(), [0, 0, 0, 0, 2, 1]);
    assert!(text_of(odd.as_slice::<f32>()).contains("6 bytes was used as float"));
    let page = odd.as_raw() as usize;
    assert_eq!(page % 4096, 0, "{page:#x}");
    let empty = PinnedBuffer::new(0).unwrap();
    assert!(empty.is_empty() && empty.as_slice::<f64>().unwrap().is_empty());
}

fn out_of_memory() {
    let first = DeviceBuffer::new(device(3), 900 << 10).unwrap();
    for bytes in [200 << 10, isize::MAX as usize, usize::MAX] {
        let error = DeviceBuffer::new(device(3), bytes).unwrap_err();
        let expected = format!(
            "a device buffer takes {bytes} bytes, and GPU 3 has {} free; use smaller batches, or \
             free what else is on the device",
            124 << 10
        );
        assert_eq!(error.to_string(), expected);
    }
    drop(DeviceBuffer::new(device(4), 900 << 10).unwrap());
    drop(first);
    drop(DeviceBuffer::new(device(3), 900 << 10).unwrap());
    let error = PinnedBuffer::new(usize::MAX).unwrap_err();
    assert!(
        matches!(
            error,
            Error::OutOfMemory {
                bytes: usize::MAX,
                ..
            }
        ),
        "{error}"
    );
}
