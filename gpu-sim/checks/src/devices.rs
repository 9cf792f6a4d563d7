//! Eight threads on eight devices at the same time: every second one compiles, the others load one saved
//! program. Values, violations, leaks; with host buffers and with device buffers.

use crate::device_buffers::{
    Input, Reference, compile, difference, file, inputs, run, run_on_device, text,
};
use crate::families::{FAMILIES, Family};
use crate::hip::{Hip, Outcome};
use migraphx::hip::{Device, Stream};
use migraphx::{
    CompileOptions, CompiledProgram, DeviceProgram, OnnxOptions, OwnedOutputs, Result, Target,
};
use std::path::Path;
use std::sync::Barrier;

const DEVICES: usize = 8;
const RUNS: usize = 10;
/// One with MIOpen's kernels, one with matrix products and reductions.
pub const NETWORKS: [&str; 2] = ["convolution, relu, max pooling", "attention"];

/// What a device computes in its runs: inputs and what `ref` makes of them. No two devices have the same.
type Work = Vec<(Vec<Input>, OwnedOutputs)>;

/// A program of one of the two kinds.
enum Kind {
    Host(CompiledProgram),
    Device(DeviceProgram),
}

fn host(model: &[u8], device: Device) -> Result<CompiledProgram> {
    let target = Target::gpu_on(device)?;
    (OnnxOptions::new().parse_bytes(model)?).compile(&target, &CompileOptions::new())
}

/// A thread's part before all start to run.
fn prepare(device: Device, buffers: bool, model: &[u8], saved: &Path) -> Result<Kind> {
    match (buffers, device.ordinal().is_multiple_of(2)) {
        (true, true) => compile(model, false, device).map(Kind::Device),
        (true, false) => DeviceProgram::load(saved, device).map(Kind::Device),
        (false, true) => host(model, device).map(Kind::Host),
        (false, false) => CompiledProgram::load_on(saved, device).map(Kind::Host),
    }
}

/// The largest difference of a device's runs to `ref`.
fn work(device: Device, program: Kind, work: &Work) -> Outcome<f64> {
    let tolerance = 1e-5;
    let mut largest = 0.0f64;
    let runs = work.iter().cycle().take(RUNS);
    match program {
        Kind::Host(mut program) => {
            for (inputs, expected) in runs {
                let found = run(&mut program, inputs).map_err(text)?;
                largest = largest.max(difference(&found, expected, tolerance)?);
            }
        }
        Kind::Device(mut program) => {
            let stream = Stream::new(device).map_err(text)?;
            for (inputs, expected) in runs {
                let found = run_on_device(&mut program, &stream, inputs).map_err(text)?;
                largest = largest.max(difference(&found, expected, tolerance)?);
            }
        }
    }
    Ok(largest)
}

fn network(devices: &[Device], family: &Family, buffers: bool) -> Outcome<f64> {
    let (model, shapes) = (family.build)().finish();
    let mut reference = Reference::new(family)?;
    let mut works: Vec<Work> = Vec::new();
    for device in 0..DEVICES {
        let mut work = Vec::new();
        for variant in 0..2 {
            let inputs = inputs(&shapes, (1000 + 100 * device + 10 * variant) as u64);
            let expected = reference.run(&inputs)?;
            work.push((inputs, expected));
        }
        works.push(work);
    }
    // Saved on the last device, loaded on others.
    let saved = file();
    let last = devices[DEVICES - 1];
    match buffers {
        true => compile(&model, false, last).and_then(|p| p.save(&saved)),
        false => host(&model, last).and_then(|p| p.save(&saved)),
    }
    .map_err(text)?;
    let barrier = Barrier::new(DEVICES);
    let (barrier, model, file) = (&barrier, &model, &saved);
    let outcomes: Vec<Outcome<f64>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (devices.iter().zip(&works))
            .map(|(&device, queue)| {
                scope.spawn(move || {
                    let program = prepare(device, buffers, model, file).map_err(text);
                    barrier.wait();
                    program
                        .and_then(|program| work(device, program, queue))
                        .map_err(|why| format!("{device}: {why}"))
                })
            })
            .collect();
        let ended = |t: std::thread::ScopedJoinHandle<'_, _>| {
            t.join().unwrap_or_else(|_| Err("a thread panicked".into()))
        };
        threads.into_iter().map(ended).collect()
    });
    std::fs::remove_file(&saved).map_err(|e| format!("{}: {e}", saved.display()))?;
    let mut largest = 0.0f64;
    for outcome in outcomes {
        largest = largest.max(outcome?);
    }
    Ok(largest)
}

/// All of it, a line a network.
pub fn check(setting: &str, wanted: &str) -> Outcome<bool> {
    let devices = Device::all();
    if devices.len() != DEVICES {
        return Err(format!("{} devices for {DEVICES}", devices.len()));
    }
    let hip = Hip::loaded()?;
    let mut passed = true;
    for family in FAMILIES
        .iter()
        .filter(|f| NETWORKS.contains(&f.name) && f.name.contains(wanted))
    {
        for (buffers, name) in [(false, "host buffers"), (true, "device buffers")] {
            let start = std::time::Instant::now();
            let outcome = network(&devices, family, buffers);
            let took = start.elapsed().as_secs_f64();
            let head = format!("{setting}, {name}: {}", family.name);
            match outcome {
                Ok(largest) => {
                    println!("ok      {head}: largest difference {largest:.1e}, {took:.1} s")
                }
                Err(why) => {
                    passed = false;
                    println!("FAILED  {head}: {why}");
                }
            }
        }
    }
    Ok(passed & crate::modes::clean(setting, &hip))
}
