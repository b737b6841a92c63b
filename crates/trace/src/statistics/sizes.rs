//! The sizes of accesses.

use std::collections::BTreeMap;

use crate::Request;
use flashscope_block::{Bytes, Op};

use flashscope_document::trace::{SizeBucket, SizeFacts, SizeSummary};

/// Sizes of whole sectors, up to this number of sectors, are counted in the table.
const TABLE: usize = 1 << 11;

/// Maximum number of other sizes to count separately; further sizes are rounded down to [`DIGITS`]
/// binary digits.
const MAX_OTHER_SIZES: usize = 1 << 16;

/// The number of binary digits of rounded sizes; the error is less than 1 %.
const DIGITS: u32 = 8;

/// The number of most frequent sizes to report.
const MAX_FREQUENT_SIZES: usize = 10;

/// The number of reads and of writes.
type Counts = [u64; 2];

/// Counts accesses by their exact size.
#[derive(Debug, Clone)]
pub(super) struct Sizes {
    /// The counts by number of sectors.
    table: Vec<Counts>,
    others: BTreeMap<u64, Counts>,
    rounded: u64,
}

impl Default for Sizes {
    fn default() -> Self {
        Sizes { table: vec![[0; 2]; TABLE + 1], others: BTreeMap::new(), rounded: 0 }
    }
}

impl Sizes {
    pub(super) fn push(&mut self, batch: &[Request]) {
        for request in batch {
            let of = match request.op {
                Op::Read => 0,
                Op::Write => 1,
                Op::Trim | Op::Flush => continue,
            };
            let len = request.len.0;
            match self.table.get_mut(usize::try_from(len / 512).unwrap_or(usize::MAX)) {
                Some(counts) if len.is_multiple_of(512) => counts[of] += 1,
                _ => self.push_other(len, of),
            }
        }
    }

    fn push_other(&mut self, len: u64, of: usize) {
        if let Some(counts) = self.others.get_mut(&len) {
            counts[of] += 1;
            return;
        }
        let mut len = len;
        if self.others.len() >= MAX_OTHER_SIZES {
            let cut = (u64::BITS - len.leading_zeros()).saturating_sub(DIGITS);
            len = len >> cut << cut;
            self.rounded += 1;
        }
        self.others.entry(len).or_default()[of] += 1;
    }

    /// Returns the smallest and the largest size.
    pub(super) fn range(&self) -> Option<(u64, u64)> {
        let counts = self.counts();
        Some((counts.keys().next().copied()?, counts.keys().next_back().copied()?))
    }

    fn counts(&self) -> BTreeMap<u64, Counts> {
        let mut counts = self.others.clone();
        for (sectors, found) in (0u64..).zip(&self.table) {
            if *found != [0; 2] {
                counts.insert(sectors * 512, *found);
            }
        }
        counts
    }

    pub(super) fn facts(&self) -> Option<SizeFacts> {
        let counts = self.counts();
        let summary = |of: fn(&Counts) -> u64| summary(counts.iter().map(|(s, c)| (*s, of(c))));
        let mut histogram = BTreeMap::<u64, Counts>::new();
        for (size, found) in &counts {
            let floor = size.checked_ilog2().map_or(0, |power| 1 << power);
            let bucket = histogram.entry(floor).or_default();
            *bucket = [bucket[0] + found[0], bucket[1] + found[1]];
        }
        let bucket = |(size, [reads, writes]): (u64, Counts)| SizeBucket {
            size_bytes: Bytes(size),
            reads,
            writes,
        };
        let mut most_frequent: Vec<_> = counts.iter().map(|(s, c)| bucket((*s, *c))).collect();
        most_frequent
            .sort_by_key(|bucket| (u64::MAX - bucket.reads - bucket.writes, bucket.size_bytes));
        most_frequent.truncate(MAX_FREQUENT_SIZES);
        Some(SizeFacts {
            all: summary(|[reads, writes]| reads + writes)?,
            reads: summary(|counts| counts[0]),
            writes: summary(|counts| counts[1]),
            histogram: histogram.into_iter().map(bucket).collect(),
            most_frequent,
            distinct: counts.len() as u64,
            rounded: self.rounded,
        })
    }
}

/// Returns the distribution of sizes, given in rising order with their counts.
fn summary(sizes: impl Iterator<Item = (u64, u64)>) -> Option<SizeSummary> {
    let sizes: Vec<_> = sizes.filter(|(_, count)| *count > 0).collect();
    let count: u64 = sizes.iter().map(|(_, count)| count).sum();
    let total: u128 = sizes.iter().map(|(s, c)| u128::from(*s) * u128::from(*c)).sum();
    let at = |per_cent: u64| {
        let rank = (count * per_cent).div_ceil(100);
        let mut below = 0;
        let found = sizes.iter().find(|(_, count)| {
            below += count;
            below >= rank
        });
        found.map(|(size, _)| Bytes(*size))
    };
    Some(SizeSummary {
        mean: total as f64 / count as f64,
        min: Bytes(sizes.first()?.0),
        p10: at(10)?,
        p25: at(25)?,
        p50: at(50)?,
        p75: at(75)?,
        p90: at(90)?,
        p99: at(99)?,
        max: Bytes(sizes.last()?.0),
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::request;
    use super::*;

    #[test]
    fn size_statistics_match_a_calculation_by_hand() {
        let mut sizes = Sizes::default();
        let mut batch = vec![request(0, Op::Write, 0, 4096); 6];
        batch.extend([request(0, Op::Read, 0, 512), request(0, Op::Read, 0, 6000)]);
        batch.extend([request(0, Op::Read, 0, 6000), request(0, Op::Write, 0, 8 << 20)]);
        batch.extend([request(0, Op::Trim, 0, 1 << 30), request(0, Op::Flush, 0, 0)]);
        sizes.push(&batch);
        let facts = sizes.facts().unwrap();
        let all = facts.all;
        let mean = (6.0 * 4096.0 + 512.0 + 12000.0 + 8388608.0) / 10.0;
        assert_eq!((all.mean, all.min.0, all.max.0), (mean, 512, 8 << 20));
        let quantiles = [all.p10, all.p25, all.p50, all.p75, all.p90, all.p99].map(|size| size.0);
        assert_eq!(quantiles, [512, 4096, 4096, 6000, 6000, 8 << 20]);
        let reads = facts.reads.unwrap();
        assert_eq!((reads.mean, reads.p50.0), (12512.0 / 3.0, 6000));
        let found = |buckets: &[SizeBucket]| -> Vec<_> {
            buckets.iter().map(|b| (b.size_bytes.0, b.reads, b.writes)).collect()
        };
        assert_eq!(found(&facts.histogram), [(512, 1, 0), (4096, 2, 6), (8 << 20, 0, 1)]);
        let most = [(4096, 0, 6), (6000, 2, 0), (512, 1, 0), (8 << 20, 0, 1)];
        assert_eq!(found(&facts.most_frequent), most);
        assert_eq!((facts.distinct, facts.rounded), (4, 0));
    }

    // Every size is different.
    #[test]
    fn too_many_sizes_are_rounded_by_less_than_a_percent() {
        let mut sizes = Sizes::default();
        let count = 4 * MAX_OTHER_SIZES as u64;
        for i in 0..count {
            sizes.push(&[request(0, Op::Read, 0, (1 << 30) + 1 + i * 2047)]);
        }
        assert!(sizes.others.len() < MAX_OTHER_SIZES + 1000);
        let facts = sizes.facts().unwrap();
        assert_eq!(facts.rounded, count - MAX_OTHER_SIZES as u64);
        let exact = ((1u64 << 30) + 1 + (count / 2 - 1) * 2047) as f64;
        assert!((facts.all.p50.0 as f64 / exact - 1.0).abs() < 0.01);
    }

    #[test]
    fn no_accesses_have_no_sizes() {
        let mut sizes = Sizes::default();
        sizes.push(&[request(0, Op::Trim, 0, 4096)]);
        assert_eq!((sizes.facts(), sizes.range()), (None, None));
    }
}
