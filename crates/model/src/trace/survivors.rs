//! Page-mapped FTLs, from which pages are valid together.
//!
//! How often pages are moved depends on when the others of their block are written again, and that on which
//! pages came to lie together, by what was cleaned before: of real traces, where neighbours are written
//! together again, no distribution of single pages says that. But pages that were valid together when their
//! block was cleaned stay together, so it can be followed block by block (`blocks.rs`). Nothing is taken
//! to be random, stationary or independent. It is a recurrence over the trace and no closed form, as those of
//! fragments are: [`super::Reuse`] is the form.

use std::ops::Range;

use super::blocks::Blocks;
use super::{Cleaning, Predictor, Space, Total};
use crate::OutOfRange;

/// The predictor.
pub struct Survivors {
    space: Space,
    blocks: Blocks,
    total: Total,
}

impl Survivors {
    /// A drive all of whose pages were written once, in order. Its blocks are those of [`Space`], all of them
    /// full when one is cleaned, but for the open one; what the host writes and what is moved goes to one open block.
    ///
    /// # Errors
    ///
    /// Where the space is out of range, or has more than 2^32 - 1 pages.
    pub fn new(space: Space, cleaning: Cleaning) -> Result<Survivors, OutOfRange> {
        let pages = space.few_pages()?;
        let most = space.logical_blocks + space.free_blocks;
        let blocks = Blocks::new(pages, space.pages_per_block, most, cleaning);
        let mut survivors = Survivors { space, blocks, total: Total::default() };
        survivors.write(0, pages.into());
        survivors.total = Total::default();
        Ok(survivors)
    }

    /// Opens a block, and cleans one for it once all are in use.
    fn make_room(&mut self) {
        let most = self.space.logical_blocks + self.space.free_blocks;
        while self.blocks.room() == 0 {
            self.blocks.open();
            if self.blocks.in_use() > most
                && let Some(moved) = self.blocks.clean()
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

    fn total(&mut self) -> Total {
        self.total
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A drive whose pages are kept one by one, in the blocks that they are in: what it moved, and erased.
    fn plain(space: Space, cleaning: Cleaning, writes: &[(u64, u64)]) -> (u64, u64) {
        let block = space.pages_per_block as usize;
        // Blocks by age, each as the pages that were written to it, and when one last was out of date.
        let all: Vec<u64> = (0..space.pages()).collect();
        let mut blocks: Vec<(Vec<u64>, usize)> =
            all.chunks(block).map(|pages| (pages.to_vec(), 0)).collect();
        let (mut moved, mut erased, mut now) = (0, 0, 0);
        let valid = |blocks: &[(Vec<u64>, usize)], nth: usize| -> Vec<u64> {
            let later = |place: usize, page: &u64| {
                blocks[nth].0[place + 1..].contains(page)
                    || blocks[nth + 1..].iter().any(|block| block.0.contains(page))
            };
            let pages = blocks[nth].0.iter().enumerate();
            pages.filter(|(place, page)| !later(*place, page)).map(|(_, page)| *page).collect()
        };
        for page in writes.iter().flat_map(|(page, pages)| *page..page + pages) {
            while blocks.last().is_some_and(|last| last.0.len() == block) {
                blocks.push((Vec::new(), 0));
                if blocks.len() > (space.logical_blocks + space.free_blocks) as usize {
                    let candidates = 0..blocks.len() - 1;
                    let fewer = |nth: &usize| valid(&blocks, *nth).len() < block;
                    let rank = |nth: &usize| match cleaning {
                        Cleaning::Greedy => (valid(&blocks, *nth).len(), blocks[*nth].1),
                        Cleaning::Fifo => (0, *nth),
                    };
                    let victim = candidates.filter(fewer).min_by_key(rank).unwrap();
                    let survivors = valid(&blocks, victim);
                    moved += survivors.len() as u64;
                    erased += 1;
                    blocks.last_mut().unwrap().0.extend(survivors);
                    blocks.remove(victim);
                }
            }
            let was = (0..blocks.len()).rev().find(|nth| blocks[*nth].0.contains(&page)).unwrap();
            let open = blocks.len() - 1;
            blocks[open].0.push(page);
            now += 2;
            if blocks[open].0.len() == block {
                blocks[open].1 = now - 1;
            }
            blocks[was].1 = now;
        }
        (moved, erased)
    }

    proptest! {
        // Does it move and erase what a drive does whose pages are followed one by one, whatever is written,
        // and long enough that blocks are numbered anew?
        #[test]
        fn agrees_with_a_plain_drive(
            pages_per_block in 2_u32..5,
            logical_blocks in 1_u32..6,
            free_blocks in 2_u32..4,
            fifo in any::<bool>(),
            writes in prop::collection::vec((0_u64..25, 1_u64..7), 1..150),
        ) {
            let space = Space { pages_per_block, logical_blocks, free_blocks };
            let cleaning = if fifo { Cleaning::Fifo } else { Cleaning::Greedy };
            let within = |(page, pages): (u64, u64)| {
                let page = page % space.pages();
                (page, pages.min(space.pages() - page))
            };
            let writes: Vec<_> = writes.into_iter().map(within).collect();
            let mut survivors = Survivors::new(space, cleaning).unwrap();
            writes.iter().for_each(|(page, pages)| survivors.write(*page, *pages));
            let (moved, erased) = plain(space, cleaning, &writes);
            let total = survivors.total();
            prop_assert_eq!((total.copies, total.erasures), (moved as f64, erased as f64));
            prop_assert_eq!(total.pages, writes.iter().map(|write| write.1).sum::<u64>());
        }
    }
}
