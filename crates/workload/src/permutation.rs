//! Orders and places at random that need no memory.

use crate::seed_for;

/// How many rounds: four are the fewest that look random from both sides (Luby and Rackoff, *How to
/// Construct Pseudorandom Permutations from Pseudorandom Functions*).
const ROUNDS: usize = 4;

/// A pseudo-random permutation of `0..count`, for any `count`: a Feistel network over the next
/// power of four, walked until it lands inside (Black and Rogaway, *Ciphers with Arbitrary Finite
/// Domains*).
pub(crate) struct Permutation {
    count: u64,
    half_bits: u32,
    seed: u64,
}

impl Permutation {
    pub(crate) fn new(count: u64, seed: u64) -> Permutation {
        let bits = u64::BITS - count.saturating_sub(1).leading_zeros();
        Permutation { count, half_bits: bits.div_ceil(2).max(1), seed }
    }

    /// How many there are.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// Where `index`, below the count, goes.
    #[inline]
    pub(crate) fn at(&self, index: u64) -> u64 {
        let mask = (1u64 << self.half_bits) - 1;
        let mut x = index;
        loop {
            let (mut left, mut right) = (x >> self.half_bits, x & mask);
            for round in 0..ROUNDS as u64 {
                let mixed = seed_for(self.seed.wrapping_add(round), right) & mask;
                (left, right) = (right, left ^ mixed);
            }
            x = left << self.half_bits | right;
            if x < self.count {
                return x;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        // Does every number appear exactly once, whatever the count?
        #[test]
        fn is_a_permutation(count in 1u64..5000, seed in any::<u64>()) {
            let permutation = Permutation::new(count, seed);
            let mut places: Vec<u64> = (0..count).map(|i| permutation.at(i)).collect();
            places.sort_unstable();
            prop_assert!(places.into_iter().eq(0..count));
        }
    }
}
