//! Heap allocations of Rust code, counted for each thread. What MIGraphX
//! allocates goes past this: it is C++.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    static COUNT: Cell<u64> = const { Cell::new(0) };
}

struct Counting;

#[global_allocator]
static GLOBAL: Counting = Counting;

/// What `f` gives, and how often this thread allocated in it.
pub fn counted<T>(f: impl FnOnce() -> T) -> (T, u64) {
    let start = COUNT.get();
    let result = f();
    (result, COUNT.get() - start)
}

fn count() {
    COUNT.set(COUNT.get() + 1);
}

// SAFETY: everything is left to the system's allocator; counting allocates nothing
// (the counter is initialised at compile time and has no destructor).
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's word.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's word.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: the caller's word.
        unsafe { System.realloc(pointer, layout, size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's word.
        unsafe { System.dealloc(pointer, layout) }
    }
}
