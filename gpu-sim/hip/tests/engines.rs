//! Work that takes a set time: what runs beside what, by the times of events,
//! which are those of the engines and do not depend on the machine.

mod common;
#[path = "common/timed.rs"]
mod timed;
use common::*;
use gpu_sim_hip::events::*;
use gpu_sim_hip::streams::*;
use std::ffi::c_void;
use std::ptr::null_mut;
use std::time::{Duration, Instant};
use timed::*;

/// Streams of one device: an upload, a kernel and a download at the same time.
#[test]
fn engines_work_side_by_side() {
    both(|_| {
        let mut bench = Bench::new();
        bench.upload(0, 0);
        bench.launch(1, 1);
        bench.download(2, 2);
        let ends = [0, 1, 2].map(|at| bench.mark(at));
        takes(bench.start, ends[0], COPY);
        takes(bench.start, ends[1], KERNEL);
        takes(bench.start, ends[2], COPY);
        assert_eq!(bench.host[1][0], 0xA5);
        bench.end();
    });
}

/// What one stream holds never overlaps, and events take no time.
#[test]
fn a_stream_does_one_thing_after_the_other() {
    both(|_| {
        let mut bench = Bench::new();
        bench.upload(0, 0);
        let uploaded = bench.mark(0);
        bench.launch(0, 0);
        bench.launch(0, 0);
        let ran = bench.mark(0);
        bench.download(0, 0);
        let done = bench.mark(0);
        takes(bench.start, uploaded, COPY);
        takes(uploaded, ran, 2.0 * KERNEL);
        takes(ran, done, COPY);
        assert_eq!(bench.host[1][0], 1);
        bench.end();
    });
}

/// One engine does one thing at a time, whatever the streams.
#[test]
fn streams_share_an_engine() {
    both(|_| {
        let mut bench = Bench::new();
        for at in [0, 1] {
            bench.upload(at, at);
        }
        let copied = bench.mark(1);
        bench.launch(0, 0);
        bench.launch(2, 2);
        let ran = [bench.mark(0), bench.mark(2)];
        takes(bench.start, copied, 2.0 * COPY);
        // The engine is free until the upload of stream 0 is over: too short for
        // the kernel of stream 2.
        takes(bench.start, ran[0], COPY + KERNEL);
        takes(bench.start, ran[1], COPY + 2.0 * KERNEL);
        bench.end();
    });
}

/// A stream waits for another's event; a third, that waits for nothing, goes before.
#[test]
fn what_is_ready_goes_first() {
    both(|_| {
        let mut bench = Bench::new();
        bench.upload(0, 0);
        bench.launch(0, 0);
        let ran = bench.mark(0);
        wait(bench.streams[1], ran);
        bench.download(1, 0);
        let got = bench.mark(1);
        bench.download(2, 2);
        let other = bench.mark(2);
        takes(bench.start, ran, COPY + KERNEL);
        takes(ran, got, COPY);
        takes(bench.start, other, COPY);
        // The second download of one buffer is not ordered after the first.
        ok(synchronize(bench.streams[1]));
        assert_eq!(found(gpu_sim_hip::checks::Kind::Race), 1);
        gpu_sim_hip::control::hipsim_reset();
        bench.end();
    });
}

/// The next run of a pipeline uploads while the one before computes: three
/// batches take three kernels' time, and one upload and download more.
#[test]
fn batches_overlap() {
    both(|_| {
        let mut bench = Bench::new();
        let mut ran = None;
        for at in 0..3 {
            bench.upload(at, at);
            if let Some(before) = ran {
                wait(bench.streams[at], before);
            }
            bench.launch(at, at);
            ran = Some(bench.mark(at));
        }
        bench.download(2, 2);
        let end = bench.mark(2);
        takes(bench.start, end, COPY + 3.0 * KERNEL + COPY);
        bench.end();
    });
}

/// Nothing that is queued is over before its time, and whoever waits sleeps.
#[test]
fn the_host_waits_for_the_time() {
    both(|_| {
        let mut bench = Bench::new();
        let begun = Instant::now();
        bench.launch(1, 1);
        let end = bench.mark(1);
        // SAFETY: handles of ours.
        unsafe {
            let mut milliseconds = 0.0;
            assert_eq!(hipEventQuery(end), 600);
            assert_eq!(hipStreamQuery(bench.streams[1]), 600);
            let status = hipEventElapsedTime(&mut milliseconds, bench.start, end);
            assert_eq!(status, 600);
            ok(hipEventSynchronize(end));
            ok(hipEventQuery(end));
            ok(hipStreamQuery(bench.streams[1]));
        }
        assert!(begun.elapsed() > Duration::from_millis(100));
        // A copy that waits takes its time in the call.
        let begun = Instant::now();
        let (to, from) = (bench.memory[2], bench.host[0].as_ptr());
        ok(copy(to, from.cast(), BYTES, H2D));
        assert!(begun.elapsed() >= Duration::from_millis(20));
        bench.end();
    });
}

/// The null stream waits for the blocking streams, in time too.
#[test]
fn the_null_stream_waits_in_time() {
    both(|_| {
        let (module, function) = kernel(NAMES);
        let (memory, mut queue) = (malloc(BYTES), null_mut());
        // SAFETY: an out pointer of ours.
        ok(unsafe { hipStreamCreate(&mut queue) });
        set_times();
        let begin = mark(queue);
        ok(launch(function, queue, &[memory, memory]));
        ok(launch(function, null_mut(), &[memory, memory]));
        let end = mark(null_mut());
        assert!(between(begin, end) >= 2.0 * KERNEL);
        destroy(queue);
        ok(free(memory));
        // SAFETY: handles of ours.
        unsafe {
            ok(hipEventDestroy(begin));
            ok(hipEventDestroy(end));
            ok(gpu_sim_hip::modules::hipModuleUnload(module));
        }
        assert_found(&[]);
    });
}

/// Queued work of many kernels ends when their times say, to the microsecond.
#[test]
fn time_does_not_drift() {
    both(|_| {
        let mut bench = Bench::new();
        set("op_us", "1000");
        for _ in 0..100 {
            bench.launch(0, 0);
        }
        let end = bench.mark(0);
        takes(bench.start, end, 100.0);
        bench.end();
    });
}

/// Without computing, kernels are checked and take their time; copies copy.
#[test]
fn kernels_that_compute_nothing() {
    unsafe extern "C" fn never(_: *mut c_void) {
        panic!("it ran");
    }
    both(|_| {
        let mut bench = Bench::new();
        set("compute", "0");
        bench.upload(0, 0);
        let uploaded = bench.mark(0);
        let used = gpu_sim_hip::host_work::HipsimUse {
            ptr: bench.memory[0],
            bytes: BYTES,
            write: 1,
        };
        // SAFETY: a C string, one use, and a function that takes anything.
        let enqueue = |used| unsafe {
            let (data, name) = (null_mut(), c"work".as_ptr());
            gpu_sim_hip::host_work::hipsim_enqueue(
                bench.streams[0],
                name,
                never,
                data,
                None,
                used,
                1,
            )
        };
        ok(enqueue(&used));
        let ran = bench.mark(0);
        bench.download(0, 0);
        takes(uploaded, ran, KERNEL);
        ok(synchronize(bench.streams[0]));
        assert_eq!(bench.host[1][0], 1);
        set("compute", "1");
        bench.end();
    });
}
