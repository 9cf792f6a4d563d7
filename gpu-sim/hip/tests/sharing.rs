//! Memory between devices, host memory, and the data of host work, in both
//! modes.

mod common;
use common::*;
use gpu_sim_hip::checks::Kind::*;
use gpu_sim_hip::control::hipsim_live;
use gpu_sim_hip::copy_calls::*;
use gpu_sim_hip::devices::*;
use gpu_sim_hip::host_memory::*;
use gpu_sim_hip::host_work::*;
use std::ffi::c_void;
use std::ptr::{null, null_mut};

#[test]
fn registered_memory() {
    both(|_| {
        let mut host = vec![5u8; 10_000];
        let (start, memory, queue) = (host.as_mut_ptr().cast::<c_void>(), malloc(10_000), stream());
        // SAFETY: memory of ours throughout.
        unsafe {
            ok(hipHostRegister(start, 10_000, 0));
            ok(hipHostRegister(start, 10_000, 0));
            assert_eq!(counters(0).double_registers, 1);
            ok(copy_async(memory, start, 10_000, H2D, queue));
            ok(hipHostUnregister(start));
            // It waits for null and blocking streams and all others of the device.
            ok(hipsim_check_use(memory, 10_000, 0, c"host".as_ptr()));
            assert_eq!(hipHostUnregister(start), 713);
            assert_eq!(hipHostRegister(null_mut(), 1, 0), 1);
            assert_eq!(hipHostRegister(start, 0, 0), 1);
        }
        assert_found(&[]);
        ok(free(memory));
        destroy(queue);
        assert_eq!(hipsim_live(-1), 0);
    });
}

#[test]
fn peer_copies() {
    both(|_| {
        let a = malloc(100);
        ok(device(1));
        let (b, host) = (malloc(100), pinned(100, 6));
        ok(copy(b, host.as_ptr().cast(), 100, H2D));
        // SAFETY: memory of ours throughout.
        unsafe {
            ok(hipMemcpyPeer(a, 0, b, 1, 100));
            assert_eq!(hipMemcpyPeer(a, 0, b, 99, 100), 101);
            host.fill(0);
            // From device 1, for memory of device 0: HIP reroutes it.
            ok(copy(host.as_mut_ptr().cast(), a, 100, D2H));
            assert!(host.iter().all(|byte| *byte == 6) && counters(1).cross_copies == 1);
            assert_found(&[]);
            ok(hipMemcpyPeer(a, 1, b, 1, 100));
            assert_found(&[(WrongDevice, 1)]);
            set("strict", "1");
            assert_eq!(copy(host.as_mut_ptr().cast(), a, 100, D2H), 1);
            assert_found(&[(WrongDevice, 2)]);
        }
        set("strict", "0");
        ok(free(a));
        assert_eq!(counters(0).cross_frees, 1);
        ok(free(b));
        unpin(host);
    });
}

/// The data of refused and of finished work is dropped once.
#[test]
fn host_work_drops_its_data() {
    unsafe extern "C" fn run(data: *mut c_void) {
        // SAFETY: the counters below.
        unsafe { (*data.cast::<[u32; 2]>())[0] += 1 }
    }
    unsafe extern "C" fn done(data: *mut c_void) {
        // SAFETY: the counters below.
        unsafe { (*data.cast::<[u32; 2]>())[1] += 1 }
    }
    both(|deferred| {
        let mut counts = [0u32; 2];
        let data = (&raw mut counts).cast();
        // SAFETY: the counters live until the stream is done.
        unsafe {
            ok(hipsim_enqueue(
                null_mut(),
                c"work".as_ptr(),
                run,
                data,
                Some(done),
                null(),
                0,
            ));
            assert_eq!(
                data.cast::<[u32; 2]>().read(),
                if deferred { [0, 0] } else { [1, 1] }
            );
            ok(hipDeviceSynchronize());
            assert_eq!(data.cast::<[u32; 2]>().read(), [1, 1]);
            assert_eq!(
                hipsim_enqueue(
                    0x99 as *mut c_void,
                    c"work".as_ptr(),
                    run,
                    data,
                    Some(done),
                    null(),
                    0
                ),
                709
            );
        }
        assert_eq!(counts, [1, 2]);
        assert_found(&[(BadHandle, 1)]);
    });
}
