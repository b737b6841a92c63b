use std::ops::Range;

use flashscope_block::Nanos;

use crate::footprint::{Size, grown};

/// Several sums over time, in a limited number of buckets of equal length. The length doubles
/// whenever the limit would be exceeded; each amount stays in the bucket of its time.
#[derive(Debug, Clone)]
pub(super) struct Sums {
    from: Nanos,
    bucket: Nanos,
    /// The number of sums.
    lanes: usize,
    most: usize,
    /// The buckets, each a row of all lanes.
    values: Vec<u64>,
    /// The bucket of the last amount, as times after `from`, and the index of its row. Most amounts
    /// then need no division.
    near: (Range<u64>, usize),
}

impl Sums {
    /// Returns the memory of the sums: see [`Sums::new`].
    pub(super) fn footprint(lanes: u64, most: usize) -> Size {
        grown::<u64>(lanes.max(1).saturating_mul(most as u64))
    }

    /// Creates sums of 0 in `lanes` lanes (at least 1) from `from`, in at most `most` buckets (at
    /// least 2).
    pub(super) fn new(from: Nanos, lanes: usize, most: usize) -> Self {
        let lanes = lanes.max(1);
        Sums {
            from,
            bucket: Nanos(1),
            lanes,
            most: most.max(2),
            values: vec![0; lanes],
            near: (0..1, 0),
        }
    }

    /// Resets all sums, to begin at `from`.
    pub(super) fn restart(&mut self, from: Nanos) {
        *self = Sums::new(from, self.lanes, self.most);
    }

    /// Returns the length of a bucket.
    pub(super) const fn bucket(&self) -> Nanos {
        self.bucket
    }

    /// Adds to a lane in the bucket of `at`. Amounts before `from` go to the first bucket.
    pub(super) fn add(&mut self, at: Nanos, lane: usize, amount: u64) {
        let row = self.row(at.0.saturating_sub(self.from.0));
        self.values[row + lane] += amount;
    }

    /// Adds 1 to a lane at the time `first` and, after each `step`, again: `count` times in all.
    pub(super) fn add_series(&mut self, series: (Nanos, Nanos, u32), lane: usize) {
        let (first, step, count) = series;
        let at = |nth: u32| first.0.saturating_add(step.0.saturating_mul(nth.into()));
        let last = at(count.saturating_sub(1)).saturating_sub(self.from.0);
        let row = self.row(first.0.saturating_sub(self.from.0));
        if self.near.0.contains(&last) {
            self.values[row + lane] += u64::from(count);
        } else {
            (0..count).for_each(|nth| self.add(Nanos(at(nth)), lane, 1));
        }
    }

    /// Adds the duration of a span to a lane, divided over its buckets.
    pub(super) fn spread(&mut self, span: Range<Nanos>, lane: usize) {
        let mut at = span.start.0.saturating_sub(self.from.0);
        let end = span.end.0.saturating_sub(self.from.0);
        if at >= end {
            return;
        }
        // Creating the last bucket first fixes the bucket length.
        self.row(end - 1);
        while at < end {
            let row = self.row(at);
            let next = self.near.0.end.min(end);
            self.values[row + lane] += next - at;
            at = next;
        }
    }

    /// Returns the values of one lane, bucket by bucket.
    pub(super) fn lane(&self, lane: usize) -> Vec<u64> {
        self.values.chunks(self.lanes).map(|row| row[lane]).collect()
    }

    /// Returns the index of the first value of the bucket that contains the time `after` past
    /// `from`. Creates the bucket if needed.
    #[inline]
    fn row(&mut self, after: u64) -> usize {
        if self.near.0.contains(&after) {
            return self.near.1;
        }
        self.find_row(after)
    }

    fn find_row(&mut self, after: u64) -> usize {
        while after / self.bucket.0 >= self.most as u64 {
            self.halve();
        }
        // The index is below `most`, which is a usize.
        let nth = usize::try_from(after / self.bucket.0).unwrap_or(usize::MAX);
        let row = nth * self.lanes;
        if self.values.len() <= row {
            self.values.resize(row + self.lanes, 0);
        }
        let start = after / self.bucket.0 * self.bucket.0;
        self.near = (start..start.saturating_add(self.bucket.0), row);
        row
    }

    fn halve(&mut self) {
        let rows = self.values.len() / self.lanes;
        for row in 0..rows {
            for lane in 0..self.lanes {
                let value = std::mem::take(&mut self.values[row * self.lanes + lane]);
                self.values[row / 2 * self.lanes + lane] += value;
            }
        }
        self.values.truncate(rows.div_ceil(2) * self.lanes);
        self.bucket = Nanos(self.bucket.0.saturating_mul(2));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_stay_in_the_bucket_of_their_time_after_halving() {
        let mut random = fastrand::Rng::with_seed(3);
        for most in [2, 3, 8, 100] {
            let mut sums = Sums::new(Nanos(1000), 3, most);
            let mut added = vec![];
            for _ in 0..500 {
                let (at, lane) = (random.u64(900..90_000), random.usize(..3));
                let (amount, length) = (random.u64(..9), random.u64(..4000));
                sums.add(Nanos(at), lane, amount);
                added.push((at.max(1000), lane, amount));
                sums.spread(Nanos(at)..Nanos(at + length), lane);
                added.extend((at.max(1000)..at + length).map(|at| (at, lane, 1)));
            }
            let width = sums.bucket().0;
            for lane in 0..3 {
                let found = sums.lane(lane);
                assert!(found.len() <= most && found.len() * 2 >= most, "{}", found.len());
                let mut expected = vec![0; found.len()];
                for (at, _, amount) in added.iter().filter(|added| added.1 == lane) {
                    expected[usize::try_from((at - 1000) / width).unwrap()] += amount;
                }
                assert_eq!(found, expected, "lane {lane} in {most} buckets");
            }
        }
    }
}
