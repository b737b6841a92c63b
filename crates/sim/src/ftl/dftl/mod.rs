//! DFTL, demand-based page mapping: the map is on the flash, and memory holds some of its entries.
//!
//! *Translation pages* hold the entries of consecutive logical pages each; the *global translation
//! directory*, in memory, says where they are. They are internal pages of [`PageMap`], written to
//! blocks of their own. A look-up that the *cached mapping table*
//! does not answer reads a translation page; the entry takes the place of the one that was used
//! last longest ago, which is written back if it has changed: the translation page is read, changed
//! and programmed anew, with all other entries of it that have changed if writes are batched.
//!
//! Blocks of translation pages are cleaned apart from those of data, as they are superseded much
//! faster: a policy that chose among both would clean them too early.
//!
//! Pages that cleaning moves change their entries: those in memory there, the others on the flash,
//! once for each translation page, right after the block was cleaned. With background cleaning,
//! which cleans a page at a time, as many as a block has pages may wait.
//!
//! Where the host lends memory, entries that the cached mapping table gives up go there first
//! ([`memory`]), as drives without memory of their own have it. A look-up that is answered there
//! waits for the link, but reads no translation page.
//!
//! The paper's table is a segmented LRU; here it is a plain one, which is the same for accesses
//! that are independent of each other.

mod behind;
mod memory;
mod recovery;
mod table;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use flashscope_block::{Errno, Nanos};

use self::behind::{Behind, catch_up};
use self::memory::{Found, Memory};
use super::page_map::footprint::footprint as page_map_footprint;
use super::page_map::{Front, Mapping, NOWHERE, PageMap, Role};
use super::{AnyFtl, Family, Kind, Layout, Recovery};
use crate::arithmetic::Divisor;
use crate::footprint::{Size, fixed};
use crate::gc::{self, Policy, VictimPolicy};
use crate::nand::{Array, BlockId, Cause, Entry, Event, Lpn, Note, Page, Slot, later};

pub(super) const KIND: Kind = Kind {
    name: "dftl",
    summary: "page-map, with the map on the flash and some of its entries in memory",
    source: "Gupta, Kim and Urgaonkar, \"DFTL\", ASPLOS'09",
    family: Family::PageMapped { map_on_flash: true },
    new: |layout, nand| AnyFtl::Dftl(PageMap::new(layout, nand)),
    footprint: |layout| page_map_footprint(layout) + Cached::footprint(layout),
};

/// See [`KIND`].
pub type Dftl = PageMap<Cached>;

/// The map is on the flash, and some of its entries are in memory.
pub struct Cached {
    memory: Memory,
    /// Logical pages whose entries a translation page holds.
    per_page: Divisor,
    pools: Divisor,
    /// The logical pages of the host.
    logical_pages: u32,
    /// The number of the first translation page.
    first: u32,
    batch: bool,
    behind: Behind,
    blocks: TranslationBlocks,
    /// What of the contents of translation pages has to be known.
    contents: Option<Contents>,
}

/// The full blocks that hold translation pages, which are cleaned apart from those of data: the
/// emptiest first.
struct TranslationBlocks {
    policy: Policy,
    /// How many there are in each lane, and how many may be.
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

/// Where power cuts are expected, translation pages have contents: for each entry, a place and one,
/// or [`NOWHERE`].
struct Contents {
    /// Entries that changed while they were not in memory, and are not on the flash.
    changed: BTreeSet<Lpn>,
}

impl Cached {
    /// What it takes beside a page map.
    fn footprint(layout: &Layout) -> Size {
        Memory::footprint(&layout.map_cache, layout.logical_pages())
            + Behind::footprint(layout)
            + (gc::GREEDY.footprint)(layout)
            + fixed::<u32>(layout.lanes())
    }

    /// The translation page with the entry of a logical page.
    #[inline]
    fn page_of(&self, lpn: Lpn) -> u32 {
        self.per_page.quotient_of(lpn.0)
    }

    /// The number of a translation page among all pages.
    #[inline]
    fn lpn(&self, page: u32) -> Lpn {
        Lpn(self.first + page)
    }

    /// The pool that a translation page belongs to.
    #[inline]
    fn pool_of(&self, page: u32) -> u32 {
        self.pools.remainder_of(page)
    }

    /// The logical pages whose entries are on a translation page.
    #[inline]
    fn lpns(&self, page: u32) -> Range<u32> {
        let per_page = u32::try_from(self.per_page.value()).expect("entries that fit in a page");
        let start = page * per_page;
        start..start.saturating_add(per_page).min(self.logical_pages)
    }
}

/// Reads a translation page, if there is one. Returns when it is there.
#[inline]
fn fetch(ftl: &Dftl, nand: &mut Array, page: u32, at: Nanos) -> Result<Nanos, Errno> {
    let mapped = ftl.map[ftl.mapping.lpn(page).0 as usize];
    if mapped == NOWHERE {
        return Ok(at);
    }
    let geometry = *nand.geometry();
    // A logical page is a page of the flash, or several.
    let slot = Slot(mapped - 1);
    let (block, first) = (geometry.block(slot), geometry.index(slot) * geometry.pages_per_slot);
    let mut ready = at;
    for index in first..first + geometry.pages_per_slot {
        let page = Page { block, index };
        ready = ready.max(nand.read(page, 0..geometry.span, at, Cause::Mapping)?);
    }
    Ok(ready)
}

/// Writes a translation page anew: with the entry of `evicted`, with what it is behind with, and
/// if writes are batched with all that have changed. Returns when it is there.
fn write(
    ftl: &mut Dftl,
    nand: &mut Array,
    page: u32,
    evicted: Option<Lpn>,
    at: Nanos,
) -> Result<Nanos, Errno> {
    let pool = ftl.mapping.pool_of(page);
    let front = ftl.make_room(nand, pool, Role::Map, at)?;
    // What has changed in memory of the host comes over the link in the meantime.
    let ready = fetch(ftl, nand, page, at)?.max(later(at, ftl.mapping.memory.access()));
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
    mapping.behind.remove(page);
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

/// What [`write`] writes, where that has to be known.
fn contents(ftl: &Dftl, nand: &Array, page: u32, evicted: Option<Lpn>) -> Option<Note> {
    let mapping = &ftl.mapping;
    let changed = &mapping.contents.as_ref()?.changed;
    let before = ftl.map[mapping.lpn(page).0 as usize];
    let old = (before != NOWHERE).then(|| nand.note(Slot(before - 1))).flatten();
    let entry = |(nth, lpn): (usize, u32)| {
        let batched = mapping.batch && mapping.memory.is_changed(Lpn(lpn));
        if batched || evicted == Some(Lpn(lpn)) || changed.contains(&Lpn(lpn)) {
            return truth(ftl, Lpn(lpn));
        }
        old.map_or(u64::from(NOWHERE), |old| old[nth])
    };
    Some(Arc::from_iter(mapping.lpns(page).enumerate().map(entry)))
}

/// The entry of a logical page as it is.
fn truth(ftl: &Dftl, lpn: Lpn) -> u64 {
    ftl.slot_of(lpn).map_or(u64::from(NOWHERE), |slot| u64::from(slot.0) + 1)
}

/// Has an entry take its place in memory. Returns when it is known.
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
            // The entry is read all the same, but not kept.
            Err(Errno::ENOSPC) if !write_follows => return fetch(ftl, nand, page, at),
            Err(errno) => return Err(errno),
        };
        nand.count(Event::MapWriteBack);
    }
    let known = fetch(ftl, nand, page, free)?;
    ftl.mapping.memory.insert(lpn);
    if ftl.mapping.is_behind() {
        Cached::catch_up(ftl, nand, at)?;
    }
    Ok(known)
}

impl Mapping for Cached {
    fn new(layout: &Layout) -> Self {
        let logical_pages = layout.logical_pages();
        Cached {
            memory: Memory::new(&layout.map_cache, logical_pages),
            per_page: Divisor::new(layout.map_cache.entries_per_page.into()),
            pools: Divisor::new(layout.pools.into()),
            logical_pages,
            first: layout.translation_page(0).0,
            batch: layout.map_cache.batch,
            behind: Behind::new(layout),
            blocks: TranslationBlocks::new(layout),
            contents: None,
        }
    }

    #[inline]
    fn expect(&self, lpn: Lpn) {
        self.memory.expect(lpn);
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
            Found::Controller => {
                nand.count(Event::MapHit);
                Ok(at)
            }
            Found::Host => {
                nand.count(Event::MapHostHit);
                Ok(later(at, ftl.mapping.memory.access()))
            }
            Found::Nowhere => {
                nand.count(Event::MapMiss);
                miss(ftl, nand, lpn, at, write)
            }
        }
    }

    #[inline]
    fn expect_change(&self, lpn: Lpn) {
        self.memory.expect(lpn);
    }

    #[inline]
    fn changed(&mut self, lpn: Lpn) {
        // Of internal pages only the directory knows.
        if lpn.0 >= self.logical_pages || self.memory.change(lpn) {
            return;
        }
        let page = self.page_of(lpn);
        self.behind.add(page, self.pool_of(page));
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
    fn is_behind(&self) -> bool {
        self.behind.count > self.behind.most
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
        let Some(page) = ftl.mapping.behind.oldest(pool) else { return Ok(false) };
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
