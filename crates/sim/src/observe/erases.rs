use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ratio;
use crate::SimDevice;
use crate::ftl::Health;
use crate::nand::BlockId;

/// The maximum number of bins of a histogram.
const BINS: u32 = 32;

/// Statistics of the erases of the blocks of a drive, without blocks that were bad from the
/// factory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EraseReport {
    /// The number of blocks.
    pub blocks: u64,
    /// The smallest erase count of a block.
    pub min: u32,
    /// The 5th percentile of the erase counts: at least 5 % of the blocks have at most this many
    /// erases.
    pub p5: u32,
    /// The median of the erase counts: at least half of the blocks have at most this many erases.
    pub p50: u32,
    /// The 95th percentile of the erase counts: at least 95 % of the blocks have at most this many
    /// erases.
    pub p95: u32,
    /// The largest erase count of a block.
    pub max: u32,
    /// The mean erase count.
    #[schemars(range(min = 0.0))]
    pub mean: f64,
    /// The standard deviation of the erase counts over all blocks.
    #[schemars(range(min = 0.0))]
    pub standard_deviation: f64,
    /// A histogram of blocks by erase count.
    pub histogram: Histogram,
    /// The number of erases after which a block is retired.
    pub block_lifetime: u32,
    /// The mean number of remaining erases of a block (Table 7 of Agrawal et al.).
    pub mean_remaining_lifetime: f64,
    /// Blocks by their remaining lifetime relative to `mean_remaining_lifetime` (Table 8).
    pub remaining_lifetime: LifetimeClasses,
    /// The drive's lost blocks, migrations and end of life.
    pub health: Health,
}

/// Counts in bins of equal width.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Histogram {
    /// The lower end of the first bin.
    pub from: u32,
    /// The width of each bin: bin `n` counts values from `from + n * width` to below `from + (n +
    /// 1) * width`.
    pub width: u32,
    /// The counts.
    pub counts: Vec<u64>,
}

/// The number of blocks in each class of remaining lifetime, relative to the mean (Agrawal et al.,
/// Table 8).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct LifetimeClasses {
    /// Below 40 % of the mean.
    pub below_40_percent: u64,
    /// From 40 % to below 80 % of the mean.
    pub below_80_percent: u64,
    /// From 80 % to below 100 % of the mean.
    pub below_100_percent: u64,
    /// The mean or more.
    pub at_least_100_percent: u64,
}

/// Returns the erase statistics of the blocks of all `drives`, or `None` if they have no good
/// block.
pub fn erases(drives: &[SimDevice]) -> Option<EraseReport> {
    let counts = drives.iter().flat_map(|drive| {
        let nand = drive.nand();
        // A bad block without erases counts as bad from the factory.
        let used = (0u32..).map(BlockId).zip(nand.erase_counts());
        used.filter(|(block, erases)| *erases > 0 || !nand.is_bad(*block)).map(|(_, erases)| erases)
    });
    let health = drives.iter().map(SimDevice::health).fold(Health::default(), Health::plus);
    report(counts.collect(), drives.first()?.nand().block_lifetime(), health)
}

fn report(mut counts: Vec<u32>, block_lifetime: u32, health: Health) -> Option<EraseReport> {
    counts.sort_unstable();
    let (min, max) = (*counts.first()?, *counts.last()?);
    let blocks = counts.len() as u64;
    let sum: u64 = counts.iter().copied().map(u64::from).sum();
    let mean = ratio(sum.into(), blocks.into());
    let squares = counts.iter().map(|erases| (f64::from(*erases) - mean).powi(2));
    // The mean of the squares; an f64 holds the number of blocks exactly.
    let variance = squares.sum::<f64>() * ratio(1, blocks.into());
    // The smallest value that at least `percent` percent of the values do not exceed.
    let quantile = |percent: usize| counts[(counts.len() * percent).div_ceil(100).max(1) - 1];
    Some(EraseReport {
        blocks,
        min,
        p5: quantile(5),
        p50: quantile(50),
        p95: quantile(95),
        max,
        mean,
        standard_deviation: variance.sqrt(),
        histogram: histogram(&counts, min, max),
        block_lifetime,
        mean_remaining_lifetime: f64::from(block_lifetime) - mean,
        remaining_lifetime: classes(&counts, sum, block_lifetime),
        health,
    })
}

fn histogram(counts: &[u32], min: u32, max: u32) -> Histogram {
    let width = (max - min) / BINS + 1;
    let mut histogram =
        Histogram { from: min, width, counts: vec![0; ((max - min) / width + 1) as usize] };
    counts.iter().for_each(|n| histogram.counts[((n - min) / width) as usize] += 1);
    histogram
}

fn classes(counts: &[u32], sum: u64, lifetime: u32) -> LifetimeClasses {
    let blocks = counts.len() as i128;
    let remaining_in_all = i128::from(lifetime) * blocks - i128::from(sum);
    let mut classes = LifetimeClasses::default();
    for erases in counts {
        // Compares integers: 100 times the remaining erases against a percentage of the mean, both
        // times the number of blocks.
        let left = 100 * blocks * (i128::from(lifetime) - i128::from(*erases));
        let class = match left {
            left if left < 40 * remaining_in_all => &mut classes.below_40_percent,
            left if left < 80 * remaining_in_all => &mut classes.below_80_percent,
            left if left < 100 * remaining_in_all => &mut classes.below_100_percent,
            _ => &mut classes.at_least_100_percent,
        };
        *class += 1;
    }
    classes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summaries_match_the_definition_at_the_edges_of_the_classes() {
        // A lifetime of 183 erases and a mean of 50 remaining erases: the class edges are at 20, 40
        // and 50.
        let left = [0, 19, 20, 39, 40, 49, 50, 183];
        let counts = left.map(|left| 183 - left);
        assert_eq!(left.iter().sum::<u32>(), 400);
        let found = report(counts.to_vec(), 183, Health::default()).expect("blocks");
        assert_eq!((found.blocks, found.min, found.max, found.mean), (8, 0, 183, 133.0));
        assert_eq!((found.p5, found.p50, found.p95), (0, 143, 183));
        assert_eq!(found.mean_remaining_lifetime, 50.0);
        let squares: f64 = left.iter().map(|left| (f64::from(*left) - 50.0).powi(2)).sum();
        assert!((found.standard_deviation - (squares / 8.0).sqrt()).abs() < 1e-9);
        let classes = found.remaining_lifetime;
        assert_eq!((classes.below_40_percent, classes.below_80_percent), (2, 2));
        assert_eq!((classes.below_100_percent, classes.at_least_100_percent), (2, 2));
        let Histogram { from, width, counts: bins } = found.histogram;
        assert_eq!((from, width, bins.len()), (0, 6, 31));
        for (nth, bin) in (0u32..).zip(bins) {
            let within = |erases: &&u32| (nth * 6..nth * 6 + 6).contains(*erases);
            assert_eq!(bin, counts.iter().filter(within).count() as u64);
        }
        assert!(report(Vec::new(), 100, Health::default()).is_none());
    }
}
