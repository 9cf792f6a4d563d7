//! Every GPU of the host: one program loaded on each, two batches in flight on
//! each, so that copies run beside the computing. On a host without a GPU it
//! says what was looked for.
//!
//! `cargo run --example 12_devices`
//!
//! On the virtual GPUs: `cargo xtask setup --gpu-sim`, then with
//! `MIGRAPHX_LIB_DIR` set to the `lib` folder that it prints.

use std::collections::VecDeque;

use migraphx::hip::{Device, Stream};
use migraphx::{CompileOptions, DeviceProgram, OnnxOptions, PendingRun, Result};

const BATCHES: usize = 6;

fn main() -> Result<()> {
    let devices = Device::all();
    let Some(first) = devices.first() else {
        println!("{}", Device::new(0).unwrap_err());
        return Ok(());
    };
    for device in &devices {
        let (name, memory) = (device.name()?, device.memory()?);
        let (free, total) = (memory.free >> 20, memory.total >> 20);
        let architecture = device.architecture()?;
        println!("{device}: {name}, {architecture}, {free} of {total} MiB free");
    }

    // z = x + y, both float [1000]; compiled once, for buffers on the device.
    let model = testkit::models::add(&[1000]);
    let program = OnnxOptions::new().parse_bytes(&model)?;
    let program = program.compile_for_device(*first, &CompileOptions::new())?;
    let mxr = program.to_bytes()?;

    let sums = std::thread::scope(|scope| {
        let threads: Vec<_> = devices
            .iter()
            .map(|device| scope.spawn(|| work(*device, &mxr)))
            .collect();
        let ended = threads.into_iter().map(|thread| thread.join().unwrap());
        ended.collect::<Result<Vec<Vec<f32>>>>()
    })?;
    for (device, sums) in devices.iter().zip(sums) {
        println!("{device}: {sums:?}");
    }
    Ok(())
}

/// All batches of one device. The thread's own current device does not matter.
fn work(device: Device, mxr: &[u8]) -> Result<Vec<f32>> {
    let mut program = DeviceProgram::load_bytes(mxr, device)?;
    let mut free = Vec::new();
    for _ in 0..2 {
        free.push((program.bindings()?, Stream::new(device)?));
    }
    let mut running: VecDeque<(PendingRun, Stream)> = VecDeque::new();
    let mut results = Vec::new();
    for batch in 0..BATCHES {
        if free.is_empty() {
            let (run, stream) = running.pop_front().expect("all sets are running");
            let set = run.wait()?; // the buffers come back once the run is through
            results.push(set.output::<f32>(0)?[0]);
            free.push((set, stream));
        }
        let (mut set, stream) = free.pop().expect("one was waited for");
        let (x, y) = (set.id("x")?, set.id("y")?);
        set.input_mut::<f32>(x)?.fill(batch as f32);
        if batch < 2 {
            // An input that is not written again keeps its value on the device.
            set.input_mut::<f32>(y)?
                .fill(100.0 * device.ordinal() as f32);
        }
        // Upload, run and download are queued; this returns at once.
        running.push_back((program.enqueue(set, &stream)?, stream));
    }
    for (run, _) in running {
        results.push(run.wait()?.output::<f32>(0)?[0]);
    }
    Ok(results)
}
