//! The hashes of pages.

use std::hash::Hasher;

/// A hasher for keys that are hashes already.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct HashedKeyHasher(u64);

impl Hasher for HashedKeyHasher {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, _: &[u8]) {
        unreachable!("keys are of 64 bits");
    }
    fn write_u64(&mut self, key: u64) {
        // The first bits are all zero in a sample, and the table uses them to distinguish entries.
        self.0 = key.rotate_left(24);
    }
}

/// Applies a pseudo-random permutation of 64 bits (SplitMix64, Steele et al., OOPSLA 2014).
#[inline]
pub(super) fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// Hashes the number of a group or chunk of pages in a volume. Two numbers in different volumes
/// collide with probability 2⁻⁶⁴.
#[inline]
pub(super) fn hash(volume: u32, group: u64) -> u64 {
    mix(group ^ mix(u64::from(volume) + 0x9e37_79b9_7f4a_7c15))
}
