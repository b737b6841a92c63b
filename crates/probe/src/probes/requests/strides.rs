//! The differences in length between compared reads.

use std::ops::RangeInclusive;

use super::{BLOCK, LONGEST_FOUND, MIN_STRIDE};
use crate::{Knowledge, Parameter};

/// The difference in length between two compared reads, in blocks: one or several rounds over the
/// parallel units of the flash. Both reads then end at the same position of a round.
pub(super) struct Strides {
    /// The length of one round.
    pub round: u64,
    /// The usual stride.
    pub long: u64,
    /// The stride for requests that are cut at less than the long stride.
    pub short: Option<u64>,
    /// True if the distribution of the address space over the units is known.
    pub known: bool,
}

impl Strides {
    pub(super) fn of(knowledge: &Knowledge) -> Strides {
        let page = knowledge.whole(Parameter::PageSize);
        let units = knowledge.whole(Parameter::Parallelism);
        let chunk = knowledge.whole(Parameter::Chunk).or(page);
        match (units, chunk) {
            (Some(units), Some(chunk)) => Strides::around(units * chunk, page.unwrap_or(chunk)),
            _ => Strides { round: 8, long: MIN_STRIDE, short: Some(MIN_STRIDE / 2), known: false },
        }
    }

    /// Returns the strides for a drive whose round over the units has `bytes` bytes.
    pub(super) fn around(bytes: u64, page: u64) -> Strides {
        let round = common_multiple(common_multiple(bytes, page), BLOCK) / BLOCK;
        let short = MIN_STRIDE / 2 / round * round;
        Strides {
            round,
            long: MIN_STRIDE.div_ceil(round) * round,
            short: (short > 0).then_some(short),
            known: true,
        }
    }

    /// Returns the lengths whose divisors no stride can show as cuts: any two compared reads differ
    /// by the same number of such cuts. Cuts below the shortest stride are not tried; most of these
    /// divide a power of two.
    pub(super) fn blind(&self) -> [u64; 2] {
        let shortest = self.short.unwrap_or(self.long);
        [shortest, 1 << shortest.ilog2()]
    }

    /// Returns each stride with the cut lengths that it can show.
    pub(super) fn each(&self) -> impl Iterator<Item = (u64, RangeInclusive<u64>)> {
        let least = self.short.map_or(self.long / 2 + 1, |_| self.long + 1);
        let short = self.short.map(|short| (short, short + 1..=self.long));
        [(self.long, least..=LONGEST_FOUND)].into_iter().chain(short)
    }
}

fn common_multiple(a: u64, b: u64) -> u64 {
    let (mut divisor, mut rest) = (a, b);
    while rest > 0 {
        (divisor, rest) = (rest, divisor % rest);
    }
    a / divisor.max(1) * b
}
