//! Recovery after a power cut from the metadata of pages.
//!
//! If a page has several copies, recovery uses the newest. A merge creates equally new copies; of
//! these, recovery uses the copy in the most recently opened block. Recovery discards a data block
//! that a merge was writing if all its pages still exist in other blocks. These copies exist until
//! the merge erases its first source block, and by then the data block is complete. Recovery erases
//! blocks without valid pages.

use std::collections::BTreeSet;

use flashscope_block::{Errno, Nanos};

use super::Role;
use super::core::Core;
use super::log::Log;
use crate::ftl::Recovery;
use crate::nand::{Array, BlockId, Cause, NOWHERE, Slot};

/// The blocks in use, in the order in which they were opened.
type InUse = Vec<BlockId>;

impl Core {
    /// Rebuilds the state from the flash, from `at` on, and erases the remains of an unfinished
    /// merge. Also returns the log blocks, oldest first. If `ordered` is true, distinguishes data
    /// blocks from log blocks by the order of their pages. If it is false, all blocks in use count
    /// as log blocks.
    pub(super) fn rebuild(
        &mut self,
        nand: &mut Array,
        ordered: bool,
        at: Nanos,
    ) -> Result<(Recovery, Vec<Log>), Errno> {
        let mut recovery = Recovery { done: at, pages_read: 0 };
        let blocks = blocks_in_use(nand);
        if !self.layout.map_survives {
            for block in &blocks {
                let (done, pages) = Core::read_metadata(nand, *block, at)?;
                recovery.done = recovery.done.max(done);
                recovery.pages_read += pages;
            }
        }
        let copies = self.find_newest(nand, &blocks);
        let given_up = self.unfinished(nand, &blocks, &copies);
        if !given_up.is_empty() {
            let others: InUse =
                blocks.iter().copied().filter(|block| !given_up.contains(block)).collect();
            self.find_newest(nand, &others);
        }
        for mapped in self.map.iter().filter(|mapped| **mapped != NOWHERE) {
            nand.revalidate(Slot(mapped - 1));
        }
        self.count_bad(nand);
        let holding: InUse = blocks.into_iter().filter(|block| nand.valid(*block) > 0).collect();
        if ordered {
            self.find_data(nand, &holding);
        }
        let data: BTreeSet<u32> = self.data.iter().copied().collect();
        let logs = holding.into_iter().filter(|block| !data.contains(&(block.0 + 1)));
        let found = logs.map(|block| self.found_log(nand, block)).collect();
        recovery.done = self.classify_blocks(nand, recovery.done)?;
        Ok((recovery, found))
    }

    /// Maps each page to its newest copy in these blocks. Returns, for each map entry, the number
    /// of copies that are equally new.
    fn find_newest(&mut self, nand: &Array, blocks: &[BlockId]) -> Vec<u32> {
        let geometry = *nand.geometry();
        self.map.fill(NOWHERE);
        self.stamp = 0;
        let mut copies = vec![0; self.map.len()];
        for block in blocks {
            for slot in (0..geometry.slots_per_block).map(|index| geometry.slot(*block, index)) {
                let Some(entry) = nand.entry(slot) else { continue };
                self.stamp = self.stamp.max(entry.stamp);
                let index = self.index_of(self.page(entry.lpn));
                let known = match self.map[index] {
                    NOWHERE => None,
                    mapped => nand.entry(Slot(mapped - 1)).map(|entry| entry.stamp),
                };
                if known.is_none_or(|known| known <= entry.stamp) {
                    self.map[index] = slot.0 + 1;
                    copies[index] = if known == Some(entry.stamp) { copies[index] + 1 } else { 1 };
                }
            }
        }
        copies
    }

    /// Returns, for each pool, the last data block that a full merge has written or was writing, if
    /// all its pages also exist in other blocks.
    fn unfinished(&self, nand: &Array, blocks: &[BlockId], copies: &[u32]) -> BTreeSet<BlockId> {
        let mut youngest = vec![None; self.pool.len()];
        for block in blocks.iter().filter(|block| nand.opened(**block).1 == Role::Data as u8) {
            let mut entries = entries(nand, *block);
            if let Some((_, _, lpn)) = entries.next() {
                youngest[self.page(lpn).pool as usize] = Some(*block);
            }
        }
        let doubled = |block: &BlockId| {
            entries(nand, *block).all(|(_, slot, lpn)| {
                let index = self.index_of(self.page(lpn));
                self.map[index] != slot.0 + 1 || copies[index] > 1
            })
        };
        youngest.into_iter().flatten().filter(doubled).collect()
    }

    /// Counts the retired blocks.
    fn count_bad(&mut self, nand: &Array) {
        let lifetime = self.layout.reliability.block_lifetime;
        let bad = (0..self.layout.geometry.blocks()).map(BlockId).filter(|b| nand.is_bad(*b));
        let (expired, others): (Vec<_>, Vec<_>) = bad.partition(|b| nand.erases(*b) >= lifetime);
        self.health.expired_blocks = expired.len() as u64;
        self.health.failed_blocks = others.len() as u64 - self.health.factory_bad_blocks;
    }

    /// Finds the data blocks among the blocks with valid pages. A data block holds each page at its
    /// own index. If several blocks qualify for a logical block, its data block is the last one
    /// that a full merge wrote. If a full merge wrote none of them, its data block is the oldest.
    fn find_data(&mut self, nand: &Array, holding: &[BlockId]) {
        self.data.fill(0);
        for role in [Role::Data, Role::Log] {
            for block in holding.iter().filter(|block| nand.opened(**block).1 == role as u8) {
                let Some(logical) = self.whole_of(nand, *block) else { continue };
                let data = &mut self.data[logical as usize];
                if *data == 0 || role == Role::Data {
                    *data = block.0 + 1;
                }
            }
        }
    }

    /// Returns the logical block to which all pages of a block belong, if each page is at its own
    /// index.
    fn whole_of(&self, nand: &Array, block: BlockId) -> Option<u32> {
        let mut entries = entries(nand, block);
        let (index, _, first) = entries.next()?;
        let first = self.page(first);
        let in_place = first.index == index
            && entries.all(|(index, _, lpn)| {
                let page = self.page(lpn);
                (page.logical, page.index) == (first.logical, index)
            });
        in_place.then_some(first.logical)
    }

    fn found_log(&self, nand: &Array, block: BlockId) -> Log {
        let first = entries(nand, block).next();
        let logical = first.map_or(0, |(_, _, lpn)| self.page(lpn).logical);
        let log = Log::new(nand, block, Role::of(nand.opened(block).1), logical);
        let next = nand.written(block);
        let whole =
            self.whole_of(nand, block).is_some() && entries(nand, block).count() == next as usize;
        Log { next, in_order: log.in_order && whole, ..log }
    }

    /// Finds the free blocks, and erases blocks without valid pages. Returns the time at which the
    /// erases are done.
    fn classify_blocks(&mut self, nand: &mut Array, at: Nanos) -> Result<Nanos, Errno> {
        let mut done = at;
        for pool in 0..self.layout.pools {
            let blocks = std::mem::take(&mut self.pool[pool as usize].blocks);
            let empty = |block: &BlockId| nand.written(*block) == 0 && !nand.is_bad(*block);
            self.pool[pool as usize].free = blocks.iter().copied().filter(empty).collect();
            self.pool[pool as usize].busy = at;
            for block in &blocks {
                let left = nand.written(*block) > 0 && nand.valid(*block) == 0;
                if left && !nand.is_bad(*block) {
                    done = done.max(self.recycle(nand, pool, *block, at, Cause::FullMerge)?);
                }
            }
            self.pool[pool as usize].blocks = blocks;
        }
        Ok(done)
    }
}

/// Returns the blocks with any data, in the order in which they were opened.
fn blocks_in_use(nand: &Array) -> InUse {
    let all = (0..nand.geometry().blocks()).map(BlockId);
    let mut blocks: InUse =
        all.filter(|block| nand.written(*block) > 0 && !nand.is_bad(*block)).collect();
    blocks.sort_by_key(|block| nand.opened(*block).0);
    blocks
}

/// Returns the contents of a block: for each page its index, slot and logical page.
fn entries(nand: &Array, block: BlockId) -> impl Iterator<Item = (u32, Slot, crate::nand::Lpn)> {
    let geometry = *nand.geometry();
    (0..geometry.slots_per_block).filter_map(move |index| {
        let slot = geometry.slot(block, index);
        nand.entry(slot).map(|entry| (index, slot, entry.lpn))
    })
}
