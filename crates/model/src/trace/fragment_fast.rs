//! FAST, from the fragments that there are: which pages are still in the ring of log blocks when their turn
//! comes, and to how many data blocks they belong.
//!
//! Writes that begin a block go to the log block for sequential ones, whatever they are: where a trace
//! begins many blocks and goes on with few of them, each costs a partial merge, which is what equations 8
//! and 9 miss (the paper's lair62b).

use super::{Part, Predictor, Space, Total};
use crate::OutOfRange;

/// Not in the ring.
const NOWHERE: u32 = u32::MAX;

/// The predictor.
pub struct FragmentFast {
    space: Space,
    /// The logical page in each place of the ring; [`NOWHERE`] where nothing is yet.
    ring: Vec<u32>,
    next: usize,
    /// Pages that went to the ring.
    taken: u64,
    /// For each logical page the place in the ring where its newest data is.
    places: Vec<u32>,
    /// For each data block how many of its pages are in the ring.
    in_ring: Vec<u16>,
    /// The data block of the sequential log block, and how far it is filled.
    sequential: Option<(u32, u32)>,
    total: Total,
}

impl FragmentFast {
    /// Log blocks are all free.
    ///
    /// # Errors
    ///
    /// Where the space is out of range, or has more than 2^32 - 1 pages.
    pub fn new(space: Space) -> Result<FragmentFast, OutOfRange> {
        space.check_numbers()?;
        let ring = (space.free_blocks as usize - 1) * space.pages_per_block as usize;
        Ok(FragmentFast {
            space,
            ring: vec![NOWHERE; ring],
            next: 0,
            taken: 0,
            places: vec![NOWHERE; usize::try_from(space.pages()).unwrap_or(usize::MAX)],
            in_ring: vec![0; space.logical_blocks as usize],
            sequential: None,
            total: Total::default(),
        })
    }

    /// Takes pages of a data block, `from` one of them on, out of the ring.
    fn clear(&mut self, block: u32, from: u32, to: u32) {
        let left = &mut self.in_ring[block as usize];
        if *left == 0 {
            return;
        }
        let first = (block * self.space.pages_per_block) as usize;
        for place in &mut self.places[first + from as usize..first + to as usize] {
            *left -= u16::from(*place != NOWHERE);
            *place = NOWHERE;
        }
    }

    /// The log block at `next` is to be filled anew: what is still in it is merged, the sequential log block
    /// first where it is of one of these data blocks, as long as that was not made anew.
    fn give_up(&mut self) {
        let pages = self.space.pages_per_block;
        if self.ring[self.next] == NOWHERE {
            return;
        }
        for place in self.next..self.next + pages as usize {
            let page = self.ring[place];
            let block = page / pages;
            let is_newest = |places: &[u32]| places[page as usize] as usize == place;
            if is_newest(&self.places) && self.sequential.is_some_and(|log| log.0 == block) {
                self.end_sequence();
            }
            if is_newest(&self.places) {
                self.total.erasures += 1.0;
                self.total.copies += f64::from(pages);
                self.clear(block, 0, pages);
            }
        }
        self.total.erasures += 1.0;
    }

    /// Writes pages to the ring.
    fn append(&mut self, part: Part) {
        let from = part.block * self.space.pages_per_block + part.first;
        self.taken += u64::from(part.len);
        for page in from..from + part.len {
            if self.next.is_multiple_of(self.space.pages_per_block as usize) {
                self.give_up();
            }
            self.ring[self.next] = page;
            let place = &mut self.places[page as usize];
            if *place == NOWHERE {
                self.in_ring[part.block as usize] += 1;
            }
            *place = u32::try_from(self.next).unwrap_or(NOWHERE);
            self.next = (self.next + 1) % self.ring.len();
        }
    }

    /// Merges the sequential log block: what its data block has beyond it is copied behind, wherever it is.
    /// Pages in it that were written again are in the ring, and stay there; where all were, it is but erased.
    fn end_sequence(&mut self) {
        let Some((block, filled)) = self.sequential.take() else { return };
        self.total.erasures += 1.0;
        let first = (block * self.space.pages_per_block) as usize;
        let newest = &self.places[first..first + filled as usize];
        if newest.iter().all(|place| *place != NOWHERE) {
            return;
        }
        self.total.copies += f64::from(self.space.pages_per_block - filled);
        self.clear(block, filled, self.space.pages_per_block);
    }

    /// FAST looks at every page by itself: a write that begins before the place that the sequential log block
    /// has come to, and goes on beyond it, goes on there from that place on.
    fn fragment(&mut self, part: Part) {
        self.total.pages += u64::from(part.len);
        let end = part.first + part.len;
        if part.first == 0 {
            self.end_sequence();
            self.go_on(part.block, 0, end);
            return;
        }
        let from = match self.sequential {
            Some((block, next)) if block == part.block && (part.first..end).contains(&next) => next,
            _ => end,
        };
        self.append(Part { len: from - part.first, ..part });
        // To make room in the ring, the sequential log block may have been merged.
        match self.sequential {
            Some((block, next)) if from < end && (block, next) == (part.block, from) => {
                self.go_on(block, from, end);
            }
            _ => self.append(Part { first: from, len: end - from, ..part }),
        }
    }

    /// Writes pages to the sequential log block.
    fn go_on(&mut self, block: u32, from: u32, to: u32) {
        self.clear(block, from, to);
        self.sequential = Some((block, to));
        if to == self.space.pages_per_block {
            self.end_sequence();
        }
    }
}

impl Predictor for FragmentFast {
    fn write(&mut self, page: u64, pages: u64) {
        self.space.fragments(page, pages).for_each(|part| self.fragment(part));
    }

    fn total(&mut self) -> Total {
        self.total
    }

    #[allow(clippy::cast_precision_loss, reason = "pages are below 2^53")]
    fn turns(&self) -> f64 {
        self.taken as f64 / self.ring.len() as f64
    }
}
