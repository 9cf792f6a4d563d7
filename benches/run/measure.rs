//! Two sides measured against each other on a machine that is never quiet:
//! blocks of both in turn, and the least time of each.

use std::time::{Duration, Instant};

use crate::allocations::counted;

/// How long one block takes about.
const BLOCK: Duration = Duration::from_micros(250);

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

/// Measures `pairs` blocks of each side. The sides take turns with several
/// programs each, since where one lies in memory makes it faster or slower.
pub fn compare(
    sides: &mut [(impl Side, impl Side)],
    pairs: usize,
) -> anyhow::Result<Measured> {
    let mut runs = usize::MAX;
    for (_, theirs) in sides.iter_mut() {
        runs = runs.min(runs_of_a_block(theirs)?);
    }
    let mut least = [Duration::MAX; 2];
    let mut most_allocations = 0;
    for pair in 0..pairs {
        let among = sides.len();
        let (ours, theirs) = &mut sides[pair / 2 % among];
        let mut sums = [0.0; 2];
        // Neither side always comes first.
        for side in [pair % 2, (pair + 1) % 2] {
            // The other side's block left the caches to this one cold.
            let warm_up = (runs / WARM_UP).max(1);
            let _ = if side == 0 { ours(warm_up)? } else { theirs(warm_up)? };
            let start = Instant::now();
            if side == 0 {
                let (sum, allocations) = counted(|| ours(runs));
                sums[0] = sum?;
                most_allocations = most_allocations.max(allocations);
            } else {
                sums[1] = theirs(runs)?;
            }
            least[side] = least[side].min(start.elapsed());
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
