//! Counts of values in buckets with fixed bounds, which merge exactly.

use std::collections::BTreeMap;

use flashscope_document::collection::Quantiles;
use serde::{Deserialize, Serialize};

/// The binary logarithm of the number of buckets per power of two.
const STEPS: u32 = 5;

/// The lowest value that shares its bucket with other values.
const EXACT: u64 = 2 << STEPS;

/// The number of values in each bucket. Each value below 64 has its own bucket. From 64 on, 32
/// buckets divide each range from one power of two to the next.
///
/// A collection has thousands of volumes with few different values, hence a map instead of the
/// table of `hdrhistogram`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Histogram {
    counts: BTreeMap<u16, u64>,
    sum: u64,
    min: u64,
    max: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Histogram { counts: BTreeMap::new(), sum: 0, min: u64::MAX, max: 0 }
    }
}

/// Returns the bucket of a value.
#[allow(clippy::cast_possible_truncation, reason = "there are fewer than 2,000 buckets")]
fn bucket(value: u64) -> u16 {
    if value < EXACT {
        return value as u16;
    }
    let power = value.ilog2();
    let step = (value >> (power - STEPS)) - (1 << STEPS);
    (EXACT + (u64::from(power - STEPS - 1) << STEPS) + step) as u16
}

/// Returns the lowest value of a bucket.
fn lowest(bucket: u16) -> u64 {
    let Some(beyond) = u64::from(bucket).checked_sub(EXACT) else { return bucket.into() };
    let (power, step) = (beyond >> STEPS, beyond % (1 << STEPS));
    ((1 << STEPS) + step) << (power + 1)
}

impl Histogram {
    /// Adds a value.
    pub(super) fn push(&mut self, value: u64) {
        *self.counts.entry(bucket(value)).or_default() += 1;
        // A saturating sum does not depend on the order of its terms.
        self.sum = self.sum.saturating_add(value);
        (self.min, self.max) = (self.min.min(value), self.max.max(value));
    }

    /// Adds the values of another histogram.
    pub(super) fn merge(&mut self, other: &Histogram) {
        for (bucket, count) in &other.counts {
            *self.counts.entry(*bucket).or_default() += count;
        }
        self.sum = self.sum.saturating_add(other.sum);
        (self.min, self.max) = (self.min.min(other.min), self.max.max(other.max));
    }

    /// Returns the distribution; `None` without values.
    pub(super) fn facts(&self) -> Option<Quantiles> {
        let count: u64 = self.counts.values().sum();
        (count > 0).then(|| Quantiles {
            mean: self.sum as f64 / count as f64,
            min: self.min,
            p50: self.quantile(count, 500),
            p90: self.quantile(count, 900),
            p99: self.quantile(count, 990),
            p999: self.quantile(count, 999),
            max: self.max,
        })
    }

    /// Returns the quantile `thousandths` / 1000 of the values, rounded down to the lowest value of
    /// its bucket.
    #[allow(clippy::cast_possible_truncation, reason = "the rank is at most the count")]
    fn quantile(&self, count: u64, thousandths: u128) -> u64 {
        let rank = (u128::from(count) * thousandths).div_ceil(1000) as u64;
        let mut seen = 0;
        let reached = self.counts.iter().find(|(_, count)| {
            seen += *count;
            seen >= rank
        });
        reached.map_or(self.max, |(bucket, _)| lowest(*bucket).max(self.min))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn buckets_are_at_most_a_32nd_wide(value: u64, shift in 0u32..64) {
            let value = value >> shift;
            let low = lowest(bucket(value));
            prop_assert!(low <= value && value - low <= low / 32, "{value} {low}");
            prop_assert!(value == 0 || bucket(value - 1) <= bucket(value));
        }
    }

    #[test]
    fn quantiles_of_powers_of_two_are_exact() {
        let mut sizes = Histogram::default();
        (0..90).for_each(|_| sizes.push(4096));
        (0..9).for_each(|_| sizes.push(65_536));
        sizes.push(1_000_000);
        let facts = sizes.facts().unwrap();
        assert_eq!((facts.min, facts.p50, facts.p90, facts.p99), (4096, 4096, 4096, 65_536));
        assert_eq!((facts.p999, facts.max), (999_424, 1_000_000));
        assert_eq!(facts.mean, (90.0 * 4096.0 + 9.0 * 65_536.0 + 1e6) / 100.0);
        assert_eq!(Histogram::default().facts(), None);
    }
}
