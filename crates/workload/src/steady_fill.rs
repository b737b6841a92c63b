//! Writes that bring a page-mapped drive close to the steady state of uniform random writes in one
//! pass.

use flashscope_block::{Bytes, Data, Io, Nanos, Op};
use rand::RngExt;
use rand::rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::permutation::Permutation;
use crate::{Stream, seed_for};

/// The factor by which the pass overestimates the given spare space. Free blocks at the end of the
/// pass cost more accuracy than garbage collection that begins early.
const MARGIN: f64 = 1.1;

/// The random writes after the pass, as a share of the pages. They correct errors of the pass, such
/// as those from a wrong estimate of the spare space.
const CORRECTION: f64 = 0.125;

/// Minimum share of spare space; a smaller share counts as this share.
pub const MIN_SPARE: f64 = 0.001;

/// Maximum share of spare space; a larger share counts as this share.
pub const MAX_SPARE: f64 = 10.0;

/// The spare space of a drive, on which a steady fill depends.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SpareSpace {
    /// Bytes of a write: a page of the drive's mapping.
    #[serde(rename = "page_bytes")]
    pub page: Bytes,
    /// The effective over-provisioning: the number of pages that the drive can program before it
    /// has to collect a block, divided by the number of addressable pages, minus 1. A steady fill
    /// limits it to the range from [`MIN_SPARE`] to [`MAX_SPARE`].
    pub share: f64,
}

impl SpareSpace {
    /// Returns the bytes that a steady fill of `size` bytes writes.
    #[must_use]
    #[allow(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "sizes are below 2^53"
    )]
    pub fn written(self, size: Bytes) -> Bytes {
        let pages = size.0.div_ceil(self.page.0) as f64;
        let written = (pages * self.physical()).ceil() + (pages * CORRECTION).ceil();
        Bytes(written as u64 * self.page.0)
    }

    /// Returns the pages of the pass for each page that the host can address.
    fn physical(self) -> f64 {
        1.0 + MARGIN * self.share.clamp(MIN_SPARE, MAX_SPARE)
    }
}

/// Writes the pages such that the blocks hold as many valid pages at the end as in the steady state
/// of uniform random writes. Each page has one final write; earlier writes of the page fill the
/// blocks with invalid pages.
///
/// In the steady state, all blocks are collected at about the same age T. A page stays valid for a
/// time t with probability exp(-t), where the unit of time is as many host writes as there are
/// pages. This is equation 4 of Desnoyers, SYSTOR 2012; other policies differ little from it. The
/// ages of blocks are uniform, and a share (1 - exp(-T)) / T of the flash is therefore valid. This
/// equals L / P, the addressable pages divided by all pages, and gives T.
///
/// The pass programs all P pages once. A drive that was empty therefore collects no block
/// meanwhile, and no method can write less to fill the flash. At the share u of the pass, a write
/// is final with probability exp(-T (1 - u)). Any other write goes to a page whose final write
/// comes later. The final writes are in the order of a permutation without memory. Uniform random
/// writes have no memory either: their future depends on the valid pages of the blocks alone.
pub struct SteadyFill {
    offset: Bytes,
    size: Bytes,
    page: Bytes,
    pages: u64,
    /// The number of writes in the pass, which programs all pages once.
    pass: u64,
    /// The number of all writes: those of the pass, then random ones.
    all: u64,
    /// The age at which blocks are collected.
    age: f64,
    order: Permutation,
    rng: Xoshiro256PlusPlus,
    next: u64,
    /// The number of final writes so far.
    kept: u64,
}

#[allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "pages are below 2^53"
)]
impl SteadyFill {
    /// Creates a fill of `size` bytes from `offset`.
    #[must_use]
    pub fn new(offset: Bytes, size: Bytes, spare: SpareSpace, seed: u64) -> SteadyFill {
        let SpareSpace { page, .. } = spare;
        let pages = size.0.div_ceil(page.0);
        let pass = (pages as f64 * spare.physical()).ceil() as u64;
        SteadyFill {
            offset,
            size,
            page,
            pages,
            pass,
            all: spare.written(size).0 / page.0,
            age: age_of_collection(spare.physical()),
            order: Permutation::new(pages, seed),
            rng: Xoshiro256PlusPlus::seed_from_u64(seed_for(seed, 1)),
            next: 0,
            kept: 0,
        }
    }

    /// Returns the position of the next page in the order of the permutation, below `pages`.
    fn place(&mut self) -> u64 {
        let left = self.pages - self.kept;
        if self.next >= self.pass || left == 0 {
            return self.rng.random_range(0..self.pages);
        }
        let valid = (-self.age * (1.0 - (self.next as f64 + 0.5) / self.pass as f64)).exp();
        let oldest = (-self.age).exp();
        // The expected number of final writes still to come. It corrects the random deviations of
        // the earlier writes.
        let expected = self.pages as f64 * (1.0 - valid) / (1.0 - oldest);
        let probability = valid * left as f64 / expected.max(0.5);
        let must = self.pass - self.next <= left;
        if must || self.rng.random::<f64>() < probability {
            self.kept += 1;
            return self.kept - 1;
        }
        self.rng.random_range(self.kept..self.pages)
    }
}

impl Stream for SteadyFill {
    fn next(&mut self, previous: Nanos) -> Option<Io> {
        if self.next >= self.all || self.pages == 0 {
            return None;
        }
        let place = self.place();
        self.next += 1;
        let from = self.order.at(place) * self.page.0;
        let (offset, len) = (Bytes(self.offset.0 + from), self.page.min(Bytes(self.size.0 - from)));
        Some(Io { op: Op::Write, stream: 0, offset, len, at: previous, data: Data::Random })
    }
}

/// Returns the age T at which blocks are collected if there are `physical` pages for each
/// addressable page: the root of (1 - exp(-T)) / T = 1 / `physical`.
fn age_of_collection(physical: f64) -> f64 {
    let (mut low, mut high) = (0.0, physical);
    for _ in 0..100 {
        let age = f64::midpoint(low, high);
        if -(-age).exp_m1() * physical > age { low = age } else { high = age }
    }
    low
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn ios(size: Bytes, spare: SpareSpace, seed: u64) -> Vec<Io> {
        let mut fill = SteadyFill::new(Bytes::mib(1), size, spare, seed);
        std::iter::from_fn(move || fill.next(Nanos(0))).collect()
    }

    /// Returns the share of the writes of the pass that no later write of the pass replaces, by
    /// tenth of the pass.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "few pages")]
    fn valid(size: Bytes, spare: SpareSpace) -> Vec<f64> {
        let mut ios = ios(size, spare, 1);
        // Leave out the random writes at the end.
        let correction = (CORRECTION * (size.0 / spare.page.0) as f64).ceil();
        ios.truncate(ios.len() - correction as usize);
        let mut seen = std::collections::HashSet::new();
        let mut stays = vec![0.0; 10];
        for (nth, io) in ios.iter().enumerate().rev() {
            if seen.insert(io.offset) {
                stays[nth * 10 / ios.len()] += 10.0 / ios.len() as f64;
            }
        }
        stays
    }

    proptest! {
        #[test]
        fn everything_is_written_and_no_more_than_announced(
            pages in 1u64..3000, part in 0u64..8, share in 0.001..1.5_f64, seed in any::<u64>(),
        ) {
            let size = Bytes((pages * 4096 - part * 512).max(512));
            let spare = SpareSpace { page: Bytes::kib(4), share };
            let ios = ios(size, spare, seed);
            let mut places: Vec<u64> = ios.iter().map(|io| io.offset.0).collect();
            places.sort_unstable();
            places.dedup();
            prop_assert_eq!(places.len() as u64, size.0.div_ceil(4096));
            prop_assert!(ios.iter().all(|io| io.end() <= Bytes::mib(1) + size && io.len.0 >= 512));
            prop_assert_eq!(ios.len() as u64 * 4096, spare.written(size).0);
        }
    }

    // The expected shares are those of uniform random writes, at the middle of each tenth of the
    // pass.
    #[test]
    fn valid_pages_of_the_pass_fall_with_age_as_in_the_steady_state() {
        for share in [0.05, 0.28, 1.0] {
            let spare = SpareSpace { page: Bytes::kib(4), share };
            let age = age_of_collection(spare.physical());
            for (tenth, found) in valid(Bytes::mib(256), spare).into_iter().enumerate() {
                let expected = (-age * (0.95 - tenth as f64 / 10.0)).exp();
                assert!((found - expected).abs() < 0.02, "{share}, {tenth}: {found} {expected}");
            }
        }
    }

    #[test]
    fn age_of_collection_fills_the_flash() {
        for physical in [1.001, 1.07, 1.5, 2.0, 11.0] {
            let age = age_of_collection(physical);
            let valid = (1.0 - (-age).exp()) / age;
            assert!((valid * physical - 1.0).abs() < 1e-9, "{physical}: {age}");
        }
    }
}
