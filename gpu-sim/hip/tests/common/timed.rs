//! What the tests of set times share.

use crate::common::*;
use gpu_sim_hip::abi::Handle;
use gpu_sim_hip::events::*;
use std::ffi::c_void;
use std::ptr::null_mut;

pub const BYTES: usize = 20_000;
/// A kernel takes 30 ms; a copy 10 ms, and as much again for `BYTES`.
pub const KERNEL: f32 = 30.0;
pub const COPY: f32 = 20.0;

pub fn set_times() {
    set("op_us", "30000");
    set("copy_us", "10000");
    set("copy_gbps", "0.002");
}

/// Recorded now.
pub fn mark(stream: Handle) -> Handle {
    let mut event = null_mut();
    // SAFETY: an out pointer and handles of ours.
    unsafe {
        ok(hipEventCreate(&mut event));
        ok(hipEventRecord(event, stream));
    }
    event
}

pub fn wait(stream: Handle, event: Handle) {
    // SAFETY: handles of ours.
    ok(unsafe { hipStreamWaitEvent(stream, event, 0) });
}

/// Waits for both; milliseconds from one to the other.
pub fn between(start: Handle, stop: Handle) -> f32 {
    let mut milliseconds = f32::NAN;
    // SAFETY: handles and an out pointer of ours.
    unsafe {
        ok(hipEventSynchronize(start));
        ok(hipEventSynchronize(stop));
        ok(hipEventElapsedTime(&mut milliseconds, start, stop));
    }
    milliseconds
}

#[track_caller]
pub fn takes(start: Handle, stop: Handle, milliseconds: f32) {
    let found = between(start, stop);
    assert!(
        (found - milliseconds).abs() < 0.001,
        "{found} ms, not {milliseconds}"
    );
}

/// A device's memory, pinned memory for both ways, a kernel, and streams that
/// all begin at the same time, which has not come yet.
pub struct Bench {
    pub start: Handle,
    pub streams: [Handle; 3],
    pub memory: [*mut c_void; 3],
    pub host: [&'static mut [u8]; 2],
    pub module: Handle,
    pub function: Handle,
    pub events: Vec<Handle>,
}

impl Bench {
    pub fn new() -> Self {
        let (module, function) = kernel(NAMES);
        let mut bench = Bench {
            start: null_mut(),
            streams: [(); 3].map(|()| stream()),
            memory: [(); 3].map(|()| malloc(BYTES)),
            host: [pinned(BYTES, 1), pinned(BYTES, 2)],
            module,
            function,
            events: Vec::new(),
        };
        set_times();
        for _ in 0..5 {
            bench.launch(0, 0);
        }
        bench.start = bench.mark(0);
        wait(bench.streams[1], bench.start);
        wait(bench.streams[2], bench.start);
        bench
    }

    pub fn mark(&mut self, at: usize) -> Handle {
        self.events.push(mark(self.streams[at]));
        *self.events.last().unwrap()
    }

    pub fn launch(&self, at: usize, memory: usize) {
        let memory = self.memory[memory];
        ok(launch(self.function, self.streams[at], &[memory, memory]));
    }

    pub fn upload(&self, at: usize, memory: usize) {
        let (to, from) = (self.memory[memory], self.host[0].as_ptr());
        ok(copy_async(to, from.cast(), BYTES, H2D, self.streams[at]));
    }

    pub fn download(&mut self, at: usize, memory: usize) {
        let (to, from) = (self.host[1].as_mut_ptr(), self.memory[memory]);
        ok(copy_async(to.cast(), from, BYTES, D2H, self.streams[at]));
    }

    /// Nothing was found wrong, and nothing is left.
    pub fn end(self) {
        self.streams.into_iter().for_each(destroy);
        for memory in self.memory {
            ok(free(memory));
        }
        self.host.into_iter().for_each(unpin);
        // SAFETY: handles of ours.
        unsafe {
            for event in self.events {
                ok(hipEventDestroy(event));
            }
            ok(gpu_sim_hip::modules::hipModuleUnload(self.module));
        }
        assert_found(&[]);
    }
}
