//! Planted races, and programs that are ordered and have none, in both modes.

mod common;
use common::*;
use gpu_sim_hip::checks::Kind::*;
use gpu_sim_hip::devices::*;
use gpu_sim_hip::events::*;
use gpu_sim_hip::fills::*;
use gpu_sim_hip::host_work::*;
use gpu_sim_hip::modules::*;

/// Two streams touch one buffer; the null stream does not wait for a
/// non-blocking one; an event between them puts it right.
#[test]
fn races() {
    both(|_| {
        let (memory, host, out) = (malloc(100), pinned(100, 1), pinned(100, 0));
        let (a, b, event) = (stream(), stream(), event());
        let (from, to) = (host.as_ptr().cast(), out.as_mut_ptr().cast());
        ok(copy_async(memory, from, 100, H2D, a));
        ok(copy_async(to, memory, 100, D2H, b));
        assert_found(&[(Race, 1)]);
        // SAFETY: handles of ours throughout.
        unsafe {
            ok(hipDeviceSynchronize());
            ok(copy_async(memory, from, 100, H2D, a));
            ok(copy(to, memory, 100, D2H));
            assert_found(&[(Race, 2)]);

            ok(hipDeviceSynchronize());
            ok(copy_async(memory, from, 100, H2D, a));
            ok(hipEventRecord(event, a));
            ok(hipStreamWaitEvent(b, event, 0));
            ok(copy_async(to, memory, 100, D2H, b));
            ok(synchronize(b));
            // What `b` waited for is done too.
            ok(hipsim_check_use(memory, 100, 1, c"host".as_ptr()));
            assert_found(&[(Race, 2)]);

            // Two readers do not race.
            let other = pinned(100, 0);
            ok(copy_async(to, memory, 100, D2H, a));
            ok(copy_async(other.as_mut_ptr().cast(), memory, 100, D2H, b));
            assert_found(&[(Race, 2)]);
            ok(hipDeviceSynchronize());
            ok(hipEventDestroy(event));
            unpin(other);
        }
        destroy(a);
        destroy(b);
        ok(free(memory));
        unpin(host);
        unpin(out);
    });
}

/// The host reads before anything waited for the copy.
#[test]
fn early_read() {
    both(|deferred| {
        let (memory, host, queue) = (malloc(100), pinned(100, 3), stream());
        // SAFETY: memory of ours throughout.
        unsafe {
            ok(hipMemsetAsync(memory, 8, 100, queue));
            ok(copy_async(
                host.as_mut_ptr().cast(),
                memory,
                100,
                D2H,
                queue,
            ));
            assert_eq!(
                host[0],
                if deferred { 3 } else { 8 },
                "deferred work has not run"
            );
            assert_eq!(
                hipsim_check_use(host.as_ptr().cast(), 100, 0, c"engine".as_ptr()),
                600
            );
            assert_found(&[(Race, 1)]);
            ok(synchronize(queue));
            ok(hipsim_check_use(
                host.as_ptr().cast(),
                100,
                0,
                c"engine".as_ptr(),
            ));
            assert_found(&[(Race, 1)]);
        }
        assert_eq!(host[0], 8);
        destroy(queue);
        ok(free(memory));
        unpin(host);
    });
}

/// Two kernels of two streams: the same result buffer is a race, a shared
/// input is none.
#[test]
fn kernels_race_for_their_result() {
    both(|_| {
        let (input, x, y) = (malloc(64), malloc(64), malloc(64));
        let (a, b) = (stream(), stream());
        let (module, function) = kernel(NAMES);
        ok(launch(function, a, &[input, x]));
        ok(launch(function, b, &[input, y]));
        assert_found(&[]);
        ok(launch(function, b, &[input, x]));
        assert_found(&[(Race, 1)]);
        // SAFETY: a module of ours.
        ok(unsafe { hipModuleUnload(module) });
        destroy(a);
        destroy(b);
        [input, x, y]
            .into_iter()
            .for_each(|memory| ok(free(memory)));
    });
}

/// hipFree waits for the owner's streams only: pinned memory of device 0 that
/// device 1 still works on.
#[test]
fn freed_under_another_device() {
    both(|_| {
        let host = pinned(100, 0);
        ok(device(1));
        let (memory, queue) = (malloc(100), stream());
        ok(copy_async(
            host.as_mut_ptr().cast(),
            memory,
            100,
            D2H,
            queue,
        ));
        ok(device(0));
        unpin(host);
        assert_eq!(found(Race), 1, "{:#?}", texts());
        ok(device(1));
        // In deferred mode the copy finds its target gone when it runs.
        let status = synchronize(queue);
        assert!(status == 0 || status == 700);
        ok(free(memory));
        destroy(queue);
    });
}
