//! Mistakes made on purpose, for `cargo xtask sanitize` to find: a check that finds
//! none of these checks nothing. As a test it does nothing.

use std::cell::UnsafeCell;
use std::hint::black_box;
use std::sync::atomic::{AtomicU32, Ordering};

use migraphx::{OnnxOptions, Program};

fn program() -> Program {
    let model = testkit::models::add(&[4]);
    OnnxOptions::new().parse_bytes(&model).expect("a model")
}

/// Several, since a pointer may stay behind in a register.
fn leak_handles() {
    for _ in 0..8 {
        std::mem::forget(black_box(program()));
    }
}

fn read_past_the_end() {
    let numbers = black_box(vec![1u64; 4]);
    // SAFETY: none; this is the mistake.
    black_box(unsafe { numbers.as_ptr().add(4).read_volatile() });
}

struct Shared(UnsafeCell<u32>);

// SAFETY: none; this is the mistake.
unsafe impl Sync for Shared {}

fn write_without_a_lock() {
    static SHARED: Shared = Shared(UnsafeCell::new(0));
    static INSIDE: AtomicU32 = AtomicU32::new(0);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                // Both at once; relaxed, so that this orders nothing.
                INSIDE.fetch_add(1, Ordering::Relaxed);
                while INSIDE.load(Ordering::Relaxed) < 2 {
                    std::hint::spin_loop();
                }
                for _ in 0..1000 {
                    // SAFETY: none; this is the mistake.
                    unsafe { *SHARED.0.get() += 1 };
                }
            });
        }
    });
}

/// As the others, and nothing is wrong with it.
fn clean() {
    drop(program());
    let numbers = std::sync::Mutex::new(0);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| *numbers.lock().unwrap() += 1);
        }
    });
}

fn main() {
    match std::env::args().nth(1).as_deref() {
        Some("leak") => leak_handles(),
        Some("read") => read_past_the_end(),
        Some("race") => write_without_a_lock(),
        Some("clean") => clean(),
        _ => println!("mistakes to be found by `cargo xtask sanitize`; none is made here"),
    }
}
