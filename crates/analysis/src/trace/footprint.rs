//! The distinct pages that a trace touches, exactly.

use std::collections::{BTreeMap, HashMap};
use std::ops::RangeInclusive;

use super::pages::{Hashed, hash};

/// Distinct pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Pages {
    /// Read or written.
    pub accessed: u64,
    /// Written.
    pub written: u64,
}

impl Pages {
    pub fn add(&mut self, other: Pages) {
        self.accessed += other.accessed;
        self.written += other.written;
    }
}

/// How many pages a chunk has, as a power of two: 1 MiB.
const CHUNK: u32 = 8;

/// A bit for each page of a chunk: a line of the caches.
#[derive(Debug, Clone, Copy, Default)]
#[repr(align(64))]
struct Chunk {
    accessed: [u64; 4],
    written: [u64; 4],
}

/// Pages of one chunk that are accessed together.
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
    /// The parts of some pages of a volume that are read or written.
    #[inline]
    pub fn of(
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

/// The place of a page in its chunk.
#[inline]
#[allow(clippy::cast_possible_truncation, reason = "a chunk has 256 pages")]
fn in_chunk(page: u64) -> u8 {
    page as u8
}

/// Chunks are allocated so many at a time.
const TOGETHER: usize = 1 << 12;

/// Ranges of pages that are trimmed are joined; more of them than this are not kept.
const MOST_RANGES: usize = 1 << 20;

/// The pages that were touched, as bitmaps of those chunks that were.
#[derive(Debug, Clone)]
pub(super) struct Touched {
    most_chunks: usize,
    slots: HashMap<u64, u32, std::hash::BuildHasherDefault<Hashed>>,
    chunks: Vec<Box<[Chunk]>>,
    by_volume: Vec<Pages>,
}

impl Touched {
    /// No pages; they may come to fill about so many chunks of 1 MiB, of 64 bytes each.
    pub fn new(most_chunks: usize) -> Touched {
        let (slots, chunks, by_volume) = (HashMap::default(), Vec::new(), Vec::new());
        Touched { most_chunks, slots, chunks, by_volume }
    }

    /// Adds pages that are read or written, at a time of which `note` learns how many were new.
    ///
    /// All are looked up before any is changed: their misses of the caches then overlap.
    pub fn access(&mut self, parts: &mut [Part], mut note: impl FnMut(u64, Pages)) {
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
        let slot = u32::try_from(slot).expect("the set is given up before");
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

    /// Whether there are more chunks than may be kept.
    pub fn is_too_large(&self) -> bool {
        self.slots.len() > self.most_chunks
    }

    /// How many pages of each volume were touched.
    pub fn by_volume(&self) -> &[Pages] {
        &self.by_volume
    }
}

/// Sets bits; gives how many were not.
#[inline]
fn set(word: &mut u64, bits: u64) -> u64 {
    let new = bits & !*word;
    *word |= bits;
    new.count_ones().into()
}

/// The pages that were trimmed, as ranges, which are mostly long.
#[derive(Debug, Clone, Default)]
pub(super) struct Trimmed {
    /// By volume and first page; the page after the last.
    ranges: BTreeMap<(u32, u64), u64>,
    pages: u64,
    /// There are too many ranges to keep them.
    lost: bool,
}

impl Trimmed {
    /// Adds pages that are trimmed.
    pub fn push(&mut self, volume: u32, pages: RangeInclusive<u64>) {
        if self.lost {
            return;
        }
        let (mut from, mut to) = (*pages.start(), pages.end() + 1);
        // Takes out what overlaps or touches, the last first.
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
        self.lost = self.ranges.len() > MOST_RANGES;
    }

    /// How many there are; absent where they could not be counted.
    pub fn pages(&self) -> Option<u64> {
        (!self.lost).then_some(self.pages)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        // Is every page counted once, of each volume, whatever ranges it is in?
        #[test]
        fn pages_are_counted_once(
            ranges in prop::collection::vec((0u32..3, 0u64..1200, 0u64..700, any::<bool>()), 1..60),
        ) {
            let (mut touched, mut trimmed) = (Touched::new(1000), Trimmed::default());
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

    // Are ranges that touch one, so that many trims in order take no memory?
    #[test]
    fn ranges_are_joined() {
        let mut trimmed = Trimmed::default();
        (0..1000).for_each(|i| trimmed.push(7, i * 10..=i * 10 + 9));
        assert_eq!((trimmed.ranges.len(), trimmed.pages()), (1, Some(10_000)));
        (0..=MOST_RANGES as u64).for_each(|i| trimmed.push(8, i * 2..=i * 2));
        assert_eq!(trimmed.pages(), None);
    }
}
