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
        Sums { from, bucket: Nanos(1), lanes, most: most.max(2), values: vec![0; lanes] }
    }

    /// Resets all sums, to begin at `from`.
    pub(super) fn restart(&mut self, from: Nanos) {
        *self = Sums::new(from, self.lanes, self.most);
    }

    /// Returns the length of a bucket.
    pub(super) const fn bucket(&self) -> Nanos {
        self.bucket
    }

    /// Adds to a lane in the bucket of `at`. Earlier amounts go to the first bucket.
    pub(super) fn add(&mut self, at: Nanos, lane: usize, amount: u64) {
        let nth = self.nth(at.0.saturating_sub(self.from.0));
        self.values[nth * self.lanes + lane] += amount;
    }

    /// Adds the duration of a span to a lane, divided over its buckets.
    pub(super) fn spread(&mut self, span: Range<Nanos>, lane: usize) {
        let mut at = span.start.0.saturating_sub(self.from.0);
        let end = span.end.0.saturating_sub(self.from.0);
        if at >= end {
            return;
        }
        // Creating the last bucket first fixes the bucket length.
        self.nth(end - 1);
        while at < end {
            let nth = self.nth(at);
            let next = (at / self.bucket.0 + 1).saturating_mul(self.bucket.0).min(end);
            self.values[nth * self.lanes + lane] += next - at;
            at = next;
        }
    }

    /// Returns the values of one lane, bucket by bucket.
    pub(super) fn lane(&self, lane: usize) -> Vec<u64> {
        self.values.chunks(self.lanes).map(|row| row[lane]).collect()
    }

    /// Returns the index of the bucket at the time `after` past the first, and creates it if
    /// needed.
    fn nth(&mut self, after: u64) -> usize {
        while after / self.bucket.0 >= self.most as u64 {
            self.halve();
        }
        // The index is below `most`, which is a usize.
        let nth = usize::try_from(after / self.bucket.0).unwrap_or(usize::MAX);
        if self.values.len() <= nth * self.lanes {
            self.values.resize((nth + 1) * self.lanes, 0);
        }
        nth
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
