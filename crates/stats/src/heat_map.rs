use std::sync::LazyLock;

/// The number of bins in each factor of ten.
const BINS_PER_DECADE: u32 = 16;

/// The number of decades that cover the range of a `u64`.
const DECADES: u32 = 20;

/// The lower limits of the bins: bin `n` holds values from limit `n` to below limit `n + 1`.
static LIMITS: LazyLock<Vec<u64>> = LazyLock::new(|| {
    let limit = |nth: u32| {
        let decade = 10u64.saturating_pow(nth / BINS_PER_DECADE);
        let within = 10f64.powf(f64::from(nth % BINS_PER_DECADE) / f64::from(BINS_PER_DECADE));
        // Powers of ten are exact. The last limit exceeds the range of a u64 and saturates.
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss
        )]
        let limit = (decade as f64 * within).ceil() as u64;
        limit
    };
    (0..=DECADES * BINS_PER_DECADE).map(limit).collect()
});

/// Histograms of values over time, one for each kind of value.
///
/// Bins are 1/16 of a decade wide. Time is divided into intervals of equal length, which doubles
/// when their number would exceed the maximum. All kinds share the same bins and intervals.
#[derive(Debug, Clone)]
pub struct HeatMap {
    kinds: usize,
    max_intervals: usize,
    interval: u64,
    /// The counts, by interval, then kind, then bin.
    counts: Vec<u64>,
}

impl HeatMap {
    /// Creates an empty map for `kinds` kinds of values (at least 1) and at most `max_intervals`
    /// intervals of time (at least 2).
    pub fn new(kinds: usize, max_intervals: usize) -> HeatMap {
        let max_intervals = max_intervals.max(2);
        HeatMap { kinds: kinds.max(1), max_intervals, interval: 1, counts: Vec::new() }
    }

    /// Counts a value at a time. A value of 0 counts as 1.
    ///
    /// # Panics
    /// Panics if `kind` is not below the number of kinds.
    pub fn push(&mut self, kind: usize, time: u64, value: u64) {
        assert!(kind < self.kinds);
        while time / self.interval >= self.max_intervals as u64 {
            self.merge_pairs();
        }
        // The quotient is below `max_intervals`, which is a usize.
        let nth = usize::try_from(time / self.interval).unwrap_or(usize::MAX);
        let row = self.row_len();
        if self.counts.len() <= nth * row {
            self.counts.resize((nth + 1) * row, 0);
        }
        let limits = &*LIMITS;
        let bin = limits.partition_point(|limit| *limit <= value).clamp(1, limits.len() - 1) - 1;
        self.counts[nth * row + kind * (limits.len() - 1) + bin] += 1;
    }

    /// Returns the length of an interval of time. The first interval begins at 0.
    pub fn interval(&self) -> u64 {
        self.interval
    }

    /// Returns the limits of the bins from the first to the last non-empty one, over all kinds: one
    /// more than there are bins. Empty if nothing was counted.
    pub fn limits(&self) -> &[u64] {
        match self.used() {
            Some((first, last)) => &LIMITS[first..=last + 1],
            None => &[],
        }
    }

    /// Returns the counts of one kind: a row for each interval of time, with a count for each bin
    /// of [`HeatMap::limits`].
    pub fn counts(&self, kind: usize) -> Vec<Vec<u64>> {
        let Some((first, last)) = self.used() else { return Vec::new() };
        let start = kind * (LIMITS.len() - 1);
        let rows = self.counts.chunks(self.row_len());
        rows.map(|row| row[start + first..=start + last].to_vec()).collect()
    }

    /// Returns the first and the last non-empty bin.
    fn used(&self) -> Option<(usize, usize)> {
        let bins = LIMITS.len() - 1;
        let used = self.counts.iter().enumerate().filter(|(_, count)| **count > 0);
        let used = used.map(|(place, _)| place % bins);
        used.fold(None, |range, bin| match range {
            None => Some((bin, bin)),
            Some((first, last)) => Some((bin.min(first), bin.max(last))),
        })
    }

    /// Returns the number of counts in each interval of time.
    fn row_len(&self) -> usize {
        self.kinds * (LIMITS.len() - 1)
    }

    /// Merges the intervals in pairs, which doubles their length.
    fn merge_pairs(&mut self) {
        let row = self.row_len();
        let intervals = self.counts.len() / row;
        for nth in 0..intervals {
            for place in 0..row {
                let count = std::mem::take(&mut self.counts[nth * row + place]);
                self.counts[nth / 2 * row + place] += count;
            }
        }
        self.counts.truncate(intervals.div_ceil(2) * row);
        self.interval = self.interval.saturating_mul(2);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};

    // The values are small and large, and the intervals are merged several times.
    #[test]
    fn each_value_is_counted_in_its_bin_and_interval() {
        let mut random = rand_xoshiro::Xoshiro256PlusPlus::seed_from_u64(1);
        for most in [2, 5, 64] {
            let mut map = HeatMap::new(2, most);
            assert!(map.limits().is_empty() && map.counts(0).is_empty());
            let mut values =
                vec![(0, 0, 0), (1, 1, 1), (0, 3, 9), (1, 3, 10), (1, 4, u64::MAX - 1)];
            for _ in 0..3000 {
                let kind = random.random_range(0..2);
                let value = 10u64.pow(random.random_range(0..9)) * random.random_range(1..10);
                values.push((kind, random.random_range(0..100_000), value));
            }
            values.iter().for_each(|(kind, time, value)| map.push(*kind, *time, *value));
            let limits = map.limits().to_vec();
            assert!(limits.is_sorted() && limits[0] <= 1);
            for kind in 0..2 {
                let counts = map.counts(kind);
                assert!(counts.len() <= most && counts.len() * 2 >= most, "{}", counts.len());
                for (interval, row) in (0u64..).zip(&counts) {
                    assert_eq!(row.len() + 1, limits.len());
                    for (bin, count) in row.iter().enumerate() {
                        let within = |(of, time, value): &&(usize, u64, u64)| {
                            let value = (*value).max(1);
                            *of == kind
                                && time / map.interval() == interval
                                && (limits[bin]..limits[bin + 1]).contains(&value)
                        };
                        assert_eq!(*count, values.iter().filter(within).count() as u64);
                    }
                }
            }
        }
    }

    // The ends of decades are exact powers of ten, with 16 bins in between.
    #[test]
    fn limits_divide_decades() {
        for (nth, decade) in (0..20).zip(std::iter::successors(Some(1u64), |d| d.checked_mul(10))) {
            assert_eq!(LIMITS[nth * 16], decade);
        }
        assert!(LIMITS[16 * 3..=16 * 19].windows(2).all(|pair| pair[0] < pair[1]));
        assert_eq!(LIMITS[16 * 6 + 8], 3_162_278);
    }
}
