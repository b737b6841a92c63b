use std::sync::atomic::{AtomicU64, Ordering};

use flashscope_block::{Bytes, Data, Io, WriteData};

/// The unit of distinct content: the smallest block that a drive may deduplicate.
const SECTOR: usize = 512;
/// Half of a 4 KiB block, in bytes. [`Data::HalfZeros`] fills the second half of each block with
/// zeros.
const HALF: u64 = 2048;
const WORDS: usize = SECTOR / 8;
/// The number of random sectors in the pool: 64 KiB, which stay in the cache next to the buffers.
const POOL: usize = 128;

/// A generator of write data that no drive can deduplicate or compress.
///
/// Every sector is taken from a pool of random sectors, and each of its 64-bit words is XORed with
/// a key that is unique to the sector written. Two sectors made from the same pool sector differ in
/// every word. Two sectors made from different pool sectors differ like random data. A compressor
/// finds no repetition. Filling a buffer costs about as much as copying it.
///
/// Two generators with the same seed produce the same data, which is why each opening of a drive
/// takes another seed.
pub(crate) struct Content {
    pool: Box<[[u64; WORDS]; POOL]>,
    key: u64,
    /// The number of sectors generated so far.
    sectors: AtomicU64,
}

impl Content {
    pub(crate) fn new(seed: u64) -> Content {
        let mut state = mix(seed);
        let mut random = || {
            state = state.wrapping_add(GOLDEN);
            mix(state)
        };
        let key = random();
        let mut pool = Box::new([[0; WORDS]; POOL]);
        pool.as_flattened_mut().fill_with(random);
        Content { pool, key, sectors: AtomicU64::new(0) }
    }

    /// Fills `buffer` with data that was never generated before.
    fn fill_random(&self, buffer: &mut [u8]) {
        let count = buffer.len().div_ceil(SECTOR) as u64;
        let first = self.sectors.fetch_add(count, Ordering::Relaxed);
        for (number, sector) in (first..).zip(buffer.chunks_mut(SECTOR)) {
            let words = &self.pool[usize::try_from(number % POOL as u64).expect("below POOL")];
            // `mix` is a bijection, which makes the keys of different sectors different.
            let key = mix(self.key.wrapping_add(number));
            for (bytes, word) in sector.chunks_exact_mut(8).zip(words) {
                bytes.copy_from_slice(&(word ^ key).to_le_bytes());
            }
        }
    }
}

impl WriteData for Content {
    fn fill(&self, io: &Io, buffer: &mut [u8]) {
        match io.data {
            Data::Random => self.fill_random(buffer),
            Data::Zeros => buffer.fill(0),
            Data::HalfZeros => {
                // Each piece lies within one half of a 4 KiB block.
                let first = usize::try_from(io.offset.0 % HALF).expect("below 4096");
                let half = usize::try_from(HALF).expect("below 4096");
                let (mut offset, mut rest) = (io.offset.0, buffer);
                let mut len = half - first;
                while !rest.is_empty() {
                    let (piece, others) = rest.split_at_mut(len.min(rest.len()));
                    match io.data.is_zero(Bytes(offset), Bytes(piece.len() as u64)) {
                        true => piece.fill(0),
                        false => self.fill_random(piece),
                    }
                    (offset, rest, len) = (offset + piece.len() as u64, others, half);
                }
            }
        }
    }
}

/// The increment of SplitMix64.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// Applies the output function of SplitMix64 (Steele, Lea and Flood: Fast splittable pseudorandom
/// number generators, OOPSLA 2014), a bijection of 64-bit words.
fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use flashscope_block::{Nanos, Op};

    use super::*;

    /// Returns the data of `writes` successive writes of `len` bytes.
    fn written(seed: u64, writes: usize, len: usize) -> Vec<u8> {
        let content = Content::new(seed);
        let mut all = vec![0; writes * len];
        all.chunks_mut(len).for_each(|buffer| content.fill_random(buffer));
        all
    }

    // Checks many more sectors than the pool has, with several seeds.
    #[test]
    fn no_sector_is_written_twice() {
        let mut seen = HashSet::new();
        for seed in [0, 1, 2, u64::MAX] {
            for sector in written(seed, 4096, 4096).chunks(SECTOR) {
                assert!(seen.insert(sector.to_vec()), "a repeated sector");
            }
        }
    }

    // No string of 8 bytes occurs twice in 1 MiB, which leaves no match for the Lempel-Ziv family.
    // No byte is more frequent than in random data, which leaves nothing for an entropy coder.
    #[test]
    fn random_data_is_incompressible() {
        let data = written(7, 256, 4096);
        let mut strings = HashSet::with_capacity(data.len());
        let repeated = data
            .windows(8)
            .filter(|w| !strings.insert(u64::from_le_bytes((*w).try_into().unwrap())))
            .count();
        assert_eq!(repeated, 0);

        let mut counts = [0u32; 256];
        data.iter().for_each(|byte| counts[usize::from(*byte)] += 1);
        let entropy: f64 = counts
            .iter()
            .map(|count| f64::from(*count) / f64::from(1 << 20))
            .map(|p| -p * p.log2())
            .sum();
        assert!(entropy > 7.999, "{entropy} bits of entropy in a byte");
    }

    #[test]
    fn zeros_are_in_the_requested_halves() {
        let content = Content::new(1);
        for (data, offset) in [(Data::Zeros, 0), (Data::HalfZeros, 0), (Data::HalfZeros, 512 * 5)] {
            let (op, len) = (Op::Write, Bytes(16_384));
            let io = Io { op, stream: 0, offset: Bytes(offset), len, data, at: Nanos(0) };
            let mut buffer = vec![0xff; 16_384];
            content.fill(&io, &mut buffer);
            for (sector, at) in buffer.chunks(SECTOR).zip((offset..).step_by(SECTOR)) {
                let zero = data == Data::Zeros || at % 4096 >= 2048;
                assert_eq!(sector.iter().all(|byte| *byte == 0), zero, "{data:?} at {at}");
            }
        }
    }

    #[test]
    fn data_depends_on_the_seed() {
        assert_eq!(written(3, 2, 8192), written(3, 2, 8192));
        assert_ne!(written(3, 2, 8192), written(4, 2, 8192));
    }
}
