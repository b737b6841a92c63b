//! DFTL: a page map in flash with a cache of its entries in memory (Gupta et al., ASPLOS 2009).
//!
//! A missing entry replaces the least recently used entry. If the replaced entry was changed, its
//! translation page is rewritten with all changed entries of that page (batched write-back). GC
//! changes the entries of the pages that it moves. It changes cached entries in memory, and all
//! others in flash, once for each translation page that the collected block affects. Translation
//! pages have separate blocks, with greedy GC.
//!
//! The identity of every moved page matters, because each moved page may change a different
//! translation page. The predictor therefore stores the pages written to each block and the block
//! of each page. It works like a simulator, but models neither the flash nor time.

use std::collections::VecDeque;

use super::pages::Pages;
use super::recent::LruQueue;
use super::{GcPolicy, Predictor, Space, Total};
use crate::OutOfRange;

/// The parameters of the map and its cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Map {
    /// Entries in the cache, 1 or more.
    pub cached: u32,
    /// Entries on a translation page, 1 or more.
    pub per_page: u32,
    /// The number of closed blocks of translation pages above which GC prefers these blocks over
    /// data blocks.
    pub max_blocks: u32,
}

/// Counts of map operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Traffic {
    /// Lookups in the map for host pages.
    pub look_ups: u64,
    /// Lookups that missed the cache.
    pub misses: u64,
    /// Translation pages written back to evict an entry.
    pub write_backs: u64,
    /// Translation pages written because GC moved data.
    pub gc_updates: u64,
    /// Translation pages that GC moved.
    pub moved: u64,
}

impl Traffic {
    /// Returns the translation pages read: on misses, and before every rewrite or move.
    #[must_use]
    pub fn reads(&self) -> u64 {
        self.misses + self.programs()
    }

    /// Returns the translation pages programmed.
    #[must_use]
    pub fn programs(&self) -> u64 {
        self.write_backs + self.gc_updates + self.moved
    }
}

/// A predictor for DFTL.
pub struct Dftl {
    space: Space,
    map: Map,
    data: Pages,
    translation: Pages,
    memory: LruQueue,
    /// A bit for each logical page: 1 if its cached entry differs from its translation page.
    changed: Vec<u64>,
    /// A queue of translation pages with entries that GC changed. `is_stale` is true for each
    /// translation page that GC changed and that is not rewritten yet.
    stale: VecDeque<u32>,
    is_stale: Vec<bool>,
    traffic: Traffic,
    total: Total,
}

impl Dftl {
    /// Creates a drive of [`Space`] whose pages were all written once, in order. GC runs when all
    /// blocks are in use.
    ///
    /// # Errors
    ///
    /// Returns an error if the space or the map is out of range, if there are more than 2^32 - 1
    /// pages, or if the translation pages leave no free block.
    pub fn new(space: Space, map: Map, policy: GcPolicy) -> Result<Dftl, OutOfRange> {
        let pages = space.few_pages()?;
        let cached = f64::from(map.cached);
        OutOfRange::unless(map.cached > 0, "entries in memory", cached, "1 or more")?;
        let per_page = f64::from(map.per_page);
        OutOfRange::unless(
            map.per_page > 0,
            "entries of a translation page",
            per_page,
            "1 or more",
        )?;
        let translation = pages.div_ceil(map.per_page);
        let (most, free) = (space.logical_blocks + space.free_blocks, f64::from(space.free_blocks));
        // Besides the blocks of the map, there must be two open blocks and a block for GC to
        // reclaim.
        let fits = translation.div_ceil(space.pages_per_block) + 3 <= space.free_blocks;
        OutOfRange::unless(fits, "free blocks", free, "3 more than the map occupies")?;
        let mut dftl = Dftl {
            data: Pages::new(pages, space.pages_per_block, most, policy),
            translation: Pages::new(
                translation,
                space.pages_per_block,
                // During the fill, stale translation pages may occupy space that data does not use
                // yet.
                most,
                GcPolicy::Greedy,
            ),
            memory: LruQueue::new(pages, map.cached.min(pages)),
            changed: vec![0; pages.div_ceil(64) as usize],
            stale: VecDeque::new(),
            is_stale: vec![false; translation as usize],
            traffic: Traffic::default(),
            total: Total::default(),
            space,
            map,
        };
        dftl.write(0, pages.into());
        (dftl.traffic, dftl.total) = (Traffic::default(), Total::default());
        Ok(dftl)
    }

    /// Returns the counts of map operations so far.
    #[must_use]
    pub fn traffic(&self) -> Traffic {
        self.traffic
    }

    /// Loads the entry of a page into the cache.
    #[inline]
    fn look_up(&mut self, page: u32) {
        self.traffic.look_ups += 1;
        if !self.memory.touch(page) {
            self.miss(page);
        }
    }

    fn miss(&mut self, page: u32) {
        self.traffic.misses += 1;
        if let Some(evicted) = self.memory.evict()
            && self.changed[(evicted / 64) as usize] >> (evicted % 64) & 1 == 1
        {
            self.write_translation(evicted / self.map.per_page);
            self.traffic.write_backs += 1;
        }
        self.memory.insert(page);
        self.update_stale();
    }

    /// Rewrites a translation page with all its changed entries.
    fn write_translation(&mut self, translation: u32) {
        while self.translation.room() == 0 {
            self.translation.open();
            self.collect();
        }
        self.translation.write(translation);
        self.is_stale[translation as usize] = false;
        let first = translation * self.map.per_page;
        let end = first.saturating_add(self.map.per_page);
        clear(&mut self.changed, first, end);
    }

    /// Runs GC until the number of blocks in use is within its limit.
    fn collect(&mut self) {
        let most = self.space.logical_blocks + self.space.free_blocks;
        while self.data.in_use() + self.translation.in_use() > most {
            let crowded = self.translation.closed() > self.map.max_blocks;
            let collected = match crowded {
                true => self.collect_translation() || self.collect_data(),
                false => self.collect_data() || self.collect_translation(),
            };
            if !collected {
                return;
            }
            self.total.erasures += 1.0;
        }
    }

    /// Collects a block of translation pages; returns false if no such block has superseded pages.
    fn collect_translation(&mut self) -> bool {
        let Some(moved) = self.translation.collect(|_| {}) else { return false };
        self.traffic.moved += u64::from(moved);
        true
    }

    /// Collects a block of data; returns false if no such block has superseded pages.
    fn collect_data(&mut self) -> bool {
        let Dftl { memory, changed, stale, is_stale, map, .. } = self;
        let moved = self.data.collect(|page| {
            if memory.contains(page) {
                set(changed, page);
                return;
            }
            let translation = page / map.per_page;
            if !std::mem::replace(&mut is_stale[translation as usize], true) {
                stale.push_back(translation);
            }
        });
        let Some(moved) = moved else { return false };
        self.total.copies += f64::from(moved);
        true
    }

    /// Rewrites the translation pages that GC changed. A rewrite may trigger GC, which may change
    /// further translation pages.
    #[inline]
    fn update_stale(&mut self) {
        while let Some(translation) = self.stale.pop_front() {
            if self.is_stale[translation as usize] {
                self.write_translation(translation);
                self.traffic.gc_updates += 1;
            }
        }
    }
}

/// Sets a bit.
#[inline]
fn set(bits: &mut [u64], at: u32) {
    bits[(at / 64) as usize] |= 1 << (at % 64);
}

/// Clears the bits from `first` to before `end`.
fn clear(bits: &mut [u64], first: u32, end: u32) {
    for word in first / 64..end.div_ceil(64) {
        let Some(bits) = bits.get_mut(word as usize) else { return };
        let from = first.saturating_sub(word * 64);
        let to = (end - word * 64).min(64);
        *bits &= !(u64::MAX >> (64 - (to - from)) << from);
    }
}

impl Predictor for Dftl {
    fn write(&mut self, page: u64, pages: u64) {
        let pages = self.space.within(page, pages);
        self.total.pages += u64::from(pages.end - pages.start);
        for page in pages {
            self.look_up(page);
            while self.data.room() == 0 {
                self.data.open();
                self.collect();
                self.update_stale();
            }
            self.data.write(page);
            set(&mut self.changed, page);
        }
    }

    fn read(&mut self, page: u64, pages: u64) {
        self.space.within(page, pages).for_each(|page| self.look_up(page));
    }

    fn trim(&mut self, page: u64, pages: u64) {
        for page in self.space.within(page, pages) {
            self.look_up(page);
            if self.data.trim(page) {
                set(&mut self.changed, page);
            }
        }
    }

    #[allow(clippy::cast_precision_loss, reason = "pages are below 2^53")]
    fn total(&mut self) -> Total {
        let copies = self.total.copies + self.traffic.programs() as f64;
        Total { copies, ..self.total }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::trace::Survivors;

    const BLOCK: u32 = 4;

    prop_compose! {
        /// Generates a drive, and requests within it. A request has a kind (0 for a trim, 1 or 2
        /// for a read, else a write), the first page and the number of pages.
        fn drives_and_requests()(logical_blocks in 2_u32..9, free_blocks in 5_u32..9)(
            requests in prop::collection::vec(
                (0_u8..5, 0..u64::from(logical_blocks * BLOCK), 1_u64..6), 1..300),
            space in Just(Space { pages_per_block: BLOCK, logical_blocks, free_blocks }),
        ) -> (Space, Vec<(u8, u64, u64)>) {
            (space, requests)
        }
    }

    fn run(predictor: &mut dyn Predictor, requests: &[(u8, u64, u64)]) -> Total {
        for (op, page, pages) in requests {
            match op {
                0 => predictor.trim(*page, *pages),
                1 | 2 => predictor.read(*page, *pages),
                _ => predictor.write(*page, *pages),
            }
        }
        predictor.total()
    }

    proptest! {
        // With the whole map cached, the copies and erases are those of a page-mapped FTL.
        #[test]
        fn a_map_in_memory_is_free((space, requests) in drives_and_requests(), fifo in any::<bool>()) {
            let policy = if fifo { GcPolicy::Fifo } else { GcPolicy::Greedy };
            let map = Map { cached: 100, per_page: 16, max_blocks: 1 };
            let mut dftl = Dftl::new(space, map, policy).unwrap();
            let mut survivors = Survivors::new(space, policy).unwrap();
            prop_assert_eq!(run(&mut dftl, &requests), run(&mut survivors, &requests));
            prop_assert_eq!(dftl.traffic().reads(), 0);
        }

        // Programs are host writes plus copies.
        #[test]
        fn erases_keep_up_with_programs((space, requests) in drives_and_requests(), cached in 1_u32..20) {
            let map = Map { cached, per_page: 16, max_blocks: 2 };
            let mut dftl = Dftl::new(space, map, GcPolicy::Greedy).unwrap();
            let total = run(&mut dftl, &requests);
            let traffic = dftl.traffic();
            prop_assert!(traffic.misses <= traffic.look_ups && traffic.write_backs <= traffic.misses);
            prop_assert!(total.copies >= traffic.programs() as f64);
            let programs = total.pages as f64 + total.copies;
            let most = f64::from(BLOCK * (space.logical_blocks + space.free_blocks));
            let erased = total.erasures * f64::from(BLOCK);
            prop_assert!((programs - erased).abs() <= most, "{} {}", programs, erased);
            let in_use = dftl.data.in_use() + dftl.translation.in_use();
            prop_assert!(in_use <= space.logical_blocks + space.free_blocks);
        }
    }

    // With one cached entry, the initial fill writes many translation pages.
    #[test]
    fn a_drive_fills_with_a_minimal_cache() {
        let space = Space { pages_per_block: BLOCK, logical_blocks: 200, free_blocks: 20 };
        let map = Map { cached: 1, per_page: 64, max_blocks: 8 };
        let mut dftl = Dftl::new(space, map, GcPolicy::Greedy).unwrap();
        dftl.write(0, space.pages());
        // Each entry is written back separately.
        let traffic = dftl.traffic();
        assert_eq!((traffic.look_ups, traffic.misses, traffic.write_backs), (800, 800, 800));
    }

    // Only the bits between the given ends are cleared.
    #[test]
    fn bits_are_cleared_within_and_across_words() {
        let mut bits = [u64::MAX; 3];
        clear(&mut bits, 60, 130);
        assert_eq!(bits, [u64::MAX >> 4, 0, u64::MAX << 2]);
        clear(&mut bits, 0, 64);
        assert_eq!(bits, [0, 0, u64::MAX << 2]);
        clear(&mut bits, 190, 500);
        assert_eq!(bits[2], u64::MAX << 2 & u64::MAX >> 2);
    }

    #[test]
    fn a_drive_without_room_for_its_map_is_rejected() {
        let space = Space { pages_per_block: BLOCK, logical_blocks: 64, free_blocks: 6 };
        let map = Map { cached: 8, per_page: 16, max_blocks: 4 };
        // 256 entries fill 16 translation pages, which fill 4 blocks.
        assert!(Dftl::new(space, map, GcPolicy::Greedy).is_err());
        let larger = Space { free_blocks: 7, ..space };
        assert!(Dftl::new(larger, map, GcPolicy::Greedy).is_ok());
        assert!(Dftl::new(larger, Map { cached: 0, ..map }, GcPolicy::Greedy).is_err());
    }
}
