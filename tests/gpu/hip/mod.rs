//! Module `hip`.

pub mod buffers;
pub mod current;
pub mod devices;
pub mod in_flight;
pub mod libraries;
pub mod processes;
pub mod streams;

use migraphx::hip::{Device, DeviceBuffer, InFlight, PinnedBuffer, Stream};

pub fn device(ordinal: usize) -> Device {
    Device::new(ordinal).unwrap()
}

/// Numbers of a kind for each device and turn.
pub fn numbers(seed: usize, count: usize) -> Vec<f32> {
    (0..count).map(|i| (seed * 1000 + i) as f32).collect()
}

pub fn pinned(values: &[f32]) -> PinnedBuffer {
    let mut buffer = PinnedBuffer::new(size_of_val(values)).unwrap();
    buffer.as_mut_slice().unwrap().copy_from_slice(values);
    buffer
}

pub fn upload(stream: &Stream) -> InFlight<(PinnedBuffer, DeviceBuffer)> {
    let to = DeviceBuffer::new(stream.device(), 4).unwrap();
    stream.upload(pinned(&[7.0]), to).unwrap()
}

pub fn text_of<T>(result: migraphx::Result<T>) -> String {
    result.err().expect("an error").to_string()
}
