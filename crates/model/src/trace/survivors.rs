//! A predictor for page-mapped FTLs, from groups of pages that stay together.
//!
//! The number of moves of a page depends on the times at which the other pages in its block are
//! overwritten. Earlier collections placed these pages together. In real traces, neighbours are
//! overwritten together, which no distribution of single pages captures. However, pages that are
//! valid together when their block is collected stay together, and this predictor follows them
//! block by block (`blocks.rs`). It assumes nothing to be random, stationary or independent. The
//! predictor is a recurrence over the trace; [`super::Reuse`] is the closed form.

use std::ops::Range;

use super::blocks::Blocks;
use super::{GcPolicy, Predictor, Space, Total};
use crate::OutOfRange;

/// A predictor for page-mapped FTLs, from groups of pages that stay together.
pub struct Survivors {
    space: Space,
    blocks: Blocks,
    total: Total,
}

impl Survivors {
    /// Creates a drive of [`Space`] whose pages were all written once, in order. GC runs when all
    /// blocks are in use. Host writes and moved pages share one open block.
    ///
    /// # Errors
    ///
    /// Returns an error if the space is out of range, or has more than 2^32 - 1 pages.
    pub fn new(space: Space, policy: GcPolicy) -> Result<Survivors, OutOfRange> {
        let pages = space.few_pages()?;
        let most = space.logical_blocks + space.free_blocks;
        let blocks = Blocks::new(pages, space.pages_per_block, most, policy);
        let mut survivors = Survivors { space, blocks, total: Total::default() };
        survivors.write(0, pages.into());
        survivors.total = Total::default();
        Ok(survivors)
    }

    /// Opens a block if the open block is full. If too many blocks are then in use, collects a
    /// block.
    fn make_room(&mut self) {
        let most = self.space.logical_blocks + self.space.free_blocks;
        while self.blocks.room() == 0 {
            self.blocks.open();
            if self.blocks.in_use() > most
                && let Some(moved) = self.blocks.collect()
            {
                self.total.erasures += 1.0;
                self.total.copies += f64::from(moved);
            }
        }
    }
}

impl Predictor for Survivors {
    fn write(&mut self, page: u64, pages: u64) {
        let Range { start: mut at, end } = self.space.within(page, pages);
        self.total.pages += u64::from(end - at);
        while at < end {
            if self.blocks.room() == 0 {
                self.make_room();
            }
            let until = end.min(at + self.blocks.room());
            self.blocks.write(at..until);
            at = until;
        }
    }

    fn trim(&mut self, page: u64, pages: u64) {
        self.blocks.trim(self.space.within(page, pages));
    }

    fn total(&mut self) -> Total {
        self.total
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    /// A write or a trim: true for a trim, the first page and the number of pages.
    type Step = (bool, u64, u64);

    /// Simulates a drive page by page and returns the numbers of moved pages and erases.
    fn plain(space: Space, policy: GcPolicy, steps: &[Step]) -> (u64, u64) {
        let block = space.pages_per_block as usize;
        // Blocks by age: the pages written to each, and the time when it last lost a page.
        let all: Vec<u64> = (0..space.pages()).collect();
        let mut blocks: Vec<(Vec<u64>, usize)> =
            all.chunks(block).map(|pages| (pages.to_vec(), 0)).collect();
        let (mut moved, mut erased, mut now) = (0, 0, 0);
        let mut live: HashSet<u64> = (0..space.pages()).collect();
        let valid = |blocks: &[(Vec<u64>, usize)], live: &HashSet<u64>, nth: usize| -> Vec<u64> {
            let later = |place: usize, page: &u64| {
                blocks[nth].0[place + 1..].contains(page)
                    || blocks[nth + 1..].iter().any(|block| block.0.contains(page))
            };
            let pages = blocks[nth].0.iter().enumerate();
            let newest = pages.filter(|(place, page)| !later(*place, page));
            newest.map(|(_, page)| *page).filter(|page| live.contains(page)).collect()
        };
        let pages =
            |(trims, page, pages): Step| (page..page + pages).map(move |page| (trims, page));
        for (trims, page) in steps.iter().copied().flat_map(pages) {
            let held = (0..blocks.len()).rev().find(|nth| blocks[*nth].0.contains(&page));
            if trims {
                if live.remove(&page) {
                    now += 2;
                    blocks[held.unwrap()].1 = now;
                }
                continue;
            }
            while blocks.last().is_some_and(|last| last.0.len() == block) {
                blocks.push((Vec::new(), 0));
                if blocks.len() > (space.logical_blocks + space.free_blocks) as usize {
                    let candidates = 0..blocks.len() - 1;
                    let fewer = |nth: &usize| valid(&blocks, &live, *nth).len() < block;
                    let rank = |nth: &usize| match policy {
                        GcPolicy::Greedy => (valid(&blocks, &live, *nth).len(), blocks[*nth].1),
                        GcPolicy::Fifo => (0, *nth),
                    };
                    let victim = candidates.filter(fewer).min_by_key(rank).unwrap();
                    let survivors = valid(&blocks, &live, victim);
                    moved += survivors.len() as u64;
                    erased += 1;
                    blocks.last_mut().unwrap().0.extend(survivors);
                    blocks.remove(victim);
                }
            }
            let held = (0..blocks.len()).rev().find(|nth| blocks[*nth].0.contains(&page));
            let open = blocks.len() - 1;
            blocks[open].0.push(page);
            now += 2;
            if blocks[open].0.len() == block {
                blocks[open].1 = now - 1;
            }
            if !live.insert(page) {
                blocks[held.unwrap()].1 = now;
            }
        }
        (moved, erased)
    }

    proptest! {
        // The numbers of moves and erases agree for any writes and trims, also after blocks are
        // renumbered.
        #[test]
        fn agrees_with_a_plain_drive(
            pages_per_block in 2_u32..5,
            logical_blocks in 1_u32..6,
            free_blocks in 2_u32..4,
            fifo in any::<bool>(),
            steps in prop::collection::vec((prop::bool::weighted(0.2), 0_u64..25, 1_u64..7), 1..150),
        ) {
            let space = Space { pages_per_block, logical_blocks, free_blocks };
            let policy = if fifo { GcPolicy::Fifo } else { GcPolicy::Greedy };
            let within = |(trims, page, pages): Step| {
                let page = page % space.pages();
                (trims, page, pages.min(space.pages() - page))
            };
            let steps: Vec<_> = steps.into_iter().map(within).collect();
            let mut survivors = Survivors::new(space, policy).unwrap();
            for (trims, page, pages) in &steps {
                match trims {
                    true => survivors.trim(*page, *pages),
                    false => survivors.write(*page, *pages),
                }
            }
            let (moved, erased) = plain(space, policy, &steps);
            let total = survivors.total();
            prop_assert_eq!((total.copies, total.erasures), (moved as f64, erased as f64));
            let written = steps.iter().filter(|step| !step.0).map(|step| step.2);
            prop_assert_eq!(total.pages, written.sum::<u64>());
        }
    }
}
