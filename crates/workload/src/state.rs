//! Writes that put a drive into a well-defined state (uFLIP section 4.1).

use flashscope_block::{Bytes, Data, Io, Nanos, Op};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::permutation::Permutation;
use crate::steady_fill::SpareSpace;
use crate::{Stream, seed_for};

/// The largest IO of a random fill: the flash block of uFLIP.
const CHUNK: Bytes = Bytes::kib(128);

/// The number of pieces of random size per chunk.
const PIECES: usize = 4;

/// The content of the drive before the warm-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "SimulationFill")]
pub enum Fill {
    /// An empty drive.
    None,
    /// Everything written once, from start to end.
    Sequential,
    /// Everything written once, in random order, in IOs of random size.
    Random,
    /// The flash written about once, in the steady state of uniform random writes.
    Steady,
}

impl Fill {
    /// All fills in display order.
    pub const ALL: [Fill; 4] = [Fill::None, Fill::Sequential, Fill::Random, Fill::Steady];

    /// Returns the name on the command line and in documents.
    pub const fn name(self) -> &'static str {
        match self {
            Fill::None => "none",
            Fill::Sequential => "sequential",
            Fill::Random => "random",
            Fill::Steady => "steady",
        }
    }

    /// Returns a description of the drive's content.
    pub const fn summary(self) -> &'static str {
        match self {
            Fill::None => "Nothing",
            Fill::Sequential => "Everything written once, from start to end",
            Fill::Random => "Everything written once, in random order, in IOs of random size",
            Fill::Steady => {
                "The flash written about once, so that it is in the steady state of uniform random writes"
            }
        }
    }
}

/// A [`Fill`] with the properties of the drive that it depends on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum InitialContents {
    /// See [`Fill::None`].
    None,
    /// See [`Fill::Sequential`].
    Sequential,
    /// See [`Fill::Random`].
    Random,
    /// See [`Fill::Steady`].
    Steady(SpareSpace),
}

/// Writes every byte of a space exactly once, in random order, in IOs of random size from one
/// logical block to 128 KiB.
///
/// The paper requires "random IOs of random size (ranging from 0.5KB to the flash block size, 128
/// KB) on the whole device", to write the device completely. Independent random addresses would
/// never guarantee that. Therefore, this fill divides the space into chunks of 128 KiB, and cuts
/// each chunk at random into four pieces. It visits all pieces in the order of a pseudo-random
/// permutation that needs no memory.
pub struct RandomFill {
    offset: Bytes,
    size: Bytes,
    logical_block: Bytes,
    seed: u64,
    permutation: Permutation,
    next: u64,
}

impl RandomFill {
    /// Creates a fill of `size` bytes from `offset`; both are multiples of `logical_block`.
    pub fn new(offset: Bytes, size: Bytes, logical_block: Bytes, seed: u64) -> RandomFill {
        let pieces = size.0.div_ceil(CHUNK.0) * PIECES as u64;
        let permutation = Permutation::new(pieces, seed);
        RandomFill { offset, size, logical_block, seed, permutation, next: 0 }
    }

    /// Returns the offset of a piece in the space, and its length, which may be 0.
    fn piece(&self, index: u64) -> (u64, u64) {
        let (chunk, piece) = (index / PIECES as u64, index % PIECES as u64);
        let start = chunk * CHUNK.0;
        let blocks = CHUNK.0.min(self.size.0 - start) / self.logical_block.0;
        // The first piece begins at the start of the chunk. The other cuts between pieces are
        // random.
        let mut cuts = [0; PIECES];
        for (i, cut) in cuts.iter_mut().enumerate().skip(1) {
            *cut = seed_for(self.seed ^ chunk, i as u64) % (blocks + 1);
        }
        cuts.sort_unstable();
        let mut pieces = cuts.iter().zip(cuts.iter().skip(1).chain([&blocks]));
        let (from, to) = pieces.nth(usize::try_from(piece).unwrap_or(0)).unwrap_or((&0, &0));
        (start + from * self.logical_block.0, (to - from) * self.logical_block.0)
    }
}

impl Stream for RandomFill {
    fn next(&mut self, previous: Nanos) -> Option<Io> {
        while self.next < self.permutation.count() {
            let (place, length) = self.piece(self.permutation.at(self.next));
            self.next += 1;
            if length > 0 {
                let offset = Bytes(self.offset.0 + place);
                return Some(Io {
                    op: Op::Write,
                    stream: 0,
                    offset,
                    len: Bytes(length),
                    at: previous,
                    data: Data::Random,
                });
            }
        }
        None
    }
}

/// Writes a space once from start to end, in IOs of at most 128 KiB.
pub struct SequentialFill {
    next: Bytes,
    end: Bytes,
    /// The start of the current zone.
    zone: Bytes,
    /// The distance from the start of a zone to that of the next.
    size: Bytes,
    /// The capacity of a zone.
    capacity: Bytes,
}

impl SequentialFill {
    /// Creates a fill of `size` bytes from `offset`.
    pub fn new(offset: Bytes, size: Bytes) -> SequentialFill {
        SequentialFill { next: offset, end: offset + size, zone: offset, size, capacity: size }
    }

    /// Creates a fill of the zones from the start of a drive to `end`. A zone of `size` bytes holds
    /// `capacity` bytes; no IO is in two zones.
    pub fn of_zones(end: Bytes, size: Bytes, capacity: Bytes) -> SequentialFill {
        let start = Bytes(0);
        SequentialFill { next: start, end, zone: start, size, capacity }
    }
}

impl Stream for SequentialFill {
    fn next(&mut self, previous: Nanos) -> Option<Io> {
        if self.next >= self.zone + self.capacity {
            self.zone += self.size;
            self.next = self.zone;
        }
        let end = self.end.min(self.zone + self.capacity);
        let len = CHUNK.min(Bytes(end.0.saturating_sub(self.next.0)));
        let offset = self.next;
        self.next += len;
        (len.0 > 0).then_some(Io {
            op: Op::Write,
            stream: 0,
            offset,
            len,
            at: previous,
            data: Data::Random,
        })
    }
}

/// Discards a space from start to end, in trims of at most 64 MiB.
pub struct Purge {
    next: Bytes,
    end: Bytes,
}

impl Purge {
    /// Creates a purge of `size` bytes from `offset`.
    pub fn new(offset: Bytes, size: Bytes) -> Purge {
        Purge { next: offset, end: offset + size }
    }
}

impl Stream for Purge {
    fn next(&mut self, previous: Nanos) -> Option<Io> {
        let (offset, len) = (self.next, Bytes::mib(64).min(self.end - self.next));
        self.next += len;
        let (op, data) = (Op::Trim, Data::Random);
        (len.0 > 0).then_some(Io { op, stream: 0, offset, len, at: previous, data })
    }
}

/// The largest IO of a sequential or random fill, in bytes.
pub const LARGEST_FILL_IO: Bytes = CHUNK;

/// The approximate mean IO size of a random fill, in bytes.
pub const MEAN_RANDOM_FILL_IO: Bytes = Bytes(CHUNK.0 / PIECES as u64);

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn all(mut stream: impl Stream) -> Vec<Io> {
        std::iter::from_fn(move || stream.next(Nanos(0))).collect()
    }

    proptest! {
        // A fill writes every byte exactly once, for any size of the space.
        #[test]
        fn fills_write_every_byte_once(
            blocks in 1u64..3000, offset in 0u64..100, seed in any::<u64>(), random in any::<bool>(),
        ) {
            let (offset, size) = (Bytes(offset * 512), Bytes(blocks * 512));
            let ios = if random {
                all(RandomFill::new(offset, size, Bytes(512), seed))
            } else {
                all(SequentialFill::new(offset, size))
            };
            let mut ranges: Vec<_> = ios.iter().map(|io| (io.offset, io.end())).collect();
            ranges.sort_unstable();
            prop_assert_eq!(ranges[0].0, offset);
            prop_assert_eq!(ranges[ranges.len() - 1].1, offset + size);
            prop_assert!(ranges.windows(2).all(|pair| pair[0].1 == pair[1].0));
            prop_assert!(ios.iter().all(|io| io.len <= LARGEST_FILL_IO && io.len.0 >= 512));
        }
    }

    // A purge trims every byte exactly once.
    #[test]
    fn a_purge_trims_every_byte_once() {
        let ios = all(Purge::new(Bytes::mib(3), Bytes::mib(200)));
        let ends: Vec<_> =
            ios.iter().map(|io| (io.op, io.offset.0 >> 20, io.end().0 >> 20)).collect();
        let trims = [(3, 67), (67, 131), (131, 195), (195, 203)];
        assert_eq!(ends, trims.map(|(start, end)| (Op::Trim, start, end)));
    }

    // A random fill has random addresses and sizes, which depend on the seed.
    #[test]
    fn random_fill_is_random() {
        let fill = |seed| all(RandomFill::new(Bytes(0), Bytes::mib(64), Bytes(512), seed));
        let ios = fill(1);
        let ascending = ios.windows(2).filter(|pair| pair[0].offset < pair[1].offset).count();
        assert!((ascending * 100 / ios.len()).abs_diff(50) < 5, "{ascending} of {}", ios.len());
        let mut sizes: Vec<_> = ios.iter().map(|io| io.len).collect();
        sizes.sort_unstable();
        sizes.dedup();
        assert!(sizes.len() > 200, "{} sizes", sizes.len());
        assert_ne!(ios, fill(2));
    }
}
