//! One program has one scratch memory: it moves between threads, but is never
//! in two at once, and neither are its sets. A copy in flight holds both buffers.
use migraphx::hip::{DeviceBuffer, PinnedBuffer, Stream};
use migraphx::{DeviceBindings, DeviceProgram, PendingRun};

fn sync<T: Sync>() {}
fn send<T: Send>() {}
fn cloned<T: Clone>() {}

fn copied(stream: &Stream, from: PinnedBuffer, to: DeviceBuffer) -> migraphx::Result<u8> {
    let flight = stream.upload(from, to)?;
    let first = from.as_bytes()[0]; //~ E0382
    flight.wait()?;
    Ok(first)
}

fn main() {
    send::<DeviceProgram>();
    send::<DeviceBindings>();
    send::<PendingRun>();
    sync::<Stream>();
    sync::<DeviceProgram>(); //~ E0277
    cloned::<DeviceProgram>(); //~ E0277
    cloned::<DeviceBindings>(); //~ E0277
    let _ = copied;
}
