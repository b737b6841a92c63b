//! Pseudo-random permutations that need no memory.

use crate::seed_for;

/// The number of rounds: four is the minimum for strong pseudo-randomness (Luby and Rackoff, *How
/// to Construct Pseudorandom Permutations from Pseudorandom Functions*).
const ROUNDS: usize = 4;

/// An odd number whose bits look random: 2^64 divided by the golden ratio.
const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;

/// A pseudo-random permutation of `0..count`, for any `count`. It applies a Feistel network over
/// the next power of two until the result is below `count`. This takes fewer than two steps on
/// average (Black and Rogaway, *Ciphers with Arbitrary Finite Domains*).
///
/// The network divides a number into two parts, which differ by one bit if the number of bits is
/// odd. Each round adds a function of one part to the other part.
#[derive(Clone)]
pub(crate) struct Permutation {
    count: u64,
    low_bits: u32,
    low_mask: u64,
    high_mask: u64,
    keys: [u64; ROUNDS],
}

impl Permutation {
    pub(crate) fn new(count: u64, seed: u64) -> Permutation {
        let bits = u64::BITS - count.saturating_sub(1).leading_zeros();
        let low_bits = bits / 2;
        let mask = |bits: u32| (1u64 << bits) - 1;
        Permutation {
            count,
            low_bits,
            low_mask: mask(low_bits),
            high_mask: mask(bits - low_bits),
            keys: std::array::from_fn(|round| seed_for(seed, round as u64)),
        }
    }

    /// Returns the number of elements.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// Returns the image of `index`, which must be below the count.
    #[inline]
    pub(crate) fn at(&self, index: u64) -> u64 {
        let mut x = index;
        loop {
            let (mut high, mut low) = (x >> self.low_bits, x & self.low_mask);
            for keys in self.keys.chunks_exact(2) {
                high = high.wrapping_add(mixed(low ^ keys[0])) & self.high_mask;
                low = low.wrapping_add(mixed(high ^ keys[1])) & self.low_mask;
            }
            x = high << self.low_bits | low;
            if x < self.count {
                return x;
            }
        }
    }
}

/// Returns the XOR of both halves of a product. Each bit of the result depends on all input bits.
#[inline]
#[allow(clippy::cast_possible_truncation)] // both halves are taken
fn mixed(x: u64) -> u64 {
    let product = u128::from(x) * u128::from(MULTIPLIER);
    (product >> 64) as u64 ^ product as u64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        // Every number appears exactly once, for any count.
        #[test]
        fn is_a_permutation(count in 1u64..5000, seed in any::<u64>()) {
            let permutation = Permutation::new(count, seed);
            let mut places: Vec<u64> = (0..count).map(|i| permutation.at(i)).collect();
            places.sort_unstable();
            prop_assert!(places.into_iter().eq(0..count));
        }
    }
}
