//! What waits for what, and who works at the same time as whom.

mod common;
use common::*;
use gpu_sim_hip::abi::Handle;
use gpu_sim_hip::callbacks::*;
use gpu_sim_hip::control::{hipsim_live, hipsim_violations};
use gpu_sim_hip::devices::*;
use gpu_sim_hip::events::*;
use gpu_sim_hip::fills::*;
use gpu_sim_hip::host_work::*;
use gpu_sim_hip::streams::*;
use std::ffi::{c_int, c_void};
use std::ptr::{null, null_mut};
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

fn blocking() -> Handle {
    let mut handle = null_mut();
    // SAFETY: an out pointer of ours.
    ok(unsafe { hipStreamCreate(&mut handle) });
    handle
}

/// Appends a letter when its turn comes.
fn mark(order: &'static Mutex<String>, letter: &'static str, stream: Handle) {
    unsafe extern "C" fn run(data: *mut c_void) {
        // SAFETY: the box below, given up once.
        let (order, letter) =
            *unsafe { Box::from_raw(data.cast::<(&'static Mutex<String>, &'static str)>()) };
        order.lock().unwrap().push_str(letter);
    }
    let data = Box::into_raw(Box::new((order, letter)));
    // SAFETY: the function takes the box.
    ok(unsafe { hipLaunchHostFunc(stream, Some(run), data.cast()) });
}

/// Deferred: the null stream comes after the blocking streams and before their
/// next work; a non-blocking stream goes its own way.
#[test]
fn the_null_stream() {
    static ORDER: Mutex<String> = Mutex::new(String::new());
    let _guard = start(true);
    let (a, b, free_one) = (blocking(), blocking(), stream());
    mark(&ORDER, "a", a);
    mark(&ORDER, "x", free_one);
    mark(&ORDER, "0", null_mut());
    mark(&ORDER, "b", b);
    assert_eq!(*ORDER.lock().unwrap(), "");
    ok(synchronize(b));
    assert_eq!(
        *ORDER.lock().unwrap(),
        "a0b",
        "b waits for the null stream, that for a"
    );
    ok(synchronize(free_one));
    assert_eq!(*ORDER.lock().unwrap(), "a0bx");
    [a, b, free_one].into_iter().for_each(destroy);
}

/// Deferred: a wait for an event runs what the event stands for, no more.
#[test]
fn events_between_streams() {
    static ORDER: Mutex<String> = Mutex::new(String::new());
    let _guard = start(true);
    let (a, b, mut event) = (stream(), stream(), null_mut());
    // SAFETY: handles of ours throughout.
    unsafe {
        ok(hipEventCreate(&mut event));
        assert_eq!(hipEventQuery(event), 0, "never recorded counts as done");
        mark(&ORDER, "a", a);
        ok(hipEventRecord(event, a));
        mark(&ORDER, "c", a);
        ok(hipStreamWaitEvent(b, event, 0));
        mark(&ORDER, "b", b);
        assert_eq!(hipStreamQuery(a), 600, "each query does one operation: a");
        assert_eq!(*ORDER.lock().unwrap(), "a");
        ok(synchronize(b));
        assert_eq!(*ORDER.lock().unwrap(), "ab");
        ok(hipEventSynchronize(event));
        assert_eq!(*ORDER.lock().unwrap(), "ab");
        let (mut end, mut milliseconds) = (null_mut(), -1.0);
        ok(hipEventCreate(&mut end));
        assert_eq!(hipEventElapsedTime(&mut milliseconds, event, end), 400);
        ok(hipEventRecord(end, a));
        assert_eq!(hipEventElapsedTime(&mut milliseconds, event, end), 600);
        ok(synchronize(a));
        ok(hipEventElapsedTime(&mut milliseconds, event, end));
        assert!(milliseconds >= 0.0);
        assert_eq!(*ORDER.lock().unwrap(), "abc");
        ok(hipEventDestroy(event));
        ok(hipEventDestroy(end));
        assert_eq!(hipStreamWaitEvent(a, event, 0), 400);
    }
    destroy(a);
    destroy(b);
}

/// Deferred: a pinned source that is changed too early gives the new bytes;
/// pageable memory makes the call wait.
#[test]
fn when_a_copy_reads() {
    let _guard = start(true);
    let (memory, host, queue) = (malloc(4), pinned(4, 1), stream());
    ok(copy_async(memory, host.as_ptr().cast(), 4, H2D, queue));
    host.fill(2);
    let mut pageable = [0u8; 4];
    ok(copy_async(
        pageable.as_mut_ptr().cast(),
        memory,
        4,
        D2H,
        queue,
    ));
    assert_eq!(pageable, [2; 4]);
    assert_eq!(counters(0).pageable_async, 1);
    destroy(queue);
    ok(free(memory));
    unpin(host);
}

/// Copies inside a device do not wait, even the synchronous ones; the null
/// stream orders them.
#[test]
fn copies_inside_a_device() {
    let _guard = start(true);
    let (a, b, host) = (malloc(4), malloc(4), pinned(4, 0));
    // SAFETY: memory of ours throughout.
    unsafe {
        ok(hipMemset(a, 7, 4));
        ok(copy(b, a, 4, D2D));
        assert_eq!(
            hipsim_check_use(b, 4, 0, c"host".as_ptr()),
            600,
            "nothing waited"
        );
        ok(copy(host.as_mut_ptr().cast(), b, 4, D2H));
        assert_eq!(*host, [7; 4]);
        ok(hipsim_check_use(b, 4, 0, c"host".as_ptr()));
    }
    assert_eq!(found(gpu_sim_hip::checks::Kind::Race), 1);
    ok(free(a));
    ok(free(b));
    unpin(host);
}

/// The current device is the thread's own, a thread starts with 0.
#[test]
fn current_device() {
    let _guard = start(false);
    ok(device(3));
    let other = std::thread::spawn(|| {
        let mut current = -1;
        // SAFETY: an out pointer of ours.
        ok(unsafe { hipGetDevice(&mut current) });
        current
    });
    assert_eq!(other.join().unwrap(), 0);
    assert_eq!((device(8), device(-1)), (101, 101));
}

struct Meeting(SyncSender<()>, Receiver<()>);

/// Host work of two devices meets: it runs at the same time.
#[test]
fn devices_work_at_the_same_time() {
    unsafe extern "C" fn meet(data: *mut c_void) {
        // SAFETY: lives until the stream is done.
        let meeting = unsafe { &*data.cast::<Meeting>() };
        meeting.0.send(()).unwrap();
        meeting
            .1
            .recv_timeout(Duration::from_secs(20))
            .expect("the other device's work runs too");
    }
    let _guard = start(false);
    let (to_b, from_a) = sync_channel(1);
    let (to_a, from_b) = sync_channel(1);
    std::thread::scope(|scope| {
        for (index, meeting) in [(0, Meeting(to_b, from_b)), (1, Meeting(to_a, from_a))] {
            scope.spawn(move || {
                ok(device(index));
                let data = (&raw const meeting).cast_mut().cast();
                // SAFETY: immediate mode: done when the call returns.
                ok(unsafe {
                    hipsim_enqueue(null_mut(), c"meet".as_ptr(), meet, data, None, null(), 0)
                });
            });
        }
    });
}

/// Eight threads, eight devices, own streams: right bytes, nothing found,
/// nothing left.
#[test]
fn eight_threads() {
    both(|_| {
        std::thread::scope(|scope| {
            for index in 0..8 {
                scope.spawn(move || one_device(index));
            }
        });
        assert_eq!(
            (hipsim_violations(0), hipsim_live(-1)),
            (0, 0),
            "{:#?}",
            texts()
        );
    });
}

fn one_device(index: c_int) {
    ok(device(index));
    let (queue, memory, other) = (stream(), malloc(5000), malloc(5000));
    let (input, output) = (pinned(5000, 0), pinned(5000, 0));
    for round in 0..20u8 {
        let value = index as u8 * 20 + round;
        input.fill(value);
        ok(copy_async(memory, input.as_ptr().cast(), 5000, H2D, queue));
        ok(copy_async(other, memory, 5000, D2D, queue));
        ok(copy_async(
            output.as_mut_ptr().cast(),
            other,
            5000,
            D2H,
            queue,
        ));
        ok(synchronize(queue));
        assert!(output.iter().all(|byte| *byte == value));
    }
    ok(free(memory));
    ok(free(other));
    unpin(input);
    unpin(output);
    destroy(queue);
}

/// hipDeviceReset takes streams and memory away.
#[test]
fn reset_of_a_device() {
    both(|_| {
        ok(device(6));
        let (memory, queue) = (malloc(10), stream());
        // SAFETY: takes nothing.
        ok(unsafe { hipDeviceReset() });
        assert_eq!(hipsim_live(6), 0);
        assert_eq!((free(memory), synchronize(queue)), (1, 709));
        ok(device(0));
    });
}

/// A failed call is the thread's last error until it is asked for or another
/// call ends well.
#[test]
fn last_error() {
    use gpu_sim_hip::errors::*;
    let _guard = start(false);
    assert_eq!(device(99), 101);
    assert_eq!(
        (hipPeekAtLastError(), hipGetLastError(), hipGetLastError()),
        (101, 101, 0)
    );
    assert_eq!(device(99), 101);
    ok(device(0));
    assert_eq!(hipGetLastError(), 0);
    // SAFETY: a text that lives as long as the library.
    let text = unsafe { std::ffi::CStr::from_ptr(hipGetErrorString(2)) };
    assert_eq!(text, c"out of memory");
}
