//! Several streams on one device, and programs that read each other's results.

use crate::harness::Test;
use crate::sim;
use migraphx::hip::{Device, DeviceBuffer, Stream};
use migraphx::{CompileOptions, DeviceBindings, DeviceProgram, Error, OnnxOptions, PendingRun};

pub const TESTS: &[Test] = &[
    Test::new("two_models_on_two_streams", two_models),
    Test::new("a_second_stage_reads_the_first", second_stage),
    Test::new("a_second_stage_in_another_stream", second_stage_elsewhere),
    Test::new("results_change_hands", change_hands),
    Test::new("links_that_do_not_fit", bad_links),
    Test::new("a_forgotten_first_stage", forgotten).expects(&[sim::Kind::Leak]),
];

fn compile(model: &[u8], device: Device) -> DeviceProgram {
    let program = OnnxOptions::new().parse_bytes(model).unwrap();
    program
        .compile_for_device(device, &CompileOptions::new())
        .unwrap()
}

/// `z = x + y` of 1,000 values.
fn add(device: Device) -> DeviceProgram {
    compile(&testkit::models::add(&[1000]), device)
}

/// `sum = x + x`, `product = x * x`.
fn two_outputs(device: Device) -> DeviceProgram {
    compile(&testkit::models::two_outputs(&[1000]), device)
}

fn fill(set: &mut DeviceBindings, name: &str, from: usize) {
    let id = set.id(name).unwrap();
    let values = set.input_mut::<f32>(id).unwrap();
    for (i, value) in values.iter_mut().enumerate() {
        *value = (from + i) as f32;
    }
}

fn series(of: impl Fn(f32) -> f32, from: usize) -> Vec<f32> {
    (0..1000).map(|i| of((from + i) as f32)).collect()
}

fn two_models() {
    let device = Device::new(2).unwrap();
    let (mut first, mut second) = (add(device), two_outputs(device));
    let streams = [Stream::new(device).unwrap(), Stream::new(device).unwrap()];
    let mut sets = Some((first.bindings().unwrap(), second.bindings().unwrap()));
    for round in 0..5 {
        let (mut a, mut b) = sets.take().unwrap();
        fill(&mut a, "x", round);
        fill(&mut a, "y", 10 * round);
        fill(&mut b, "x", round);
        let a = first.enqueue(a, &streams[0]).unwrap();
        let b = second.enqueue(b, &streams[1]).unwrap();
        let (b, a) = (b.wait().unwrap(), a.wait().unwrap());
        let sum = series(|v| 2.0 * v + 9.0 * round as f32, round);
        assert_eq!(a.output::<f32>(0).unwrap(), sum);
        assert_eq!(b.output::<f32>(0).unwrap(), series(|v| 2.0 * v, round));
        assert_eq!(b.output::<f32>(1).unwrap(), series(|v| v * v, round));
        sets = Some((a, b));
    }
}

/// `x*x + y` by two programs: the product never leaves the device.
fn chain(streams: [&Stream; 2]) {
    let device = streams[0].device();
    let (mut first, mut second) = (two_outputs(device), add(device));
    let (mut a, mut b) = (first.bindings().unwrap(), second.bindings().unwrap());
    a.set_download(0, false).unwrap();
    a.set_download(1, false).unwrap();
    let x = b.id("x").unwrap();
    for round in 0..4 {
        fill(&mut a, "x", round);
        fill(&mut b, "y", 7);
        let before = sim::counters(device.ordinal());
        let run = first.enqueue(a, streams[0]).unwrap();
        let run = run.then(&mut second, b, &[(1, x)], streams[1]).unwrap();
        let mut sets = run.wait_all().unwrap().into_iter();
        (a, b) = (sets.next().unwrap(), sets.next().unwrap());
        let moved = sim::counters(device.ordinal());
        assert_eq!(moved.device_to_host - before.device_to_host, 4000);
        assert_eq!(moved.host_to_device - before.host_to_device, 8000);
        let expected: Vec<f32> = (0..1000)
            .map(|i| ((round + i) * (round + i) + 7 + i) as f32)
            .collect();
        assert_eq!(b.output::<f32>(0).unwrap(), expected, "round {round}");
        assert!(a.output::<f32>(0).is_err(), "it was not downloaded");
    }
}

fn second_stage() {
    let stream = Stream::new(Device::new(5).unwrap()).unwrap();
    chain([&stream, &stream]);
}

fn second_stage_elsewhere() {
    let device = Device::new(1).unwrap();
    chain([&Stream::new(device).unwrap(), &Stream::new(device).unwrap()]);
}

fn change_hands() {
    let device = Device::new(4).unwrap();
    let stream = Stream::new(device).unwrap();
    let (mut first, mut second) = (two_outputs(device), add(device));
    let (mut a, mut b) = (first.bindings().unwrap(), second.bindings().unwrap());
    let (x, y) = (b.id("x").unwrap(), b.id("y").unwrap());
    let mut spare = [4000, 4000].map(|bytes| DeviceBuffer::new(device, bytes).unwrap());
    for round in 0..3 {
        fill(&mut a, "x", round);
        a = first.run(a, &stream).unwrap();
        let [first_spare, second_spare] = spare;
        let sum = a.replace_output(0, first_spare).unwrap();
        let product = a.replace_output(1, second_spare).unwrap();
        // Given away, so not to be had a second time.
        let error = a.output_buffer(1).unwrap_err().to_string();
        assert!(error.contains("given away"), "{error}");
        spare = [
            b.replace_input(x, sum).unwrap(),
            b.replace_input(y, product).unwrap(),
        ];
        b = second.run(b, &stream).unwrap();
        assert_eq!(
            b.output::<f32>(0).unwrap(),
            series(|v| 2.0 * v + v * v, round)
        );
        assert_eq!(
            b.input_buffer(x).unwrap().to_vec::<f32>().unwrap(),
            series(|v| 2.0 * v, round)
        );
    }
}

fn bad_links() {
    let device = Device::new(0).unwrap();
    let stream = Stream::new(device).unwrap();
    let mut first = two_outputs(device);
    let start = |first: &mut DeviceProgram| -> PendingRun {
        first.enqueue(first.bindings().unwrap(), &stream).unwrap()
    };

    let mut small = compile(&testkit::models::relu(&[10]), device);
    let set = small.bindings().unwrap();
    let x = set.id("x").unwrap();
    let error = start(&mut first).then(&mut small, set, &[(0, x)], &stream);
    let error = error.unwrap_err().to_string();
    assert!(
        error.contains("40 bytes") && error.contains("4000"),
        "{error}"
    );

    let mut far = add(Device::new(1).unwrap());
    let set = far.bindings().unwrap();
    let x = set.id("x").unwrap();
    let far_stream = Stream::new(far.device()).unwrap();
    let run = start(&mut first);
    let error = run.then(&mut far, set, &[(0, x)], &far_stream).unwrap_err();
    assert!(matches!(error, Error::WrongDevice { .. }), "{error}");

    let mut second = add(device);
    let set = second.bindings().unwrap();
    let x = set.id("x").unwrap();
    let error = start(&mut first).then(&mut second, set, &[(2, x)], &stream);
    let error = error.unwrap_err();
    assert!(matches!(error, Error::Output { index: 2, .. }), "{error}");

    // A result that is an input of the first cannot be taken from it.
    let mut view = compile(&testkit::models::relu_and_passthrough(&[1000]), device);
    let set = second.bindings().unwrap();
    let run = view.enqueue(view.bindings().unwrap(), &stream).unwrap();
    let error = run.then(&mut second, set, &[(1, x)], &stream).unwrap_err();
    assert!(
        error.to_string().contains("no buffer of its own"),
        "{error}"
    );
}

/// What the second stage reads stays alive, though nobody waits for the first.
fn forgotten() {
    let device = Device::new(3).unwrap();
    let stream = Stream::new(device).unwrap();
    let (mut first, mut second) = (two_outputs(device), add(device));
    let (mut a, b) = (first.bindings().unwrap(), second.bindings().unwrap());
    fill(&mut a, "x", 0);
    let x = b.id("x").unwrap();
    let run = first.enqueue(a, &stream).unwrap();
    std::mem::forget(run.then(&mut second, b, &[(0, x)], &stream).unwrap());
    drop((first, second));
    assert!(
        stream.is_idle().unwrap(),
        "dropping programs waits for their runs"
    );
}
