use std::sync::LazyLock;

/// Bins in each factor of ten.
const BINS_PER_DECADE: u32 = 16;

/// Decades that a `u64` reaches over.
const DECADES: u32 = 20;

/// Where each bin begins: the bin `n` holds values from the `n`-th to below the next.
static LIMITS: LazyLock<Vec<u64>> = LazyLock::new(|| {
    let limit = |nth: u32| {
        let decade = 10u64.saturating_pow(nth / BINS_PER_DECADE);
        let within = 10f64.powf(f64::from(nth % BINS_PER_DECADE) / f64::from(BINS_PER_DECADE));
        // Powers of ten are exact; the last limit is beyond what a u64 holds, and saturates.
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

/// How values are distributed over time: counts of values in bins, each 1/16 of a factor of ten
/// wide, and in at most so many stretches of time of equal length, which doubles whenever there
/// would be more. Several such maps, of values of different kinds, have the same stretches.
#[derive(Debug, Clone)]
pub struct HeatMap {
    kinds: usize,
    most: usize,
    stretch: u64,
    /// Counts of each stretch, of each kind, of each bin.
    counts: Vec<u64>,
}

impl HeatMap {
    /// An empty one for values of `kinds` kinds (at least 1), of at most `most` stretches of time
    /// (at least 2).
    pub fn new(kinds: usize, most: usize) -> HeatMap {
        HeatMap { kinds: kinds.max(1), most: most.max(2), stretch: 1, counts: Vec::new() }
    }

    /// Counts a value (0 with the values of 1) at a time.
    ///
    /// # Panics
    /// If there are no so many kinds.
    pub fn push(&mut self, kind: usize, time: u64, value: u64) {
        assert!(kind < self.kinds);
        while time / self.stretch >= self.most as u64 {
            self.halve();
        }
        // Fewer than `most`, which is a usize.
        let nth = usize::try_from(time / self.stretch).unwrap_or(usize::MAX);
        let row = self.row();
        if self.counts.len() <= nth * row {
            self.counts.resize((nth + 1) * row, 0);
        }
        let limits = &*LIMITS;
        let bin = limits.partition_point(|limit| *limit <= value).clamp(1, limits.len() - 1) - 1;
        self.counts[nth * row + kind * (limits.len() - 1) + bin] += 1;
    }

    /// How long each stretch of time is; the first begins at 0.
    pub fn stretch(&self) -> u64 {
        self.stretch
    }

    /// The limits of the bins from the first to the last that hold any value of any kind, one more
    /// than there are bins; empty where nothing was counted.
    pub fn limits(&self) -> &[u64] {
        match self.used() {
            Some((first, last)) => &LIMITS[first..=last + 1],
            None => &[],
        }
    }

    /// The counts of a kind: of each stretch of time those of each bin of [`HeatMap::limits`].
    pub fn counts(&self, kind: usize) -> Vec<Vec<u64>> {
        let Some((first, last)) = self.used() else { return Vec::new() };
        let start = kind * (LIMITS.len() - 1);
        let rows = self.counts.chunks(self.row());
        rows.map(|row| row[start + first..=start + last].to_vec()).collect()
    }

    /// The first and the last bin that hold any value.
    fn used(&self) -> Option<(usize, usize)> {
        let bins = LIMITS.len() - 1;
        let used = self.counts.iter().enumerate().filter(|(_, count)| **count > 0);
        let used = used.map(|(place, _)| place % bins);
        used.fold(None, |range, bin| match range {
            None => Some((bin, bin)),
            Some((first, last)) => Some((bin.min(first), bin.max(last))),
        })
    }

    /// How many counts each stretch has.
    fn row(&self) -> usize {
        self.kinds * (LIMITS.len() - 1)
    }

    fn halve(&mut self) {
        let row = self.row();
        let stretches = self.counts.len() / row;
        for nth in 0..stretches {
            for place in 0..row {
                let count = std::mem::take(&mut self.counts[nth * row + place]);
                self.counts[nth / 2 * row + place] += count;
            }
        }
        self.counts.truncate(stretches.div_ceil(2) * row);
        self.stretch = self.stretch.saturating_mul(2);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};

    // Is every value counted in the bin and the stretch of time that hold it, and nowhere else,
    // however often the stretches were halved, the least and the largest values among them?
    #[test]
    fn values_are_counted_where_they_are() {
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
                for (stretch, row) in (0u64..).zip(&counts) {
                    assert_eq!(row.len() + 1, limits.len());
                    for (bin, count) in row.iter().enumerate() {
                        let within = |(of, time, value): &&(usize, u64, u64)| {
                            let value = (*value).max(1);
                            *of == kind
                                && time / map.stretch() == stretch
                                && (limits[bin]..limits[bin + 1]).contains(&value)
                        };
                        assert_eq!(*count, values.iter().filter(within).count() as u64);
                    }
                }
            }
        }
    }

    // Are limits those of the definition: powers of ten where a decade ends, 16 bins in each?
    #[test]
    fn limits_divide_decades() {
        for (nth, decade) in (0..20).zip(std::iter::successors(Some(1u64), |d| d.checked_mul(10))) {
            assert_eq!(LIMITS[nth * 16], decade);
        }
        assert!(LIMITS[16 * 3..=16 * 19].windows(2).all(|pair| pair[0] < pair[1]));
        assert_eq!(LIMITS[16 * 6 + 8], 3_162_278);
    }
}
