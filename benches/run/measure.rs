//! Two sides measured against each other on a machine that is never quiet:
//! blocks of both in turn, and the least time of each.

use std::time::{Duration, Instant};

use crate::allocations::counted;

/// About how long one block takes: shorter than the turn that a busy system gives
/// a thread, so that some blocks run undisturbed.
const BLOCK: Duration = Duration::from_micros(250);

/// Depths of the stack, a few cache lines apart.
const DEPTHS: usize = 16;
/// The part of a block that is run before it, and not measured.
const WARM_UP: usize = 5;

/// Does the work `n` times and gives a sum over its results, which both sides
/// must agree on.
pub trait Side: FnMut(usize) -> anyhow::Result<f64> {}
impl<F: FnMut(usize) -> anyhow::Result<f64>> Side for F {}

/// The least time of each side, for one piece of work.
#[derive(Debug, Clone, Copy)]
pub struct Measured {
    pub ours: Duration,
    pub theirs: Duration,
    /// Heap allocations of our side for each piece of work, rounded up.
    pub allocations: u64,
}

impl Measured {
    pub fn ratio(&self) -> f64 {
        self.ours.as_secs_f64() / self.theirs.as_secs_f64()
    }
}

/// Measures `pairs` blocks of each side.
///
/// Where things lie in memory makes either side some percent faster or slower,
/// so the sides take turns with several programs each, at several depths of
/// the stack.
pub fn compare(sides: &mut [(impl Side, impl Side)], pairs: usize) -> anyhow::Result<Measured> {
    let mut runs = usize::MAX;
    for (_, theirs) in sides.iter_mut() {
        runs = runs.min(runs_of_a_block(theirs)?);
    }
    let mut least = [Duration::MAX; 2];
    let mut most_allocations = 0;
    for pair in 0..pairs {
        let among = sides.len();
        let (ours, theirs) = &mut sides[pair / 2 % among];
        let depth = pair / 2 / among % DEPTHS;
        let mut sums = [0.0; 2];
        // Neither side always comes first.
        for side in [pair % 2, (pair + 1) % 2] {
            let (time, sum, allocations) = match side {
                0 => at_depth(depth, &mut || block(ours, runs))?,
                _ => at_depth(depth, &mut || block(theirs, runs))?,
            };
            least[side] = least[side].min(time);
            sums[side] = sum;
            if side == 0 {
                most_allocations = most_allocations.max(allocations);
            }
        }
        anyhow::ensure!(
            sums[0] == sums[1],
            "the two sides do not compute the same: {} and {}",
            sums[0],
            sums[1]
        );
    }
    Ok(Measured {
        ours: least[0].div_f64(runs as f64),
        theirs: least[1].div_f64(runs as f64),
        allocations: most_allocations.div_ceil(runs as u64),
    })
}

/// Time, sum and allocations of one block.
fn block(side: &mut impl Side, runs: usize) -> anyhow::Result<(Duration, f64, u64)> {
    // The other side's block left the caches to this one cold.
    side((runs / WARM_UP).max(1))?;
    let start = Instant::now();
    let (sum, allocations) = counted(|| side(runs));
    Ok((start.elapsed(), sum?, allocations))
}

/// Calls `f` further down the stack.
#[inline(never)]
fn at_depth<T>(depth: usize, f: &mut dyn FnMut() -> T) -> T {
    let frame = std::hint::black_box([0u8; 200]);
    let result = match depth {
        0 => f(),
        _ => at_depth(depth - 1, f),
    };
    std::hint::black_box(&frame);
    result
}

fn runs_of_a_block(side: &mut impl Side) -> anyhow::Result<usize> {
    let mut runs = 1;
    loop {
        let start = Instant::now();
        side(runs)?;
        let elapsed = start.elapsed();
        if elapsed >= BLOCK / 4 {
            let scaled = runs as f64 * BLOCK.as_secs_f64() / elapsed.as_secs_f64();
            return Ok((scaled as usize).max(1));
        }
        runs *= 4;
    }
}
