//! Threads that share streams and events at random, in both modes: every
//! operation runs once, in the order of its stream, and nothing blocks.

mod common;
use common::*;
use gpu_sim_hip::callbacks::*;
use gpu_sim_hip::control::hipsim_check_leaks;
use gpu_sim_hip::devices::*;
use gpu_sim_hip::events::*;
use gpu_sim_hip::streams::*;
use std::ffi::c_void;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

const THREADS: u64 = 4;
const STEPS: u64 = 3000;

/// One stream, with what was queued and what ran.
struct Shared {
    stream: usize,
    event: usize,
    queued: Mutex<u64>,
    ran: AtomicU64,
}

/// A step of a stream: it must be the next one.
unsafe extern "C" fn step(data: *mut c_void) {
    // SAFETY: the box that `queue` gives up.
    let (shared, number) = *unsafe { Box::from_raw(data.cast::<(&'static Shared, u64)>()) };
    assert_eq!(
        shared.ran.fetch_add(1, Ordering::SeqCst) + 1,
        number,
        "out of order"
    );
}

fn queue(shared: &'static Shared) {
    // Held over the call, so that the numbers are those of the stream.
    let mut queued = shared.queued.lock().unwrap();
    *queued += 1;
    let data = Box::into_raw(Box::new((shared, *queued)));
    // SAFETY: the function takes the box.
    ok(unsafe { hipLaunchHostFunc(shared.stream as *mut c_void, Some(step), data.cast()) });
}

/// Small and good enough: xorshift.
fn random(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state >> 8
}

fn work(streams: &'static [Shared], mut seed: u64) {
    for _ in 0..STEPS {
        let choice = random(&mut seed);
        let (a, b) = (
            &streams[choice as usize % 4],
            &streams[(choice >> 8) as usize % 4],
        );
        let (stream, event) = (a.stream as *mut c_void, a.event as *mut c_void);
        // SAFETY: handles that live until the threads are joined.
        unsafe {
            match (choice >> 16) % 16 {
                0..=6 => queue(a),
                7..=9 => ok(hipEventRecord(event, stream)),
                10..=12 => ok(hipStreamWaitEvent(stream, b.event as *mut c_void, 0)),
                13 => ok(hipEventSynchronize(event)),
                14 => ok(hipStreamSynchronize(stream)),
                _ => assert!(matches!(hipStreamQuery(stream), 0 | 600)),
            }
        }
    }
}

#[test]
fn shared_streams_and_events() {
    both(|_| {
        let streams: &'static [Shared] = Vec::leak(
            (0..4)
                .map(|_| Shared {
                    stream: stream() as usize,
                    event: event() as usize,
                    queued: Mutex::new(0),
                    ran: AtomicU64::new(0),
                })
                .collect(),
        );
        let threads: Vec<_> = (1..=THREADS)
            .map(|seed| {
                std::thread::spawn(move || work(streams, seed.wrapping_mul(0x9E37_79B9_7F4A_7C15)))
            })
            .collect();
        let end = std::time::Instant::now() + Duration::from_secs(60);
        while threads.iter().any(|thread| !thread.is_finished()) {
            assert!(
                std::time::Instant::now() < end,
                "the threads block each other"
            );
            std::thread::sleep(Duration::from_millis(5));
        }
        threads
            .into_iter()
            .for_each(|thread| thread.join().unwrap());
        // SAFETY: handles of ours, not used after this.
        unsafe {
            ok(hipDeviceSynchronize());
            for shared in streams {
                let queued = *shared.queued.lock().unwrap();
                assert!(queued > 100 && shared.ran.load(Ordering::SeqCst) == queued);
                ok(hipEventDestroy(shared.event as *mut c_void));
                ok(hipStreamDestroy(shared.stream as *mut c_void));
            }
        }
        assert_eq!(hipsim_check_leaks(-1), 0);
        assert_found(&[]);
    });
}
