//! The distribution from which a synthetic workload is generated.

use flashscope_block::Bytes;

use crate::permutation::Permutation;

/// The distribution of a workload whose IOs are independent.
pub struct Law {
    /// The start of the target range.
    pub offset: Bytes,
    /// The number of places in the target range, which do not overlap.
    pub places: u64,
    /// The size of a place, which is the size of every IO.
    pub size: Bytes,
    /// The share of reads, 0 to 1.
    pub reads: f64,
    /// The share of trims, 0 to 1. Each trim goes to a random place that holds data.
    pub trims: f64,
    /// The share of each place in the writes.
    pub shares: Shares,
}

/// The share of each place in the writes.
pub enum Shares {
    /// All places have the same share.
    Uniform,
    /// The hot places, which come first, share a part of the writes; the other places share the
    /// remaining writes.
    HotCold {
        /// The number of hot places.
        hot: u64,
        /// The share of the hot places in the writes, 0 to 1.
        writes: f64,
    },
    /// Shares are proportional to 1 / rank^exponent.
    Zipf {
        /// The exponent, above 0.
        exponent: f64,
        /// The place of each rank.
        places: PlaceOfRank,
    },
}

/// The place of each rank of a distribution.
pub struct PlaceOfRank(pub(super) Option<Permutation>);

impl PlaceOfRank {
    /// Returns the place of a rank, 1 or more.
    #[must_use]
    pub fn of(&self, rank: u64) -> u64 {
        self.0.as_ref().map_or(rank - 1, |permutation| permutation.at(rank - 1))
    }
}
