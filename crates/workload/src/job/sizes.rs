use flashscope_block::Bytes;
use rand::RngExt;
use rand_xoshiro::Xoshiro256PlusPlus;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A size of IOs and its share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SizeShare {
    /// The size of the IOs.
    #[serde(rename = "size_bytes")]
    pub size: Bytes,
    /// The share, relative to the sum of all weights.
    pub weight: u32,
}

pub(super) fn smallest(sizes: &[SizeShare]) -> Bytes {
    sizes.iter().map(|share| share.size).min().unwrap_or_default()
}

pub(super) fn largest(sizes: &[SizeShare]) -> Bytes {
    sizes.iter().map(|share| share.size).max().unwrap_or_default()
}

/// Returns the mean size, rounded down.
pub(super) fn mean(sizes: &[SizeShare]) -> Bytes {
    let weights: u128 = sizes.iter().map(|share| u128::from(share.weight)).sum();
    let sum: u128 =
        sizes.iter().map(|share| u128::from(share.weight) * u128::from(share.size.0)).sum();
    Bytes(u64::try_from(sum / weights.max(1)).unwrap_or(u64::MAX))
}

/// Returns the sizes in words, such as `4 KiB (50 %) or 16 KiB (50 %)`.
pub(super) fn words(sizes: &[SizeShare]) -> String {
    if let [share] = sizes {
        return share.size.to_string();
    }
    let weights: u64 = sizes.iter().map(|share| u64::from(share.weight)).sum();
    let percent = |share: &SizeShare| 100 * u64::from(share.weight) / weights.max(1);
    let each = sizes.iter().map(|share| format!("{} ({} %)", share.size, percent(share)));
    each.collect::<Vec<_>>().join(" or ")
}

/// Draws sizes in proportion to their weights.
pub(super) struct Sizes {
    sizes: Vec<SizeShare>,
    weights: u32,
}

impl Sizes {
    pub(super) fn new(sizes: &[SizeShare]) -> Sizes {
        let weights = sizes.iter().map(|share| share.weight).sum();
        Sizes { sizes: sizes.to_vec(), weights }
    }

    /// Returns the smallest size, at least one byte.
    pub(super) fn smallest(&self) -> u64 {
        smallest(&self.sizes).0.max(1)
    }

    /// Draws one of the sizes of at most `room` bytes; `None` if no size fits. The ratio of the
    /// shares that fit is that of fio, which draws from all sizes until one fits.
    pub(super) fn draw(&self, room: u64, rng: &mut Xoshiro256PlusPlus) -> Option<u64> {
        let fits = |share: &&SizeShare| share.size.0 <= room;
        let weights = match largest(&self.sizes).0 <= room {
            true => self.weights,
            false => self.sizes.iter().filter(fits).map(|share| share.weight).sum(),
        };
        if weights == 0 {
            return None;
        }
        if let [share] = self.sizes[..] {
            return Some(share.size.0);
        }
        let mut left = rng.random_range(0..weights);
        let mut fitting = self.sizes.iter().filter(fits);
        let drawn = fitting.find(|share| {
            let is_here = left < share.weight;
            left = left.saturating_sub(share.weight);
            is_here
        });
        drawn.map(|share| share.size.0)
    }
}
