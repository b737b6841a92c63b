//! DFTL: a page map on the flash, some entries of which are in memory (Gupta et al., ASPLOS 2009).
//!
//! An entry that is asked for and not in memory takes the place of the one that was used last longest ago; if
//! that has changed, its translation page is written anew, with all other entries of it that have (batched
//! write-back). Pages that cleaning moves change their entries: of those in memory there, of the others on the
//! flash, once for each translation page of the block that was cleaned. Translation pages have blocks of
//! their own, which are cleaned apart, greedily.
//!
//! Which pages cleaning moves has to be known one by one, as each may change another translation page: of a
//! block no more is kept than the pages that were written to it, of a page no more than its block. It is what a
//! simulator does, without flash and time.

use std::collections::VecDeque;

use super::pages::Pages;
use super::recent::Recent;
use super::{Cleaning, Predictor, Space, Total};
use crate::OutOfRange;

/// The map of a drive, and the memory for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Map {
    /// Entries that memory holds, 1 or more.
    pub cached: u32,
    /// Entries on a translation page, 1 or more.
    pub per_page: u32,
    /// Full blocks of translation pages from which on those are cleaned before data.
    pub most_blocks: u32,
}

/// What the map costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Traffic {
    /// Pages of the host whose entries were asked for.
    pub look_ups: u64,
    /// Entries that were not in memory.
    pub misses: u64,
    /// Translation pages written as an entry had to make room.
    pub write_backs: u64,
    /// Translation pages written as cleaning moved data.
    pub caught_up: u64,
    /// Translation pages moved by cleaning.
    pub moved: u64,
}

impl Traffic {
    /// Translation pages that were read: where an entry was missing, and before they were written anew or moved.
    #[must_use]
    pub fn reads(&self) -> u64 {
        self.misses + self.programs()
    }

    /// Translation pages that were programmed.
    #[must_use]
    pub fn programs(&self) -> u64 {
        self.write_backs + self.caught_up + self.moved
    }
}

/// The predictor.
pub struct Dftl {
    space: Space,
    map: Map,
    data: Pages,
    translation: Pages,
    memory: Recent,
    /// A bit for each entry in memory that has changed, which its translation page has not.
    changed: Vec<u64>,
    /// Translation pages whose entries cleaning changed, and whether each still is one.
    behind: VecDeque<u32>,
    is_behind: Vec<bool>,
    traffic: Traffic,
    total: Total,
}

impl Dftl {
    /// A drive all of whose pages were written once, in order. Of its blocks, those of [`Space`], all are in use
    /// when one is cleaned.
    ///
    /// # Errors
    ///
    /// Where the space or the map is out of range, there are more than 2^32 - 1 pages, or the translation pages
    /// leave no free block.
    pub fn new(space: Space, map: Map, cleaning: Cleaning) -> Result<Dftl, OutOfRange> {
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
        // Beside what holds the map there are two open blocks, and one to be gained.
        let fits = translation.div_ceil(space.pages_per_block) + 3 <= space.free_blocks;
        OutOfRange::unless(fits, "free blocks", free, "3 more than the map fills")?;
        let mut dftl = Dftl {
            data: Pages::new(pages, space.pages_per_block, most, cleaning),
            translation: Pages::new(
                translation,
                space.pages_per_block,
                // While the drive is filled, translation pages that are out of date may take what data has not yet.
                most,
                Cleaning::Greedy,
            ),
            memory: Recent::new(pages, map.cached.min(pages)),
            changed: vec![0; pages.div_ceil(64) as usize],
            behind: VecDeque::new(),
            is_behind: vec![false; translation as usize],
            traffic: Traffic::default(),
            total: Total::default(),
            space,
            map,
        };
        dftl.write(0, pages.into());
        (dftl.traffic, dftl.total) = (Traffic::default(), Total::default());
        Ok(dftl)
    }

    /// What the map has cost so far.
    #[must_use]
    pub fn traffic(&self) -> Traffic {
        self.traffic
    }

    /// Has the entry of a page in memory.
    #[inline]
    fn look_up(&mut self, page: u32) {
        self.traffic.look_ups += 1;
        if !self.memory.touch(page) {
            self.miss(page);
        }
    }

    fn miss(&mut self, page: u32) {
        self.traffic.misses += 1;
        if let Some(evicted) = self.memory.give_up()
            && self.changed[(evicted / 64) as usize] >> (evicted % 64) & 1 == 1
        {
            self.write_translation(evicted / self.map.per_page);
            self.traffic.write_backs += 1;
        }
        self.memory.insert(page);
        self.catch_up();
    }

    /// Writes a translation page anew, with all that has changed.
    fn write_translation(&mut self, translation: u32) {
        while self.translation.room() == 0 {
            self.translation.open();
            self.clean();
        }
        self.translation.write(translation);
        self.is_behind[translation as usize] = false;
        let first = translation * self.map.per_page;
        let end = first.saturating_add(self.map.per_page);
        clear(&mut self.changed, first, end);
    }

    /// Cleans until no more blocks are full than may be while two are open.
    fn clean(&mut self) {
        let most = self.space.logical_blocks + self.space.free_blocks;
        while self.data.in_use() + self.translation.in_use() > most {
            let crowded = self.translation.closed() > self.map.most_blocks;
            let cleaned = match crowded {
                true => self.clean_translation() || self.clean_data(),
                false => self.clean_data() || self.clean_translation(),
            };
            if !cleaned {
                return;
            }
            self.total.erasures += 1.0;
        }
    }

    fn clean_translation(&mut self) -> bool {
        let Some(moved) = self.translation.clean(|_| {}) else { return false };
        self.traffic.moved += u64::from(moved);
        true
    }

    fn clean_data(&mut self) -> bool {
        let Dftl { memory, changed, behind, is_behind, map, .. } = self;
        let moved = self.data.clean(|page| {
            if memory.holds(page) {
                set(changed, page);
                return;
            }
            let translation = page / map.per_page;
            if !std::mem::replace(&mut is_behind[translation as usize], true) {
                behind.push_back(translation);
            }
        });
        let Some(moved) = moved else { return false };
        self.total.copies += f64::from(moved);
        true
    }

    /// Writes the translation pages that cleaning changed. That may take cleaning, which may change others.
    #[inline]
    fn catch_up(&mut self) {
        while let Some(translation) = self.behind.pop_front() {
            if self.is_behind[translation as usize] {
                self.write_translation(translation);
                self.traffic.caught_up += 1;
            }
        }
    }
}

/// Sets a bit.
#[inline]
fn set(bits: &mut [u64], at: u32) {
    bits[(at / 64) as usize] |= 1 << (at % 64);
}

/// Clears bits from one on, to before another.
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
                self.clean();
                self.catch_up();
            }
            self.data.write(page);
            set(&mut self.changed, page);
        }
    }

    fn read(&mut self, page: u64, pages: u64) {
        self.space.within(page, pages).for_each(|page| self.look_up(page));
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
        /// A drive, and requests within it: whether each writes, the first page and how many.
        fn drives_and_requests()(logical_blocks in 2_u32..9, free_blocks in 5_u32..9)(
            requests in prop::collection::vec(
                (any::<bool>(), 0..u64::from(logical_blocks * BLOCK), 1_u64..6), 1..300),
            space in Just(Space { pages_per_block: BLOCK, logical_blocks, free_blocks }),
        ) -> (Space, Vec<(bool, u64, u64)>) {
            (space, requests)
        }
    }

    fn go(predictor: &mut dyn Predictor, requests: &[(bool, u64, u64)]) -> Total {
        for (writes, page, pages) in requests {
            match writes {
                true => predictor.write(*page, *pages),
                false => predictor.read(*page, *pages),
            }
        }
        predictor.total()
    }

    proptest! {
        // Does a map that is in memory as a whole cost nothing, so that what is left is a page map?
        #[test]
        fn a_map_in_memory_is_free((space, requests) in drives_and_requests(), fifo in any::<bool>()) {
            let cleaning = if fifo { Cleaning::Fifo } else { Cleaning::Greedy };
            let map = Map { cached: 100, per_page: 16, most_blocks: 1 };
            let mut dftl = Dftl::new(space, map, cleaning).unwrap();
            let mut survivors = Survivors::new(space, cleaning).unwrap();
            prop_assert_eq!(go(&mut dftl, &requests), go(&mut survivors, &requests));
            prop_assert_eq!(dftl.traffic().reads(), 0);
        }

        // Is as much programmed as was written, moved and changed in the map, and as much erased as that takes,
        // whatever is asked?
        #[test]
        fn what_is_programmed_is_erased((space, requests) in drives_and_requests(), cached in 1_u32..20) {
            let map = Map { cached, per_page: 16, most_blocks: 2 };
            let mut dftl = Dftl::new(space, map, Cleaning::Greedy).unwrap();
            let total = go(&mut dftl, &requests);
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

    // Is there room for all translation pages that filling a drive makes, where next to none of its map is in memory?
    #[test]
    fn a_fill_without_memory() {
        let space = Space { pages_per_block: BLOCK, logical_blocks: 200, free_blocks: 20 };
        let map = Map { cached: 1, per_page: 64, most_blocks: 8 };
        let mut dftl = Dftl::new(space, map, Cleaning::Greedy).unwrap();
        dftl.write(0, space.pages());
        // Each entry is written back by itself.
        let traffic = dftl.traffic();
        assert_eq!((traffic.look_ups, traffic.misses, traffic.write_backs), (800, 800, 800));
    }

    // Are bits cleared within words, across them, and up to their ends alone?
    #[test]
    fn bits() {
        let mut bits = [u64::MAX; 3];
        clear(&mut bits, 60, 130);
        assert_eq!(bits, [u64::MAX >> 4, 0, u64::MAX << 2]);
        clear(&mut bits, 0, 64);
        assert_eq!(bits, [0, 0, u64::MAX << 2]);
        clear(&mut bits, 190, 500);
        assert_eq!(bits[2], u64::MAX << 2 & u64::MAX >> 2);
    }

    // Are drives refused that have no room for their map?
    #[test]
    fn refuses_what_has_no_room() {
        let space = Space { pages_per_block: BLOCK, logical_blocks: 64, free_blocks: 6 };
        let map = Map { cached: 8, per_page: 16, most_blocks: 4 };
        // 256 entries are 16 translation pages, 4 blocks.
        assert!(Dftl::new(space, map, Cleaning::Greedy).is_err());
        let larger = Space { free_blocks: 7, ..space };
        assert!(Dftl::new(larger, map, Cleaning::Greedy).is_ok());
        assert!(Dftl::new(larger, Map { cached: 0, ..map }, Cleaning::Greedy).is_err());
    }
}
