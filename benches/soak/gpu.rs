//! Programs on eight virtual GPUs; `cargo xtask soak` sets them up.

use crate::{Subject, sim, watch};
use anyhow::{Context, Result, ensure};
use migraphx::hip::{Device, Event, Stream};
use migraphx::{
    CompileOptions, DeviceBindings, DeviceProgram, OnFailure, OnnxOptions, PendingRun, Pool,
};
use testkit::held::Looks;

pub const SUBJECTS: &[Subject] = &[
    Subject {
        name: "GPU: runs on a stream, events",
        rounds: [1_000, 20_000],
        run: |rounds| balanced(|| runs(rounds)),
    },
    Subject {
        name: "GPU: streams and events",
        rounds: [2_000, 50_000],
        run: |rounds| balanced(|| streams(rounds)),
    },
    Subject {
        name: "GPU: load and drop, one device",
        rounds: [200, 2_000],
        run: |rounds| balanced(|| loads_only(rounds)).map(|looks| keeping(looks, 128)),
    },
    Subject {
        name: "GPU: load, run, drop, 8 devices",
        rounds: [200, 2_000],
        run: |rounds| balanced(|| loads(rounds)).map(|looks| keeping(looks, 512)),
    },
    Subject {
        name: "GPU: pool of 8, a copy fails",
        rounds: [50, 500],
        run: |rounds| balanced(|| failing(rounds)).map(|looks| keeping(looks, 12 << 10)),
    },
];

/// # Errors
/// Where the MIGraphX that is loaded is not that of the virtual GPU.
pub fn check() -> Result<()> {
    let at = migraphx::library_path()?;
    let folder = at.parent().context("the library is in no folder")?;
    let missing = || {
        format!(
            "no virtual GPU in {}: use `cargo xtask soak`",
            folder.display()
        )
    };
    ensure!(folder.join(sim::HIP).is_file(), missing());
    Ok(())
}

/// The virtual GPU remembers each allocation that was freed, to know it when it is
/// used again: so many bytes of heap a round, measured.
fn keeping(mut looks: Looks, bytes: usize) -> Looks {
    looks.others_keep = bytes;
    looks
}

/// Nothing may be left on a device, and the devices must have found no mistake.
fn balanced(subject: impl FnOnce() -> Result<Looks>) -> Result<Looks> {
    let before = sim::live(None);
    let looks = subject()?;
    let (after, mistakes) = (sim::live(None), sim::all_violations());
    ensure!(
        after == before,
        "{before} allocations on the devices before, {after} after"
    );
    ensure!(mistakes == 0, "{mistakes} mistakes: {:?}", sim::texts());
    Ok(looks)
}

/// `y = x · w`, compiled for device buffers. rocBLAS does all of it: a kernel of
/// MIGraphX's own would be a library that the virtual GPU never unloads.
fn program() -> Result<Vec<u8>> {
    let model = testkit::models::matmul(1, 4, 4, &[0.5; 16]);
    let program = OnnxOptions::new().parse_bytes(&model)?;
    let program = program.compile_for_device(Device::new(0)?, &CompileOptions::new())?;
    Ok(program.to_bytes()?)
}

fn fill(set: &mut DeviceBindings, value: f32) -> migraphx::Result<()> {
    let x = set.id("x")?;
    set.input_mut::<f32>(x)?.fill(value);
    Ok(())
}

fn expect(set: &DeviceBindings, value: f32) -> Result<()> {
    let found = set.output::<f32>(0)?;
    ensure!(found == [2.0 * value; 4], "{value} gave {found:?}");
    Ok(())
}

/// Two sets in turn: one is on its way while the other is filled.
fn runs(rounds: usize) -> Result<Looks> {
    let device = Device::new(1)?;
    let mut program = DeviceProgram::load_bytes(&program()?, device)?;
    let stream = Stream::new(device)?;
    let mut free = vec![program.bindings()?, program.bindings()?];
    let mut under_way: Option<(f32, PendingRun)> = None;
    let mut round = 0;
    let looks = watch(rounds, || {
        let value = (round % 100) as f32;
        round += 1;
        let mut set = free.pop().context("a set is free")?;
        fill(&mut set, value)?;
        let event = Event::new(device)?;
        let pending = program.enqueue(set, &stream)?;
        event.record(&stream)?;
        if let Some((value, pending)) = under_way.replace((value, pending)) {
            let set = pending.wait()?;
            expect(&set, value)?;
            free.push(set);
        }
        event.synchronize()?;
        Ok(())
    })?;
    if let Some((value, pending)) = under_way {
        expect(&pending.wait()?, value)?;
    }
    Ok(looks)
}

fn streams(rounds: usize) -> Result<Looks> {
    let device = Device::new(2)?;
    watch(rounds, || {
        let (stream, event) = (Stream::new(device)?, Event::new(device)?);
        event.record(&stream)?;
        stream.synchronize()?;
        Ok(())
    })
}

fn loads_only(rounds: usize) -> Result<Looks> {
    let (bytes, device) = (program()?, Device::new(3)?);
    watch(rounds, || {
        DeviceProgram::load_bytes(&bytes, device)?;
        Ok(())
    })
}

fn loads(rounds: usize) -> Result<Looks> {
    let bytes = program()?;
    let mut round = 0;
    watch(rounds, || {
        let device = Device::new(round % 8)?;
        round += 1;
        let mut program = DeviceProgram::load_bytes(&bytes, device)?;
        let stream = Stream::new(device)?;
        let mut set = program.bindings()?;
        fill(&mut set, round as f32)?;
        expect(&program.run(set, &stream)?, round as f32)
    })
}

/// A program on its device.
struct Engine {
    program: DeviceProgram,
    stream: Stream,
}

/// One copy fails somewhere: its worker goes, and no item is the worse for it.
fn failing(rounds: usize) -> Result<Looks> {
    let bytes = program()?;
    let devices: Vec<Device> = Device::all();
    watch(rounds, || {
        let bytes = bytes.clone();
        let pool = Pool::start_on(&devices, move |device| {
            Ok(Engine {
                program: DeviceProgram::load_bytes(&bytes, device)?,
                stream: Stream::new(device)?,
            })
        })?;
        sim::set_option("fail", "hipMemcpyAsync:9:719");
        let job = |engine: &mut Engine, item: &usize| {
            let mut set = engine.program.bindings()?;
            fill(&mut set, *item as f32)?;
            let set = engine.program.run(set, &engine.stream)?;
            Ok::<_, migraphx::Error>(set.output::<f32>(0)?.to_vec())
        };
        let results: Vec<_> = pool.try_map(OnFailure::Move, 0..32, job).dealt().collect();
        sim::set_option("fail", "");
        ensure!(results.len() == 32, "{} of 32 results", results.len());
        for (item, result) in results.into_iter().enumerate() {
            ensure!(result? == [2.0 * item as f32; 4], "item {item}");
        }
        ensure!(pool.retired().len() == 1, "retired: {:?}", pool.retired());
        Ok(())
    })
}
