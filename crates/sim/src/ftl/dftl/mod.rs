//! DFTL, demand-based page mapping: the mapping table is on the flash, and memory holds some of its
//! entries.
//!
//! Each *translation page* holds the entries of consecutive logical pages. The *global translation
//! directory*, in memory, locates the translation pages. Translation pages are internal pages of
//! [`PageMap`], in separate *translation blocks*. A lookup that misses the *cached mapping table*
//! reads a translation page. The new entry replaces the least recently used one, which is written
//! back if it has changed: its translation page is read, changed and programmed. With batching, the
//! write-back includes all other changed entries of that page.
//!
//! Translation blocks are collected separately from data blocks. A shared policy would collect them
//! too early, because their pages are superseded much faster.
//!
//! Garbage collection of data blocks changes the entries of the pages that it moves. If an entry is
//! in memory, it changes there. The other entries change on the flash: right after the collection,
//! each affected translation page is written once. With background collection, which moves one page
//! at a time, these writes may be delayed until a block's worth of translation pages is out of
//! date.
//!
//! If the host lends memory, entries evicted from the cached mapping table move to this host memory
//! buffer first ([`memory`]), as in drives without DRAM. A lookup that finds its entry there waits
//! for the link but reads no translation page.
//!
//! The paper's cached mapping table is a segmented LRU. This table is a plain LRU, which behaves
//! the same if accesses are independent of each other.

mod memory;
mod outdated;
mod recovery;
mod table;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use flashscope_block::{Errno, Nanos};

use self::memory::{EntryLocation, Memory};
use self::outdated::{OutdatedPages, catch_up};
use super::page_map::footprint::footprint as page_map_footprint;
use super::page_map::{Front, MapStorage, NOWHERE, PageMap, Role};
use super::{AnyFtl, Family, Kind, NO_FIELDS, Recovery};
use crate::arithmetic::Divisor;
use crate::footprint::{Size, fixed};
use crate::gc::{self, Policy, VictimPolicy};
use crate::nand::{Array, BlockId, Cause, Entry, Event, Lpn, Note, Page, Slot};
use crate::setup::Layout;

pub(super) const KIND: Kind = Kind {
    name: "dftl",
    summary: "page-map, with the map on the flash and some of its entries in memory",
    source: "Gupta, Kim and Urgaonkar, \"DFTL\", ASPLOS'09",
    family: Family::PageMapped { map_on_flash: true },
    check: NO_FIELDS,
    new: |layout, policies, nand| AnyFtl::Dftl(PageMap::new(layout, policies, nand)),
    footprint: |layout, policies| {
        page_map_footprint(layout, policies) + CachedMap::footprint(layout)
    },
};

/// The DFTL; see [`KIND`].
pub(super) type Dftl = PageMap<CachedMap>;

/// A mapping table on the flash, with some of its entries in memory.
pub struct CachedMap {
    memory: Memory,
    /// Number of logical pages whose entries fit on a translation page.
    per_page: Divisor,
    pools: Divisor,
    /// Number of the host's logical pages.
    logical_pages: u32,
    /// Logical page number of the first translation page.
    first: u32,
    batch: bool,
    outdated: OutdatedPages,
    blocks: TranslationBlocks,
    /// The state needed to write the contents of translation pages; `None` unless power cuts are
    /// expected.
    contents: Option<Contents>,
}

/// The full translation blocks. They are collected separately from data blocks, fewest valid pages
/// first.
struct TranslationBlocks {
    policy: Policy,
    /// The number of translation blocks in each lane. Above `most`, the lane collects translation
    /// blocks before data blocks.
    count: Vec<u32>,
    most: u32,
}

impl TranslationBlocks {
    fn new(layout: &Layout) -> Self {
        TranslationBlocks {
            policy: (gc::GREEDY.new)(layout),
            count: vec![0; layout.lanes() as usize],
            most: layout.translation_blocks_per_lane(),
        }
    }
}

/// The state needed to write the contents of translation pages. Each entry on such a page is a slot
/// number plus 1, or [`NOWHERE`].
struct Contents {
    /// Entries that changed while not in memory and are not yet on the flash.
    changed: BTreeSet<Lpn>,
}

impl CachedMap {
    /// Returns the size of the memory that a [`CachedMap`] needs in addition to that of a page map.
    fn footprint(layout: &Layout) -> Size {
        Memory::footprint(&layout.map_cache, layout.logical_pages())
            + OutdatedPages::footprint(layout)
            + (gc::GREEDY.footprint)(layout)
            + fixed::<u32>(layout.lanes())
    }

    /// Returns the translation page with the entry of a logical page.
    #[inline]
    fn page_of(&self, lpn: Lpn) -> u32 {
        self.per_page.quotient_of(lpn.0)
    }

    /// Returns the logical page number of a translation page.
    #[inline]
    fn lpn(&self, page: u32) -> Lpn {
        Lpn(self.first + page)
    }

    /// Returns the pool of a translation page.
    #[inline]
    fn pool_of(&self, page: u32) -> u32 {
        self.pools.remainder_of(page)
    }

    /// Returns the logical pages whose entries are on a translation page.
    #[inline]
    fn lpns(&self, page: u32) -> Range<u32> {
        let per_page = u32::try_from(self.per_page.value()).expect("entries that fit in a page");
        let start = page * per_page;
        start..start.saturating_add(per_page).min(self.logical_pages)
    }
}

/// Reads a translation page, if it exists. Returns the time at which the data is in the controller.
#[inline]
fn fetch(ftl: &Dftl, nand: &mut Array, page: u32, at: Nanos) -> Result<Nanos, Errno> {
    let mapped = ftl.map[ftl.mapping.lpn(page).0 as usize];
    if mapped == NOWHERE {
        return Ok(at);
    }
    let geometry = *nand.geometry();
    // A logical page consists of one or more flash pages.
    let slot = Slot(mapped - 1);
    let (block, first) = (geometry.block(slot), geometry.index(slot) * geometry.pages_per_slot);
    let mut ready = at;
    for index in first..first + geometry.pages_per_slot {
        let page = Page { block, index };
        let read = nand.read(page, 0..geometry.span, at, Cause::Mapping)?;
        ready = nand.both(ready, read);
    }
    Ok(ready)
}

/// Rewrites a translation page. Its new version has the current value of the entry `evicted`, of
/// the entries that changed while not in memory and, with batching, of its changed entries in
/// memory. Returns the time at which the new version is written.
fn write(
    ftl: &mut Dftl,
    nand: &mut Array,
    page: u32,
    evicted: Option<Lpn>,
    at: Nanos,
) -> Result<Nanos, Errno> {
    let pool = ftl.mapping.pool_of(page);
    let front = ftl.make_room(nand, pool, Role::Map, at)?;
    // During the read, changed entries are fetched from the host memory buffer over the link.
    let fetched = nand.after(at, ftl.mapping.memory.access());
    let read = fetch(ftl, nand, page, at)?;
    let ready = nand.both(read, fetched);
    let content = contents(ftl, nand, page, evicted);
    ftl.stamp = ftl.next_stamp(nand);
    let (lpn, stamp) = (ftl.mapping.lpn(page), ftl.stamp);
    let entry = Entry { lpn, stamp, zero: false };
    let (slot, done) = ftl.append(nand, front, &[entry], stamp.into(), ready, Cause::Mapping)?;
    if let Some(content) = content {
        nand.set_note(slot, content);
    }
    let before = ftl.point(lpn, slot, done);
    if before != NOWHERE {
        let slot = Slot(before - 1);
        let block = nand.geometry().block(slot);
        let (lane, valid) = (ftl.lane_of(pool, block), nand.supersede(slot, done));
        ftl.mapping.blocks.policy.superseded(lane, block, valid);
    }
    let mapping = &mut ftl.mapping;
    mapping.outdated.remove(page);
    let lpns = mapping.lpns(page);
    if let Some(contents) = &mut mapping.contents {
        contents.changed.retain(|lpn| !lpns.contains(&lpn.0));
    }
    if mapping.batch {
        mapping.memory.settle(lpns);
    } else if let Some(lpn) = evicted {
        mapping.memory.settle(lpn.0..lpn.0 + 1);
    }
    Ok(done)
}

/// Returns the contents that [`write`] writes, or `None` unless power cuts are expected.
fn contents(ftl: &Dftl, nand: &Array, page: u32, evicted: Option<Lpn>) -> Option<Note> {
    let mapping = &ftl.mapping;
    let changed = &mapping.contents.as_ref()?.changed;
    let before = ftl.map[mapping.lpn(page).0 as usize];
    let old = (before != NOWHERE).then(|| nand.note(Slot(before - 1))).flatten();
    let entry = |(nth, lpn): (usize, u32)| {
        let batched = mapping.batch && mapping.memory.is_changed(Lpn(lpn));
        if batched || evicted == Some(Lpn(lpn)) || changed.contains(&Lpn(lpn)) {
            return current_entry(ftl, Lpn(lpn));
        }
        old.map_or(u64::from(NOWHERE), |old| old[nth])
    };
    Some(Arc::from_iter(mapping.lpns(page).enumerate().map(entry)))
}

/// Returns the current entry of a logical page.
fn current_entry(ftl: &Dftl, lpn: Lpn) -> u64 {
    ftl.slot_of(lpn).map_or(u64::from(NOWHERE), |slot| u64::from(slot.0) + 1)
}

/// Loads an entry that is not in memory, evicting another if needed. Returns the time at which the
/// entry is known.
fn miss(
    ftl: &mut Dftl,
    nand: &mut Array,
    lpn: Lpn,
    at: Nanos,
    write_follows: bool,
) -> Result<Nanos, Errno> {
    let page = ftl.mapping.page_of(lpn);
    let mut free = at;
    if let Some(victim) = ftl.mapping.memory.victim()
        && ftl.mapping.memory.is_changed(victim)
    {
        free = match write(ftl, nand, ftl.mapping.page_of(victim), Some(victim), at) {
            Ok(done) => done,
            // If there is no room to write the victim back, the entry is read but not stored in
            // memory.
            Err(Errno::ENOSPC) if !write_follows => return fetch(ftl, nand, page, at),
            Err(errno) => return Err(errno),
        };
        nand.count(Event::MapWriteBack);
    }
    let known = fetch(ftl, nand, page, free)?;
    ftl.mapping.memory.insert(lpn);
    if ftl.mapping.must_catch_up() {
        CachedMap::catch_up(ftl, nand, at)?;
    }
    Ok(known)
}

impl MapStorage for CachedMap {
    fn new(layout: &Layout) -> Self {
        let logical_pages = layout.logical_pages();
        CachedMap {
            memory: Memory::new(&layout.map_cache, logical_pages),
            per_page: Divisor::new(layout.map_cache.entries_per_page.into()),
            pools: Divisor::new(layout.pools.into()),
            logical_pages,
            first: layout.translation_page(0).0,
            batch: layout.map_cache.batch,
            outdated: OutdatedPages::new(layout),
            blocks: TranslationBlocks::new(layout),
            contents: None,
        }
    }

    #[inline]
    fn prefetch(&self, lpn: Lpn) {
        self.memory.prefetch(lpn);
    }

    #[inline]
    fn look_up(
        ftl: &mut Dftl,
        nand: &mut Array,
        lpn: Lpn,
        at: Nanos,
        write: bool,
    ) -> Result<Nanos, Errno> {
        match ftl.mapping.memory.touch(lpn) {
            EntryLocation::Controller => {
                nand.count(Event::MapHit);
                Ok(at)
            }
            EntryLocation::Host => {
                nand.count(Event::MapHostHit);
                Ok(nand.after(at, ftl.mapping.memory.access()))
            }
            EntryLocation::Nowhere => {
                nand.count(Event::MapMiss);
                miss(ftl, nand, lpn, at, write)
            }
        }
    }

    #[inline]
    fn prefetch_change(&self, lpn: Lpn) {
        self.memory.prefetch(lpn);
    }

    #[inline]
    fn changed(&mut self, lpn: Lpn) {
        // Internal pages have no entry in the table: the directory locates them.
        if lpn.0 >= self.logical_pages || self.memory.change(lpn) {
            return;
        }
        let page = self.page_of(lpn);
        self.outdated.add(page, self.pool_of(page));
        if let Some(contents) = &mut self.contents {
            contents.changed.insert(lpn);
        }
    }

    fn closed(&mut self, lane: u32, block: BlockId, valid: u32) {
        self.blocks.count[lane as usize] += 1;
        self.blocks.policy.closed(lane, block, valid);
    }

    #[inline]
    fn is_crowded(&self, lane: u32) -> bool {
        self.blocks.count[lane as usize] > self.blocks.most
    }

    fn take(&mut self, lane: u32, suits: impl Fn(BlockId) -> bool) -> Option<BlockId> {
        let block = self.blocks.policy.take(lane, suits)?;
        self.blocks.count[lane as usize] -= 1;
        Some(block)
    }

    #[inline]
    fn must_catch_up(&self) -> bool {
        self.outdated.count > self.outdated.most
    }

    fn catch_up(ftl: &mut Dftl, nand: &mut Array, at: Nanos) -> Result<bool, Errno> {
        catch_up(ftl, nand, at).map(|done| done.is_some())
    }

    fn catch_up_in_background(
        ftl: &mut Dftl,
        nand: &mut Array,
        lane: u32,
        at: Nanos,
    ) -> Result<bool, Errno> {
        let pool = lane / ftl.layout.lanes_per_pool;
        let Some(page) = ftl.mapping.outdated.oldest(pool) else { return Ok(false) };
        if !ftl.has_room(Front { lane, role: Role::Map }) {
            return Ok(false);
        }
        write(ftl, nand, page, None, at).map(|_| true)
    }

    fn expect_power_cuts(&mut self) {
        self.contents = Some(Contents { changed: BTreeSet::new() });
    }

    fn forget_blocks(&mut self, layout: &Layout) {
        self.blocks = TranslationBlocks::new(layout);
    }

    fn recover(ftl: &mut Dftl, nand: &mut Array, recovery: &mut Recovery) -> Result<(), Errno> {
        recovery::recover(ftl, nand, recovery)
    }
}
