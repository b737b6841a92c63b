//! The average working set (Denning & Slutz, *Generalized working sets for segment reference
//! strings*, CACM 21, 1978).

use flashscope_block::Nanos;

use super::PAGE;
use super::replicates::{self, REPLICATES};
use flashscope_document::trace::WorkingSet;

/// The binary logarithm of the shortest window in nanoseconds, which is about a microsecond.
const SHORTEST_WINDOW: u32 = 10;

/// The times for which pages were not accessed, in buckets from one power of two to the next.
///
/// After each access, a page is in the working set of a window τ for min(τ, gap): until the time τ
/// later, or until its next access. The mean size over a time T is the sum of these times over all
/// accesses, divided by T. If τ is the edge of a bucket, this sum is exact.
#[derive(Debug, Clone)]
pub(super) struct Gaps {
    buckets: [Bucket; 65],
}

#[derive(Debug, Clone, Copy, Default)]
struct Bucket {
    count: u64,
    sum: u128,
}

impl Default for Gaps {
    fn default() -> Self {
        Gaps { buckets: [Bucket::default(); 65] }
    }
}

impl Gaps {
    /// Adds a gap of `pages` pages, each of which represents 2^`shift` pages.
    #[inline]
    pub(super) fn push(&mut self, gap: u64, pages: u64, shift: u32) {
        let bucket = &mut self.buckets[(u64::BITS - gap.leading_zeros()) as usize];
        let count = pages << shift;
        bucket.count += count;
        bucket.sum += u128::from(gap) * u128::from(count);
    }

    /// Returns the sum of min(2^`power`, gap).
    fn sum_up_to(&self, power: u32) -> f64 {
        let (below, above) = self.buckets.split_at(power as usize + 1);
        let below: u128 = below.iter().map(|bucket| bucket.sum).sum();
        let above: u128 = above.iter().map(|bucket| u128::from(bucket.count)).sum();
        (below + (above << power)) as f64
    }
}

/// Returns the working set of a trace of duration `end`, from the gaps of each part of a sample
/// with share `rate`.
pub(super) fn facts(parts: &[Gaps; REPLICATES], end: u64, rate: f64) -> Vec<WorkingSet> {
    let powers = SHORTEST_WINDOW..=end.checked_ilog2().unwrap_or(0);
    let at = |power| {
        let bytes = parts.each_ref().map(|gaps| gaps.sum_up_to(power) * PAGE as f64 / end as f64);
        WorkingSet { window_ns: Nanos(1 << power), bytes: replicates::total(&bytes, rate) }
    };
    powers.map(at).collect()
}
