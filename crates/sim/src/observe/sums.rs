use std::ops::Range;

use flashscope_block::Nanos;

use crate::footprint::{Size, grown};

/// Sums over time, several side by side, in at most so many buckets of equal length, which doubles
/// whenever there would be more: what was added stays in the bucket of its time.
#[derive(Debug, Clone)]
pub(super) struct Sums {
    from: Nanos,
    bucket: Nanos,
    /// How many sums there are side by side.
    lanes: usize,
    most: usize,
    /// A row of all lanes for each bucket.
    values: Vec<u64>,
}

impl Sums {
    /// What they take: see [`Sums::new`].
    pub(super) fn footprint(lanes: u64, most: usize) -> Size {
        grown::<u64>(lanes.max(1).saturating_mul(most as u64))
    }

    /// Sums of 0 in `lanes` lanes (at least 1), from `from` on, in at most `most` buckets (at least
    /// 2).
    pub(super) fn new(from: Nanos, lanes: usize, most: usize) -> Self {
        let lanes = lanes.max(1);
        Sums { from, bucket: Nanos(1), lanes, most: most.max(2), values: vec![0; lanes] }
    }

    /// Begins anew, from `from` on.
    pub(super) fn restart(&mut self, from: Nanos) {
        *self = Sums::new(from, self.lanes, self.most);
    }

    /// How long each bucket is.
    pub(super) const fn bucket(&self) -> Nanos {
        self.bucket
    }

    /// Adds to a lane in the bucket of `at`; what is earlier than the first belongs to that.
    pub(super) fn add(&mut self, at: Nanos, lane: usize, amount: u64) {
        let nth = self.nth(at.0.saturating_sub(self.from.0));
        self.values[nth * self.lanes + lane] += amount;
    }

    /// Adds the time of a span to a lane, each bucket what lies in it.
    pub(super) fn spread(&mut self, span: Range<Nanos>, lane: usize) {
        let mut at = span.start.0.saturating_sub(self.from.0);
        let end = span.end.0.saturating_sub(self.from.0);
        if at >= end {
            return;
        }
        // So that buckets have their length before the first is added to.
        self.nth(end - 1);
        while at < end {
            let nth = self.nth(at);
            let next = (at / self.bucket.0 + 1).saturating_mul(self.bucket.0).min(end);
            self.values[nth * self.lanes + lane] += next - at;
            at = next;
        }
    }

    /// One lane, bucket by bucket.
    pub(super) fn lane(&self, lane: usize) -> Vec<u64> {
        self.values.chunks(self.lanes).map(|row| row[lane]).collect()
    }

    /// The bucket that is `after` the first, which there is from then on.
    fn nth(&mut self, after: u64) -> usize {
        while after / self.bucket.0 >= self.most as u64 {
            self.halve();
        }
        // Fewer than `most`, which is a usize.
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

    // Is what was added in the bucket of its time, in its lane, however often the buckets were
    // halved?
    #[test]
    fn sums_are_where_they_were_added() {
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
