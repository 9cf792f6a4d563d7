//! Planted mistakes: each is found, as what it is, in both modes; and the same
//! program without the mistake is clean.

mod common;
use common::*;
use gpu_sim_hip::checks::Kind::*;
use gpu_sim_hip::control::{hipsim_check_leaks, hipsim_live};
use gpu_sim_hip::copy_calls::*;
use gpu_sim_hip::devices::*;
use gpu_sim_hip::events::*;
use gpu_sim_hip::fills::*;
use gpu_sim_hip::host_memory::*;
use gpu_sim_hip::host_work::*;
use gpu_sim_hip::modules::*;
use gpu_sim_hip::streams::*;
use std::ffi::c_void;
use std::ptr::null_mut;

#[test]
fn a_clean_program_is_clean() {
    both(|_| {
        let (memory, host, out, queue) = (malloc(100), pinned(100, 7), pinned(100, 0), stream());
        let (module, function) = kernel(NAMES);
        ok(copy_async(memory, host.as_ptr().cast(), 100, H2D, queue));
        ok(launch(function, queue, &[memory]));
        ok(copy_async(out.as_mut_ptr().cast(), memory, 100, D2H, queue));
        ok(synchronize(queue));
        assert!(out.iter().all(|byte| *byte == 7));
        ok(free(memory));
        unpin(host);
        unpin(out);
        destroy(queue);
        // SAFETY: a module of ours.
        ok(unsafe { hipModuleUnload(module) });
        assert_eq!((hipsim_live(-1), hipsim_check_leaks(-1)), (0, 0));
        assert_found(&[]);
    });
}

#[test]
fn wrong_device() {
    both(|_| {
        ok(device(3));
        let (memory, three) = (malloc(100), stream());
        let (module, function) = kernel(NAMES);
        ok(device(5));
        let (event, five) = (event(), stream());
        // SAFETY: handles and memory of ours throughout.
        unsafe {
            assert_eq!(hipMemset(memory, 0, 10), 700);
            assert_found(&[(WrongDevice, 1)]);
            assert_eq!(hipEventRecord(event, three), 400);
            assert_found(&[(WrongDevice, 2)]);
            assert_eq!(launch(function, five, &[]), 101, "module of 3, stream of 5");
            assert_found(&[(WrongDevice, 3)]);
            let uses = [HipsimUse {
                ptr: memory,
                bytes: 4,
                write: 0,
            }];
            assert_eq!(
                hipsim_enqueue(
                    five,
                    c"gemm".as_ptr(),
                    nothing,
                    null_mut(),
                    None,
                    uses.as_ptr(),
                    1
                ),
                700
            );
            assert_eq!(hipsim_check_use(memory, 4, 0, c"engine".as_ptr()), 700);
            assert_found(&[(WrongDevice, 5)]);

            // With peer access the same is allowed, from 5 to 3 only.
            ok(hipDeviceEnablePeerAccess(3, 0));
            assert_eq!(hipDeviceEnablePeerAccess(3, 0), 704);
            ok(hipMemset(memory, 0, 10));
            // A fill does not wait, and hipFree only waits for device 3.
            ok(hipDeviceSynchronize());
            ok(hipDeviceDisablePeerAccess(3));
            assert_found(&[(WrongDevice, 5)]);
            ok(hipModuleUnload(module));
            ok(hipEventDestroy(event));
        }
        ok(free(memory));
        destroy(three);
        destroy(five);
        assert_eq!(hipsim_live(-1), 0);
    });
}

unsafe extern "C" fn nothing(_: *mut c_void) {}

#[test]
fn a_host_pointer_given_to_a_kernel() {
    both(|_| {
        let pageable = [0u8; 64];
        let uses = [HipsimUse {
            ptr: pageable.as_ptr().cast(),
            bytes: 64,
            write: 0,
        }];
        let (name, at) = (c"gemm".as_ptr(), uses.as_ptr());
        // SAFETY: a name, a list, and work that does nothing.
        let status = unsafe { hipsim_enqueue(null_mut(), name, nothing, null_mut(), None, at, 1) };
        assert_eq!(status, 700);
        assert_found(&[(WrongDevice, 1)]);
    });
}

#[test]
fn use_after_free() {
    both(|_| {
        let (memory, host) = (malloc(100), pinned(100, 1));
        let (module, function) = kernel(NAMES);
        ok(free(memory));
        assert_eq!(copy(memory, host.as_ptr().cast(), 4, H2D), 1);
        assert_found(&[(UseAfterFree, 1)]);
        assert_eq!(launch(function, null_mut(), &[memory]), 700);
        assert_found(&[(UseAfterFree, 2)]);
        // The addresses are not used again.
        let other = malloc(100);
        assert_ne!(other, memory);
        assert!(free(memory) == 1 && found(BadFree) == 1);
        ok(free(other));
        unpin(host);
        // SAFETY: a module of ours.
        ok(unsafe { hipModuleUnload(module) });
    });
}

#[test]
fn out_of_bounds() {
    both(|_| {
        let (memory, host) = (malloc(100), pinned(200, 1));
        assert_eq!(copy(memory, host.as_ptr().cast(), 101, H2D), 1);
        assert_eq!(
            copy(memory.wrapping_byte_add(50), host.as_ptr().cast(), 51, H2D),
            1
        );
        ok(copy(
            memory.wrapping_byte_add(50),
            host.as_ptr().cast(),
            50,
            H2D,
        ));
        // SAFETY: memory of ours.
        unsafe {
            assert_eq!(hipMemset(memory, 0, 101), 1);
            assert_eq!(
                hipMemcpy2D(memory, 30, host.as_ptr().cast(), 10, 10, 5, H2D),
                1
            );
            ok(hipMemcpy2D(
                memory,
                30,
                host.as_ptr().cast(),
                10,
                10,
                4,
                H2D,
            ));
            assert_eq!(
                hipMemcpy2D(memory, 9, host.as_ptr().cast(), 10, 10, 4, H2D),
                12
            );
        }
        assert_found(&[(OutOfBounds, 4)]);
        ok(free(memory));
        unpin(host);
    });
}

/// A kernel that writes one byte too many is seen when the memory is freed.
#[test]
fn a_write_past_the_end_by_host_work() {
    unsafe extern "C" fn write_101(memory: *mut c_void) {
        // SAFETY: planted: the page has room for it, the allocation does not.
        unsafe { std::ptr::write_bytes(hipsim_host(memory).cast::<u8>(), 9, 101) }
    }
    both(|_| {
        let memory = malloc(100);
        let uses = [HipsimUse {
            ptr: memory,
            bytes: 100,
            write: 1,
        }];
        // SAFETY: a name, a list, and the work above.
        ok(unsafe {
            hipsim_enqueue(
                null_mut(),
                c"gemm".as_ptr(),
                write_101,
                memory,
                None,
                uses.as_ptr(),
                1,
            )
        });
        ok(free(memory));
        assert_found(&[(OutOfBounds, 1)]);
    });
}

#[test]
fn wrong_copy_kind() {
    both(|_| {
        let (memory, host) = (malloc(64), [0u8; 64]);
        let mut pageable = [0u8; 64];
        // HIP goes by the pointers, so this works there; strict refuses.
        ok(copy(memory, host.as_ptr().cast(), 64, D2H));
        assert_found(&[(CopyKind, 1)]);
        set("strict", "1");
        assert_eq!(copy(memory, host.as_ptr().cast(), 64, D2H), 1);
        set("strict", "0");
        assert_eq!(
            copy(pageable.as_mut_ptr().cast(), host.as_ptr().cast(), 64, H2D),
            1,
            "both sides are pageable"
        );
        assert_eq!(copy(memory, host.as_ptr().cast(), 64, 9), 21);
        // SAFETY: host memory, refused before it is touched.
        assert_eq!(unsafe { hipMemset(pageable.as_mut_ptr().cast(), 0, 64) }, 1);
        assert_found(&[(CopyKind, 4)]);
        ok(free(memory));
    });
}

#[test]
fn bad_frees() {
    both(|_| {
        let (memory, host) = (malloc(100), pinned(100, 0));
        let start = host.as_mut_ptr().cast::<c_void>();
        // SAFETY: the stand-in checks any value.
        unsafe {
            assert_eq!(free(memory.wrapping_byte_add(8)), 1);
            assert_eq!(hipHostFree(memory), 1);
            assert_eq!(free(&raw const start as *mut c_void), 1);
            ok(free(memory));
            assert_eq!(free(memory), 1);
            ok(free(start));
            assert_eq!(hipHostFree(start), 1);
            ok(free(null_mut()));
        }
        assert_found(&[(BadFree, 5)]);
    });
}

#[test]
fn dead_handles() {
    both(|_| {
        let (queue, event) = (stream(), event());
        destroy(queue);
        // SAFETY: the stand-in checks any value.
        unsafe {
            assert_eq!(synchronize(queue), 709);
            assert_eq!(hipStreamWaitEvent(queue, event, 0), 400);
            ok(hipEventDestroy(event));
            assert_eq!(hipEventRecord(event, null_mut()), 400);
            assert_eq!(hipEventDestroy(event), 709);
            assert_eq!(hipStreamDestroy(0x1234_5678 as *mut c_void), 709);
            let (module, function) = kernel(NAMES);
            ok(hipModuleUnload(module));
            assert_eq!(launch(function, null_mut(), &[]), 400);
            assert_eq!(hipModuleUnload(module), 400);
        }
        assert_found(&[(BadHandle, 7)]);
    });
}

#[test]
fn leaks() {
    both(|_| {
        let (memory, queue, event) = (malloc(123), stream(), event());
        assert_eq!(hipsim_check_leaks(-1), 3);
        assert_found(&[(Leak, 3)]);
        assert!(texts()[0].contains("123 bytes"), "{:?}", texts());
        assert_eq!(hipsim_check_leaks(4), 0);
        ok(free(memory));
        destroy(queue);
        // SAFETY: an event of ours.
        ok(unsafe { hipEventDestroy(event) });
        assert_eq!(hipsim_check_leaks(-1), 0);
    });
}
