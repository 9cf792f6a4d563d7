//! Sequences of safe calls that try to race, to read too early or to mix up memory.

use crate::harness::Test;
use crate::programs::{device_file, fill, linear_expected};
use crate::sim::{self, Call, ForeignStream};
use migraphx::hip::{Device, DeviceBuffer, Stream};
use migraphx::{CompileOptions, DeviceBindings, DeviceProgram, OnnxOptions, PendingRun, Program};
use testkit::models;

pub const TESTS: &[Test] = &[
    Test::new("streams_of_others", foreign_streams),
    Test::new("a_set_and_two_programs", alternating),
    Test::new("buffers_change_hands_in_any_order", odd_orders),
    Test::new("pinned_memory_is_next_to_its_device", pinned_nearby).logged(),
    Test::new("times_of_a_stream_that_is_busy", busy_times),
    Test::new("a_panic_and_a_child_with_a_run_in_flight", panic_in_flight),
];

pub fn parse(model: &[u8]) -> Program {
    OnnxOptions::new().parse_bytes(model).unwrap()
}

pub fn compile(model: &[u8], device: Device) -> DeviceProgram {
    let program = parse(model).compile_for_device(device, &CompileOptions::new());
    program.unwrap()
}

pub fn on(ordinal: usize) -> (Device, Stream) {
    let device = Device::new(ordinal).unwrap();
    (device, Stream::new(device).unwrap())
}

pub fn write(set: &mut DeviceBindings, name: &str, value: f32) {
    let id = set.id(name).unwrap();
    set.input_mut::<f32>(id).unwrap().fill(value);
}

fn foreign_streams() {
    let (device, own) = on(5);
    let mut first = DeviceProgram::load(device_file(), device).unwrap();
    let mut second = DeviceProgram::load(device_file(), device).unwrap();
    let theirs = device.scope(ForeignStream::new).unwrap();
    // SAFETY: it is of this device, and dropped last.
    let foreign = unsafe { Stream::from_raw(device, theirs.0) };
    // SAFETY: null is the null stream, which lives as long as the process.
    let null = unsafe { Stream::from_raw(device, std::ptr::null_mut()) };
    sim::set_current_device(2);
    for (seed, stream) in [&foreign, &null, &own, &foreign, &null]
        .into_iter()
        .enumerate()
    {
        let (mut a, mut b) = (first.bindings().unwrap(), second.bindings().unwrap());
        fill(&mut a, seed).unwrap();
        fill(&mut b, seed + 1).unwrap();
        // Two programs in one stream.
        let a = first.enqueue(a, stream).unwrap();
        let b = second.enqueue(b, stream).unwrap();
        let (b, a) = (b.wait().unwrap(), a.wait().unwrap());
        assert_eq!(a.output::<f32>(0).unwrap(), linear_expected(seed));
        assert_eq!(b.output::<f32>(0).unwrap(), linear_expected(seed + 1));
        // Dropped without a wait, and the program right after it.
        drop(first.enqueue(a, stream).unwrap());
        let pending = second.enqueue(b, stream).unwrap();
        assert_eq!(sim::current_device(), 2);
        drop((pending, stream));
    }
    let set = first.bindings().unwrap();
    std::mem::forget(Vec::<u8>::new());
    let pending = first.enqueue(set, &foreign).unwrap();
    drop((first, second));
    drop((foreign, null));
    drop(pending.wait().unwrap());
    sim::set_current_device(5);
    drop(theirs);
    sim::set_current_device(2);
}

fn alternating() {
    let (device, stream) = on(6);
    let other = Stream::new(device).unwrap();
    let mut programs = [(); 2].map(|()| DeviceProgram::load(device_file(), device).unwrap());
    let mut set = programs[1].bindings().unwrap();
    for seed in 0..6 {
        set.set_timing(seed % 3 == 1);
        set.set_download(0, seed % 4 != 3).unwrap();
        fill(&mut set, seed).unwrap();
        let stream = if seed % 3 == 0 { &stream } else { &other };
        set = programs[seed % 2].run(set, stream).unwrap();
        match seed % 4 {
            3 => {
                let error = set.output::<f32>(0).unwrap_err().to_string();
                assert!(error.contains("set_download"), "{error}");
                let on_device = set.output_buffer(0).unwrap().to_vec::<f32>().unwrap();
                assert_eq!(on_device, linear_expected(seed));
            }
            _ => assert_eq!(set.output::<f32>(0).unwrap(), linear_expected(seed)),
        }
        let times = set.run_times();
        assert_eq!(times.is_some(), seed % 3 == 1);
        if let Some(times) = times {
            assert!(times.began <= times.uploaded && times.uploaded <= times.ran);
            assert!(times.ran <= times.downloaded);
        }
    }
    // Another thread runs it while this one drops a program.
    let [mut first, second] = programs;
    fill(&mut set, 9).unwrap();
    let pending = first.enqueue(set, &stream).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let set = pending.wait().unwrap();
            assert_eq!(set.output::<f32>(0).unwrap(), linear_expected(9));
        });
        drop(second);
        drop(first);
    });
}

fn odd_orders() {
    let (device, stream) = on(4);
    let mut program = compile(&models::relu_and_passthrough(&[4]), device);
    let mut set = program.bindings().unwrap();
    let x = set.id("x").unwrap();
    let new = |values: [f32; 4]| DeviceBuffer::from_slice(device, &values).unwrap();
    // Nothing to give before a run.
    assert!(set.replace_output(0, new([0.0; 4])).is_err());
    // Written on the host, and then replaced: the buffer counts.
    set.input_mut::<f32>(x).unwrap().fill(9.0);
    let former = set.replace_input(x, new([-1.0, 1.0, -2.0, 2.0])).unwrap();
    assert_eq!(former.to_vec::<f32>().unwrap(), [0.0; 4]);
    set = program.run(set, &stream).unwrap();
    assert_eq!(set.output::<f32>(0).unwrap(), [0.0, 1.0, 0.0, 2.0]);
    assert_eq!(set.output::<f32>(1).unwrap(), [-1.0, 1.0, -2.0, 2.0]);
    // The input, which is the second output, goes; what was downloaded stays.
    let given = set.replace_input(x, former).unwrap();
    drop(given);
    assert!(set.output_buffer(1).is_err());
    assert_eq!(set.output::<f32>(1).unwrap(), [-1.0, 1.0, -2.0, 2.0]);
    // An output becomes the input of its own set.
    let relu = set.replace_output(0, new([7.0; 4])).unwrap();
    assert!(set.replace_output(0, new([7.0; 4])).is_err(), "given away");
    set.replace_input(x, relu).unwrap();
    set.set_download(1, false).unwrap();
    set = program.run(set, &stream).unwrap();
    assert_eq!(set.output::<f32>(0).unwrap(), [0.0, 1.0, 0.0, 2.0]);
    // Not written again, it keeps its value on the device.
    set = program.run(set, &stream).unwrap();
    assert_eq!(set.output::<f32>(0).unwrap(), [0.0, 1.0, 0.0, 2.0]);
    set.input_mut::<f32>(x).unwrap().fill(3.0);
    let run = program.enqueue(set, &stream).unwrap();
    drop(program);
    let set = run.wait().unwrap();
    assert_eq!(
        set.output_buffer(0).unwrap().to_vec::<f32>().unwrap(),
        [3.0; 4]
    );
}

/// HIP puts pinned memory next to the device that is current.
fn pinned_nearby() {
    let (device, stream) = on(5);
    let mut program = DeviceProgram::load(device_file(), device).unwrap();
    let before = Call::so_far().len();
    let mut set = program.bindings().unwrap();
    fill(&mut set, 1).unwrap();
    let set = program.run(set, &stream).unwrap();
    assert_eq!(set.output::<f32>(0).unwrap(), linear_expected(1));
    let calls = Call::so_far();
    let pinned = calls[before..]
        .iter()
        .filter(|call| call.name == "hipHostMalloc");
    let devices: Vec<usize> = pinned.map(|call| call.device).collect();
    assert_eq!(devices, [5, 5]);
}

/// The first timed run waits behind other work, and a later one does not.
fn busy_times() {
    let (device, busy) = on(3);
    let idle = Stream::new(device).unwrap();
    let mut other = compile(&models::add(&[1000]), device);
    let mut program = DeviceProgram::load(device_file(), device).unwrap();
    let before: Vec<PendingRun> = (0..3)
        .map(|_| other.enqueue(other.bindings().unwrap(), &busy).unwrap())
        .collect();
    let timed = |seed: usize| {
        let mut set = program.bindings().unwrap();
        set.set_timing(true);
        fill(&mut set, seed).unwrap();
        set
    };
    let (first, second) = (timed(1), timed(2));
    let first = program.enqueue(first, &busy).unwrap();
    let second = program.enqueue(second, &idle).unwrap().wait().unwrap();
    let first = first.wait().unwrap();
    for (seed, set) in [(1, &first), (2, &second)] {
        assert_eq!(set.output::<f32>(0).unwrap(), linear_expected(seed));
        let times = set.run_times().unwrap();
        assert!(times.began <= times.uploaded, "{times:?}");
        assert!(
            times.uploaded <= times.ran && times.ran <= times.downloaded,
            "{times:?}"
        );
    }
    drop(before);
    // Not timed: no times of the run before.
    let mut first = first;
    first.set_timing(false);
    assert_eq!(program.run(first, &idle).unwrap().run_times(), None);
}

fn panic_in_flight() {
    let (device, stream) = on(1);
    let mut program = DeviceProgram::load(device_file(), device).unwrap();
    let mut set = program.bindings().unwrap();
    fill(&mut set, 1).unwrap();
    let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let _pending = program.enqueue(set, &stream).unwrap();
        sim::set_current_device(4);
        device.scope(|| panic!("on purpose")).unwrap()
    }));
    caught.unwrap_err();
    assert_eq!(sim::current_device(), 4);
    let mut set = program.bindings().unwrap();
    fill(&mut set, 2).unwrap();
    let pending = program.enqueue(set, &stream).unwrap();
    // A child process meanwhile.
    assert!(
        std::process::Command::new("true")
            .status()
            .unwrap()
            .success()
    );
    let set = pending.wait().unwrap();
    assert_eq!(set.output::<f32>(0).unwrap(), linear_expected(2));
}
