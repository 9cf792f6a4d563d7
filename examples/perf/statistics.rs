//! What is said of many times.

use std::time::Duration;

#[derive(Debug, PartialEq)]
pub struct Statistics {
    pub min: Duration,
    pub mean: Duration,
    pub p50: Duration,
    pub p90: Duration,
    pub p99: Duration,
    pub max: Duration,
}

impl Statistics {
    /// # Panics
    /// Without times.
    pub fn of(mut times: Vec<Duration>) -> Self {
        times.sort_unstable();
        let percentile = |percent: usize| {
            // Nearest rank: so many percent of the times are this or less.
            let rank = (times.len() * percent).div_ceil(100).max(1);
            times[rank - 1]
        };
        Statistics {
            min: times[0],
            mean: times.iter().sum::<Duration>() / times.len() as u32,
            p50: percentile(50),
            p90: percentile(90),
            p99: percentile(99),
            max: percentile(100),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_times_that_occurred() {
        let ms = Duration::from_millis;
        let of =
            |range: std::ops::RangeInclusive<u64>| Statistics::of(range.rev().map(ms).collect());
        let hundred = of(1..=100);
        let found = (hundred.p50, hundred.p90, hundred.p99, hundred.max);
        assert_eq!(found, (ms(50), ms(90), ms(99), ms(100)));
        assert_eq!(
            (hundred.min, hundred.mean),
            (ms(1), Duration::from_micros(50_500))
        );
        let ten = of(1..=10);
        assert_eq!((ten.p50, ten.p90, ten.p99), (ms(5), ms(9), ms(10)));
        let one = of(7..=7);
        assert_eq!((one.p50, one.p99, one.mean), (ms(7), ms(7), ms(7)));
    }
}
