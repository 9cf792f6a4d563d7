//! Runs that read each other's results, linked and dropped in every way.

use crate::attack::{compile, on, write};
use crate::harness::Test;
use crate::sim::{self, Kind};
use migraphx::hip::{Device, Stream};
use migraphx::{DeviceBindings, DeviceProgram, Error, PendingRun};
use testkit::models;

pub const TESTS: &[Test] = &[
    Test::new("links_in_any_number", links),
    Test::new("three_stages_dropped_in_any_order", three_stages),
    Test::new("a_device_that_cannot_be_waited_for", no_waiting).expects(&[Kind::Leak]),
];

fn links() {
    let (device, stream) = on(7);
    let mut first = compile(&models::two_outputs(&[100]), device);
    let mut second = compile(&models::add(&[100]), device);
    let start = |first: &mut DeviceProgram| -> PendingRun {
        let mut set = first.bindings().unwrap();
        write(&mut set, "x", 3.0);
        first.enqueue(set, &stream).unwrap()
    };
    let set = second.bindings().unwrap();
    let (x, y) = (set.id("x").unwrap(), set.id("y").unwrap());
    // Two results for one input.
    let run = start(&mut first);
    let error = run
        .then(&mut second, set, &[(0, x), (1, x)], &stream)
        .unwrap_err();
    assert!(matches!(error, Error::InvalidArgument(_)), "{error}");
    // One result for two inputs: there is one buffer of it.
    let (run, set) = (start(&mut first), second.bindings().unwrap());
    let error = run
        .then(&mut second, set, &[(0, x), (0, y)], &stream)
        .unwrap_err();
    assert!(matches!(error, Error::Output { index: 0, .. }), "{error}");
    // Fails after buffers have changed places.
    let (run, set) = (start(&mut first), second.bindings().unwrap());
    let error = run
        .then(&mut second, set, &[(0, x), (5, y)], &stream)
        .unwrap_err();
    assert!(matches!(error, Error::Output { index: 5, .. }), "{error}");
    // None: the second only comes after the first.
    let (run, mut set) = (start(&mut first), second.bindings().unwrap());
    write(&mut set, "x", 1.0);
    write(&mut set, "y", 2.0);
    let sets = run
        .then(&mut second, set, &[], &stream)
        .unwrap()
        .wait_all()
        .unwrap();
    assert_eq!(sets[1].output::<f32>(0).unwrap(), [3.0; 100]);
    assert_eq!(sets[0].output::<f32>(1).unwrap(), [9.0; 100]);
    // The library fails when the second is queued.
    for call in [
        "hipExtModuleLaunchKernel:1:719",
        "hipMemcpyAsync:1:719",
        "hipEventRecord:1:719",
    ] {
        let (run, set) = (start(&mut first), second.bindings().unwrap());
        sim::set_option("fail", call);
        run.then(&mut second, set, &[(0, x), (1, y)], &stream)
            .unwrap_err();
        sim::set_option("fail", "");
    }
    // The program itself behind itself, and after all that.
    let (run, set) = (start(&mut first), first.bindings().unwrap());
    let id = set.id("x").unwrap();
    let run = run.then(&mut first, set, &[(1, id)], &stream).unwrap();
    let set = run.wait().unwrap();
    assert_eq!(set.output::<f32>(1).unwrap(), [81.0; 100]);
}

fn three_stages() {
    let device = Device::new(2).unwrap();
    for order in 0..6 {
        let streams = [(); 3].map(|()| Stream::new(device).unwrap());
        let mut square = compile(&models::two_outputs(&[100]), device);
        let mut add = compile(&models::add(&[100]), device);
        let mut a = square.bindings().unwrap();
        write(&mut a, "x", 2.0);
        let mut b = add.bindings().unwrap();
        write(&mut b, "y", 1.0);
        let c = square.bindings().unwrap();
        let (into_b, into_c) = (b.id("x").unwrap(), c.id("x").unwrap());
        let run = square.enqueue(a, &streams[0]).unwrap();
        let run = run.then(&mut add, b, &[(1, into_b)], &streams[1]).unwrap();
        // The middle program again, in the first stream, before the last stage.
        let mut beside = add.bindings().unwrap();
        write(&mut beside, "x", 50.0);
        let beside = add.enqueue(beside, &streams[0]).unwrap();
        let run = run
            .then(&mut square, c, &[(0, into_c)], &streams[2])
            .unwrap();
        let check = |sets: Vec<DeviceBindings>| {
            assert_eq!(sets.len(), 3);
            assert_eq!(sets[0].output::<f32>(0).unwrap(), [4.0; 100]);
            assert_eq!(sets[1].output::<f32>(0).unwrap(), [5.0; 100]);
            assert_eq!(sets[2].output::<f32>(1).unwrap(), [25.0; 100]);
        };
        match order {
            0 => check(run.wait_all().unwrap()),
            1 => {
                drop(streams);
                drop((square, add));
                check(run.wait_all().unwrap());
            }
            2 => drop(run),
            3 => {
                drop(run.wait().unwrap());
                drop(beside);
                continue;
            }
            4 => {
                drop(square);
                drop(run);
                drop(add);
            }
            _ => {
                let moved = std::thread::spawn(move || run.wait_all().unwrap());
                drop(add);
                check(moved.join().unwrap());
            }
        }
        let beside = beside.wait().unwrap();
        assert_eq!(beside.output::<f32>(0).unwrap(), [50.0; 100]);
    }
}

/// What the device may still write is leaked, in whichever of two sets it is.
fn no_waiting() {
    let (device, stream) = on(4);
    let mut first = compile(&models::two_outputs(&[100]), device);
    let mut second = compile(&models::add(&[100]), device);
    let fail = "hipEventSynchronize:1:719,hipDeviceSynchronize:1:719";
    for linked in [false, true] {
        let mut set = first.bindings().unwrap();
        write(&mut set, "x", 2.0);
        let run = first.enqueue(set, &stream).unwrap();
        let set = second.bindings().unwrap();
        let (x, y) = (set.id("x").unwrap(), set.id("y").unwrap());
        sim::set_option("fail", fail);
        match linked {
            // The first link has exchanged buffers; the second does not fit.
            true => drop(run.then(&mut second, set, &[(1, x), (7, y)], &stream)),
            false => drop(run),
        }
        sim::set_option("fail", "");
        stream.synchronize().unwrap();
    }
    assert_eq!(sim::all_violations(), 0, "{:?}", sim::texts());
    // Two sets of the first program, one of the second: three buffers each, and
    // the host's side of an input and two outputs.
    let left = sim::live(Some(4));
    drop((first, second));
    assert!(left >= 9, "{left}");
}
