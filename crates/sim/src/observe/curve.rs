use flashscope_block::Nanos;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The minimum and maximum of a value in a bucket of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Bucket {
    /// The minimum.
    pub min: u64,
    /// The maximum.
    pub max: u64,
}

impl Bucket {
    fn with(self, other: Bucket) -> Bucket {
        Bucket { min: self.min.min(other.min), max: self.max.max(other.max) }
    }
}

/// A value over time, in a limited number of buckets of equal length. The length doubles whenever
/// the limit would be exceeded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Curve {
    /// The start of the first bucket.
    pub from_ns: Nanos,
    /// The length of each bucket; the last is incomplete.
    pub bucket_ns: Nanos,
    /// The buckets, in order of time.
    pub buckets: Vec<Bucket>,
    #[serde(skip)]
    most: usize,
    #[serde(skip)]
    value: u64,
}

impl Curve {
    /// Creates a curve that begins at `from` with `value`, of at most `most` buckets (at least 2).
    pub(super) fn new(from: Nanos, value: u64, most: usize) -> Self {
        let buckets = vec![Bucket { min: value, max: value }];
        Curve { from_ns: from, bucket_ns: Nanos(1), buckets, most: most.max(2), value }
    }

    /// Returns the current value.
    pub(super) const fn value(&self) -> u64 {
        self.value
    }

    /// Records that the value did not change until `at`. A time before the last bucket counts as
    /// part of that bucket.
    pub(super) fn hold(&mut self, at: Nanos) {
        let after = at.0.saturating_sub(self.from_ns.0);
        while after / self.bucket_ns.0 >= self.most as u64 {
            self.halve();
        }
        let held = Bucket { min: self.value, max: self.value };
        while (self.buckets.len() as u64) <= after / self.bucket_ns.0 {
            self.buckets.push(held);
        }
    }

    /// Changes the value at `at`.
    pub(super) fn change(&mut self, value: u64, at: Nanos) {
        self.hold(at);
        self.value = value;
        if let Some(last) = self.buckets.last_mut() {
            *last = last.with(Bucket { min: value, max: value });
        }
    }

    fn halve(&mut self) {
        let pairs = self.buckets.chunks(2);
        self.buckets = pairs.map(|pair| pair[0].with(pair[pair.len() - 1])).collect();
        self.bucket_ns = Nanos(self.bucket_ns.0.saturating_mul(2));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_is_in_the_bucket_of_its_time_after_halving() {
        let mut random = fastrand::Rng::with_seed(5);
        for most in [2, 3, 8, 100] {
            let (mut at, mut changes) = (1000, vec![(1000, 7)]);
            let mut curve = Curve::new(Nanos(1000), 7, most);
            for _ in 0..500 {
                at += random.u64(..50);
                let value = random.u64(..1000);
                curve.change(value, Nanos(at));
                changes.push((at, value));
            }
            curve.hold(Nanos(at + 3000));
            let width = curve.bucket_ns.0;
            assert!(curve.buckets.len() <= most && curve.buckets.len() * 2 >= most, "{curve:?}");
            assert_eq!(curve.buckets.len() as u64, (at + 2000) / width + 1);
            for (nth, bucket) in (0u64..).zip(&curve.buckets) {
                let times = 1000 + nth * width..1000 + (nth + 1) * width;
                let before = changes.iter().rev().find(|change| change.0 < times.start);
                let within = changes.iter().filter(|change| times.contains(&change.0));
                let values: Vec<_> = before.into_iter().chain(within).map(|c| c.1).collect();
                assert_eq!(Some(&bucket.min), values.iter().min(), "{nth} of {width} ns");
                assert_eq!(Some(&bucket.max), values.iter().max(), "{nth} of {width} ns");
            }
        }
    }
}
