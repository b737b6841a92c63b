//! The distinct pages that a trace touches, counted exactly.

use std::collections::{BTreeMap, HashMap};
use std::ops::RangeInclusive;

use super::hash::{HashedKeyHasher, hash};

/// A number of distinct pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Pages {
    /// Pages read or written.
    pub accessed: u64,
    /// Pages written.
    pub written: u64,
}

impl Pages {
    pub(super) fn add(&mut self, other: Pages) {
        self.accessed += other.accessed;
        self.written += other.written;
    }
}

/// The binary logarithm of the number of pages of a chunk. A chunk is 1 MiB.
const CHUNK: u32 = 8;

/// A bit for each page of a chunk, in one cache line.
#[derive(Debug, Clone, Copy, Default)]
#[repr(align(64))]
struct Chunk {
    accessed: [u64; 4],
    written: [u64; 4],
}

/// The pages of one chunk that a request accesses.
#[derive(Debug, Clone, Copy)]
pub(super) struct Part {
    key: u64,
    time: u64,
    volume: u32,
    slot: u32,
    from: u8,
    to: u8,
    write: bool,
}

impl Part {
    /// Divides the pages that a request accesses into parts, one per chunk.
    #[inline]
    pub(super) fn of(
        volume: u32,
        pages: RangeInclusive<u64>,
        write: bool,
        time: u64,
    ) -> impl Iterator<Item = Part> {
        let (first, last) = pages.into_inner();
        (first >> CHUNK..=last >> CHUNK).map(move |at| {
            let from = if at == first >> CHUNK { in_chunk(first) } else { 0 };
            let to = if at == last >> CHUNK { in_chunk(last) } else { u8::MAX };
            Part { key: hash(volume, at), time, volume, slot: 0, from, to, write }
        })
    }
}

/// Returns the index of a page in its chunk.
#[inline]
#[allow(clippy::cast_possible_truncation, reason = "takes the low 8 bits, the index in the chunk")]
fn in_chunk(page: u64) -> u8 {
    page as u8
}

/// The number of chunks allocated at a time.
const TOGETHER: usize = 1 << 12;

/// Maximum number of ranges of trimmed pages in memory, after joining adjacent ranges.
const MAX_RANGES: usize = 1 << 20;

/// The touched pages, as a bitmap for each chunk that contains touched pages.
#[derive(Debug, Clone)]
pub(super) struct TouchedPages {
    max_chunks: usize,
    slots: HashMap<u64, u32, std::hash::BuildHasherDefault<HashedKeyHasher>>,
    chunks: Vec<Box<[Chunk]>>,
    by_volume: Vec<Pages>,
}

impl TouchedPages {
    /// Creates an empty set for about `max_chunks` chunks. A chunk stands for 1 MiB of a volume and
    /// takes 64 bytes of memory.
    pub(super) fn new(max_chunks: usize) -> TouchedPages {
        let (slots, chunks, by_volume) = (HashMap::default(), Vec::new(), Vec::new());
        TouchedPages { max_chunks, slots, chunks, by_volume }
    }

    /// Adds pages that are read or written. `note` receives the time and the number of new pages.
    ///
    /// Looks up all parts before it changes any; the cache misses then overlap.
    pub(super) fn access(&mut self, parts: &mut [Part], mut note: impl FnMut(u64, Pages)) {
        for part in parts.iter_mut() {
            part.slot = match self.slots.get(&part.key) {
                Some(slot) => *slot,
                None => self.insert(part.key),
            };
        }
        for part in parts {
            let new = self.change(part);
            if new != Pages::default() {
                self.count(part.volume, new);
                note(part.time, new);
            }
        }
    }

    #[inline]
    fn change(&mut self, part: &Part) -> Pages {
        let slot = part.slot as usize;
        let chunk = &mut self.chunks[slot / TOGETHER][slot % TOGETHER];
        let (from, to) = (part.from, part.to);
        let mut new = Pages::default();
        for word in from / 64..=to / 64 {
            let low = if word == from / 64 { from % 64 } else { 0 };
            let high = if word == to / 64 { to % 64 } else { 63 };
            let bits = (u64::MAX >> (63 - (high - low))) << low;
            new.accessed += set(&mut chunk.accessed[usize::from(word)], bits);
            if part.write {
                new.written += set(&mut chunk.written[usize::from(word)], bits);
            }
        }
        new
    }

    fn insert(&mut self, key: u64) -> u32 {
        let slot = self.slots.len();
        if slot == self.chunks.len() * TOGETHER {
            self.chunks.push(vec![Chunk::default(); TOGETHER].into_boxed_slice());
        }
        let slot = u32::try_from(slot).expect("the set is dropped before it has 2^32 chunks");
        self.slots.insert(key, slot);
        slot
    }

    fn count(&mut self, volume: u32, new: Pages) {
        let volume = volume as usize;
        if volume >= self.by_volume.len() {
            self.by_volume.resize(volume + 1, Pages::default());
        }
        self.by_volume[volume].add(new);
    }

    /// Returns true if there are more chunks than the limit.
    pub(crate) fn is_too_large(&self) -> bool {
        self.slots.len() > self.max_chunks
    }

    /// Returns the number of pages touched in each volume.
    pub(crate) fn by_volume(&self) -> &[Pages] {
        &self.by_volume
    }
}

/// Sets bits, and returns the number of bits that were not set before.
#[inline]
fn set(word: &mut u64, bits: u64) -> u64 {
    let new = bits & !*word;
    *word |= bits;
    new.count_ones().into()
}

/// The pages trimmed, as ranges, which are mostly long.
#[derive(Debug, Clone, Default)]
pub(super) struct TrimmedPages {
    /// The page after the last of each range, by volume and first page.
    ranges: BTreeMap<(u32, u64), u64>,
    pages: u64,
    /// True if there were too many ranges to keep.
    lost: bool,
}

impl TrimmedPages {
    /// Adds trimmed pages.
    pub(super) fn push(&mut self, volume: u32, pages: RangeInclusive<u64>) {
        if self.lost {
            return;
        }
        let (mut from, mut to) = (*pages.start(), pages.end() + 1);
        // Remove the ranges that overlap or touch the new range, in descending order.
        while let Some((&key, &end)) = self.ranges.range(..=(volume, to)).next_back()
            && key.0 == volume
            && end >= from
        {
            self.ranges.remove(&key);
            self.pages -= end - key.1;
            (from, to) = (from.min(key.1), to.max(end));
        }
        self.ranges.insert((volume, from), to);
        self.pages += to - from;
        self.lost = self.ranges.len() > MAX_RANGES;
    }

    /// Returns the number of pages; `None` if there were too many ranges to count.
    pub(super) fn pages(&self) -> Option<u64> {
        (!self.lost).then_some(self.pages)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn pages_are_counted_once(
            ranges in prop::collection::vec((0u32..3, 0u64..1200, 0u64..700, any::<bool>()), 1..60),
        ) {
            let (mut touched, mut trimmed) = (TouchedPages::new(1000), TrimmedPages::default());
            let mut sets = [BTreeSet::new(), BTreeSet::new()];
            for (volume, first, more, write) in ranges {
                let pages = first..=first + more;
                let before = sets.each_ref().map(|set| set.len() as u64);
                sets[0].extend(pages.clone().map(|page| (volume, page)));
                if write {
                    sets[1].extend(pages.clone().map(|page| (volume, page)));
                    trimmed.push(volume, pages.clone());
                }
                let after = sets.each_ref().map(|set| set.len() as u64);
                let mut parts: Vec<_> = Part::of(volume, pages, write, 0).collect();
                let mut new = Pages::default();
                touched.access(&mut parts, |_, more| new.add(more));
                prop_assert_eq!(new.accessed, after[0] - before[0]);
                prop_assert_eq!(new.written, after[1] - before[1]);
                prop_assert_eq!(trimmed.pages(), Some(after[1]));
            }
            for (volume, pages) in (0..).zip(touched.by_volume()) {
                let of = |set: &BTreeSet<(u32, u64)>| set.iter().filter(|p| p.0 == volume).count();
                prop_assert_eq!(pages.accessed, of(&sets[0]) as u64);
                prop_assert_eq!(pages.written, of(&sets[1]) as u64);
            }
        }
    }

    // Adjacent ranges become one, hence sequential trims need little memory.
    #[test]
    fn adjacent_ranges_are_joined() {
        let mut trimmed = TrimmedPages::default();
        (0..1000).for_each(|i| trimmed.push(7, i * 10..=i * 10 + 9));
        assert_eq!((trimmed.ranges.len(), trimmed.pages()), (1, Some(10_000)));
        (0..=MAX_RANGES as u64).for_each(|i| trimmed.push(8, i * 2..=i * 2));
        assert_eq!(trimmed.pages(), None);
    }
}
