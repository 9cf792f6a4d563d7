//! Work spread over all cores.

use std::num::NonZero;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How many threads work goes to.
pub(crate) fn count() -> usize {
    static COUNT: OnceLock<usize> = OnceLock::new();
    *COUNT.get_or_init(|| std::thread::available_parallelism().map_or(1, NonZero::get))
}

/// Runs `work(i)` for every `i` below `pieces`, on all cores when there is more than one piece.
/// Each thread takes the next piece that is left.
pub fn for_each(pieces: usize, work: impl Fn(usize) + Sync) {
    let threads = count().min(pieces);
    if threads <= 1 {
        (0..pieces).for_each(work);
        return;
    }
    let next = AtomicUsize::new(0);
    let run = || {
        loop {
            let piece = next.fetch_add(1, Ordering::Relaxed);
            if piece >= pieces {
                break;
            }
            work(piece);
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(run);
        }
        run();
    });
}

/// A pointer that threads share; what each may touch is argued where it is used.
pub(crate) struct Shared<T>(pub *mut T);

impl<T> Clone for Shared<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Shared<T> {}

impl<T> Shared<T> {
    /// The pointer (a method, so that closures capture the whole wrapper).
    pub(crate) fn get(self) -> *mut T {
        self.0
    }
}

// SAFETY: only an address; dereferencing it is unsafe and argued at each use.
unsafe impl<T> Send for Shared<T> {}
// SAFETY: as for Send.
unsafe impl<T> Sync for Shared<T> {}
