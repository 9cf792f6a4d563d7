//! Eight threads on eight devices at the same time: every second one compiles, the others load one saved
//! program. Values, violations, leaks; with host buffers (the safe crate) and with device buffers.

use crate::device_buffers::{
    Input, Reference, bytes_of, difference, file, host_difference, inputs, run, text,
};
use crate::families::{FAMILIES, Family};
use crate::hip::{Hip, Outcome, Stream};
use crate::raw::Program;
use migraphx::{CompileOptions, CompiledProgram, OnnxOptions, OwnedOutputs, Target};
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
    Device(Program),
}

fn host(model: &[u8]) -> migraphx::Result<CompiledProgram> {
    let options = CompileOptions::new().offload_copy(true);
    (OnnxOptions::new().parse_bytes(model)?).compile(&Target::gpu()?, &options)
}

/// A thread's part before all start to run.
fn prepare(hip: &Hip, device: usize, buffers: bool, model: &[u8], saved: &Path) -> Outcome<Kind> {
    hip.set_device(device)?;
    match (buffers, device.is_multiple_of(2)) {
        (true, true) => Program::compile(model, false).map(Kind::Device),
        (true, false) => Program::load(saved).map(Kind::Device),
        (false, true) => host(model).map(Kind::Host).map_err(text),
        (false, false) => CompiledProgram::load(saved).map(Kind::Host).map_err(text),
    }
}

/// The largest difference of a device's runs to `ref`.
fn work(hip: &Hip, device: usize, program: Kind, work: &Work) -> Outcome<f64> {
    hip.set_device(device)?;
    let tolerance = 1e-5;
    let mut largest = 0.0f64;
    let runs = work.iter().cycle().take(RUNS);
    match program {
        Kind::Host(mut program) => {
            for (inputs, expected) in runs {
                let found = run(&mut program, inputs).map_err(text)?;
                largest = largest.max(host_difference(&found, expected, tolerance)?);
            }
        }
        Kind::Device(mut program) => {
            let stream = Stream::new(hip)?;
            for (inputs, expected) in runs {
                let (found, _) = program.run(&stream, &bytes_of(inputs))?;
                largest = largest.max(difference(&found, expected, tolerance)?);
            }
        }
    }
    Ok(largest)
}

fn network(hip: &Hip, family: &Family, buffers: bool) -> Outcome<f64> {
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
    hip.set_device(DEVICES - 1)?;
    let saved = file();
    match buffers {
        true => Program::compile(&model, false)?.save(&saved)?,
        false => host(&model).and_then(|p| p.save(&saved)).map_err(text)?,
    }
    let barrier = Barrier::new(DEVICES);
    let (barrier, model, file) = (&barrier, &model, &saved);
    let outcomes: Vec<Outcome<f64>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (works.iter().enumerate())
            .map(|(device, queue)| {
                scope.spawn(move || {
                    let program = prepare(hip, device, buffers, model, file);
                    barrier.wait();
                    program
                        .and_then(|program| work(hip, device, program, queue))
                        .map_err(|why| format!("device {device}: {why}"))
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
    let target = Target::gpu().map_err(text)?;
    let hip = Hip::loaded()?;
    if hip.devices()? != DEVICES {
        return Err(format!("{} devices for {DEVICES}", hip.devices()?));
    }
    let mut passed = true;
    for family in FAMILIES
        .iter()
        .filter(|f| NETWORKS.contains(&f.name) && f.name.contains(wanted))
    {
        for (buffers, name) in [(false, "host buffers"), (true, "device buffers")] {
            let start = std::time::Instant::now();
            let outcome = network(&hip, family, buffers);
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
    drop(target);
    Ok(passed & crate::modes::clean(setting, &hip))
}
