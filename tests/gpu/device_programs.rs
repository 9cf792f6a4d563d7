//! Programs for device buffers: what is refused, in which order things may be
//! dropped, and what runs beside what.

use crate::harness::Test;
use crate::programs::{self, device_file, fill, host_file, linear_expected, run_device};
use crate::sim::{self, Call, Kind};
use migraphx::hip::{Device, DeviceBuffer, Stream};
use migraphx::{
    CompileOptions, CompiledProgram, DeviceProgram, Error, OnnxOptions, Program, Target, mxr,
};
use std::any::Any;
use std::path::Path;
use testkit::models;

pub const TESTS: &[Test] = &[
    Test::new("wrong_devices_are_refused_before_any_call", wrong_devices).logged(),
    Test::new("sets_of_other_programs", foreign_sets).logged(),
    Test::new("anything_may_be_dropped_first", any_order).seconds(240),
    Test::new("several_sets_in_flight", in_flight),
    Test::new("a_forgotten_run_leaks_and_never_races", forgotten).expects(&[Kind::Leak]),
    Test::new("another_architecture_is_named", other_architecture).env(
        "GPU_SIM_ARCH",
        "gfx90a:sramecc+:xnack-,gfx942:sramecc+:xnack-",
    ),
    Test::new("the_other_kind_of_program_is_an_error", other_kind),
];

pub fn device(ordinal: usize) -> Device {
    Device::new(ordinal).unwrap()
}

fn load(ordinal: usize) -> DeviceProgram {
    DeviceProgram::load(device_file(), device(ordinal)).unwrap()
}

/// Runs `call`, which must fail without a single HIP call.
#[track_caller]
fn refused<R>(call: impl FnOnce() -> migraphx::Result<R>) -> Error {
    let before = Call::so_far().len();
    let result = call();
    let calls = Call::so_far();
    // The set that was taken is freed, on its own device; nothing else happens.
    let worked: Vec<_> = calls[before..]
        .iter()
        .filter(|call| {
            let freeing = [
                "hipFree",
                "hipHostFree",
                "hipEventDestroy",
                "hipGetDevice",
                "hipSetDevice",
            ];
            !freeing.contains(&&*call.name)
        })
        .collect();
    assert!(worked.is_empty(), "{worked:?}");
    match result {
        Ok(_) => panic!("it was not refused"),
        Err(error) => error,
    }
}

#[track_caller]
pub fn says(error: &Error, words: &[&str]) {
    let text = error.to_string();
    for word in words {
        assert!(text.contains(word), "`{word}` is not in: {text}");
    }
}

fn wrong_devices() {
    let mut program = load(1);
    let other = load(2);
    let (own, foreign) = (
        Stream::new(device(1)).unwrap(),
        Stream::new(device(2)).unwrap(),
    );

    let set = program.bindings().unwrap();
    let error = refused(|| program.enqueue(set, &foreign));
    assert!(matches!(error, Error::WrongDevice { .. }), "{error}");
    says(&error, &["the stream", "GPU 1", "GPU 2"]);

    let set = other.bindings().unwrap();
    let error = refused(|| program.enqueue(set, &own));
    assert!(matches!(error, Error::WrongDevice { .. }), "{error}");
    says(&error, &["set of buffers", "GPU 1", "GPU 2"]);

    let mut set = program.bindings().unwrap();
    let x = set.id("x").unwrap();
    let bytes = set.input_buffer(x).unwrap().len();
    let buffer = DeviceBuffer::new(device(2), bytes).unwrap();
    let error = refused(|| set.replace_input(x, buffer));
    assert!(matches!(error, Error::WrongDevice { .. }), "{error}");
    let buffer = DeviceBuffer::new(device(1), bytes + 4).unwrap();
    let error = refused(|| set.replace_input(x, buffer));
    assert!(matches!(error, Error::InvalidArgument(_)), "{error}");
    // The set is as it was.
    let (_, y) = run_device(&mut program, set, &own, 3).unwrap();
    assert_eq!(y, linear_expected(3));
}

fn foreign_sets() {
    let mut program = load(1);
    let stream = Stream::new(device(1)).unwrap();
    let other = compile_add(&[4], 1);
    let set = other.bindings().unwrap();
    let error = refused(|| program.enqueue(set, &stream));
    assert!(matches!(error, Error::ForeignInputs(_)), "{error}");
    says(&error, &["x", "y"]);

    let mut set = program.bindings().unwrap();
    let unknown = set.id("z").unwrap_err();
    says(&unknown, &["z", "x"]);
    let (_, y) = (other.bindings().unwrap(), other.bindings().unwrap());
    let y = y.id("y").unwrap();
    // The second input of another program; this one has only one.
    let error = set.input_mut::<f32>(y).unwrap_err();
    assert!(matches!(error, Error::InvalidArgument(_)), "{error}");
    let x = set.id("x").unwrap();
    let error = set.input_mut::<i32>(x).unwrap_err();
    assert!(matches!(error, Error::DataTypeMismatch { .. }), "{error}");
    assert!(set.output::<f32>(0).is_err(), "before any run");
    assert!(set.output::<f32>(1).is_err(), "there is no such output");

    // A set of an equal program is as good.
    let twin = load(1);
    let set = twin.bindings().unwrap();
    drop(twin);
    let (_, y) = run_device(&mut program, set, &stream, 2).unwrap();
    assert_eq!(y, linear_expected(2));
}

pub fn parse(model: &[u8]) -> Program {
    OnnxOptions::new().parse_bytes(model).unwrap()
}

pub fn compile_add(dims: &[usize], ordinal: usize) -> DeviceProgram {
    parse(&models::add(dims))
        .compile_for_device(device(ordinal), &CompileOptions::new())
        .unwrap()
}

/// All orders of `count` things.
fn orders(count: usize) -> Vec<Vec<usize>> {
    if count == 0 {
        return vec![vec![]];
    }
    let shorter = orders(count - 1);
    let longer = |order: &Vec<usize>| -> Vec<Vec<usize>> {
        let at = 0..count;
        at.map(|at| {
            let mut order = order.clone();
            order.insert(at, count - 1);
            order
        })
        .collect()
    };
    shorter.iter().flat_map(longer).collect()
}

fn any_order() {
    let orders = orders(4);
    assert_eq!(orders.len(), 24);
    for (round, order) in orders.into_iter().enumerate() {
        let ordinal = round % 8;
        let mut program = load(ordinal);
        let stream = Stream::new(device(ordinal)).unwrap();
        let mut first = program.bindings().unwrap();
        fill(&mut first, round).unwrap();
        let second = program.bindings().unwrap();
        let pending = program.enqueue(first, &stream).unwrap();
        let mut things: Vec<Option<Box<dyn Any>>> = vec![
            Some(Box::new(program)),
            Some(Box::new(stream)),
            Some(Box::new(pending)),
            Some(Box::new(second)),
        ];
        for thing in order {
            things[thing] = None;
        }
        assert_eq!(sim::live(Some(ordinal)), 0, "round {round}");
    }
    assert_eq!(sim::live(None), 0);
}

/// Three sets and two streams, each result of the input it was queued with.
fn in_flight() {
    let mut program = load(4);
    let streams = [4, 4].map(|ordinal| Stream::new(device(ordinal)).unwrap());
    let mut free: Vec<_> = (0..3).map(|_| program.bindings().unwrap()).collect();
    let mut running = std::collections::VecDeque::new();
    for seed in 0..20 {
        let mut set = match free.pop() {
            Some(set) => set,
            None => {
                let (seed, run): (usize, migraphx::PendingRun) = running.pop_front().unwrap();
                let set = run.wait().unwrap();
                assert_eq!(set.output::<f32>(0).unwrap(), linear_expected(seed));
                set
            }
        };
        fill(&mut set, seed).unwrap();
        let run = program.enqueue(set, &streams[seed % 2]).unwrap();
        running.push_back((seed, run));
    }
    // Waited for in the other order.
    for (seed, run) in running.into_iter().rev() {
        let set = run.wait().unwrap();
        assert_eq!(set.output::<f32>(0).unwrap(), linear_expected(seed));
    }
}

fn forgotten() {
    let mut program = load(3);
    let stream = Stream::new(device(3)).unwrap();
    let mut set = program.bindings().unwrap();
    fill(&mut set, 1).unwrap();
    std::mem::forget(program.enqueue(set, &stream).unwrap());
    // The program goes on beside it, and is dropped while nobody has waited.
    let mut set = program.bindings().unwrap();
    fill(&mut set, 2).unwrap();
    let pending = program.enqueue(set, &stream).unwrap();
    let set = pending.wait().unwrap();
    assert_eq!(set.output::<f32>(0).unwrap(), linear_expected(2));
    std::mem::forget(program.enqueue(set, &stream).unwrap());
    drop(program);
    drop(stream);
    // Two sets: an input, an output and the pinned side of each.
    let left = sim::live(None);
    assert!((4..=8).contains(&left), "{left} allocations are left");
    assert_eq!(sim::all_violations(), 0, "{:?}", sim::texts());
}

fn other_architecture() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let program = programs::linear().compile_for_device(device(0), &CompileOptions::new());
    program.unwrap().save(path("device.mxr")).unwrap();
    let target = Target::gpu_on(device(0)).unwrap();
    let program = programs::linear().compile(&target, &CompileOptions::new());
    program.unwrap().save(path("host.mxr")).unwrap();
    let check = |error: Error, path: &Path| {
        assert!(matches!(error, Error::Architecture { .. }), "{error}");
        says(
            &error,
            &["gfx90a", "GPU 1", "gfx942", path.to_str().unwrap()],
        );
    };
    let error = DeviceProgram::load(path("device.mxr"), device(1)).unwrap_err();
    check(error, &path("device.mxr"));
    let error = CompiledProgram::load_on(path("host.mxr"), device(1)).unwrap_err();
    check(error, &path("host.mxr"));
    // Each on its own kind of device.
    drop(DeviceProgram::load(path("device.mxr"), device(0)).unwrap());
    let program = programs::linear().compile_for_device(device(1), &CompileOptions::new());
    let bytes = program.unwrap().to_bytes().unwrap();
    let mut program = DeviceProgram::load_bytes(&bytes, device(2)).unwrap();
    let (set, stream) = (program.bindings().unwrap(), Stream::new(device(2)).unwrap());
    let (_, y) = run_device(&mut program, set, &stream, 1).unwrap();
    assert_eq!(y, linear_expected(1));
    let error = DeviceProgram::load_bytes(&bytes, device(0)).unwrap_err();
    says(&error, &["gfx942", "GPU 0", "gfx90a"]);
}

fn other_kind() {
    let error = CompiledProgram::load_on(device_file(), device(1)).unwrap_err();
    assert!(matches!(error, Error::BufferKind { .. }), "{error}");
    says(
        &error,
        &[
            "linear-device.mxr",
            "buffers on the device",
            "DeviceProgram",
        ],
    );
    let error = DeviceProgram::load(host_file(), device(1)).unwrap_err();
    assert!(matches!(error, Error::BufferKind { .. }), "{error}");
    says(
        &error,
        &["linear-host.mxr", "host buffers", "CompiledProgram"],
    );
    let error = programs::linear()
        .compile(
            &Target::gpu_on(device(1)).unwrap(),
            &CompileOptions::new().offload_copy(false),
        )
        .unwrap_err();
    assert!(matches!(error, Error::BufferKind { .. }), "{error}");
    // Whichever it is.
    assert!(matches!(
        mxr::load(device_file()),
        Ok(mxr::Loaded::Device(_))
    ));
    assert!(matches!(
        mxr::load(host_file()),
        Ok(mxr::Loaded::Compiled(_))
    ));
    let error = Program::load(device_file()).unwrap_err();
    assert!(matches!(error, Error::AlreadyCompiled { .. }), "{error}");
}
