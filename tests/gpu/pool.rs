//! Pools with a worker on each device.

use crate::harness::Test;
use crate::sim;
use migraphx::hip::{Device, DeviceBuffer, Stream};
use migraphx::{
    Argument, Buckets, CompileOptions, CompiledProgram, DeviceBindings, DeviceProgram, Error,
    OnFailure, OnnxOptions, Pool, Result, Target, Worker,
};

pub const TESTS: &[Test] = &[
    Test::new("a_worker_on_each_device", worker_on_each).seconds(240),
    Test::new("a_failing_device_leaves_its_work", failing_device).seconds(240),
    Test::new("device_programs_on_each_device", device_programs).seconds(240),
    Test::new("batch_buckets_on_a_device", batch_buckets).seconds(240),
    Test::new("state_lives_with_its_device_current", state_on_device),
    Test::new("a_worker_that_cannot_start", cannot_start).env("GPU_SIM_DEVICES", "2"),
];

/// z = x + y, float [4], compiled for the GPU
fn program() -> Vec<u8> {
    OnnxOptions::new()
        .parse_bytes(&testkit::models::add(&[4]))
        .unwrap()
        .compile(&Target::new("gpu").unwrap(), &CompileOptions::new())
        .unwrap()
        .to_bytes()
        .unwrap()
}

fn pool() -> Pool {
    let program = program();
    Pool::on_devices(&Device::all(), move |_| {
        CompiledProgram::load_bytes(&program)
    })
    .unwrap()
}

fn double(worker: &mut Worker, number: &usize) -> Result<f32> {
    assert_eq!(Device::current()?.ordinal(), worker.index());
    for name in ["x", "y"] {
        let id = worker.inputs().id(name)?;
        worker.inputs().slice_mut::<f32>(id)?.fill(*number as f32);
    }
    Ok(worker.run()?.slice::<f32>(0)?[3])
}

fn worker_on_each() {
    let pool = pool();
    assert_eq!(pool.workers(), 8);
    let before: Vec<u64> = (0..8)
        .map(|device| sim::counters(device).launches)
        .collect();
    let run = pool.try_map(OnFailure::Stop, 0..80, double).dealt();
    for (number, result) in run.enumerate() {
        assert_eq!(result.unwrap(), 2.0 * number as f32);
    }
    for (device, before) in before.into_iter().enumerate() {
        let launches = sim::counters(device).launches - before;
        assert!(launches >= 10, "{launches} launches on device {device}");
    }
    assert!(pool.retired().is_empty());
}

/// One launch fails, on one of the devices: which one is not known.
fn failing_device() {
    for on_failure in [OnFailure::Move, OnFailure::Stop] {
        let pool = pool();
        sim::set_option("fail", "hipExtModuleLaunchKernel:5:719");
        let results: Vec<_> = pool.try_map(on_failure, 0..80, double).dealt().collect();
        let values = results.iter().filter_map(|result| result.as_ref().ok());
        for (number, value) in values.enumerate() {
            assert_eq!(*value, 2.0 * number as f32);
        }
        let retired = pool.retired();
        match on_failure {
            OnFailure::Move => {
                assert_eq!(results.iter().flatten().count(), 80);
                assert_eq!(retired.len(), 1, "{retired:?}");
                assert!(retired[0].1.contains("migraphx_program_run"), "{retired:?}");
            }
            OnFailure::Stop => {
                let error = results.last().unwrap().as_ref().unwrap_err();
                assert!(matches!(error, Error::Api { .. }), "{error}");
                assert!(results.len() < 80 && retired.is_empty());
            }
        }
        sim::set_option("fail", "");
    }
}

/// What a worker owns that keeps its data on the device.
struct Engine {
    program: DeviceProgram,
    /// Gone with a run that failed.
    set: Option<DeviceBindings>,
    stream: Stream,
}

impl Engine {
    fn double(&mut self, number: f32) -> Result<f32> {
        let mut set = match self.set.take() {
            Some(set) => set,
            None => self.program.bindings()?,
        };
        for name in ["x", "y"] {
            let id = set.id(name)?;
            set.input_mut::<f32>(id)?.fill(number);
        }
        let set = self.program.run(set, &self.stream)?;
        let sum = set.output::<f32>(0)?[3];
        self.set = Some(set);
        Ok(sum)
    }
}

fn device_programs() {
    let program = OnnxOptions::new()
        .parse_bytes(&testkit::models::add(&[4]))
        .unwrap()
        .compile_for_device(Device::new(0).unwrap(), &CompileOptions::new())
        .unwrap()
        .to_bytes()
        .unwrap();
    let pool = Pool::start_on(&Device::all(), move |device| {
        let program = DeviceProgram::load_bytes(&program, device)?;
        assert_eq!(program.device(), device);
        let set = Some(program.bindings()?);
        let stream = Stream::new(device)?;
        Ok(Engine {
            program,
            set,
            stream,
        })
    })
    .unwrap();
    let job = |engine: &mut Engine, number: &u32| engine.double(*number as f32);
    for (number, sum) in pool
        .try_map(OnFailure::Stop, 0..80, job)
        .dealt()
        .enumerate()
    {
        assert_eq!(sum.unwrap(), 2.0 * number as f32);
    }
    // One launch fails, then no more: its device goes, its work is done elsewhere.
    sim::set_option("fail", "hipExtModuleLaunchKernel:7:719");
    for (number, sum) in pool
        .try_map(OnFailure::Move, 0..80, job)
        .dealt()
        .enumerate()
    {
        assert_eq!(sum.unwrap(), 2.0 * number as f32);
    }
    sim::set_option("fail", "");
    assert_eq!(pool.retired().len(), 1, "{:?}", pool.retired());
}

fn batch_buckets() {
    let device = Device::new(5).unwrap();
    let model = testkit::models::dynamic_linear();
    let target = Target::gpu_on(device).unwrap();
    let read = |batch| OnnxOptions::new().default_dim(batch).parse_bytes(&model);
    let buckets = Buckets::compile(&[1, 4], &target, &CompileOptions::new(), read).unwrap();
    let folder = tempfile::tempdir().unwrap();
    buckets.save(folder.path()).unwrap();
    let loaded = Buckets::load_with(folder.path(), |path| CompiledProgram::load_on(path, device));
    for mut buckets in [buckets, loaded.unwrap()] {
        assert_eq!(buckets.program(4).unwrap().device(), Some(device));
        for rows in 1..=9 {
            let x: Vec<f32> = (0..4 * rows).map(|i| (i / 4) as f32).collect();
            let x = Argument::from_slice(&x, &[rows, 4]).unwrap();
            let outputs = buckets.run(&[("x", x)]).unwrap();
            let row = |i: usize| [12.0 * i as f32 + 0.5, 16.0 * i as f32 - 0.5];
            let expected: Vec<f32> = (0..rows).flat_map(row).collect();
            assert_eq!(outputs.slice::<f32>(0).unwrap(), expected);
        }
    }
    assert_eq!(sim::current_device(), 0);
}

fn state_on_device() {
    let devices: Vec<Device> = Device::all().into_iter().rev().collect();
    let pool = Pool::start_on(&devices, |device| {
        assert_eq!(Device::current()?, device);
        DeviceBuffer::from_slice(device, &[device.ordinal() as u32; 16])
    })
    .unwrap();
    let read = |buffer: &mut DeviceBuffer, _: &usize| -> Result<(usize, Vec<u32>)> {
        Ok((Device::current()?.ordinal(), buffer.to_vec::<u32>()?))
    };
    let run = pool.try_map(OnFailure::Stop, 0..16, read).dealt();
    for (item, result) in run.enumerate() {
        let device = 7 - item % 8;
        assert_eq!(result.unwrap(), (device, vec![device as u32; 16]));
    }
    assert_eq!(sim::current_device(), 0);
}

fn cannot_start() {
    let error = Pool::on_devices(&Device::all(), |device| match device.ordinal() {
        0 => CompiledProgram::load_bytes(&program()),
        _ => CompiledProgram::load("no/such/file.mxr"),
    })
    .unwrap_err();
    assert!(error.to_string().contains("no/such/file.mxr"), "{error}");
    let none = Pool::on_devices(&[], |_| CompiledProgram::load("x"));
    assert!(matches!(none, Err(Error::InvalidArgument(_))));
}
